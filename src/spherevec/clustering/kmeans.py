"""Spherical k-means as a scikit-learn clusterer."""

from __future__ import annotations

import warnings
from functools import partial
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import StrOptions
from sklearn.utils.validation import _check_sample_weight

from spherevec.clustering._base import AT_LEAST_ONE, BLOCK_ROWS, MapSlices, SphereClusterer, sliced
from spherevec.errors import ConfigError
from spherevec.sphere import FloatArray, normalize


class SphericalKMeans(SphereClusterer):
    """k-means by cosine: every row goes to the centre with the smallest angle, every centre is a mean direction.

    Rows of any length are put on the sphere first; a zero row raises an error that names it. float32 stays float32.
    A cluster that loses all its rows starts again at the row farthest from its centre. The result does not depend on
    the number of threads.

    Args:
        n_clusters: how many clusters.
        init: "k-means++" (seeds spread out, greedily), "random" (rows at random) or an array of centres
            (n_clusters, n_features).
        n_init: how many runs; the best is kept. "auto": 10 for "random", else 1.
        max_iter: iterations of one run, at most.
        tol: stop when the squared moves of the centres sum to less than this times the mean variance of the columns.
        random_state: seed or `RandomState`.
        n_jobs: threads; -1 = all cores.

    Attributes:
        cluster_centers_: (n_clusters, n_features), unit rows.
        labels_: (n_samples,), the nearest centre of each row.
        inertia_: sum over rows of 1 − cos to the nearest centre.
        n_iter_: iterations of the best run.
        n_features_in_: columns seen in `fit`.

    Example:
        >>> import numpy as np
        >>> rows = np.array([[1.0, 0.1], [1.0, 0.0], [0.0, 1.0], [0.1, 1.0]])
        >>> labels = SphericalKMeans(2, random_state=0).fit_predict(rows)
        >>> bool(labels[0] == labels[1] and labels[2] == labels[3] and labels[0] != labels[2])
        True
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **SphereClusterer._parameter_constraints,
        "n_clusters": [AT_LEAST_ONE],
        "n_init": [StrOptions({"auto"}), AT_LEAST_ONE],
    }

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        init: str | ArrayLike = "k-means++",
        n_init: int | str = "auto",
        max_iter: int = 300,
        tol: float = 1e-4,
        random_state: int | np.random.RandomState | None = None,
        n_jobs: int | None = -1,
    ) -> None:
        self.n_clusters = n_clusters
        self.init = init
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state
        self.n_jobs = n_jobs

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Find the clusters of X (n_samples, n_features); `y` is ignored.

        Args:
            sample_weight: (n_samples,), how much each row counts; all alike by default.
        """
        self._validate_params()
        rows, weights = self._new_rows(X, sample_weight, "n_clusters")
        best = self._best_run(rows, weights)
        found = len(np.unique(best.labels))
        if found < self.n_clusters:
            warnings.warn(
                f"only {found} of {self.n_clusters} clusters have rows: X may hold fewer distinct directions",
                ConvergenceWarning,
                stacklevel=2,
            )
        self.labels_ = best.labels
        self.cluster_centers_ = best.centers
        self.inertia_ = best.inertia
        self.n_iter_ = best.n_iter
        return self

    def predict(self, X: Any) -> NDArray[np.int32]:
        """The index of the nearest centre of each row, shape (n_samples,)."""
        return self._nearest(X).labels

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """Minus the weighted sum over rows of 1 − cos to the nearest centre: higher is better."""
        return -self._nearest(X, sample_weight).inertia

    def _best_run(self, rows: FloatArray, weights: NDArray[np.float64]) -> KMeansRun:
        random = check_random_state(self.random_state)
        with sliced(len(rows), self.n_jobs) as map_slices:
            runs = (
                run_kmeans(
                    rows,
                    weights,
                    first_centers(rows, weights, self.n_clusters, self.init, random, map_slices),
                    map_slices,
                    max_iter=self.max_iter,
                    tol=self.tol,
                )
                for _ in range(self._runs())
            )
            return min(runs, key=lambda run: run.inertia)

    def _nearest(self, X: Any, sample_weight: Any = None) -> KMeansRun:
        """A run that ends where `fit` ended: nearest centres with the same bits."""
        rows = self._known_rows(X)
        weights = _check_sample_weight(sample_weight, rows, dtype=np.float64)
        centers = np.asarray(self.cluster_centers_, rows.dtype)
        with sliced(len(rows), self.n_jobs) as map_slices:
            return run_kmeans(rows, weights, centers, map_slices, max_iter=0)


