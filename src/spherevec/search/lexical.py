"""BM25 over the words of documents: what each word of a query gives each document that holds it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from spherevec.search.terms import DocumentTerms

Float32 = NDArray[np.float32]
Int32 = NDArray[np.int32]

K1 = 1.2  # how soon more occurrences of a word stop to count
B = 0.75  # how far long documents are held back


class Match(NamedTuple):
    """One word of a query and the documents that hold it."""

    word: int | str  # its id, or the word itself where it has no vector
    rows: Int32  # (m,) rows of the documents that hold it, ascending
    saturation: Float32  # (m,) from 0 to 1, how much of the word's weight each gets by its count and length
    idf: float  # inverse document frequency of the word
    rarity: float  # the same as a share of the most it can be, that of a word in one document
    times: int  # how often the word is in the query


class LexicalIndex:
    """Finds documents by the words that they share with a query."""

    def __init__(self, terms: DocumentTerms) -> None:
        self._terms = terms
        lengths = terms.lengths.astype(np.float32)
        mean = max(float(lengths.mean(dtype=np.float64)) if len(lengths) else 1.0, 1.0)
        self._norms: Float32 = np.float32(K1) * (1 - B + B * lengths / np.float32(mean))

    def holders(self, word: int | str) -> Int32:
        """The rows of the documents that hold a word: its id, or the word itself where it has no vector."""
        rows = self._terms.rare_postings(word) if isinstance(word, str) else self._terms.postings(word)[0]
        return np.unique(rows[self._sound(rows)])

    def matches(self, words: NDArray[np.int32], rare: Sequence[str] = ()) -> list[Match]:
        """The words of a query that some document holds.

        Args:
            words: the ids of the words; one that occurs twice counts twice.
            rare: words without a vector, which few documents may hold.
        """
        known, times = np.unique(words, return_counts=True)
        found = [
            self._match(word, *self._terms.postings(word), count)
            for word, count in zip(known.tolist(), times.tolist(), strict=True)
        ]
        for name in dict.fromkeys(rare):
            rows, often = np.unique(self._terms.rare_postings(name), return_counts=True)
            found += [self._match(name, rows, often, 1)]
        return [match for match in found if len(match.rows)]

    def scores(self, matches: Sequence[Match]) -> Float32:
        """BM25 of each document, (n,)."""
        scores = np.zeros(self._terms.n_documents, np.float32)
        for match in matches:
            scores[match.rows] += np.float32(match.idf * match.times) * match.saturation
        return scores

    def _match(self, word: int | str, rows: Int32, often: NDArray[np.integer[Any]], times: int) -> Match:
        sound = self._sound(rows)
        rows, often = rows[sound], np.minimum(often[sound], 255).astype(np.float32)
        idf = self._idf(len(rows))
        return Match(word, rows, often / (often + self._norms[rows]), idf, idf / self._idf(1), times)

    def _sound(self, rows: Int32) -> NDArray[np.bool_]:
        """Which rows are documents; a damaged file may hold others."""
        return np.asarray((rows >= 0) & (rows < self._terms.n_documents))

    def _idf(self, holders: int) -> float:
        """The inverse document frequency of a word that so many documents hold; never negative."""
        return float(np.log1p((self._terms.n_documents - holders + 0.5) / (holders + 0.5)))
