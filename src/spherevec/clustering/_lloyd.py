"""One run of spherical k-means: the seeds, then the loop. Arrays in, arrays out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from spherevec.clustering import kernels as kernel
from spherevec.clustering._slices import SliceRunner
from spherevec.errors import ConfigError
from spherevec.sphere import FloatArray, normalize


@dataclass(frozen=True)
class KMeansRun:
    """Where one run ended: labels (n,) and cosines (n,) are those of the nearest of the centers (k, d), unit rows."""

    labels: NDArray[np.int32]
    cosines: FloatArray
    weights: NDArray[np.float64]
    centers: FloatArray
    n_iter: int

    @property
    def inertia(self) -> float:
        # Rounding puts a cosine slightly above 1.
        return float(np.sum(self.weights * np.maximum(1 - self.cosines, 0), dtype=np.float64))


def check_init(init: Any, n_clusters: int) -> None:
    """Refuse an `init` that is neither a known name nor an array of `n_clusters` rows."""
    if isinstance(init, str):
        if init not in ("k-means++", "random"):
            raise ConfigError(f"init must be k-means++, random or an array of centres, not {init!r}")
    elif np.ndim(init) != 2 or len(init) != n_clusters:
        raise ConfigError(f"init has shape {np.shape(init)}; it needs one row for each of {n_clusters} clusters")


def first_centers(
    rows: FloatArray,
    weights: NDArray[np.float64],
    n_clusters: int,
    init: Any,
    random: np.random.RandomState,
    runner: SliceRunner,
) -> FloatArray:
    """The centres (k, d) to start from, unit rows in the type of `rows`."""
    if not isinstance(init, str):
        given = np.asarray(init, rows.dtype)
        if given.shape[1] != rows.shape[1]:
            raise ConfigError(f"init has {given.shape[1]} columns, the data {rows.shape[1]}")
        return normalize(given)
    if init == "random":
        return rows[random.choice(len(rows), n_clusters, replace=False, p=_probabilities(weights, n_clusters))]
    return rows[spread_seeds(rows, weights, n_clusters, random, runner)]


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
    runner: SliceRunner,
) -> NDArray[np.intp]:
    """k-means++: indices (k,) of rows, each sampled with probability proportional to its weighted distance from those
    before.

    Cosine distance is half the squared Euclidean distance of unit vectors, so this is the usual sampling. Of a few rows
    sampled each time, the one that leaves the smallest sum of distances is kept.
    """
    n_rows = len(rows)
    n_trials = 2 + int(np.log(n_clusters))
    trial_nearest = np.empty((n_trials, n_rows), rows.dtype)
    potentials = np.empty((runner.n_slices, n_trials))
    seeds = np.empty(n_clusters, np.intp)
    probabilities = _probabilities(weights, 1)
    seeds[0] = random.randint(n_rows) if probabilities is None else random.choice(n_rows, p=probabilities)
    nearest = np.full(n_rows, 2, rows.dtype)
    runner.run(kernel.try_seeds, rows, weights, rows[seeds[:1]], nearest, trial_nearest[:1], potentials[:, :1])
    nearest[:] = trial_nearest[0]
    nearest[seeds[0]] = 0
    for i in range(1, n_clusters):
        cumulated = np.cumsum(weights * nearest, dtype=np.float64)
        samples = random.uniform(size=n_trials) * cumulated[-1]
        # When every row coincides with a seed the sum is 0, and any row will do.
        trials = np.minimum(np.searchsorted(cumulated, samples, side="right"), n_rows - 1)
        runner.run(kernel.try_seeds, rows, weights, rows[trials], nearest, trial_nearest, potentials)
        best = int(np.argmin(potentials.sum(axis=0)))
        seeds[i] = trials[best]
        nearest[:] = trial_nearest[best]
        nearest[seeds[i]] = 0
    return seeds


def shift_tolerance(rows: FloatArray, tol: float) -> float:
    """`tol` relative to the mean variance of the columns, as in scikit-learn's KMeans."""
    mean = rows.mean(axis=0, dtype=np.float64)
    return float(tol * max(1 - float(mean @ mean), 0.0) / rows.shape[1])


