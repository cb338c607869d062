"""Do neighbours share their class? k-nearest-neighbour classification of document vectors.

Distances are Euclidean, which on unit vectors is the order of the cosine. Neighbours vote with equal weight and a tie
goes to the smallest label, as in scikit-learn's `KNeighborsClassifier`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from spherevec.errors import ConfigError
from spherevec.evaluation.arrays import documents_and_labels
from spherevec.evaluation.spread import Spread

# Row numbers of the training and of the test documents
Split: TypeAlias = tuple[NDArray[np.intp], NDArray[np.intp]]


@dataclass(frozen=True)
class ClassificationResult:
    """F1 of k-nearest-neighbour classification over one or more splits into training and test documents."""

    k: int
    macro_f1: Spread
    micro_f1: Spread


def given_split(vectors: ArrayLike, labels: ArrayLike, split: ArrayLike, k: int = 3) -> ClassificationResult:
    """Classify where `split`, shape (n,), says "test" by the neighbours where it says "train".

    Args:
        vectors: shape (n, dim).
        labels: shape (n,).
        k: how many neighbours vote.

    Returns:
        Macro- and micro-F1.

    Examples:
        >>> vectors = [[1.0, 0.0], [0.9, 0.1], [0.0, 1.0], [0.1, 0.9]]
        >>> marks = ["train", "test", "train", "test"]
        >>> given_split(vectors, ["pets", "pets", "cars", "cars"], marks, k=1).macro_f1.mean
        1.0
    """
    return knn_curve(vectors, labels, [split_rows(split)], ks=(k,))[0]


def random_splits(
    vectors: ArrayLike, labels: ArrayLike, k: int = 3, repeats: int = 10, test_share: float = 0.2, seed: int = 0
) -> ClassificationResult:
    """Classify a random `test_share` of the documents by the neighbours in the rest, `repeats` times.

    Args:
        vectors: shape (n, dim).
        labels: shape (n,).
        k: how many neighbours vote.
        seed: of the splits.

    Returns:
        Macro- and micro-F1 with their spread over the splits.

    Examples:
        >>> vectors = [[1.0, 0.0]] * 5 + [[0.0, 1.0]] * 5
        >>> len(random_splits(vectors, ["pets"] * 5 + ["cars"] * 5, k=1, repeats=4).micro_f1.values)
        4
    """
    return knn_curve(vectors, labels, random_rows(len(np.asarray(labels)), repeats, test_share, seed), ks=(k,))[0]


def knn_curve(
    vectors: ArrayLike, labels: ArrayLike, splits: Iterable[Split], ks: Sequence[int] = range(1, 11)
) -> tuple[ClassificationResult, ...]:
    """One result for each of `ks`, from a single neighbour search a split.

    Args:
        vectors: shape (n, dim).
        labels: shape (n,).
        splits: row numbers of training and test documents; see `split_rows` and `random_rows`.
        ks: numbers of neighbours that vote.

    Returns:
        Macro- and micro-F1 with their spread over the splits, for each of `ks`.

    Examples:
        >>> vectors = [[1.0, 0.0]] * 5 + [[0.0, 1.0]] * 5
        >>> curve = knn_curve(vectors, [0] * 5 + [1] * 5, random_rows(10), ks=(1, 3))
        >>> [result.k for result in curve]
        [1, 3]
    """
    from sklearn.metrics import f1_score

    rows, classes = documents_and_labels(vectors, labels)
    scores: dict[int, list[tuple[float, float]]] = {k: [] for k in ks}
    for train, test in splits:
        nearest = _neighbour_labels(rows, classes, train, test, max(ks))
        for k in ks:
            voted = _majority(nearest[:, :k])
            macro, micro = (float(f1_score(classes[test], voted, average=kind)) for kind in ("macro", "micro"))
            scores[k].append((macro, micro))
    return tuple(
        ClassificationResult(k, Spread.of(macro for macro, _ in found), Spread.of(micro for _, micro in found))
        for k, found in scores.items()
    )


def split_rows(split: ArrayLike) -> Split:
    """The rows marked "train" and those marked "test"."""
    marks = np.asarray(split)
    train, test = np.flatnonzero(marks == "train"), np.flatnonzero(marks == "test")
    if not len(train) or not len(test) or len(train) + len(test) != len(marks):
        raise ConfigError("split must mark every document as 'train' or 'test', and have both")
    return train, test


def random_rows(n: int, repeats: int = 10, test_share: float = 0.2, seed: int = 0) -> list[Split]:
    """`repeats` random splits of `n` documents."""
    from sklearn.model_selection import ShuffleSplit

    if repeats < 1 or not 0 < test_share < 1:
        raise ConfigError(f"repeats must be at least 1 and test_share within (0, 1), not {repeats} and {test_share}")
    return list(ShuffleSplit(repeats, test_size=test_share, random_state=seed).split(np.empty((n, 0))))


def _neighbour_labels(
    rows: NDArray[Any], classes: NDArray[Any], train: NDArray[np.intp], test: NDArray[np.intp], k: int
) -> NDArray[Any]:
    """The labels of the `k` nearest training documents of each test document, nearest first, shape (test, k)."""
    from sklearn.neighbors import NearestNeighbors

    if not 1 <= k <= len(train):
        raise ConfigError(f"k must be between 1 and the {len(train)} training documents, not {k}")
    search = NearestNeighbors(n_neighbors=k, algorithm="brute").fit(rows[train])
    return np.asarray(classes[train[search.kneighbors(rows[test], return_distance=False)]])


def _majority(labels: NDArray[Any]) -> NDArray[Any]:
    """The most frequent label of each row, the smallest of equals, shape (n, k) → (n,)."""
    names, codes = np.unique(labels, return_inverse=True)
    codes = codes.reshape(labels.shape)
    votes = np.zeros((len(labels), len(names)), dtype=np.int32)
    for column in codes.T:
        votes[np.arange(len(labels)), column] += 1
    return np.asarray(names[votes.argmax(axis=1)])
