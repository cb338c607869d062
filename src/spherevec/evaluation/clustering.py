"""Do the classes show as clusters? Repeated clusterings of document vectors, compared with the known labels."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from spherevec.errors import ConfigError
from spherevec.evaluation.arrays import documents_and_labels
from spherevec.evaluation.spread import Spread


@dataclass(frozen=True)
class ClusteringResult:
    """Agreement of clusters with classes; `mi` is in nats, `nmi` is divided by the mean of the two entropies."""

    method: str
    k: int
    mi: Spread
    nmi: Spread
    ari: Spread
    purity: Spread


def evaluate_clustering(
    vectors: ArrayLike, labels: ArrayLike, runs: int = 10, method: str = "kmeans", k: int | None = None, seed: int = 0
) -> ClusteringResult:
    """Cluster `vectors`, shape (n, dim), `runs` times from one start each and compare with `labels`, shape (n,).

    Args:
        runs: how many clusterings.
        method: "kmeans", or "skmeans" for the spherical kind.
        k: number of clusters; as many as there are classes when None.
        seed: of the first run; each further run adds one.

    Returns:
        Mutual information, its normalised form, adjusted Rand index and purity, each with its spread over the runs.

    Examples:
        >>> vectors = [[1.0, 0.0], [0.9, 0.1], [0.0, 1.0], [0.1, 0.9]]
        >>> evaluate_clustering(vectors, ["pets", "pets", "cars", "cars"], runs=3).purity.mean
        1.0
    """
    from sklearn.metrics import adjusted_rand_score, mutual_info_score, normalized_mutual_info_score

    rows, classes = documents_and_labels(vectors, labels)
    clusters = len(np.unique(classes)) if k is None else k
    if runs < 1:
        raise ConfigError(f"runs must be at least 1, not {runs}")
    if not 1 <= clusters <= len(rows):
        raise ConfigError(f"k must be between 1 and the {len(rows)} documents, not {clusters}")
    found = [_clusterer(method, clusters, seed + run).fit(rows).labels_ for run in range(runs)]
    return ClusteringResult(
        method,
        clusters,
        mi=Spread.of(mutual_info_score(classes, one) for one in found),
        nmi=Spread.of(normalized_mutual_info_score(classes, one) for one in found),
        ari=Spread.of(adjusted_rand_score(classes, one) for one in found),
        purity=Spread.of(purity(classes, one) for one in found),
    )


def purity(labels_true: ArrayLike, labels_pred: ArrayLike) -> float:
    """The share of documents that belong to the most frequent class of their cluster.

    Args:
        labels_true: classes, shape (n,).
        labels_pred: clusters, shape (n,).

    Returns:
        A number from 0 to 1.

    Examples:
        >>> purity(["pets", "pets", "cars", "cars"], [0, 0, 0, 1])
        0.75
    """
    classes, clusters = np.asarray(labels_true), np.asarray(labels_pred)
    if classes.ndim != 1 or classes.shape != clusters.shape or not len(classes):
        raise ConfigError(f"labels of shapes {classes.shape} and {clusters.shape} cannot be compared")
    return float(_contingency(classes, clusters).max(axis=0).sum() / len(classes))


def _contingency(classes: NDArray[Any], clusters: NDArray[Any]) -> NDArray[np.int64]:
    """How many documents of each class lie in each cluster, shape (classes, clusters)."""
    class_names, class_of = np.unique(classes, return_inverse=True)
    cluster_names, cluster_of = np.unique(clusters, return_inverse=True)
    cells = np.bincount(class_of * len(cluster_names) + cluster_of, minlength=len(class_names) * len(cluster_names))
    return cells.reshape(len(class_names), len(cluster_names))


def _clusterer(method: str, k: int, seed: int) -> Any:
    if method == "kmeans":
        from sklearn.cluster import KMeans

        return KMeans(n_clusters=k, n_init=1, random_state=seed)
    if method == "skmeans":
        from spherevec.clustering import SphericalKMeans

        return SphericalKMeans(n_clusters=k, n_init=1, random_state=seed)
    raise ConfigError(f"method must be one of kmeans, skmeans, not {method!r}")
