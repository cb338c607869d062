"""How documents are fitted to input vectors that stay fixed: what a fit needs to know besides the vectors.

Two ways exist. Where the words have weights, a document is the maximum of its expected likelihood: every word pulls by
its weight, and negative samples push by their expectation, of which the first two moments are known. Nothing is random
and the order of words does not matter. The longer a document is, the less a repeated word adds, and the more the words
that say much stand out: a title has to live on all of its words, a long text can do with the best of them. The hinges,
and models of release 0.1.0, are fitted by sampled steps.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from spherevec.config import TrainConfig
from spherevec.engine.sampling import UNIGRAM_POWER
from spherevec.sphere import Floats
from spherevec.threads import in_order

# A word of weight w that occurs c times in a document pulls by c^damping · w^sharpening. Both exponents are 1 up to
# SHORT words; with each doubling beyond it one falls and the other grows by the shares in `FitTables.by_length`.
SHORT = 16
LEAST_DAMPING, MOST_SHARPENING = 0.5, 3.0
BY_LENGTH: Floats = np.array([0.125, 0.4], np.float32)
BY_LENGTH.setflags(write=False)

_ROWS_AT_ONCE = 1 << 11
_NO_DIRECTION = 1e-6  # a shorter sum of words has none
_NO_CURVATURE = 1e-12  # where all words are certain, none pulls

# No run comes to a larger bias: a round moves it by a tenth of the concentration at most. A fit stays finite with it.
MOST_BIAS = 1e9


class FitTables(NamedTuple):
    """What the words of a model say of documents, and where negative samples lie: V words, vectors of size dim."""

    weights: Floats  # (V,) how much each word says of its document; 1 on average over the text
    mean: Floats  # (dim,) of the input vectors of negative samples
    covariance: Floats  # (dim, dim)
    by_length: Floats = BY_LENGTH  # (2,) what twice the length takes from the one exponent and adds to the other


@dataclass(frozen=True)
class FitPlan:
    """One fit of documents."""

    config: TrainConfig  # `epochs`, `alpha` and `concentration` are those of the fit; see `TrainConfig.for_inference`
    bias: float  # of pairs of a word and a document
    least_steps: int = 0  # by sampled steps, short documents take more passes until they have made so many
    tables: FitTables | None = None  # None for a fit by sampled steps


def exponents(lengths: Any, by_length: Floats) -> tuple[Any, Any]:
    """The exponents of counts and of weights in documents of so many words, (N,); `lengths` may lie on any device."""
    doublings = np.maximum(np.log2(np.maximum(lengths, 1) / SHORT), 0)
    damping, sharpening = by_length.tolist()
    return np.maximum(1 - damping * doublings, LEAST_DAMPING), np.minimum(1 + sharpening * doublings, MOST_SHARPENING)


def fit_document(words: NDArray[np.int32], inputs: Floats, plan: FitPlan) -> NDArray[np.float64] | None:
    """One document at the maximum of its expected likelihood, in NumPy: no compiled code is loaded for a short query.

    Args:
        words: (n,) the ids of its words.
        inputs: (V, dim) unit rows.
        plan: with tables.

    Returns:
        A unit vector (dim,); None where the words have no direction.
    """
    assert plan.tables is not None
    tables, config = plan.tables, plan.config
    kappa, bias = config.concentration, plan.bias
    mean, covariance = tables.mean.astype(np.float64), tables.covariance.astype(np.float64)
    known, times = np.unique(words, return_counts=True)
    damping, sharpening = exponents(len(words), tables.by_length)
    weights = tables.weights[known].astype(np.float64) ** sharpening * times**damping
    rows = inputs[known].astype(np.float64)
    start = weights @ rows
    length = np.linalg.norm(start)
    if length < _NO_DIRECTION:
        return None
    vector: NDArray[np.float64] = start / length
    negatives = weights.sum() * config.negative
    for _ in range(config.epoch_count):
        pull = (weights * _sigmoid(bias - kappa * (rows @ vector))) @ rows
        spread = covariance @ vector
        variance = kappa**2 * (vector @ spread)
        root = np.sqrt(1 + np.pi / 8 * variance)
        likely = _sigmoid((kappa * (mean @ vector) - bias) / root)
        slope = likely * (1 - likely) / root
        gradient = pull - negatives * (likely * mean + slope * kappa * spread)
        gradient -= (gradient @ vector) * vector
        curvature = np.linalg.norm(pull) + negatives * slope * variance
        if not curvature > _NO_CURVATURE:
            break
        vector = vector + config.alpha * gradient / curvature
        vector /= np.linalg.norm(vector)
    return vector


def _sigmoid(x: Any) -> Any:
    with np.errstate(over="ignore"):  # 1 / infinity is 0, as it should be
        return 1 / (1 + np.exp(-x))


def negative_moments(inputs: Floats, counts: NDArray[np.int64], threads: int = 1) -> tuple[Floats, Floats]:
    """Mean (dim,) and covariance (dim, dim) of the input vectors (V, dim) of negative samples.

    Sums of some rows at a time are added up in a fixed order: the same vectors give the same bits for any `threads`.
    """
    from threadpoolctl import threadpool_limits

    probabilities = counts.astype(np.float64) ** UNIGRAM_POWER
    probabilities /= probabilities.sum()
    dim = inputs.shape[1]
    mean, second = np.zeros(dim), np.zeros((dim, dim))

    def sums(_: int, start: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        rows = inputs[start : start + _ROWS_AT_ONCE].astype(np.float64)
        weighted = rows * probabilities[start : start + _ROWS_AT_ONCE, None]
        return weighted.sum(axis=0), rows.T @ weighted

    with threadpool_limits(1):
        for first, products in in_order(range(0, len(inputs), _ROWS_AT_ONCE), sums, threads):
            mean += first
            second += products
    return mean.astype(np.float32), (second - np.outer(mean, mean)).astype(np.float32)
