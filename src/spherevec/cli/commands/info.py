"""`spherevec info`, `spherevec check` and `spherevec tokenize`: what there is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from spherevec.cli import display
from spherevec.cli.display import Console
from spherevec.cli.options import corpus_argument, model_argument, output_options, reading_options
from spherevec.cli.outputs import load_model
from spherevec.corpus.read.options import ReadOptions

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
    plain = {name: value for name, value in about.items() if not isinstance(value, dict | list) and value is not None}
    plain["trained"] = "no, imported" if about["config"] is None else "yes"
    if about.get("fields"):
        plain["fields"] = ", ".join(f"{name} ({kind})" for name, kind in about["fields"].items())
    others = {name: value for name, value in about["provenance"].items() if not isinstance(value, dict | list)}
    display.print_columns([(name, _figure(value)) for name, value in (plain | others).items()])
    if read:
        _print_section("what was read", [[line] for line in read.splitlines()])
    _print_section("settings", [(name, _figure(value)) for name, value in (about["config"] or {}).items()])
    _print_section("learned parameters", [(name, _figure(value)) for name, value in about["parameters"].items()])
    if about["record"]:
        from spherevec.engine.figures import REPORTED

        hidden = {figure.name for figure in REPORTED if figure.shown is None}
        columns = [name for name in about["record"][0] if name not in hidden]
        rows = [[_figure(epoch[name]) for name in columns] for epoch in about["record"]]
        _print_section("training record", [[_HEADS.get(name, name) for name in columns], *rows])
        display.echo(
            "  loss falls while training helps; anisotropy is 0 where words point everywhere, 1 where all agree"
        )
    display.echo()
    display.echo("files: sizes and sampled checksums agree; 'spherevec check' compares every byte")


def _print_section(title: str, rows: Sequence[Sequence[str]]) -> None:
    if rows:
        display.echo()
        display.echo(title)
        display.print_columns([(f"  {first}", *others) for first, *others in rows])


def _figure(value: Any) -> str:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return str(value)
    return f"{value:,}" if isinstance(value, int) else f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"


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
@click.option("--tokenizer", metavar="NAME", default="words", show_default=True, help="As for `train`.")
@click.option("--phrases", is_flag=True, help="Also look for multi-word terms.")
@click.option("--min-count", type=click.IntRange(1), metavar="N", help="What counts as rare. Default: as for `train`.")
@click.option(
    "--top", type=click.IntRange(1), metavar="N", default=50, show_default=True, help="How many words to show."
)
@reading_options
@output_options
def tokenize(corpus: tuple[Path, ...], reading: ReadOptions, console: Console, **options: Any) -> None:
    """Show what the tokenizer makes of a text, before any training.

    Counts, the most frequent words, and examples of what was joined into one word and what was left out.
    """
    from spherevec.corpus import read_documents
    from spherevec.corpus.preview import preview

    found = preview(read_documents(list(corpus), reading), **options)
    console.result(found, lambda: _print_preview(found))
    for warning in found["warnings"] if not console.as_json else ():
        display.tell(f"warning: {warning}")


def _print_preview(found: dict[str, Any]) -> None:
    display.echo(
        f"{found['documents']:,} documents, {found['empty']:,} of them empty; {found['tokens']:,} tokens; "
        f"{found['words']:,} distinct words, {found['rare']:,} of them occur less than {found['min_count']} times"
    )
    display.echo(f"tokenizer: {found['tokenizer']}")
    for kind, words in found["joined"].items():
        display.echo(f"{kind}: {'  '.join(words)}")
    left_out = "  ".join(f"{piece} {count:,}" for piece, count in found["left_out"])
    display.echo(f"left out, in the first documents: {left_out or 'nothing'}")
    for word, count in found["top"]:
        display.echo(f"{count:>10,}  {word}")
