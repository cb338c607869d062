"""The small language of queries: quotation marks ask for a phrase, a minus in front of a word excludes it."""

from __future__ import annotations

import re
from typing import NamedTuple

_SPECIAL = re.compile(r'(?:(?<=\s)|^)(-?)"([^"]+)"|(?:(?<=\s)|^)-(?=\w)(\S+)')


class ParsedQuery(NamedTuple):
    """What a query asks for.

    Attributes:
        text: the words to search by, those of phrases included.
        phrases: what must stand in a document, word for word.
        excluded: words or phrases that must not.
    """

    text: str
    phrases: tuple[str, ...] = ()
    excluded: tuple[str, ...] = ()


def parse_query(text: str) -> ParsedQuery:
    """Split a query into words, phrases and exclusions.

    >>> parse_query('jaguar "top speed" -car')
    ParsedQuery(text='jaguar top speed', phrases=('top speed',), excluded=('car',))
    >>> parse_query("covid-19 - a review").text
    'covid-19 - a review'
    """
    phrases: list[str] = []
    excluded: list[str] = []

    def take(match: re.Match[str]) -> str:
        minus, phrase, word = match.groups()
        if word or minus:
            excluded.append(word or phrase)
            return ""
        phrases.append(phrase)
        return str(phrase)

    words = _SPECIAL.sub(take, text)
    return ParsedQuery(" ".join(words.split()), tuple(phrases), tuple(excluded))
