"""`spherevec neighbors`."""

from __future__ import annotations

from pathlib import Path

import click

from spherevec.cli import display
from spherevec.cli.checks import document_position, documents_of, load_model
from spherevec.cli.options import json_option, model_argument, top_option


@click.command()
@model_argument
@click.argument("words", metavar="WORD...", nargs=-1)
@click.option("--doc", "documents", metavar="ID", multiple=True, help="Documents like this one: its name or number.")
@top_option
@json_option
def neighbors(folder: Path, words: tuple[str, ...], documents: tuple[str, ...], top: int, as_json: bool) -> None:
    """Nearest words, or documents, with their cosines.

    One list for each WORD: the words nearest to it. One list for each --doc: the documents nearest to it.
    """
    if not words and not documents:
        raise click.UsageError("give a word, or a document with --doc")
    model = load_model(folder)
    queries = [(word, model.words, model.words.position(word)) for word in words]
    for identifier in documents:
        docs = documents_of(model, folder)
        queries.append((identifier, docs, document_position(docs, identifier)))
    answers = [(query, table.most_similar(row, topn=top)) for query, table, row in queries]
    display.print_neighbors(answers, as_json)
