"""What a model has besides trained vectors: word vectors, vectors of empty documents, counts of words.

Rare words are drawn towards words of like spelling. A word that occurs a few times has a vector of few steps. What its
spelling shares with other words says more of it: `reinvested` is learned from five sentences, `invested` and `reinvest`
from hundreds. So a rare word is drawn towards the words that are spelled most alike, the more the rarer it is.
Documents know nothing of it: they are fitted to the input vectors. `experiments/recipe/STUDY.md` has the figures.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from spherevec import sphere
from spherevec.config import TrainConfig
from spherevec.corpus import EncodedCorpus, Vocabulary
from spherevec.engine.schedule import CHUNK_ROWS, COPIED_ROWS
from spherevec.errors import SpherevecError
from spherevec.model import KeyedVectors
from spherevec.model.subwords import POWER, Spellings
from spherevec.search.terms import DocumentTerms, count_terms
from spherevec.sphere import Floats
from spherevec.storage.files import working_folder
from spherevec.storage.memory import give_memory_back
from spherevec.threads import in_order
from spherevec.training.run import Learned

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
        threads: how many to use; the result is the same for any number.
        keep: find all neighbours now and keep them; otherwise they are found as they are needed, and forgotten.
    """

    def __init__(self, vocabulary: Vocabulary, threads: int = 1, *, keep: bool = False) -> None:
        words = vocabulary.words
        plain = [at for at, word in enumerate(words) if word.isalpha() or not any(map(str.isdigit, word))]
        self._places, self._threads = np.array(plain, np.intp), threads
        self._often = vocabulary.counts[self._places].astype(np.float64)
        self._trust = self._often / (self._often + TRUSTED)
        self._rare = np.flatnonzero(self._often < FREQUENT)
        self._names = [words[place] for place in plain]
        self._spellings = Spellings(self._names, threads) if len(self) else None
        self._found: list[Neighbours] | None = None
        if keep:
            self._found = list(self._each(lambda _, neighbours: neighbours))
            self._spellings = None
        give_memory_back()

    @classmethod
    def wanted(cls, vocabulary: Vocabulary, config: TrainConfig) -> bool:
        """Whether rare words are drawn towards words of like spelling."""
        return config.smooth_rare_words and len(vocabulary) <= MOST_WORDS

    def __len__(self) -> int:
        """How many words are drawn."""
        return len(self._rare)

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


def word_parts(
    learned: Learned, vocabulary: Vocabulary, config: TrainConfig, smoother: SpellingSmoother | None = None
) -> dict[str, Any]:
    """The parts of a model that have to do with words; the smoother of the vocabulary may be there already."""
    names, biases = vocabulary.words, learned.biases
    inputs, contexts = learned.tables["inputs"], learned.tables["contexts"]
    if smoother is None and SpellingSmoother.wanted(vocabulary, config):
        smoother = SpellingSmoother(vocabulary, config.thread_count)  # takes most memory now
    vectors = directions_of_sums(inputs, contexts) if config.add_contexts else inputs
    likelihood = config.objective_info.likelihood
    return {
        "words": KeyedVectors(names, vectors if smoother is None else smoother.smooth(vectors), vocabulary.counts),
        "contexts": KeyedVectors(names, contexts),
        "inputs": KeyedVectors(names, inputs) if config.has_own_words else None,
        "fit": learned.fit,
        "parameters": {"word_bias": biases.words, "document_bias": biases.documents} if likelihood else {},
    }


def directions_of_sums(inputs: NDArray[np.float32], contexts: NDArray[np.float32]) -> NDArray[np.float32]:
    """u + v back on the sphere, (n, dim): better on word similarity than either, and without their common direction."""
    sums = np.empty_like(inputs)
    for start in range(0, len(inputs), COPIED_ROWS):
        here = slice(start, start + COPIED_ROWS)
        both = inputs[here] + contexts[here]
        opposite = np.linalg.norm(both, axis=1) < 1e-6  # these have no direction
        both[opposite] = inputs[here][opposite]
        sums[here] = sphere.normalize(both)
    return sums


def fill_empty_documents(vectors: NDArray[np.float32], offsets: NDArray[np.int64]) -> None:
    """A document without a known word gets the mean direction of the others, rather than the noise it started from."""
    starts = range(0, len(vectors), COPIED_ROWS)

    def empty(start: int) -> NDArray[np.bool_]:
        return np.asarray(np.diff(offsets[start : start + COPIED_ROWS + 1]) == 0)

    if not any(empty(start).any() for start in starts):
        return
    total = np.zeros(vectors.shape[1])
    for start in starts:
        total += vectors[start : start + COPIED_ROWS][~empty(start)].sum(axis=0, dtype=np.float64)
    if np.linalg.norm(total) > 1e-6 * len(vectors):  # otherwise there are no others, or they have no common direction
        common = sphere.normalize(total).astype(np.float32)
        for start in starts:
            vectors[start : start + COPIED_ROWS][empty(start)] = common


def counted_terms(
    corpus: EncodedCorpus,
    workdir: str | Path | None,
    threads: int = 1,
    counted: Callable[[], Mapping[str, NDArray[Any]]] | None = None,
) -> DocumentTerms | None:
    """Which words each document of a corpus holds, the dropped ones included.

    If the disk is full, keyword search is disabled, but the run goes on. `counted` gives what a device has counted.
    """
    try:
        with working_folder(workdir) as folder:  # what is mapped from it lives on without a name
            rare = corpus.rare_words()
            arrays = None if counted is None else counted()
            return count_terms(corpus.ids, corpus.offsets, corpus.vocabulary.counts, folder, rare, threads, arrays)
    except SpherevecError as error:
        reason = str(error)
    except OSError as error:
        reason = f"{workdir or 'the folder for temporary files'}: {error.strerror or error}"
    warnings.warn(f"the words of the documents are not kept ({reason}): no search by words", stacklevel=2)
    return None
