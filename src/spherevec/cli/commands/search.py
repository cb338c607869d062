"""`spherevec search`, `spherevec neighbors` and `spherevec analogy`."""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from spherevec.cli import display
from spherevec.cli.display import Console
from spherevec.cli.options import choice, flag, model_argument, output_options, top_option
from spherevec.cli.outputs import documents_of, load_model
from spherevec.errors import ConfigError, CorpusError

if TYPE_CHECKING:
    from spherevec.model import Model
    from spherevec.model.keyed_vectors import Key, UnknownKeyError
    from spherevec.search.results import SearchResults

_CONDITION = re.compile(r"(?!!=)([^=<>]+?)(!=|>=|<=|=|>|<)(.*)", re.DOTALL)


@click.command()
@model_argument
@click.argument("texts", metavar="TEXT...", nargs=-1, required=True)
@top_option
@click.option("--where", "conditions", metavar="FIELD=VALUE", multiple=True, help="Only documents where this holds.")
@choice("--among", ("docs", "words", "topics"), default="docs", help="What to look for.")
@choice(
    "--mode",
    ("hybrid", "dense", "lexical"),
    default="hybrid",
    help="Rank by meaning (dense), by exact words (lexical, BM25), or by both.",
)
@click.option(
    "--subwords/--no-subwords",
    default=True,
    help="Let the known word that is spelled most alike stand in for one that no document holds.",
)
@flag("--explain", help="Show what each score is made of: the cosine and the matching words.")
@output_options
def search(folder: Path, texts: tuple[str, ...], console: Console, **options: Any) -> None:
    """Find documents by what they say.

    Each line shows the score, the id and the title or a passage, best first, one list for each TEXT. A TEXT of - reads
    texts from standard input, one per line. "Quotation marks" within a TEXT ask for a phrase, -word excludes.

    --where takes =, !=, <, <=, >, >= and may be given several times, all of which must hold; values of one field
    separated by | stand for any of them: --where 'team=billing|sales' --where 'created>=2024-01-01'.
    """
    model = load_model(folder)
    fields = model.documents.fields if options["conditions"] and model.documents is not None else {}
    for text in texts:
        found = _CONDITION.fullmatch(text)
        if found is not None and found[1].strip() in fields:
            raise click.UsageError(f"{text!r:.60} stands where a text does; repeat --where for each condition")
    queries = [query for text in texts for query in (_from_standard_input() if text == "-" else [text])]
    results = find(model, queries, **options)
    console.result([result.as_dict() for result in results], lambda: display.print_hits(results))
    for result in results if not console.as_json else ():
        if result.note:
            console.tell(f"{result.query!r:.60}: {result.note}" if len(results) > 1 else result.note)


def find(
    model: Model, queries: list[str], top: int, conditions: Sequence[str] = (), among: str = "docs", **options: Any
) -> SearchResults:
    """Search with conditions as they are typed: team=billing|sales, created>=2024-01-01."""
    where = dict(map(_condition, conditions)) or None
    if len(conditions) > len(where or {}):
        raise click.UsageError("--where names the same field and comparison twice; use | for several values")
    results: SearchResults = model.search(queries, among, top, where=where, **options)
    if not any(len(result) for result in results) and all(result.note for result in results):
        raise CorpusError(results[0].note)
    return results


def _from_standard_input() -> list[str]:
    found = [text for line in sys.stdin if (text := line.strip())]
    if not found:
        raise ConfigError("standard input holds no text to search for; give one per line")
    return found


def _condition(text: str) -> tuple[str, Any]:
    """`team=billing|sales` as ("team", ["billing", "sales"]), `size>5` as ("size>", "5")."""
    found = _CONDITION.fullmatch(text)
    if found is None:
        raise click.UsageError(f"--where {text!r} is not a condition; write FIELD=VALUE, or FIELD>VALUE and the like")
    field, sign, value = (part.strip() for part in found.groups())
    values = [one.strip() for one in value.split("|")] if sign in ("=", "!=") else value
    return field + ("" if sign == "=" else sign), values


