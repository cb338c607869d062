"""Subsampling of frequent words and negative sampling: probabilities as 32-bit integers."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from spherevec.errors import ConfigError

UNIGRAM_POWER = 0.75
_FULL = 2**32 - 1


def keep_probabilities(counts: NDArray[np.int64], sample: float) -> NDArray[np.uint32]:
    """Probability that an occurrence of each word is trained on, (V,): those above `sample` are subsampled.

    With f = share / sample a word is kept with probability (sqrt(f) + 1) / f; sample 0 keeps every word.
    """
    if sample == 0:
        return np.full(len(counts), _FULL, np.uint32)
    ratio = counts / (sample * counts.sum())
    return _as_uint32(np.minimum(1.0, (np.sqrt(ratio) + 1) / ratio))


def alias_table(counts: NDArray[np.int64]) -> tuple[NDArray[np.uint32], NDArray[np.int32]]:
    """The alias table of negative sampling: words by their counts to the power 3/4 with one random number each.

    Returns (share, other), both (V,): a uniformly chosen slot stands for its own word with probability
    share / 2**32, and for `other` otherwise.
    """
    if len(counts) < 2:
        raise ConfigError("negative sampling needs a vocabulary of at least two")
    weights = counts.astype(np.float64) ** UNIGRAM_POWER
    heights = weights * (len(counts) / weights.sum())
    other = np.arange(len(counts), dtype=np.int32)
    level = heights.tolist()
    low = np.flatnonzero(heights < 1).tolist()
    high = np.flatnonzero(heights >= 1).tolist()
    # Fill each slot below 1 from one above it; what rounding leaves over stands for itself.
    while low and high:
        slot, giver = low.pop(), high[-1]
        other[slot] = giver
        level[giver] -= 1 - level[slot]
        if level[giver] < 1:
            low.append(high.pop())
    share = np.minimum(np.asarray(level), 1.0)
    share[low + high] = 1.0
    return _as_uint32(share), other


def _as_uint32(probabilities: NDArray[np.float64]) -> NDArray[np.uint32]:
    return np.minimum(np.rint(probabilities * 2.0**32), _FULL).astype(np.uint32)
