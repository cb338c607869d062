"""Neighbours of a word with the forms of one word in one line."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from spherevec.corpus.tokenize.word_forms import same_word

CANDIDATES = 5  # looked through for each family that is asked for


class Family(NamedTuple):
    """A word, its cosine to what was asked for, and its other forms among the neighbours."""

    key: str
    cosine: float
    forms: tuple[str, ...] = ()

    def __str__(self) -> str:
        return f"{self.key} ({', '.join(self.forms)})" if self.forms else self.key


def fold(neighbors: Iterable[tuple[Any, float]], given: Sequence[str], topn: int) -> list[Family]:
    """The first `topn` families among neighbours, nearest first; forms of the given words are left out.

    >>> fold([("doctors", 0.9), ("nurse", 0.8), ("nurses", 0.7), ("ward", 0.6)], ["doctor"], 2)
    [Family(key='nurse', cosine=0.8, forms=('nurses',)), Family(key='ward', cosine=0.6, forms=())]
    """
    families: list[Family] = []
    for key, cosine in neighbors:
        if any(same_word(key, word) for word in given):
            continue
        place = next((place for place, one in enumerate(families) if same_word(key, one.key)), len(families))
        if place < len(families):
            families[place] = families[place]._replace(forms=(*families[place].forms, key))
        elif place < topn:
            families.append(Family(key, cosine))
    return families
