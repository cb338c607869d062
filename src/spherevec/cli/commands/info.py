"""`spherevec info`, `spherevec check` and `spherevec tokenize`: what there is."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from spherevec.cli import display
from spherevec.cli.display import Console
from spherevec.cli.options import corpus_argument, flag, model_argument, number, output_options, reading_options
from spherevec.cli.outputs import load_model
from spherevec.corpus.read.options import ReadOptions
from spherevec.terminal import number_of, times

_HEADS = {"mean_resultant_length": "anisotropy", "tokens_per_second": "tokens/s"}


@click.command()
@model_argument
@output_options
def info(folder: Path, console: Console) -> None:
    """Show what a model holds and how it was trained."""
    model = load_model(folder)
    about = model.describe()
    console.result(about, lambda: _print_info(about, str(display.corpus_summary(model) or "")))


def _print_info(about: Mapping[str, Any], read: str) -> None:
    from spherevec.engine.figures import REPORTED

    plain = {**about, **about["provenance"], "trained": "no, imported" if about["config"] is None else "yes"}
    if about.get("fields"):
        plain["fields"] = ", ".join(f"{name} ({kind})" for name, kind in about["fields"].items())
    if updates := about["provenance"].get("updates"):
        added = updates[-1].get("added")
        last = f", the last added {number_of(added, 'document')}" if isinstance(added, int) else ""
        plain["updates"] = f"{len(updates):,}{last}"
    display.print_value({name: one for name, one in plain.items() if not isinstance(one, dict | list | None)})
    hidden = {figure.name for figure in REPORTED if figure.shown is None}
    record = [
        {_HEADS.get(name, name): one for name, one in epoch.items() if name not in hidden} for epoch in about["record"]
    ]
    sections = {
        "what was read": read.splitlines(),
        "settings": {name: one for name, one in (about["config"] or {}).items() if one is not None},
        "learned parameters": about["parameters"],
        "training record": record,
    }
    for title, value in sections.items():
        if value:
            display.echo()
            display.echo(title)
            display.print_value(value, indent="  ")
    if record:
        display.echo("  loss falls while training helps; anisotropy: 0 if words point everywhere, 1 if all agree")
    display.echo()
    display.echo("files: sizes and sampled checksums agree; 'spherevec check' compares every byte")


@click.command()
@model_argument
@output_options
def check(folder: Path, console: Console) -> None:
    """Compare every byte of a model with its checksums.

    Also checks that every vector is finite and of length 1, and every name unique. The exit code is 2 if anything is
    wrong.
    """
    from spherevec.model import Model

    model = Model.load(folder, verify=True)
    line = f"{folder}: sound: {display.summary(model)}; all checksums agree, all vectors are of length 1"
    console.result({"model": str(folder), "sound": True}, lambda: display.echo(line))


@click.command()
@corpus_argument
@click.option("--tokenizer", metavar="NAME", default="words", help="As for `train`.")
@flag("--phrases", help="Also look for multi-word terms.")
@number("--min-count", help="What counts as rare. Default: as for `train`.")
@number("--top", default=50, help="How many words to show.")
@reading_options
@output_options
def tokenize(corpus: tuple[Path, ...], reading: ReadOptions, console: Console, **options: Any) -> None:
    """Show what the tokenizer makes of a text, before any training.

    Counts, the most frequent words, and examples of what was joined into one word and what was left out.
    """
    from spherevec.corpus import read_documents
    from spherevec.corpus.count.encoder import preview

    found = preview(read_documents(list(corpus), reading), **options)
    console.result(found, lambda: _print_preview(found))
    for warning in found["warnings"] if not console.as_json else ():
        display.tell(f"warning: {warning}")


def _print_preview(found: dict[str, Any]) -> None:
    display.echo(
        f"{number_of(found['documents'], 'document')}, {found['empty']:,} of them empty; {found['tokens']:,} tokens; "
        f"{found['words']:,} distinct words, {found['rare']:,} of them occur fewer than {times(found['min_count'])}"
    )
    display.echo(f"tokenizer: {found['tokenizer']}")
    for kind, words in found["joined"].items():
        display.echo(f"{kind}: {'  '.join(words)}")
    left_out = "  ".join(f"{piece} {count:,}" for piece, count in found["left_out"])
    display.echo(f"left out, in the first documents: {left_out or 'nothing'}")
    for word, count in found["top"]:
        display.echo(f"{count:>10,}  {word}")
