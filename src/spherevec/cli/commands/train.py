"""`spherevec train`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from spherevec.cli import display
from spherevec.cli.console import Console
from spherevec.cli.groups import option_group
from spherevec.cli.model_output import ModelOutput, model_output_options
from spherevec.cli.options import (
    TrainingCommand,
    corpus_argument,
    help_all_option,
    output_options,
    pretokenized_option,
    ray_options,
    reading_options,
    training_settings,
)
from spherevec.config import RECIPES
from spherevec.corpus.read.options import ReadOptions

if TYPE_CHECKING:
    from spherevec.model import Model


@click.command(cls=TrainingCommand)
@corpus_argument
@model_output_options("MODEL")
@click.option(
    "--recipe",
    type=click.Choice(list(RECIPES)),
    default="default",
    show_default=True,
    help="Settings to start from; those you give below win.",
)
@training_settings
@help_all_option
@option_group(
    "tokenizer",
    lambda tokenizer, pretokenized: "whitespace" if pretokenized else tokenizer,
    click.option(
        "--tokenizer",
        metavar="NAME",
        default="words",
        show_default=True,
        help="How text is cut into words: words, whitespace, or with options: words:urls=drop,hyphens=join.",
    ),
    pretokenized_option,
)
@reading_options
@ray_options
@output_options
def train(
    corpus: tuple[Path, ...],
    output: ModelOutput,
    recipe: str,
    settings: dict[str, Any],
    tokenizer: str,
    reading: ReadOptions,
    ray: dict[str, Any],
    console: Console,
) -> None:
    """Learn vectors from text.

    CORPUS is a text file with one document per line, a folder of text files, web pages or e-mails, or a table (.csv,
    .tsv, .jsonl, .json, .parquet, .xlsx, .ods); all but the last three may be compressed (.gz, .xz, .zst). Give several
    files, patterns in quotes, or - for standard input.
    """
    from spherevec.training import train as learn

    with output.owned():
        model = output.finished(lambda model: _is_result(output, model))
        if model is not None:
            display.tell(f"{output.out}: the training is finished, nothing to resume")
        else:
            output.check_run(console)
            with console.progress() as progress:
                model = learn(
                    list(corpus),
                    recipe=recipe,
                    tokenizer=tokenizer,
                    progress=progress,
                    reading=reading,
                    **output.run_arguments(),
                    **ray,
                    **settings,
                )
    console.summary(display.corpus_summary(model))
    console.written(f"{output.out}: {display.summary(model)}", model.describe())


def _is_result(output: ModelOutput, model: Model) -> bool:
    """Whether the checkpoint beside `model`, if there is one, is of the run that made it."""
    from spherevec.training import checkpoint

    left = checkpoint.load(output.checkpoint)
    if left is None:
        return True
    expected = {**left.config, "threads": (model.config or {}).get("threads")}
    counts = [model.provenance.get(name) for name in ("documents", "tokens")]
    return model.config == expected and counts == [left.corpus["documents"], left.corpus["tokens"]]
