"""Vectors for words that a model has never seen, guessed from their spelling.

A guess is the direction of the weighted mean of the known words that are spelled most alike. Words are compared by
their character n-grams, hashed into a fixed number of rows: the likeness of two words is the cosine of their n-grams,
each weighted by how rare it is among the known words. Two words that one slip of the hand makes the same (a letter
more, less or other, or two letters in the wrong order) are at least as alike as the share of letters that they have in
common. Nothing is learned and nothing is saved: known words keep their vectors, and training takes no longer.
`experiments/update/README.md` compares this with rows of n-grams that are fitted to the words, which guess worse.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from spherevec import sphere
from spherevec.sphere import Floats
from spherevec.threads import in_order

ROWS = 1 << 18
SHORTEST, LONGEST = 2, 4  # characters of an n-gram, the marks of the word's two ends included
LEAST_ALIKE = 0.6  # likeness of a known word that stands in for an unknown one; experiments/update has the figures
SHORTEST_GUESSED = 4  # letters of a word that another may stand in for
ALIKE = 20  # words that a guess is made of, at most
_COMPARED = 50  # words that share most n-grams, which are compared letter by letter
POWER = 4  # of the likeness: how much more the most alike words count
_FEW = 64  # words that NumPy has compared before compiled code is loaded
_PLACES = 1e9  # as in the compiled search
_HASHED = 1 << 11  # words whose n-grams are found in one go
_FACTOR = np.uint64(0x9E3779B97F4A7C15)
_NO_DIRECTION = 1e-9


class GuessedVector(np.ndarray[Any, np.dtype[np.float32]]):
    """A vector that was guessed from the spelling of a word: `guessed` is True.

    What is computed from it is an ordinary array.
    """

    guessed = True

    def __array_wrap__(self, array: Any, context: Any = None, return_scalar: bool = False) -> Any:
        plain = np.asarray(array)
        return plain[()] if return_scalar or not plain.ndim else plain  # NumPy 1 does not say which


class Ngrams(NamedTuple):
    """The hashed n-grams of some words: word i has those of rows[starts[i]:starts[i + 1]]."""

    starts: NDArray[np.int64]  # (words + 1,)
    rows: NDArray[np.int32]

    @classmethod
    def of(cls, words: Sequence[str], threads: int = 1) -> Ngrams:
        firsts = range(0, len(words), _HASHED)
        parts = list(in_order(firsts, lambda _, first: _ngrams(words[first : first + _HASHED]), threads))
        sizes = np.concatenate([np.zeros(1, np.int64), *(sizes for _, sizes in parts)])
        return cls(np.cumsum(sizes), np.concatenate([np.zeros(0, np.int32), *(rows for rows, _ in parts)]))

    def lengths(self, weights: NDArray[np.float64]) -> NDArray[np.float64]:
        """The length of each word, whose n-grams have weights, (words,)."""
        lengths = np.empty(len(self.starts) - 1)
        for first in range(0, len(lengths), _HASHED):
            starts = self.starts[first : first + _HASHED + 1]
            values, sizes = weights[self.rows[starts[0] : starts[-1]]], np.diff(starts)
            squares = np.bincount(np.repeat(np.arange(len(sizes)), sizes), values**2, len(sizes))
            lengths[first : first + _HASHED] = np.sqrt(np.maximum(squares, 1e-30))
        return lengths


def _ngrams(words: Sequence[str]) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """The rows of the different n-grams of each word, one word after the other, and how many each has."""
    codes = np.frombuffer("".join(f"<{word}>" for word in words).encode("utf-32-le", "surrogatepass"), np.uint32)
    lengths = np.fromiter((len(word) + 2 for word in words), np.int64, len(words))
    ends = np.repeat(np.cumsum(lengths), lengths)
    owners = np.repeat(np.arange(len(words)), lengths)
    found_rows, found_owners = [], []
    for size in range(SHORTEST, LONGEST + 1):
        places = np.flatnonzero(np.arange(len(codes)) + size <= ends)
        hashes = np.full(len(places), size, np.uint64)
        for step in range(size):
            hashes = (hashes ^ codes[places + step].astype(np.uint64)) * _FACTOR
            hashes ^= hashes >> np.uint64(29)
        found_rows.append((hashes % np.uint64(ROWS)).astype(np.int64))
        found_owners.append(owners[places])
    pairs = np.unique(np.concatenate(found_owners) * ROWS + np.concatenate(found_rows))
    return (pairs % ROWS).astype(np.int32), np.bincount(pairs // ROWS, minlength=len(words))


def one_edit_apart(word: str, other: str) -> bool:
    """Whether one slip makes a word another: a letter more, less or other, or two neighbours in the wrong order.

    >>> [one_edit_apart("refund", other) for other in ("refundd", "rfund", "refind", "erfund", "refund", "refunded")]
    [True, True, True, True, False, False]
    """
    if word == other or abs(len(word) - len(other)) > 1:
        return False
    short, long = sorted((word, other), key=len)
    at = next((place for place, letter in enumerate(short) if letter != long[place]), len(short))
    if len(short) < len(long):
        return short[at:] == long[at + 1 :]
    swapped = short[at : at + 2] == long[at : at + 2][::-1] and short[at + 2 :] == long[at + 2 :]
    return swapped or short[at + 1 :] == long[at + 1 :]


class Spellings:
    """The spellings of known words, to find those that are most like a new one.

    >>> spellings = Spellings(["refund", "invoice", "login", "refunds"])
    >>> rows, likeness = spellings.nearest(["refundd"], 2)
    >>> rows.tolist()
    [[0, 3]]
    """

    def __init__(self, words: Sequence[str], threads: int = 1) -> None:
        ngrams = Ngrams.of(words, threads)
        often = np.bincount(ngrams.rows, minlength=ROWS)
        self._weights = np.log1p(len(words) / (1 + often))
        # By n-gram: the words that have it, and its share in each.
        self._starts = np.concatenate([np.zeros(1, np.int64), np.cumsum(often)])
        order = np.argsort(ngrams.rows, kind="stable")
        self._owners = np.repeat(np.arange(len(words), dtype=np.int32), np.diff(ngrams.starts))[order]
        self._shares = np.repeat(self._weights, often) / ngrams.lengths(self._weights)[self._owners]
        self._words, self._size = words, len(words)

    def nearest(self, words: Sequence[str], k: int = ALIKE) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """The known words most like each word, (n, k), most alike first, and their likeness from 0 to 1, (n, k).

        Equal likeness goes to the first of the known words; where fewer than k share an n-gram, the rest is 0.
        """
        rows, likeness = self.sharing(words, max(k, _COMPARED))
        for at, word in enumerate(words):
            for place in range(rows.shape[1] if len(word) >= SHORTEST_GUESSED else 0):
                known = self._words[rows[at, place]]
                if likeness[at, place] > 0 and one_edit_apart(word, known):
                    common = 1 - 1 / max(len(word), len(known))
                    likeness[at, place] = max(likeness[at, place], round(common, 9))
        order = np.lexsort((rows, -likeness), axis=1)[:, : min(k, self._size)]
        return np.take_along_axis(rows, order, 1), np.take_along_axis(likeness, order, 1)

    def sharing(self, words: Sequence[str], k: int) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """As `nearest`, by n-grams alone; a few words need no compiled code."""
        rows = np.zeros((len(words), min(k, self._size)), np.int64)
        likeness = np.zeros(rows.shape)
        if len(words) > _FEW:
            self.fill_sharing(words, rows, likeness, self._size, self.buffers())
            return rows, likeness
        asked, weights = self._weighted(words)
        for word, (first, last) in enumerate(pairwise(asked.starts.tolist())):
            scores = np.zeros(self._size)
            for gram, weight in zip(asked.rows[first:last].tolist(), weights[first:last].tolist(), strict=True):
                here = slice(self._starts[gram], self._starts[gram + 1])
                scores[self._owners[here]] += weight * self._shares[here]
            scores = np.floor(scores * _PLACES + 0.5) / _PLACES
            best = np.argsort(-scores, kind="stable")[: rows.shape[1]]
            best = best[scores[best] > 0]
            rows[word, : len(best)], likeness[word, : len(best)] = best, scores[best]
        return rows, likeness

    def buffers(self) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        """What one thread needs to look for words that share n-grams."""
        return np.zeros(self._size), np.empty(self._size, np.int64)

    def fill_sharing(
        self,
        words: Sequence[str],
        rows: NDArray[np.int64],
        likeness: NDArray[np.float64],
        most: int,
        buffers: tuple[NDArray[np.float64], NDArray[np.int64]],
    ) -> None:
        """As `sharing`, into zeros (n, k), with the `buffers` of the calling thread.

        N-grams that more than `most` known words have are passed over: quicker, and nearly the same.
        """
        from spherevec.model.spelling_kernel import find_alike

        asked, weights = self._weighted(words)
        find_alike(
            asked.starts, asked.rows.astype(np.int64), weights, self._starts, self._owners, self._shares,
            most, likeness, rows, *buffers,
        )  # fmt: skip

    def _weighted(self, words: Sequence[str]) -> tuple[Ngrams, NDArray[np.float64]]:
        """The n-grams of words, and the weight of each in its word."""
        asked = Ngrams.of(words)
        return asked, self._weights[asked.rows] / np.repeat(asked.lengths(self._weights), np.diff(asked.starts))

    def guess(self, words: Sequence[str], vectors: Floats) -> Floats:
        """Unit vectors (n, dim) for words of any spelling, from the vectors (known, dim) of the known words.

        A word that shares no n-gram with any known word gets the mean direction of all.
        """
        rows, likeness = self.nearest(words)
        guesses = np.einsum("nk,nkd->nd", likeness**POWER, vectors[rows].astype(np.float64))
        lost = np.linalg.norm(guesses, axis=1) < _NO_DIRECTION
        if lost.any():
            guesses[lost] = vectors.mean(axis=0, dtype=np.float64) + _NO_DIRECTION
        return np.asarray(sphere.normalize(guesses), np.float32)

    def stand_ins(self, words: Sequence[str], least: float = LEAST_ALIKE) -> NDArray[np.int32]:
        """For each word the row of the known word that is spelled most alike, -1 where none is alike enough.

        Words without a letter, and those of less than four characters, have none.

        >>> Spellings(["refund", "invoice"]).stand_ins(["refundd", "zebra", "1234"]).tolist()
        [0, -1, -1]
        """
        rows, likeness = self.nearest(words, 1)
        found = rows[:, 0].astype(np.int32)
        guessed = np.array([len(word) >= SHORTEST_GUESSED and word.upper() != word.lower() for word in words], np.bool_)
        found[(likeness[:, 0] < least) | ~guessed] = -1
        return found
