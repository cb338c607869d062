"""`spherevec search`, `spherevec neighbors` and `spherevec analogy`."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from spherevec.cli import display
from spherevec.cli.display import Console
from spherevec.cli.options import model_argument, output_options, top_option
from spherevec.cli.outputs import documents_of, load_model
from spherevec.errors import ConfigError, CorpusError

if TYPE_CHECKING:
    from spherevec.model import Model
    from spherevec.model.keyed_vectors import Key
    from spherevec.search.results import SearchResults

_SIGNS = ("!=", ">=", "<=", "=", ">", "<")


@click.command()
@model_argument
@click.argument("texts", metavar="TEXT...", nargs=-1, required=True)
@top_option
@click.option("--where", "conditions", metavar="FIELD=VALUE", multiple=True, help="Only documents where this holds.")
@click.option(
    "--among",
    type=click.Choice(["docs", "words", "topics"]),
    default="docs",
    show_default=True,
    help="What to look for.",
)
@click.option(
    "--mode",
    type=click.Choice(["hybrid", "dense", "lexical"]),
    default="hybrid",
    show_default=True,
    help="Rank by direction, by exact word matches (BM25), or by both.",
)
@click.option(
    "--subwords/--no-subwords",
    default=True,
    show_default=True,
    help="Let the known word that is spelled most alike stand in for one that no document holds.",
)
@click.option("--explain", is_flag=True, help="Show what each score is made of: the cosine and the matching words.")
@output_options
def search(folder: Path, texts: tuple[str, ...], console: Console, **options: Any) -> None:
    """Find documents by what they say.

    Each line shows the score, the id and the title or a passage, best first, one list for each TEXT. A TEXT of - reads
    texts from standard input, one per line. "Quotation marks" within a TEXT ask for a phrase, -word excludes.

    --where takes =, !=, <, <=, >, >= and may be given several times, all of which must hold; values of one field
    separated by | stand for any of them: --where 'team=billing|sales' --where 'created>=2024-01-01'.
    """
    queries = [query for text in texts for query in (_from_standard_input() if text == "-" else [text])]
    results = find(load_model(folder), queries, **options)
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
    places = [(text.find(sign), -len(sign), sign) for sign in _SIGNS if sign in text]
    if not places or min(places)[0] == 0:
        raise click.UsageError(f"--where {text!r} is not a condition; write FIELD=VALUE, or FIELD>VALUE and the like")
    place, _, sign = min(places)
    field, value = text[:place].strip(), text[place + len(sign) :].strip()
    values = [one.strip() for one in value.split("|")] if sign in ("=", "!=") else value
    return field + ("" if sign == "=" else sign), values


@dataclass(frozen=True)
class _Neighbors:
    """The answers to one query: keys with their cosines, the titles of documents, and other forms of words."""

    query: str
    answers: Sequence[tuple[Key, float]]
    titles: Mapping[Key, str] = field(default_factory=dict)
    forms: Mapping[Key, Sequence[str]] = field(default_factory=dict)
    guessed: bool = False  # the vector of the query

    def as_dict(self) -> dict[str, Any]:
        rows = [
            {
                "key": key,
                "cosine": cosine,
                **({"title": self.titles[key]} if key in self.titles else {}),
                **({"forms": list(self.forms[key])} if self.forms.get(key) else {}),
            }
            for key, cosine in self.answers
        ]
        return {"query": self.query, **({"guessed": True} if self.guessed else {}), "neighbors": rows}

    def show(self) -> None:
        display.echo(f"{self.query} (guessed)" if self.guessed else self.query)
        for key, cosine in self.answers:
            forms = f" ({', '.join(self.forms[key])})" if self.forms.get(key) else ""
            display.echo(f"  {cosine:6.3f}  {key}{forms}  {self.titles.get(key, '')}".rstrip(" "))


def _print_neighbors(found: Sequence[_Neighbors], console: Console) -> None:
    def show() -> None:
        for place, one in enumerate(found):
            if place:
                display.echo()
            one.show()

    console.result([one.as_dict() for one in found], show)


@click.command()
@model_argument
@click.argument("a")
@click.argument("b")
@click.argument("c")
@top_option
@output_options
def analogy(folder: Path, a: str, b: str, c: str, top: int, console: Console) -> None:
    """A is to B as C is to … what?"""
    answers = load_model(folder).words.analogy(a, b, c, topn=top)
    _print_neighbors([_Neighbors(f"{a} : {b} = {c} : ?", answers)], console)


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
    from spherevec.model.keyed_vectors import UnknownKeyError

    if not words and not documents:
        raise click.UsageError("give a word, or a document with --doc")
    model = load_model(folder)
    model.words.guesses = subwords
    found: list[_Neighbors] = []
    unknown: list[UnknownKeyError] = []
    for word in words:
        try:
            found.append(_words_like(model, word, top, spellings))
        except UnknownKeyError as error:
            unknown.append(error)
    for identifier in documents:
        docs, table = documents_of(model, folder), model.documents
        assert table is not None
        answers = docs.most_similar(table.row_of(identifier), topn=top)
        titles = {key: table.title(table.row_of(str(key))) for key, _ in answers}
        found.append(_Neighbors(identifier, answers, titles))
    if unknown and not found:
        if not subwords:
            unknown[0].add_note("--subwords guesses the vector of a word from its spelling")
        raise unknown[0]
    for fault in unknown:
        display.tell(str(fault))
    for one in found:
        if one.guessed:
            console.tell(f"{one.query!r} is not known to the model: its vector is a guess from its spelling")
    _print_neighbors(found, console)


def _words_like(model: Model, word: str, top: int, spellings: bool) -> _Neighbors:
    guessed = word not in model.words
    if spellings:
        return _Neighbors(word, model.words.most_similar(word, topn=top), guessed=guessed)
    families = model.words.most_similar(word, topn=top, families=True)
    forms: dict[Key, Sequence[str]] = {family.key: family.forms for family in families}
    return _Neighbors(word, [(one.key, one.cosine) for one in families], forms=forms, guessed=guessed)
