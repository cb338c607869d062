"""Function words of a few languages, which neither begin nor end a phrase nor found a topic; and forms of one word."""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache
from pathlib import Path

# Beside this file: the name of a language, its words in the lines below it, and a blank line.
_LANGUAGES = Path(__file__).with_suffix(".txt").read_text("utf-8").split("\n\n")
BY_LANGUAGE = {name: frozenset(words.split()) for name, words in (part.split("\n", 1) for part in _LANGUAGES)}
FUNCTION_WORDS = frozenset().union(*BY_LANGUAGE.values())

# What two forms of one word differ by, each with the shortest stem that it is taken off.
_ENDINGS = {"'s": 2, "s": 3, "ies": 3, "y": 3, "es": 3, "e": 4, "ed": 4, "er": 4, "ers": 4, "ing": 4, "ly": 4}
# In any language, words are of one family that begin alike, with so many letters or more and this share of the longer
# one, with endings of so many letters at most, and whose vectors have this cosine or more. Accents do not count, which
# change with the ending: partición and particiones.
_SHORTEST_STEM, _STEM_SHARE, _LONGEST_ENDING, _NEAR = 4, 0.6, 3, 0.5
_ACCENTS = re.compile("[\u0300-\u036f]")


def same_word(first: str, second: str, cosine: float = 0.0) -> bool:
    """Whether two words are forms of one, or one is part of the other as a phrase.

    Phrases are joined by a space; "_" is a character of a word. With the cosine of their vectors, words of any language
    that begin alike are told from words that only look so.

    >>> same_word("share", "shares"), same_word("israel", "israeli's"), same_word("new york", "york")
    (True, False, True)
    >>> same_word("size_t", "wint_t"), same_word("ключей", "ключа", 0.8), same_word("universe", "university", 0.2)
    (False, True, False)
    >>> same_word("partición", "particiones", 0.9), same_word("zustand", "zustände", 0.7)
    (True, True)
    """
    if " " in first or " " in second:
        return bool(set(first.split()) & set(second.split()))
    return not _stems(first).isdisjoint(_stems(second)) or (cosine >= _NEAR and _begin_alike(first, second))


@lru_cache(1 << 14)
def without_accents(word: str) -> str:
    """The word without the accents of Latin, Greek and Cyrillic letters; other scripts stay.

    >>> without_accents("órdenes"), without_accents("ガ")
    ('ordenes', 'ガ')
    """
    if word.isascii():
        return word
    return unicodedata.normalize("NFC", _ACCENTS.sub("", unicodedata.normalize("NFD", word)))


def _begin_alike(first: str, second: str) -> bool:
    first, second = without_accents(first), without_accents(second)
    differs = (place for place, (one, other) in enumerate(zip(first, second, strict=False)) if one != other)
    shared = next(differs, min(len(first), len(second)))
    longer = max(len(first), len(second))
    return shared >= max(_SHORTEST_STEM, _STEM_SHARE * longer, longer - _LONGEST_ENDING)


def _stems(word: str) -> set[str]:
    """The word, and what is left when one ending is taken off."""
    stems = {word}
    for ending, shortest in _ENDINGS.items():
        stem = word.removesuffix(ending)
        if stem != word and len(stem) >= shortest:
            stems.add(stem)
    return stems
