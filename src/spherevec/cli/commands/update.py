"""`spherevec update`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from spherevec.cli import display
from spherevec.cli.checks import load_model
from spherevec.cli.console import Console
from spherevec.cli.groups import option_group
from spherevec.cli.model_output import ModelOutput, model_output_options
from spherevec.cli.options import (
    PATH,
    corpus_argument,
    device_option,
    given_settings,
    model_argument,
    output_options,
    pretokenized_option,
    reading_options,
    threads_option,
)
from spherevec.corpus.read.options import ReadOptions

if TYPE_CHECKING:
    from spherevec.model import Model


def _settings(pretokenized: bool, **settings: Any) -> dict[str, Any]:
    return given_settings(tokenizer="whitespace" if pretokenized else None, **settings)


@click.command()
@model_argument
@corpus_argument
@model_output_options("MODEL2")
@option_group(
    "settings",
    _settings,
    click.option("--add-only", is_flag=True, help="Add documents, learn nothing: all old vectors keep their bits."),
    click.option("--replay", type=PATH, metavar="CORPUS", help="Old text, if you have it: part is trained on again."),
    click.option(
        "--epochs", type=click.IntRange(1), metavar="N", help="Passes over the text. Default: half of the model's."
    ),
    click.option("--alpha", type=click.FloatRange(0, 10), metavar="X", help="Learning rate. Default: the model's."),
    threads_option,
    click.option("--seed", type=click.IntRange(0), metavar="N", help="Random seed. Default: the model's."),
    device_option,
    click.option(
        "--deterministic/--no-deterministic",
        default=None,
        help="The same bits with any number of threads; off: faster. Default: on, but for a GPU.",
    ),
    pretokenized_option,
)
@reading_options
@output_options
def update(
    folder: Path,
    corpus: tuple[Path, ...],
    output: ModelOutput,
    settings: dict[str, Any],
    reading: ReadOptions,
    console: Console,
) -> None:
    """Add documents and new words to a model; what it knows keeps its place and its ids.

    CORPUS is what `train` takes. A document with the id of an old one takes its place; one that the model already holds
    is skipped. MODEL stays as it is until MODEL2 is complete, also if both are one folder (--force).
    """
    with output.owned():
        model = load_model(folder)
        grown = None if output.out.resolve() == folder.resolve() else output.finished(lambda it: _is_result(model, it))
        if grown is not None:
            display.tell(f"{output.out}: the update is finished, nothing to resume")
            return
        output.check_run(console)
        with console.progress() as progress:
            grown = model.update(list(corpus), progress=progress, reading=reading, **output.run_arguments(), **settings)
    _tell_changes(model, grown, console)
    console.written(f"{output.out}: {display.summary(grown)}", grown.describe())


def _is_result(model: Model, grown: Model) -> bool:
    """Whether `grown` is an update of `model`."""
    before, after = (list(one.provenance.get("updates", ())) for one in (model, grown))
    same_origin = grown.provenance.get("created") == model.provenance.get("created")
    return same_origin and after[: len(before)] == before


def _tell_changes(model: Model, grown: Model, console: Console) -> None:
    """What an update did, and what it found."""
    if grown is model:
        console.tell("nothing new: the model holds all of these documents already")
        return
    entry = grown.provenance["updates"][-1]
    drift = entry["drift"]
    counts = [f"{entry[name]:,} {name}" for name in ("added", "replaced", "unchanged") if entry[name]]
    console.tell(f"documents: {', '.join(counts)}; {entry['new_words']:,} new words")
    console.tell(f"known words: mean cosine to before {entry['mean_cosine']:.4f}")
    for name, words in (("growing", drift["growing"]), ("new", drift["joined"])):
        if words:
            console.tell(f"{name} words: {', '.join(words)}")
    for name, topics in entry.get("topics", {}).items():
        for topic in topics if name != "kept" else ():
            kind = "new topic" if name == "added" else f"growing topic, from {topic['share_before']:.1%}"
            console.tell(f"{kind}: {topic['number']} {topic['title']} ({topic['share']:.1%} of the new documents)")
    console.tell(drift["advice"])
