"""`spherevec evaluate`."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from spherevec.cli import display
from spherevec.cli.checks import documents_of, load_model
from spherevec.cli.options import PATH, json_option, model_argument
from spherevec.errors import ConfigError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from spherevec.model import Model

_TASKS = ("similarity", "analogy", "clustering", "classification", "topics")
_WITH_LABELS = ("clustering", "classification", "topics")


@click.command()
@click.argument("task", type=click.Choice(_TASKS))
@model_argument
@click.option("--labels", type=PATH, metavar="FILE", help="Classes of the documents, one a line, in the model's order.")
@click.option("--split", type=PATH, metavar="FILE", help="`train` or `test`, one a line. Default: ten random splits.")
@click.option("--data", type=PATH, metavar="DIR", help="Folder of the data sets. Default: $SPHEREVEC_DATA.")
@click.option("--set", "set_name", metavar="NAME", help="Labelled data set in DIR that MODEL was trained on: 20news, …")
@json_option
def evaluate(
    task: str,
    folder: Path,
    labels: Path | None,
    split: Path | None,
    data: Path | None,
    set_name: str | None,
    as_json: bool,
) -> None:
    """Measure a model against human judgement or classes.

    Clustering and classification compare the documents with their classes: your own (--labels), or those of a data
    set whose text the model was trained on, in the order of its file (--data and --set). Topics are found first; their
    words are judged by the documents, and the topics by the classes, where these are given.
    """
    from spherevec import evaluation

    _check_options(task, labels, split, set_name)
    model = load_model(folder)
    words = model.words
    if task == "similarity":
        names = evaluation.SIMILARITY_SETS
        found = [evaluation.evaluate_similarity(words, evaluation.load_similarity(name, data), name) for name in names]
        display.print_similarity(found, as_json)
    elif task == "analogy":
        sections = evaluation.load_analogies(data)
        added, multiplied = (evaluation.evaluate_analogies(words, sections, how) for how in ("3cosadd", "3cosmul"))
        display.print_analogies(added, multiplied, as_json)
    elif task == "topics" and labels is None and set_name is None:
        documents_of(model, folder)
        display.print_scores(str(folder), _topic_scores(model, None), as_json)
    else:
        docs = documents_of(model, folder)
        source, classes, marks = _classes(labels, split, data, set_name)
        for what, lines in ((source, classes), (str(split or source), marks)):
            if lines is not None and len(lines) != len(docs):
                raise ConfigError(
                    f"{what}: has {len(lines):,} lines, but {folder} has {len(docs):,} documents; give one a document"
                )
        if task == "topics":
            display.print_scores(source, _topic_scores(model, classes), as_json)
            return
        if task == "clustering":
            result: Any = evaluation.evaluate_clustering(docs.vectors, classes)
        elif marks is not None:
            result = evaluation.given_split(docs.vectors, classes, marks)
        else:
            result = evaluation.random_splits(docs.vectors, classes)
        display.print_scores(source, asdict(result), as_json)


def _check_options(task: str, labels: Path | None, split: Path | None, set_name: str | None) -> None:
    given = {"--labels": labels, "--split": split, "--set": set_name}
    if task not in _WITH_LABELS:
        wrong = [option for option, value in given.items() if value is not None]
        if wrong:
            raise click.UsageError(f"{wrong[0]} goes with clustering, classification and topics, not with {task}")
    elif labels is None and set_name is None and task == "topics":
        if split is not None:
            raise click.UsageError("--split goes with classification and --labels")
    elif (labels is None) == (set_name is None):
        raise click.UsageError(f"{task} needs the documents' classes: --labels FILE, or --data DIR with --set NAME")
    elif split is not None and (task != "classification" or labels is None):
        raise click.UsageError("--split goes with classification and --labels")


def _topic_scores(model: Model, classes: NDArray[np.generic] | None) -> dict[str, float]:
    """Figures of the topics found: their number, NPMI and diversity of ten words each, agreement with classes."""
    from sklearn.metrics import adjusted_rand_score, normalized_mutual_info_score

    from spherevec.evaluation.coherence import document_npmi, topic_diversity
    from spherevec.topics import topics_of

    topics = topics_of(model)
    words = topics.words_by_place
    scores: dict[str, float] = {"topics": len(topics), "diversity": topic_diversity(words)}
    if model.document_terms is not None:
        columns = {word: column for column, word in enumerate(model.words.names or ())}
        scores["npmi"] = document_npmi([[columns[word] for word in one] for one in words], model.document_terms)
    if classes is not None:
        scores["nmi"] = float(normalized_mutual_info_score(classes, topics.labels))
        scores["ari"] = float(adjusted_rand_score(classes, topics.labels))
    return scores


def _classes(
    labels: Path | None, split: Path | None, data: Path | None, set_name: str | None
) -> tuple[str, NDArray[np.generic], NDArray[np.str_] | None]:
    """Where the classes come from, the classes, and which documents are for training or testing, if that is given."""
    from spherevec import evaluation

    if set_name is not None:
        known = evaluation.load_labelled(set_name, data)
        return known.name, known.labels, known.split
    assert labels is not None
    return str(labels), evaluation.read_labels(labels), None if split is None else evaluation.read_split(split)
