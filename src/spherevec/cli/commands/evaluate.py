"""`spherevec evaluate`."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

from spherevec.cli import display
from spherevec.cli.checks import documents_of, labelled_set, load_model
from spherevec.cli.options import PATH, json_option, model_argument


@click.command()
@click.argument("task", type=click.Choice(["similarity", "analogy", "clustering", "classification"]))
@model_argument
@click.option("--data", type=PATH, metavar="DIR", help="Folder of the data sets. Default: $SPHEREVEC_DATA.")
@json_option
def evaluate(task: str, folder: Path, data: Path | None, as_json: bool) -> None:
    """Measure a model against human judgement or classes.

    For clustering and classification the model must have been trained on the documents of a labelled data set, in
    the order of its file.
    """
    from spherevec import evaluation

    model = load_model(folder)
    if task == "similarity":
        display.print_similarity(
            [
                evaluation.evaluate_similarity(model.words, evaluation.load_similarity(name, data), name)  # type: ignore[arg-type]
                for name in evaluation.SIMILARITY_SETS
            ],
            as_json,
        )
    elif task == "analogy":
        sections = evaluation.load_analogies(data)
        words: Any = model.words
        added, multiplied = (evaluation.evaluate_analogies(words, sections, how) for how in ("3cosadd", "3cosmul"))
        display.print_analogies(added, multiplied, as_json)
    else:
        docs = documents_of(model, folder)
        texts = labelled_set(model, data)
        if task == "clustering":
            result: Any = evaluation.evaluate_clustering(docs.vectors, texts.labels)
        elif texts.split is not None:
            result = evaluation.given_split(docs.vectors, texts.labels, texts.split)
        else:
            result = evaluation.random_splits(docs.vectors, texts.labels)
        display.print_scores(texts.name, asdict(result), as_json)
