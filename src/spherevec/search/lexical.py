"""BM25 over the words of a model's documents: finds what holds the very words of a query, rare ones above all."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from spherevec.search.terms import DocumentTerms

Float32 = NDArray[np.float32]

K1 = 1.2  # how soon more occurrences of a word stop to count
B = 0.75  # how far long documents are held back
FEW = 5  # a word that fewer documents hold is rare: it has no vector, or one that says little


class LexicalScores(NamedTuple):
    """What the words of a query say of each document.

    Attributes:
        scores: BM25, (n,).
        rare_share: which share of the most that a score can be comes from rare words.
        holders: rows of the documents that hold every rare word of the query, none where it has none.
    """

    scores: Float32
    rare_share: float
    holders: NDArray[np.int32]


class LexicalIndex:
    """Scores documents by the words that they share with a query.

    Args:
        terms: which words each document holds.
        k1, b: the two parameters of BM25.
    """

    def __init__(self, terms: DocumentTerms, k1: float = K1, b: float = B) -> None:
        self._terms = terms
        self._more = np.float32(k1 + 1)
        lengths = terms.lengths.astype(np.float32)
        mean = max(float(lengths.mean(dtype=np.float64)) if len(lengths) else 1.0, 1.0)
        self._norms: Float32 = np.float32(k1) * (1 - b + b * lengths / np.float32(mean))

    def holds(self, word: str) -> bool:
        """Whether any document holds a word that has no vector."""
        return len(self._terms.rare_postings(word)) > 0

    def scores(self, words: NDArray[np.int32], rare: Sequence[str] = ()) -> LexicalScores:
        """Score each document by BM25.

        Args:
            words: the ids of a query's words; one that occurs twice counts twice.
            rare: words of the query without a vector, which few documents may hold.
        """
        from spherevec.search.terms_kernel import add_scores

        scores = np.zeros(self._terms.n_documents, np.float32)
        bound = rare_bound = 0.0
        rare_rows = []
        known, times = np.unique(words, return_counts=True)
        postings = [(*self._terms.postings(word), count) for word, count in zip(known.tolist(), times, strict=True)]
        for name in dict.fromkeys(rare):
            holders, counts = np.unique(self._terms.rare_postings(name), return_counts=True)
            postings.append((holders, np.minimum(counts, 255).astype(np.uint8), 1))
        for rows, often, count in postings:
            if not len(rows):
                continue
            weight = self._weight(len(rows)) * int(count)
            bound += weight
            if len(rows) < FEW:
                rare_bound += weight
                rare_rows.append(np.asarray(rows))
            add_scores(rows, often, np.float32(weight), self._more, self._norms, scores)
        holders = reduce(np.intersect1d, rare_rows) if rare_rows else np.zeros(0, np.int32)
        return LexicalScores(scores, rare_bound / bound if bound else 0.0, holders)

    def _weight(self, holders: int) -> float:
        """The inverse document frequency of a word that so many documents hold; never negative."""
        return float(np.log1p((self._terms.n_documents - holders + 0.5) / (holders + 0.5)))