def first_centers(
    rows: FloatArray,
    weights: NDArray[np.float64],
    n_clusters: int,
    init: Any,
    random: np.random.RandomState,
    map_slices: MapSlices,
) -> FloatArray:
    """The centres (k, d) to start from, unit rows in the type of `rows`."""
    if not isinstance(init, str):
        if np.ndim(init) != 2 or len(init) != n_clusters:
            raise ConfigError(f"init has shape {np.shape(init)}; it needs one row for each of {n_clusters} clusters")
        given = np.asarray(init, rows.dtype)
        if given.shape[1] != rows.shape[1]:
            raise ConfigError(f"init has {given.shape[1]} columns, the data {rows.shape[1]}")
        return normalize(given)
    if init == "random":
        return rows[random.choice(len(rows), n_clusters, replace=False, p=_probabilities(weights, n_clusters))]
    return rows[spread_seeds(rows, weights, n_clusters, random, map_slices)]


def _probabilities(weights: NDArray[np.float64], least: int) -> NDArray[np.float64] | None:
    """Of each row to be chosen; None where all are alike, or where too few rows have any weight."""
    if (weights == weights[0]).all() or np.count_nonzero(weights) < least:
        return None
    return np.asarray(weights / weights.sum())


def spread_seeds(
    rows: FloatArray,
    weights: NDArray[np.float64],
    n_clusters: int,
    random: np.random.RandomState,
    map_slices: MapSlices,
) -> NDArray[np.intp]:
    """k-means++: indices (k,) of rows, each sampled with probability proportional to its weighted distance from those
    before.

    Cosine distance is half the squared Euclidean distance of unit vectors, so this is the usual sampling. Of a few rows
    sampled each time, the one that leaves the smallest sum of distances is kept.
    """
    n_rows = len(rows)
    n_trials = 2 + int(np.log(n_clusters))
    trial_nearest = np.empty((n_trials, n_rows), rows.dtype)
    seeds = np.empty(n_clusters, np.intp)
    probabilities = _probabilities(weights, 1)
    trials = np.array([random.randint(n_rows) if probabilities is None else random.choice(n_rows, p=probabilities)])
    nearest = np.full(n_rows, 2, rows.dtype)

    def with_candidates(candidates: FloatArray, part: slice) -> NDArray[np.float64]:
        """The sum of the distances to the nearest seed, were each of the candidates added."""
        distances = np.clip(1 - candidates @ rows[part].T, 0, nearest[part])
        trial_nearest[: len(candidates), part] = distances
        return np.asarray(distances @ weights[part])

    for i in range(n_clusters):
        if i:
            cumulated = np.cumsum(weights * nearest, dtype=np.float64)
            samples = random.uniform(size=n_trials) * cumulated[-1]
            # When every row coincides with a seed the sum is 0, and any row will do.
            trials = np.minimum(np.searchsorted(cumulated, samples, side="right"), n_rows - 1)
        best = int(np.argmin(sum(map_slices(partial(with_candidates, rows[trials])))))
        seeds[i] = trials[best]
        nearest[:] = trial_nearest[best]
        nearest[seeds[i]] = 0
    return seeds


class KMeansRun(NamedTuple):
    """Where a run ended: labels (n,) are those of the nearest of the centers (k, d), unit rows."""

    labels: NDArray[np.int32]
    centers: FloatArray
    inertia: float
    n_iter: int


