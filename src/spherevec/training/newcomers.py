"""Where new words begin: near the known words around them, rather than anywhere."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from spherevec import sphere
from spherevec.config import TrainConfig
from spherevec.engine.base import Backend, TrainingData

WINDOW = 5  # words on each side that are looked at, at most
_NOISE = 0.05  # of a random direction, for words without known neighbours
_PLACES_AT_ONCE = 1 << 16


def start_newcomers(backend: Backend, data: TrainingData, known: int, config: TrainConfig) -> None:
    """Set the vectors of the words from `known` on: inputs to the mean direction of the contexts around, and reversely.

    Args:
        backend: holds the vectors of the known words.
        data: the new text.
        known: how many words have vectors already.
    """
    if known == data.words:
        return
    sums = {table: np.zeros((data.words - known, config.vector_size)) for table in ("inputs", "contexts")}
    others = {table: backend.read(other, 0, known) for table, other in (("inputs", "contexts"), ("contexts", "inputs"))}
    weight = data.keep_probability[:known] / 2.0**32
    places = np.flatnonzero(data.ids >= known)
    for start in range(0, len(places), _PLACES_AT_ONCE):
        some = places[start : start + _PLACES_AT_ONCE]
        for step in (step for step in range(-WINDOW, WINDOW + 1) if step):
            word, neighbour = _pairs(data.ids, data.offsets, some, step, known)
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
