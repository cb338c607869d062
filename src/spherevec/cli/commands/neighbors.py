"""`spherevec neighbors`."""

from __future__ import annotations

from pathlib import Path

import click

from spherevec.cli import display
from spherevec.cli.checks import documents_of, load_model
from spherevec.cli.options import json_option, model_argument, top_option
from spherevec.model.keyed_vectors import UnknownKeyError


@click.command()
@model_argument
@click.argument("words", metavar="WORD...", nargs=-1)
@click.option("--doc", "documents", metavar="ID", multiple=True, help="Documents like this one.")
@top_option
@click.option("--subwords", is_flag=True, help="Guess the vector of an unknown word from its spelling.")
@json_option
def neighbors(
    folder: Path, words: tuple[str, ...], documents: tuple[str, ...], top: int, subwords: bool, as_json: bool
) -> None:
    """Nearest words, or documents, with their cosines.

    One list for each WORD: the words nearest to it. One list for each --doc: the documents nearest to it. What the
    model does not know is named, and the others are answered.
    """
    if not words and not documents:
        raise click.UsageError("give a word, or a document with --doc")
    model = load_model(folder)
    model.words.guesses = subwords
    guessed = [word for word in words if subwords and word not in model.words]
    answers: list[tuple[str, display.Answers]] = []
    unknown: list[UnknownKeyError] = []
    for word in words:
        try:
            answers.append((word, model.words.most_similar(word, topn=top)))
        except UnknownKeyError as error:
            unknown.append(error)
    titles: dict[object, str] = {}
    for identifier in documents:
        docs = documents_of(model, folder)
        table = model.documents
        assert table is not None
        found = docs.most_similar(table.row_of(identifier), topn=top)
        titles |= {key: table.title(table.row_of(str(key))) for key, _ in found}
        answers.append((identifier, found))
    if unknown and not answers:
        raise unknown[0]
    for fault in unknown:
        display.tell(str(fault))
    for word in guessed:
        display.tell(f"{word!r} is not known to the model: its vector is a guess from its spelling")
    display.print_neighbors(answers, as_json, titles, guessed)