def _found(query: str, answers: Sequence[tuple[Key, float]], **about: Any) -> dict[str, Any]:
    """The answers to one query, ready for JSON."""
    return {"query": query, **about, "neighbors": [{"key": key, "cosine": cosine} for key, cosine in answers]}


def _print_neighbors(found: Sequence[Mapping[str, Any]]) -> None:
    for place, one in enumerate(found):
        if place:
            display.echo()
        display.echo(f"{one['query']} (guessed)" if "guessed" in one else one["query"])
        rows = []
        for answer in one["neighbors"]:
            forms = f" ({', '.join(answer['forms'])})" if "forms" in answer else ""
            rows.append((f"  {answer['cosine']:6.3f}", f"{answer['key']}{forms}", answer.get("title", "")))
        display.print_table(rows)


@click.command()
@model_argument
@click.argument("a")
@click.argument("b")
@click.argument("c")
@top_option
@output_options
def analogy(folder: Path, a: str, b: str, c: str, top: int, console: Console) -> None:
    """A is to B as C is to … what?"""
    found = [_found(f"{a} : {b} = {c} : ?", load_model(folder).words.analogy(a, b, c, topn=top))]
    console.result(found, lambda: _print_neighbors(found))


@click.command()
@model_argument
@click.argument("words", metavar="WORD...", nargs=-1)
@click.option("--doc", "documents", metavar="ID", multiple=True, help="Documents like this one.")
@top_option
@flag("--subwords", help="Guess the vector of an unknown word from its spelling.")
@flag("--spellings", help="Give each form of a word a line of its own.")
@output_options
def neighbors(
    folder: Path, words: tuple[str, ...], documents: tuple[str, ...], subwords: bool, console: Console, **how: Any
) -> None:
    """Show the nearest words, or documents, with their cosines.

    One list for each WORD: the words nearest to it, forms of one word in one line. One list for each --doc: the
    documents nearest to it. Unknown words are named, and the others are answered.
    """
    from spherevec.model.keyed_vectors import UnknownKeyError

    if not words and not documents:
        raise click.UsageError("give a word, or a document with --doc")
    model = load_model(folder)
    model.words.guesses = subwords
    found: list[dict[str, Any]] = []
    unknown: list[UnknownKeyError] = []
    for word in words:
        try:
            found.append(_words_like(model, word, **how))
        except UnknownKeyError as error:
            unknown.append(error)
    found += [_documents_like(model, folder, identifier, how["top"]) for identifier in documents]
    if unknown and not found:
        if not subwords:
            hint = _document_hint(model, unknown[0]) or "--subwords guesses the vector of a word from its spelling"
            unknown[0].add_note(hint)
        raise unknown[0]
    for fault in unknown:
        display.tell("; ".join(filter(None, (str(fault), _document_hint(model, fault)))))
    for one in found:
        if "guessed" in one:
            console.tell(f"{one['query']!r} is not known to the model: its vector is a guess from its spelling")
    console.result(found, lambda: _print_neighbors(found))


def _document_hint(model: Model, unknown: UnknownKeyError) -> str:
    """What to say where an unknown word is the id of a document."""
    known = model.documents is not None and str(unknown.key) in model.documents.ids
    return f"that is the id of a document: use --doc {unknown.key}" if known else ""


def _words_like(model: Model, word: str, top: int, spellings: bool) -> dict[str, Any]:
    guessed = {} if word in model.words else {"guessed": True}
    if spellings:
        return _found(word, model.words.most_similar(word, topn=top), **guessed)
    families = model.words.most_similar(word, topn=top, families=True)
    found = _found(word, [(one.key, one.cosine) for one in families], **guessed)
    for answer, family in zip(found["neighbors"], families, strict=True):
        answer |= {"forms": list(family.forms)} if family.forms else {}
    return found


def _documents_like(model: Model, folder: Path, identifier: str, top: int) -> dict[str, Any]:
    docs, table = documents_of(model, folder), model.documents
    assert table is not None
    found = _found(identifier, docs.most_similar(docs.index_to_key[table.row_of(identifier)], topn=top))
    for answer in found["neighbors"]:
        answer["title"] = table.title(table.row_of(str(answer["key"])))
    return found
