"""`spherevec train` and `spherevec update`."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from spherevec.cli import display, options
from spherevec.cli.display import Console
from spherevec.cli.options import SETTINGS, choice, flag, number, option_group, path_option, setting_option
from spherevec.cli.outputs import ModelOutput, load_model, model_output_options
from spherevec.config import RECIPES
from spherevec.corpus.read.options import ReadOptions

if TYPE_CHECKING:
    from spherevec.model import Model


@click.command(cls=options.TrainingCommand)
@options.corpus_argument
@model_output_options("MODEL")
@choice("--recipe", RECIPES, default="default", help="Settings to start from; those you give below win.")
@options.training_settings
@options.help_all_option
@option_group(
    "tokenizer",
    lambda tokenizer, pretokenized: pretokenized or tokenizer,
    click.option(
        "--tokenizer",
        metavar="NAME",
        default="words",
        help="How text is cut into words: words, whitespace, or with options: words:urls=drop,hyphens=join.",
    ),
    options.pretokenized_option,
)
@options.reading_options
@options.ray_training_options
@options.output_options
def train(
    corpus: tuple[Path, ...],
    output: ModelOutput,
    settings: dict[str, Any],
    ray: dict[str, Any],
    console: Console,
    **text: Any,  # its recipe, tokenizer and reading options
) -> None:
    """Learn vectors from text.

    CORPUS is a text file with one document per line, a folder of text files, web pages or e-mails, or a table (.csv,
    .tsv, .jsonl, .json, .parquet, .xlsx, .ods); all but the last three may be compressed (.gz, .xz, .zst). Give several
    files, patterns in quotes, or - for standard input.
    """
    from spherevec.training import train as learn

    run = partial(learn, list(corpus), **text, **ray, **settings)
    model = output.run(run, lambda model: _is_of_checkpoint(output, model), console)
    console.summary(display.corpus_summary(model))
    console.written(f"{output.out}: {display.summary(model)}", model.describe())


def _is_of_checkpoint(output: ModelOutput, model: Model) -> bool:
    """Whether the checkpoint beside `model`, if there is one, is of the run that made it."""
    from spherevec.training import checkpoint

    left = checkpoint.load(output.checkpoint)
    if left is None:
        return True
    expected = {**left.config, "threads": (model.config or {}).get("threads")}
    counts = [model.provenance.get(name) for name in ("documents", "tokens")]
    return model.config == expected and counts == [left.corpus["documents"], left.corpus["tokens"]]


@click.command()
@options.model_argument
@options.corpus_argument
@model_output_options("MODEL2")
@option_group(
    "settings",
    options.given_settings,
    flag("--add-only", help="Add documents, learn nothing: old vectors do not change."),
    path_option("--replay", metavar="CORPUS", help="Old text, if you have it: part is trained on again."),
    number("--epochs", help="Passes over the text. Default: half of the model's."),
    *(setting_option(SETTINGS[name], "the model's") for name in ("alpha", "seed")),
    *(setting_option(SETTINGS[name]) for name in ("threads", "device", "deterministic")),
    options.tokenizer_option,
)
@options.reading_options
@options.output_options
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
    from spherevec.storage.locks import owned, resolved

    elsewhere = resolved(output.out) != resolved(folder)
    with owned(output.out, run=True):  # also while the model is read, which may be the one that is replaced
        model = load_model(folder)
        run = partial(model.update, list(corpus), reading=reading, **settings)
        grown = output.run(run, lambda found: elsewhere and _is_update(model, found), console)
    changed = grown.provenance.get("updates") != model.provenance.get("updates")
    if changed:
        _tell_changes(grown, console)
    else:
        console.tell("nothing new: the model holds all of these documents already")
    console.written(f"{output.out}: {display.summary(grown, timed=changed)}", grown.describe())


def _is_update(model: Model, grown: Model) -> bool:
    before, after = (list(one.provenance.get("updates", ())) for one in (model, grown))
    same_origin = grown.provenance.get("created") == model.provenance.get("created")
    return same_origin and after[: len(before)] == before


def _tell_changes(grown: Model, console: Console) -> None:
    """What an update did, and what it found."""
    entry = grown.provenance["updates"][-1]
    drift = entry["drift"]
    counts = [f"{entry[name]:,} {name}" for name in ("added", "replaced", "unchanged") if entry[name]]
    console.tell(f"documents: {', '.join(counts)}; {entry['new_words']:,} new words")
    if entry.get("fields"):
        console.tell(f"fields: {', '.join(entry['fields'])}")
    console.tell(f"known words: mean cosine to before {entry['mean_cosine']:.4f}")
    for name, words in (("growing", drift["growing"]), ("new", drift["joined"])):
        if words:
            console.tell(f"{name} words: {', '.join(map(repr, words))}")
    for name, topics in entry.get("topics", {}).items():
        for topic in topics if name != "kept" else ():
            kind = "new topic" if name == "added" else f"growing topic, from {topic['share_before']:.1%}"
            console.tell(f"{kind}: {topic['number']} {topic['title']} ({topic['share']:.1%} of the new documents)")
    console.tell(drift["advice"])
