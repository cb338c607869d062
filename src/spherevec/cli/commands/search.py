"""`spherevec search`."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from spherevec.cli import display
from spherevec.cli.checks import load_model
from spherevec.cli.options import json_option, model_argument, quiet_option, top_option
from spherevec.errors import ConfigError, CorpusError

if TYPE_CHECKING:
    from spherevec.model import Model
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
@json_option
@quiet_option
def search(
    folder: Path,
    texts: tuple[str, ...],
    top: int,
    conditions: tuple[str, ...],
    among: str,
    mode: str,
    subwords: bool,
    explain: bool,
    as_json: bool,
    quiet: bool,
) -> None:
    """Find documents by what they say.

    Each line shows the score, the id and the title or a passage, best first, one list for each TEXT. A TEXT of - reads
    texts from standard input, one a line. "Quotation marks" within a TEXT ask for a phrase, -word excludes.

    --where takes =, !=, <, <=, >, >= and may be given several times, all of which must hold; values of one field
    separated by | stand for any of them: --where 'team=billing|sales' --where 'created>=2024-01-01'.
    """
    queries = [query for text in texts for query in (_from_standard_input() if text == "-" else [text])]
    results = find(
        load_model(folder), queries, top, conditions, among=among, mode=mode, subwords=subwords, explain=explain
    )
    if as_json:
        display.print_json([result.as_dict() for result in results])
        return
    display.print_hits(results)
    if not quiet:
        for result in results:
            if result.note:
                display.tell(f"{result.query!r:.60}: {result.note}" if len(results) > 1 else result.note)


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
    texts = [line.strip() for line in sys.stdin]
    found = [text for text in texts if text]
    if not found:
        raise ConfigError("standard input holds no text to search for; give one a line")
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
