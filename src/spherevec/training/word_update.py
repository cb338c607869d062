"""Words in an update: new ones start near the known words around them, and what is known stays.

The vectors of known words are von Mises–Fisher priors while a model learns from new text.

A word that occurred n times before and occurs m times in the new text has w n + m witnesses: an old occurrence counts
for w = 2 new ones, since the model took twice as many passes over it. If training alone would move the word from x₀ to
x, the prior holds it back by w n of them: it belongs at the direction of w n x₀ + m x. An epoch that moves a word only
a little earns only a little of that pull, so that the balance is the same for every learning rate: with
a = strength · alpha · (w n + m), the occurrences counted after subsampling, the share of x₀ is

    w n / (w n + m) · (1 - exp(-a))

A word that does not occur in the new text goes back to where it was, to the last bit.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from spherevec import sphere
from spherevec.config import TrainConfig
from spherevec.corpus import EncodedCorpus
from spherevec.engine.base import Backend
from spherevec.engine.sampling import keep_probabilities
from spherevec.engine.schedule import CHUNK_ROWS
from spherevec.sphere import Floats

# Steps that one occurrence stands for, and new occurrences that an old one counts for; experiments/update says how they
# were chosen.
STRENGTH, WITNESSES = 20.0, 2.0
_PROBABILITY_ONE = 2.0**32
WINDOW = 5  # words on each side that are looked at, at most
_NOISE = 0.05  # of a random direction, for words without known neighbours
_PLACES_AT_ONCE = 1 << 16


class WordPrior:
    """Pulls the first V words of a run back to where they were, after every epoch.

    Args:
        tables: "inputs" and "contexts" as they were before, (V, dim) each.
        before, new: (V,) how often each word occurred in the text of before, and occurs in the new text.
        keep_probability: (V,) of subsampling, as 32-bit integers.
        config: the resolved settings of the run.
    """

    def __init__(
        self,
        tables: dict[str, Floats],
        before: NDArray[np.int64],
        new: NDArray[np.int64],
        keep_probability: NDArray[np.uint32],
        config: TrainConfig,
    ) -> None:
        self._tables, self._config = tables, config
        known = WITNESSES * before
        self._share = known / np.maximum(known + new, 1)
        self._kept = (known + new) * (keep_probability / _PROBABILITY_ONE)
        self._unseen = new == 0

    def shares(self, epoch: int) -> NDArray[np.float64]:
        """The share (V,) of each word's old direction after the epoch of this number, counted from 0."""
        alpha = self._config.alpha * (1 - (epoch + 0.5) / self._config.epoch_count)
        shares: NDArray[np.float64] = self._share * -np.expm1(-STRENGTH * alpha * self._kept)
        shares[self._unseen] = 1.0
        return shares

    def pull(self, backend: Backend, epoch: int) -> None:
        """Move the words of a backend back by their shares."""
        shares = self.shares(epoch)
        for table, before in self._tables.items():
            for start in range(0, len(before), CHUNK_ROWS):
                old = before[start : start + CHUNK_ROWS]
                share = shares[start : start + len(old), None]
                mixed = share * old + (1 - share) * backend.read(table, start, start + len(old)).astype(np.float64)
                lost = np.linalg.norm(mixed, axis=1) < 1e-6  # opposite directions cancel out
                mixed[lost] = old[lost]
                rows = sphere.normalize(mixed).astype(np.float32)
                rows[share[:, 0] == 1.0] = old[share[:, 0] == 1.0]
                backend.load(table, start, rows)


def initialise_new_words(backend: Backend, corpus: EncodedCorpus, known: int, config: TrainConfig) -> None:
    """Set the vectors of the words from `known` on: inputs to the mean direction of contexts around, and vice versa."""
    counts, ids, offsets = corpus.vocabulary.counts, corpus.ids, corpus.offsets
    if known == len(counts):
        return
    sums = {table: np.zeros((len(counts) - known, config.vector_size)) for table in ("inputs", "contexts")}
    others = {table: backend.read(other, 0, known) for table, other in (("inputs", "contexts"), ("contexts", "inputs"))}
    weight = keep_probabilities(counts, config.sample_threshold)[:known] / _PROBABILITY_ONE
    places = np.flatnonzero(ids >= known)
    for start in range(0, len(places), _PLACES_AT_ONCE):
        some = places[start : start + _PLACES_AT_ONCE]
        for step in (step for step in range(-WINDOW, WINDOW + 1) if step):
            word, neighbour = _pairs(ids, offsets, some, step, known)
            for table, total in sums.items():
                np.add.at(total, word - known, others[table][neighbour] * weight[neighbour, None])
    rng = np.random.default_rng((config.seed, known))
    for table, total in sums.items():
        noise = sphere.normalize(rng.standard_normal(total.shape))
        backend.load(table, known, sphere.normalize(total + _NOISE * noise).astype(np.float32))


def _pairs(
    ids: NDArray[np.int32], offsets: NDArray[np.int64], places: NDArray[np.int64], step: int, known: int
) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """The new words at some places, and the known words `step` further in the same document, where there is one."""
    document = np.searchsorted(offsets, places, side="right") - 1
    other = places + step
    inside = (other >= offsets[document]) & (other < offsets[document + 1])
    word, neighbour = ids[places[inside]], ids[other[inside]]
    return word[neighbour < known], neighbour[neighbour < known]