def run_kmeans(
    rows: FloatArray,
    weights: NDArray[np.float64],
    centers: FloatArray,
    map_slices: MapSlices,
    *,
    max_iter: int,
    tol: float = 1e-4,
) -> KMeansRun:
    """Alternate between nearest centres and mean directions until no row moves or the centres stand still.

    rows (n, d) and centers (k, d) are unit rows of one type, weights (n,) what each row counts. The centres stand still
    when the sum of their squared moves is at most `tol` times the mean variance of the columns, as in scikit-learn.
    """
    mean = rows.mean(axis=0, dtype=np.float64) if max_iter else np.zeros(rows.shape[1])
    max_shift = tol * max(1 - float(mean @ mean), 0.0) / rows.shape[1]
    labels, cosines = np.full(len(rows), -1, np.int32), np.empty(len(rows), rows.dtype)

    def assign(part: slice) -> int:
        """Give every row its nearest centre, the first of equal ones; how many rows changed theirs."""
        changed = 0
        for low in range(part.start, part.stop, BLOCK_ROWS):
            here = slice(low, min(low + BLOCK_ROWS, part.stop))
            scores = rows[here] @ centers.T
            nearest = scores.argmax(axis=1).astype(np.int32)
            changed += int(np.count_nonzero(nearest != labels[here]))
            labels[here], cosines[here] = nearest, scores.max(axis=1)
        return changed

    n_iter, n_clusters = 0, len(centers)
    while sum(map_slices(assign)) and n_iter < max_iter:
        n_iter += 1
        _fill_empty_clusters(rows, labels, cosines, n_clusters)
        sums = map_slices(lambda part: label_sums(rows, labels, weights, n_clusters, part))
        before = centers
        centers = mean_directions(np.sum(sums, axis=0), np.bincount(labels, minlength=n_clusters), before)
        if float(np.sum(np.subtract(centers, before, dtype=np.float64) ** 2)) <= max_shift:
            map_slices(assign)
            break
    # Rounding puts a cosine slightly above 1.
    inertia = float(np.sum(weights * np.maximum(1 - cosines, 0), dtype=np.float64))
    return KMeansRun(labels, centers, inertia, n_iter)


def _fill_empty_clusters(rows: FloatArray, labels: NDArray[np.int32], cosines: FloatArray, n_clusters: int) -> None:
    """Move the rows farthest from their centres into the clusters that have none, one row each.

    A row that sits on its centre is not moved: with fewer distinct rows than clusters, some clusters stay empty.
    """
    counts = np.bincount(labels, minlength=n_clusters)
    empty = np.flatnonzero(counts == 0)
    # Of the cosine of two unit vectors, each rounded, with their product summed in any order.
    error = float(4 * np.finfo(rows.dtype).eps * np.sqrt(rows.shape[1]))
    farthest = np.argsort(cosines, kind="stable")[: len(empty)] if len(empty) else empty
    for cluster, row in zip(empty, farthest, strict=True):
        if cosines[row] < 1 - error and counts[labels[row]] > 1:
            counts[labels[row]] -= 1
            labels[row] = cluster


def label_sums(
    rows: FloatArray, labels: NDArray[np.int32], weights: NDArray[np.float64], n_clusters: int, part: slice
) -> NDArray[np.float64]:
    """The weighted sum (k, d) of the rows of each cluster, over a part of the rows."""
    some = rows[part]
    members = csr_array((weights[part], labels[part], np.arange(len(some) + 1)), (len(some), n_clusters))
    return np.asarray(members.T @ some, np.float64)


def mean_directions(sums: NDArray[np.float64], counts: NDArray[Any], centers: FloatArray) -> FloatArray:
    """sums (k, d) divided by their lengths; a cluster without rows, or whose rows cancel out, keeps its centre."""
    lengths = np.linalg.norm(sums, axis=1)
    # Sums of unit rows that cancel leave rounding errors of about this size.
    has_direction = lengths > 1e-12 * np.maximum(counts, 1)
    return np.where(has_direction[:, None], sums / np.where(has_direction, lengths, 1)[:, None], centers).astype(
        centers.dtype
    )
