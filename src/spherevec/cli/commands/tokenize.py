"""`spherevec tokenize`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from spherevec.cli import display
from spherevec.cli.console import Console
from spherevec.cli.options import corpus_argument, output_options, reading_options
from spherevec.corpus.read.options import ReadOptions


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
    console.result(found, lambda: _print(found))
    for warning in found["warnings"] if not console.as_json else ():
        display.tell(f"warning: {warning}")


def _print(found: dict[str, Any]) -> None:
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