def run_kmeans(
    rows: FloatArray,
    weights: NDArray[np.float64],
    centers: FloatArray,
    runner: SliceRunner,
    *,
    max_iter: int,
    max_shift: float,
) -> KMeansRun:
    """Alternate between nearest centres and mean directions until no row moves or the centres stand still.

    rows (n, d) and centers (k, d) are unit rows of one type, weights (n,) what each row counts. The centres
    stand still when the sum of their squared moves is at most `max_shift`. Sums are kept in float64, and
    only rows that change their cluster are added to one and taken from another.
    """
    clusters = _Clusters(rows, weights, centers, runner)
    n_iter = 0
    while clusters.assign() and n_iter < max_iter:
        n_iter += 1
        if clusters.move_centers() <= max_shift:
            break
    clusters.assign_all()
    return KMeansRun(clusters.labels, clusters.cosines, weights, clusters.centers, n_iter)


class _Clusters:
    """The state of a run: rows (n, d), centers (k, d), and the weighted sums (k, d) and counts (k,) of their rows."""

    def __init__(
        self, rows: FloatArray, weights: NDArray[np.float64], centers: FloatArray, runner: SliceRunner
    ) -> None:
        n_rows, n_clusters = len(rows), len(centers)
        self.rows, self.weights, self.centers = rows, weights, centers
        self.labels = np.full(n_rows, -1, np.int32)
        self.cosines = np.empty(n_rows, rows.dtype)
        self.sums = np.zeros(centers.shape)
        self.counts = np.zeros(n_clusters, np.int64)
        self._runner = runner
        self._travel = np.zeros(n_clusters)
        self._safe_travel = np.full(n_rows, -np.inf)
        self._moved_sums = np.empty((runner.n_slices, *centers.shape))
        self._moved_counts = np.empty((runner.n_slices, n_clusters), np.int64)
        self._moved_rows = np.empty(runner.n_slices, np.int64)
        # Of the cosine of two unit vectors, each rounded, with their product summed in any order.
        self._cosine_error = float(4 * np.finfo(rows.dtype).eps * np.sqrt(rows.shape[1]))

    def assign(self) -> int:
        """Nearest centres of the rows whose nearest centre may have changed; how many did change."""
        self._runner.run(
            kernel.assign,
            self.rows,
            self.weights,
            self.centers,
            self._travel,
            self.labels,
            self.cosines,
            self._safe_travel,
            self._moved_sums,
            self._moved_counts,
            self._moved_rows,
            self._cosine_error,
        )
        self.sums += self._moved_sums.sum(axis=0)
        self.counts += self._moved_counts.sum(axis=0)
        return int(self._moved_rows.sum())

    def assign_all(self) -> None:
        """Nearest centres, and fresh cosines, of every row."""
        self._safe_travel[:] = -np.inf
        self.assign()

    def move_centers(self) -> float:
        """Centres to the mean directions of their rows; the sum of their squared moves."""
        if not self.counts.all():
            self.assign_all()
            self._fill_empty_clusters()
        moved = mean_directions(self.sums, self.counts, self.centers)
        moves = np.linalg.norm(np.subtract(moved, self.centers, dtype=np.float64), axis=1)
        self._travel += moves + moves.max()
        self.centers = moved
        return float(moves @ moves)

    def _fill_empty_clusters(self) -> None:
        """Move the rows farthest from their centres into the clusters that have none, one row each.

        A row that sits on its centre is not moved: with fewer distinct rows than clusters, some clusters stay empty.
        """
        empty = np.flatnonzero(self.counts == 0)
        farthest = np.argsort(self.cosines, kind="stable")[: len(empty)]
        for cluster, row in zip(empty, farthest, strict=True):
            old = self.labels[row]
            if self.cosines[row] >= 1 - self._cosine_error or self.counts[old] == 1:
                continue
            self.sums[old] -= self.weights[row] * self.rows[row]
            self.sums[cluster] = self.weights[row] * self.rows[row]
            self.counts[old] -= 1
            self.counts[cluster] = 1
            self.labels[row] = cluster
            self._safe_travel[row] = -np.inf


def mean_directions(sums: NDArray[np.float64], counts: NDArray[Any], centers: FloatArray) -> FloatArray:
    """sums (k, d) divided by their lengths; a cluster without rows, or whose rows cancel out, keeps its centre."""
    lengths = np.linalg.norm(sums, axis=1)
    # Sums of unit rows that cancel leave rounding errors of about this size.
    has_direction = lengths > 1e-12 * np.maximum(counts, 1)
    return np.where(has_direction[:, None], sums / np.where(has_direction, lengths, 1)[:, None], centers).astype(
        centers.dtype
    )
