"""New words of an update start near the known words around them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from spherevec import sphere
from spherevec.config import TrainConfig
from spherevec.corpus import EncodedCorpus
from spherevec.engine.base import Backend
from spherevec.engine.sampling import keep_probabilities

WINDOW = 5  # words on each side that are looked at, at most
_NOISE = 0.05  # of a random direction, for words without known neighbours
_PLACES_AT_ONCE = 1 << 16


def initialise_new_words(backend: Backend, corpus: EncodedCorpus, known: int, config: TrainConfig) -> None:
    """Set the vectors of the words from `known` on: inputs to the mean direction of the contexts around, and reversely.

    Args:
        backend: holds the vectors of the known words.
        corpus: the new text.
        known: how many words have vectors already.
    """
    counts, ids, offsets = corpus.vocabulary.counts, corpus.ids, corpus.offsets
    if known == len(counts):
        return
    sums = {table: np.zeros((len(counts) - known, config.vector_size)) for table in ("inputs", "contexts")}
    others = {table: backend.read(other, 0, known) for table, other in (("inputs", "contexts"), ("contexts", "inputs"))}
    weight = keep_probabilities(counts, config.sample_threshold)[:known] / 2.0**32
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
