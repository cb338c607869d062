"""`spherevec tokenize`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from spherevec.cli import display
from spherevec.cli.options import corpus_argument, json_option, reading_options, split_reading


@click.command()
@corpus_argument
@click.option("--tokenizer", metavar="NAME", default="words", show_default=True, help="As for `train`.")
@click.option("--phrases", is_flag=True, help="Also look for multi-word terms.")
@click.option("--min-count", type=click.IntRange(1), metavar="N", help="What is rare; by default as for `train`.")
@click.option(
    "--top", type=click.IntRange(1), metavar="N", default=50, show_default=True, help="How many words to show."
)
@reading_options
@json_option
def tokenize(
    corpus: tuple[Path, ...],
    tokenizer: str,
    phrases: bool,
    min_count: int | None,
    top: int,
    as_json: bool,
    **settings: Any,
) -> None:
    """What the tokenizer makes of a text, before any training.

    Counts, the most frequent words, and examples of what was joined into one word and what was left out.
    """
    from spherevec.corpus import read_documents
    from spherevec.corpus.preview import preview

    reading, _ = split_reading(settings)
    found = preview(read_documents(list(corpus), **reading), tokenizer, phrases=phrases, min_count=min_count, top=top)
    if as_json:
        display.print_json(found)
        return
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
    for warning in found["warnings"]:
        display.tell(f"warning: {warning}")
