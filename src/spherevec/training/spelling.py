"""Rare words, drawn towards words of like spelling.

A word that occurs a few times has a vector of few steps. What its spelling shares with other words says more of it:
`reinvested` is learned from five sentences, `invested` and `reinvest` from hundreds. So a rare word is drawn towards
the words that are spelled most alike, the more the rarer it is. Documents know nothing of it: they are fitted to the
input vectors. `experiments/recipe/STUDY.md` has the figures.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from spherevec import sphere
from spherevec.config import TrainConfig
from spherevec.corpus.count.vocabulary import Vocabulary
from spherevec.engine.schedule import CHUNK_ROWS
from spherevec.model.subwords import POWER, Spellings
from spherevec.sphere import Floats
from spherevec.storage.memory import give_memory_back
from spherevec.threads import in_order

Result = TypeVar("Result")

HALFWAY = 100  # occurrences of a word at which its spelling counts half as much as it would at none
FREQUENT = 1000  # occurrences from which on a word stays where its text has put it
TRUSTED = 30  # occurrences of a word at which it counts half as much for others as a frequent one
ALIKE_ENOUGH = 0.7  # likeness of spelling from which on a neighbour counts in full
MOST_ALIKE = 30  # neighbours of a word
MOST_WORDS = 1_000_000  # of a vocabulary: beyond it, spellings would take more memory than vectors should
_COMPARED_AT_ONCE = 1024  # words, each with those spelled most alike
_SUMMED_AT_ONCE = 64  # words, each with all its neighbours
_COMMON = 50  # n-grams that one of so many words has say little, and cost most of the time


class Neighbours(NamedTuple):
    """The words that are spelled most like some rare words: n of them, each with k neighbours."""

    places: NDArray[np.intp]  # (n,) of the rare words in the vocabulary
    others: NDArray[np.int32]  # (n, k) places of their neighbours
    weights: NDArray[np.float64]  # (n, k) of these
    strength: NDArray[np.float64]  # (n,) how far all neighbours together draw each word


class SpellingSmoother:
    """Draws rare words towards words of like spelling. Who is drawn where depends on spellings and counts alone.

    Words with digits take no part: codes are spelled alike and mean different things.

    Args:
        words, counts: of the vocabulary.
        threads: how many to use; the result is the same for any number.
    """

    def __init__(self, words: Sequence[str], counts: NDArray[np.int64], threads: int = 1) -> None:
        plain = [at for at, word in enumerate(words) if word.isalpha() or not any(map(str.isdigit, word))]
        self._places, self._threads = np.array(plain, np.intp), threads
        self._often = counts[self._places].astype(np.float64)
        self._trust = self._often / (self._often + TRUSTED)
        self._rare = np.flatnonzero(self._often < FREQUENT)
        self._names = [words[place] for place in plain]
        self._spellings = Spellings(self._names, threads) if len(self) else None
        self._found: list[Neighbours] | None = None
        give_memory_back()

    @classmethod
    def wanted(cls, vocabulary: Vocabulary, config: TrainConfig) -> bool:
        """Whether rare words are drawn towards words of like spelling."""
        return config.smooth_rare_words and len(vocabulary) <= MOST_WORDS

    def __len__(self) -> int:
        """How many words are drawn."""
        return len(self._rare)

    def find(self) -> None:
        """Find all neighbours now and keep them; otherwise they are found as they are needed, and forgotten."""
        self._found = list(self._each(lambda _, neighbours: neighbours))
        self._spellings = None

    def smooth(self, vectors: Floats) -> Floats:
        """Unit vectors (V, dim), those of rare words drawn towards words of like spelling; the same for any threads."""
        if not len(self):
            return vectors
        moved = vectors.copy()
        # Memory that is taken anew for each step would keep the threads waiting for each other.
        # Short steps take less of it; threads that do nothing else would wait for Python's lock between them.
        step = min(_SUMMED_AT_ONCE * (4 if self._found is not None else 1), len(self))
        size = (step * (MOST_ALIKE + 1), vectors.shape[1])
        rooms = [(np.empty(size, np.float32), np.empty(size)) for _ in range(self._threads)]

        def move(worker: int, found: Neighbours) -> None:
            for first in range(0, len(found.places), step):
                some = slice(first, first + step)
                places, others = found.places[some], found.others[some]
                single, double = (room[: others.size] for room in rooms[worker])
                np.take(vectors, others.reshape(-1), axis=0, out=single, mode="clip")
                np.copyto(double, single)
                guesses = np.einsum("nk,nkd->nd", found.weights[some], double.reshape(*others.shape, -1))
                lengths = np.linalg.norm(guesses, axis=1)
                sums = vectors[places] + (found.strength[some] / np.maximum(lengths, 1e-9))[:, None] * guesses
                known = (lengths > 1e-9) & (np.linalg.norm(sums, axis=1) > 1e-6)
                moved[places[known]] = sphere.normalize(sums[known])

        for _ in self._each(move):
            pass
        return moved

    def _each(self, use: Callable[[int, Neighbours], Result]) -> Iterator[Result]:
        """What `use` makes of all neighbours, some words at a time; it gets the number of its thread, too."""
        if self._found is not None:
            yield from in_order(self._found, use, self._threads)
            return
        spellings = self._spellings
        if spellings is None:
            return
        rooms = [spellings.buffers() for _ in range(self._threads)]
        starts = range(0, len(self._rare), _COMPARED_AT_ONCE)

        def work(worker: int, start: int) -> Result:
            rare = self._rare[start : start + _COMPARED_AT_ONCE]
            return use(worker, self._neighbours(rare, spellings, rooms[worker]))

        yield from in_order(starts, work, self._threads)

    def _neighbours(self, rare: NDArray[np.intp], spellings: Spellings, room: Any) -> Neighbours:
        names = self._names
        rows = np.zeros((len(rare), min(MOST_ALIKE + 1, len(names))), np.int64)
        likeness = np.zeros(rows.shape)
        most = max(CHUNK_ROWS // 8, len(names) // _COMMON)
        spellings.fill_sharing([names[at] for at in rare.tolist()], rows, likeness, most, room)
        likeness[rows == rare[:, None]] = 0
        often = self._often[rare]
        strength = HALFWAY / (HALFWAY + often) * np.minimum(likeness.max(axis=1) / ALIKE_ENOUGH, 1)
        weights = likeness**POWER * self._trust[rows]
        return Neighbours(self._places[rare], self._places[rows].astype(np.int32), weights, strength)


def found_neighbours(vocabulary: Vocabulary, threads: int) -> SpellingSmoother:
    """The smoother of a vocabulary, with all neighbours found."""
    smoother = SpellingSmoother(vocabulary.words, vocabulary.counts, threads)
    smoother.find()
    return smoother
