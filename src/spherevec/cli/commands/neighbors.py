"""`spherevec neighbors`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from spherevec.cli import display
from spherevec.cli.checks import documents_of, load_model
from spherevec.cli.console import Console
from spherevec.cli.options import model_argument, output_options, top_option
from spherevec.model.keyed_vectors import Key, UnknownKeyError

if TYPE_CHECKING:
    from spherevec.model import Model


@click.command()
@model_argument
@click.argument("words", metavar="WORD...", nargs=-1)
@click.option("--doc", "documents", metavar="ID", multiple=True, help="Documents like this one.")
@top_option
@click.option("--subwords", is_flag=True, help="Guess the vector of an unknown word from its spelling.")
@click.option("--spellings", is_flag=True, help="Give each form of a word a line of its own.")
@output_options
def neighbors(
    folder: Path,
    words: tuple[str, ...],
    documents: tuple[str, ...],
    top: int,
    subwords: bool,
    spellings: bool,
    console: Console,
) -> None:
    """Show the nearest words, or documents, with their cosines.

    One list for each WORD: the words nearest to it, forms of one word in one line. One list for each --doc: the
    documents nearest to it. Unknown words are named, and the others are answered.
    """
    if not words and not documents:
        raise click.UsageError("give a word, or a document with --doc")
    model = load_model(folder)
    model.words.guesses = subwords
    found: list[display.Neighbors] = []
    unknown: list[UnknownKeyError] = []
    for word in words:
        try:
            found.append(_words_like(model, word, top, spellings))
        except UnknownKeyError as error:
            unknown.append(error)
    found += _documents_like(model, folder, documents, top)
    if unknown and not found:
        raise unknown[0]
    for fault in unknown:
        display.tell(str(fault))
    for one in found:
        if one.guessed:
            console.tell(f"{one.query!r} is not known to the model: its vector is a guess from its spelling")
    display.print_neighbors(found, console)


def _words_like(model: Model, word: str, top: int, spellings: bool) -> display.Neighbors:
    guessed = word not in model.words
    if spellings:
        return display.Neighbors(word, model.words.most_similar(word, topn=top), guessed=guessed)
    families = model.words.most_similar(word, topn=top, families=True)
    forms: dict[Key, tuple[str, ...]] = {family.key: family.forms for family in families}
    return display.Neighbors(word, [(one.key, one.cosine) for one in families], guessed=guessed, forms=forms)


def _documents_like(model: Model, folder: Path, ids: tuple[str, ...], top: int) -> Iterator[display.Neighbors]:
    for identifier in ids:
        docs, table = documents_of(model, folder), model.documents
        assert table is not None
        answers = docs.most_similar(table.row_of(identifier), topn=top)
        titles = {key: table.title(table.row_of(str(key))) for key, _ in answers}
        yield display.Neighbors(identifier, answers, titles=titles)
