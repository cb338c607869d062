"""`spherevec train`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from spherevec.cli import display
from spherevec.cli.checks import check_checkpoint_folder, check_model_folder, checkpoint_folder, finished
from spherevec.cli.cluster import cluster_options, cluster_settings
from spherevec.cli.options import (
    PATH,
    TrainingCommand,
    corpus_argument,
    force_option,
    given_settings,
    help_all_option,
    json_option,
    quiet_option,
    reading_options,
    split_reading,
    training_settings,
)
from spherevec.config import RECIPES

if TYPE_CHECKING:
    from spherevec.model import Model


@click.command(cls=TrainingCommand)
@corpus_argument
@click.option("--out", required=True, type=PATH, metavar="MODEL", help="Folder to write the model to.")
@click.option(
    "--recipe",
    type=click.Choice(list(RECIPES)),
    default="default",
    show_default=True,
    help="Settings to start from; those you give below win.",
)
@training_settings
@help_all_option
@click.option(
    "--tokenizer",
    metavar="NAME",
    default="words",
    show_default=True,
    help="How text is cut into words: words, whitespace, or with options: words:urls=drop,hyphens=join.",
)
@click.option("--pretokenized", is_flag=True, help="The text is already split: words are what stands between spaces.")
@reading_options
@click.option(
    "--checkpoint-every",
    metavar="TIME|EPOCHS|off",
    default="10m",
    show_default=True,
    help="How often to save the unfinished run, beside MODEL: 90s, 10m, 2h, or 2e for every second epoch.",
)
@cluster_options
@click.option("--resume", is_flag=True, help="Go on with a run that was interrupted: the same text and settings again.")
@force_option
@quiet_option
@json_option
def train(
    corpus: tuple[Path, ...],
    out: Path,
    recipe: str,
    tokenizer: str,
    pretokenized: bool,
    checkpoint_every: str,
    resume: bool,
    force: bool,
    quiet: bool,
    as_json: bool,
    **settings: Any,
) -> None:
    """Learn vectors from text.

    CORPUS is a text file with one document a line, a folder of text files, web pages or mails, or a table (.csv, .tsv,
    .jsonl, .json, .parquet); any but the last may be compressed (.gz, .xz, .zst). Several files, patterns in quotes, or
    - for standard input.
    """
    from spherevec.storage.locks import owned
    from spherevec.training import checkpoint
    from spherevec.training import train as learn

    def save(model: Model) -> None:
        model.save(out, overwrite=force)
        checkpoint.remove(unfinished)

    reading, settings = split_reading(settings)
    machines = cluster_settings(settings)
    unfinished = checkpoint_folder(out)
    with owned(out, run=True):
        model = finished(out) if resume and not force else None
        if model is not None:
            display.tell(f"{out}: the training is finished, nothing to resume")
        else:
            check_model_folder(out, force)
            check_checkpoint_folder(unfinished, resume, force, quiet)
            with display.progress_display(quiet) as progress:
                model = learn(
                    list(corpus),
                    recipe=recipe,
                    tokenizer="whitespace" if pretokenized else tokenizer,
                    **reading,
                    workdir=out.absolute().parent,  # the folder for temporary files may be small, or in memory
                    progress=progress,
                    checkpoint=unfinished,
                    checkpoint_every=checkpoint_every,
                    resume=resume,
                    start_over=force,
                    finish=save,
                    **machines,
                    **given_settings(settings),
                )
    display.tell_corpus(model, only_warnings=quiet)
    if not (quiet and as_json):
        display.tell(f"{out}: {display.summary(model)}")
    if as_json:
        display.print_json(model.describe())
