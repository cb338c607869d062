"""k-nearest-neighbour classification for many numbers of neighbours, from one search a split."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.metrics import f1_score
from sklearn.neighbors import NearestNeighbors

from spherevec.evaluation.documents import ClassificationResult, Split, Spread, documents_and_labels


def knn_curve(
    vectors: ArrayLike, labels: ArrayLike, splits: Iterable[Split], ks: Sequence[int] = range(1, 11)
) -> tuple[ClassificationResult, ...]:
    """Macro- and micro-F1 with their spread over the splits, for each of `ks`.

    Args:
        vectors: shape (n, dim).
        labels: shape (n,).
        splits: row numbers of training and test documents.
    """
    rows, classes = documents_and_labels(vectors, labels)
    scores: dict[int, list[tuple[float, float]]] = {k: [] for k in ks}
    for train, test in splits:
        search = NearestNeighbors(n_neighbors=max(ks), algorithm="brute").fit(rows[train])
        nearest = classes[train[search.kneighbors(rows[test], return_distance=False)]]
        for k in ks:
            voted = majority(nearest[:, :k])
            macro, micro = (float(f1_score(classes[test], voted, average=kind)) for kind in ("macro", "micro"))
            scores[k].append((macro, micro))
    return tuple(
        ClassificationResult(k, Spread.of(macro for macro, _ in found), Spread.of(micro for _, micro in found))
        for k, found in scores.items()
    )


def majority(labels: NDArray[Any]) -> NDArray[Any]:
    """The most frequent label of each row, the smallest of equals, shape (n, k) → (n,)."""
    names, codes = np.unique(labels, return_inverse=True)
    codes = codes.reshape(labels.shape)
    votes = np.zeros((len(labels), len(names)), dtype=np.int32)
    for column in codes.T:
        votes[np.arange(len(labels)), column] += 1
    return np.asarray(names[votes.argmax(axis=1)])
