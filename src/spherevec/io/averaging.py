"""Word vectors for programs that average them: the mean over a text's words points where `infer` puts the text.

`infer` weighs the words of a text and moves it away from what all texts share. An average can do neither, but both
depend almost linearly on the weighted mean of the words: the vector of word w becomes weight(w)^s · (A x(w) + c), where
s, A and c are fitted to the documents of the model.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from spherevec.model import Model
from spherevec.model.keyed_vectors import KeyedVectors

_POWERS = (0.5, 1.0, 1.5, 2.0)
_MOST_DOCUMENTS = 20_000
_ROUNDS = 4
_RIDGE = 1e-6  # of the mean variance

Floats = NDArray[np.float64]


def averaging_vectors(model: Model) -> tuple[KeyedVectors, float | None]:
    """Vectors to average, and the mean cosine of such averages to the document vectors of the model.

    A model that lacks document vectors, counts of their words or word weights gives its word vectors, and None.
    """
    weights, terms = model.word_weights, model.document_terms
    if weights is None or terms is None or model.docs is None:
        return model.words, None
    sample = np.linspace(0, len(model.docs) - 1, min(len(model.docs), _MOST_DOCUMENTS))
    rows = np.unique(sample.astype(np.intp))
    counts, targets = terms[rows].astype(np.float64), np.asarray(model.docs.vectors[rows], np.float64)
    inputs = np.asarray(model.inputs.vectors, np.float64)
    fits = [(*_fit(counts, targets, inputs, weights.astype(np.float64) ** power), power) for power in _POWERS]
    cosine, mapping, power = max(fits, key=lambda fit: fit[0])
    vectors = weights[:, None] ** power * (inputs @ mapping[:-1] + mapping[-1])
    return KeyedVectors(list(model.inputs.names or ()), vectors.astype(np.float32), model.inputs.counts), cosine


def _fit(counts: Any, targets: Floats, inputs: Floats, weights: Floats) -> tuple[float, Floats]:
    """The affine map (dim + 1, dim) from weighted means of words to documents, and its mean cosine.

    Least squares, where the length of each target is that of its last estimate: only directions count.
    """
    mass = counts @ weights
    known = mass > 0
    means = (counts[known] @ (weights[:, None] * inputs)) / mass[known, None]
    means = np.hstack([means, np.ones((len(means), 1))])
    targets = targets[known]
    squares = means.T @ means
    squares += _RIDGE * np.trace(squares) / len(squares) * np.eye(len(squares))
    lengths = np.ones(len(means))
    for _ in range(_ROUNDS):
        mapping = np.linalg.solve(squares, means.T @ (targets * lengths[:, None]))
        estimates = means @ mapping
        lengths = np.maximum(np.einsum("ij,ij->i", estimates, targets), 1e-6)
        lengths /= lengths.mean()
    cosines = np.einsum("ij,ij->i", estimates, targets) / np.maximum(np.linalg.norm(estimates, axis=1), 1e-12)
    return float(cosines.mean()), mapping
