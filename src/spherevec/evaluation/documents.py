"""Do document vectors show the classes that people gave? Clustering and nearest-neighbour classification."""

from __future__ import annotations

import statistics
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from spherevec.errors import ConfigError

# Row numbers of the training and of the test documents
Split: TypeAlias = tuple[NDArray[np.intp], NDArray[np.intp]]


@dataclass(frozen=True)
class Spread:
    """Mean and sample standard deviation of repeated measurements; a single one has deviation 0."""

    mean: float
    std: float
    values: tuple[float, ...]

    @classmethod
    def of(cls, values: Iterable[float]) -> Spread:
        kept = tuple(float(value) for value in values)
        return cls(statistics.fmean(kept), statistics.stdev(kept) if len(kept) > 1 else 0.0, kept)

    def __str__(self) -> str:
        return f"{self.mean:.3f} ± {self.std:.3f}"


@dataclass(frozen=True)
class ClusteringResult:
    """Agreement of clusters with classes; `mi` is in nats, `nmi` is divided by the mean of the two entropies."""

    method: str
    k: int
    mi: Spread
    nmi: Spread
    ari: Spread
    purity: Spread


@dataclass(frozen=True)
class ClassificationResult:
    """F1 of k-nearest-neighbour classification over one or more splits into training and test documents."""

    k: int
    macro_f1: Spread
    micro_f1: Spread


def evaluate_clustering(
    vectors: ArrayLike, labels: ArrayLike, runs: int = 10, method: str = "kmeans", k: int | None = None, seed: int = 0
) -> ClusteringResult:
    """Cluster `vectors`, shape (n, dim), `runs` times from one start each and compare with `labels`, shape (n,).

    Args:
        runs: how many clusterings.
        method: "kmeans", or "skmeans" for the spherical kind.
        k: number of clusters; as many as there are classes when None.
        seed: of the first run; each further run adds one.
    """
    from sklearn.cluster import KMeans
    from sklearn.metrics import adjusted_rand_score, mutual_info_score, normalized_mutual_info_score

    from spherevec.clustering import SphericalKMeans

    clusterers = {"kmeans": KMeans, "skmeans": SphericalKMeans}
    rows, classes = documents_and_labels(vectors, labels)
    clusters = len(np.unique(classes)) if k is None else k
    if method not in clusterers:
        raise ConfigError(f"method must be one of {', '.join(clusterers)}, not {method!r}")
    if runs < 1:
        raise ConfigError(f"runs must be at least 1, not {runs}")
    if not 1 <= clusters <= len(rows):
        raise ConfigError(f"k must be between 1 and the {len(rows)} documents, not {clusters}")
    found = [clusterers[method](clusters, n_init=1, random_state=seed + run).fit(rows).labels_ for run in range(runs)]
    return ClusteringResult(
        method,
        clusters,
        mi=Spread.of(mutual_info_score(classes, one) for one in found),
        nmi=Spread.of(normalized_mutual_info_score(classes, one) for one in found),
        ari=Spread.of(adjusted_rand_score(classes, one) for one in found),
        purity=Spread.of(purity(classes, one) for one in found),
    )


def purity(labels_true: ArrayLike, labels_pred: ArrayLike) -> float:
    """The share of documents that belong to the most frequent class of their cluster."""
    from sklearn.metrics.cluster import contingency_matrix

    classes, clusters = np.asarray(labels_true), np.asarray(labels_pred)
    if classes.ndim != 1 or classes.shape != clusters.shape or not len(classes):
        raise ConfigError(f"labels of shapes {classes.shape} and {clusters.shape} cannot be compared")
    return float(contingency_matrix(classes, clusters).max(axis=0).sum() / len(classes))


def given_split(vectors: ArrayLike, labels: ArrayLike, split: ArrayLike, k: int = 3) -> ClassificationResult:
    """Classify where `split`, shape (n,), says "test" by the `k` nearest neighbours where it says "train"."""
    return _classified(vectors, labels, [split_rows(split)], k)


def random_splits(
    vectors: ArrayLike, labels: ArrayLike, k: int = 3, repeats: int = 10, test_share: float = 0.2, seed: int = 0
) -> ClassificationResult:
    """Classify a random `test_share` of the documents by the `k` nearest neighbours in the rest, `repeats` times."""
    return _classified(vectors, labels, random_rows(len(np.asarray(labels)), repeats, test_share, seed), k)


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


def documents_and_labels(vectors: ArrayLike, labels: ArrayLike) -> tuple[NDArray[Any], NDArray[Any]]:
    """`vectors` of shape (n, dim), all finite, and `labels` of shape (n,)."""
    rows, classes = np.asarray(vectors), np.asarray(labels)
    if rows.ndim != 2 or classes.shape != rows.shape[:1]:
        raise ConfigError(f"vectors of shape {rows.shape} do not go with labels of shape {classes.shape}")
    if not np.isfinite(rows).all():
        raise ConfigError(f"row {int(np.flatnonzero(~np.isfinite(rows).all(axis=1))[0])} of the vectors is not finite")
    return rows, classes


def _classified(vectors: ArrayLike, labels: ArrayLike, splits: list[Split], k: int) -> ClassificationResult:
    """Neighbours by Euclidean distance, which on unit vectors is the order of the cosine, vote with equal weight."""
    from sklearn.metrics import f1_score
    from sklearn.neighbors import KNeighborsClassifier

    rows, classes = documents_and_labels(vectors, labels)
    scores = []
    for train, test in splits:
        if not 1 <= k <= len(train):
            raise ConfigError(f"k must be between 1 and the {len(train)} training documents, not {k}")
        voted = KNeighborsClassifier(k, algorithm="brute").fit(rows[train], classes[train]).predict(rows[test])
        scores.append([f1_score(classes[test], voted, average=average) for average in ("macro", "micro")])
    macro, micro = zip(*scores, strict=True)
    return ClassificationResult(k, Spread.of(macro), Spread.of(micro))
