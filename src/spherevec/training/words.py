"""The vectors that users see of words: input and context vectors together, rare words nearer to words of like spelling.

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
from spherevec.storage.memory import give_memory_back
from spherevec.threads import in_order
from spherevec.training.finishing import directions_of_sums

Floats = NDArray[np.float32]
Result = TypeVar("Result")

HALFWAY = 100  # occurrences of a word at which its spelling pulls half as much as it would at none
SETTLED = 1000  # occurrences from which on a word stays where its text has put it
TRUSTED = 30  # occurrences of a word at which it counts half as much for others as a frequent one
ALIKE_ENOUGH = 0.7  # likeness of spelling from which on a word pulls with full force
MOST_ALIKE = 30  # words that pull
MOST_WORDS = 1_000_000  # of a vocabulary: beyond it, spellings would take more memory than vectors should
_COMPARED_AT_ONCE = 1024  # words, each with those spelled most alike
_SUMMED_AT_ONCE = 64  # words, each with all that pull at it
_COMMON = 50  # n-grams that one of so many words has say little, and cost most of the time


def word_vectors(
    inputs: Floats, contexts: Floats, vocabulary: Vocabulary, config: TrainConfig, pulls: Pulls | None = None
) -> Floats:
    """The vectors (V, dim) of words in a model, from their input and context vectors.

    Args:
        pulls: of the vocabulary, where they are known already.
    """
    words, counts = vocabulary.words, vocabulary.counts
    if pulls is None and pulls_wanted(vocabulary, config):
        pulls = Pulls(words, counts, config.thread_count)  # which takes most memory in the beginning
    vectors = directions_of_sums(inputs, contexts) if config.add_contexts else inputs
    return vectors if pulls is None else smoothed(vectors, words, counts, config.thread_count, pulls)


def pulls_wanted(vocabulary: Vocabulary, config: TrainConfig) -> bool:
    """Whether rare words are drawn towards words of like spelling."""
    return config.smooth_rare_words and len(vocabulary) <= MOST_WORDS


class Pull(NamedTuple):
    """What pulls at some rare words: n of them, each pulled by k words."""

    places: NDArray[np.intp]  # (n,) of the rare words in the vocabulary
    others: NDArray[np.int32]  # (n, k) places of the words that pull
    weights: NDArray[np.float64]  # (n, k) of these
    strength: NDArray[np.float64]  # (n,) of all together


class Pulls:
    """Which words pull at each rare word, by spellings and counts: vectors have no part in it.

    Words with digits take no part: codes are spelled alike and mean different things.

    Args:
        words, counts: of the vocabulary.
        threads: how many to use; the result is the same for any number.
    """

    def __init__(self, words: Sequence[str], counts: NDArray[np.int64], threads: int = 1) -> None:
        plain = [at for at, word in enumerate(words) if word.isalpha() or not any(map(str.isdigit, word))]
        self._places, self.threads = np.array(plain, np.intp), threads
        self._often = counts[self._places].astype(np.float64)
        self._trust = self._often / (self._often + TRUSTED)
        self._rare = np.flatnonzero(self._often < SETTLED)
        self._names = [words[place] for place in plain]
        self._spellings = Spellings(self._names, threads) if len(self) else None
        self._found: list[Pull] | None = None
        give_memory_back()

    def __len__(self) -> int:
        """How many words are pulled at."""
        return len(self._rare)

    @property
    def found(self) -> bool:
        """Whether all are known already."""
        return self._found is not None

    def find(self) -> None:
        """Find them all now and keep them; otherwise they are found as they are asked for, and forgotten."""
        self._found = list(self.each(lambda _, pull: pull))
        self._spellings = None

    def each(self, use: Callable[[int, Pull], Result]) -> Iterator[Result]:
        """What `use` makes of all pulls, some words at a time; it gets the number of its thread, too."""
        if self._found is not None:
            yield from in_order(self._found, use, self.threads)
            return
        spellings = self._spellings
        if spellings is None:
            return
        rooms = [spellings.room() for _ in range(self.threads)]
        starts = range(0, len(self._rare), _COMPARED_AT_ONCE)

        def work(worker: int, start: int) -> Result:
            return use(worker, self._pull(self._rare[start : start + _COMPARED_AT_ONCE], spellings, rooms[worker]))

        yield from in_order(starts, work, self.threads)

    def _pull(self, rare: NDArray[np.intp], spellings: Spellings, room: Any) -> Pull:
        names = self._names
        rows = np.zeros((len(rare), min(MOST_ALIKE + 1, len(names))), np.int64)
        likeness = np.zeros(rows.shape)
        most = max(CHUNK_ROWS // 8, len(names) // _COMMON)
        spellings.fill_sharing([names[at] for at in rare.tolist()], rows, likeness, most, room)
        likeness[rows == rare[:, None]] = 0
        often = self._often[rare]
        strength = HALFWAY / (HALFWAY + often) * np.minimum(likeness.max(axis=1) / ALIKE_ENOUGH, 1)
        weights = likeness**POWER * self._trust[rows]
        return Pull(self._places[rare], self._places[rows].astype(np.int32), weights, strength)


def smoothed(
    vectors: Floats,
    words: Sequence[str],
    counts: NDArray[np.int64],
    threads: int = 1,
    pulls: Pulls | None = None,
) -> Floats:
    """Unit vectors (V, dim), those of rare words drawn towards words of like spelling; the same for any threads.

    Args:
        pulls: of these words and counts, where they are known already.
    """
    pulls = Pulls(words, counts, threads) if pulls is None else pulls
    if not len(pulls):
        return vectors
    moved = vectors.copy()
    # Memory that is taken anew for each step would keep the threads waiting for each other.
    # Short steps take less of it; threads that do nothing else would wait for Python's lock between them.
    step = min(_SUMMED_AT_ONCE * (4 if pulls.found else 1), len(pulls))
    size = (step * (MOST_ALIKE + 1), vectors.shape[1])
    rooms = [(np.empty(size, np.float32), np.empty(size)) for _ in range(pulls.threads)]

    def move(worker: int, pull: Pull) -> None:
        for first in range(0, len(pull.places), step):
            some = slice(first, first + step)
            places, others = pull.places[some], pull.others[some]
            single, double = (room[: others.size] for room in rooms[worker])
            np.take(vectors, others.reshape(-1), axis=0, out=single, mode="clip")
            np.copyto(double, single)
            guesses = np.einsum("nk,nkd->nd", pull.weights[some], double.reshape(*others.shape, -1))
            lengths = np.linalg.norm(guesses, axis=1)
            sums = vectors[places] + (pull.strength[some] / np.maximum(lengths, 1e-9))[:, None] * guesses
            known = (lengths > 1e-9) & (np.linalg.norm(sums, axis=1) > 1e-6)
            moved[places[known]] = sphere.normalize(sums[known])

    for _ in pulls.each(move):
        pass
    return moved
