"""Spherical k-means as a scikit-learn clusterer."""

from __future__ import annotations

import warnings
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import _check_sample_weight

from spherevec.clustering._base import SphereClusterer
from spherevec.clustering._lloyd import KMeansRun, check_init, first_centers, run_kmeans, shift_tolerance
from spherevec.clustering._slices import slice_runner
from spherevec.sphere import FloatArray


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
        "n_clusters": [Interval(Integral, 1, None, closed="left")],
        "init": [StrOptions({"k-means++", "random"}), "array-like"],
        "n_init": [StrOptions({"auto"}), Interval(Integral, 1, None, closed="left")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left")],
        "random_state": ["random_state"],
        "n_jobs": [None, Integral],
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
        check_init(self.init, self.n_clusters)
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
        max_shift = shift_tolerance(rows, self.tol)
        n_init = self.n_init
        if n_init == "auto":
            n_init = 10 if isinstance(self.init, str) and self.init == "random" else 1
        if not isinstance(self.init, str):
            n_init = 1  # every run would be the same
        with slice_runner(len(rows), self.n_jobs) as runner:
            runs = (
                run_kmeans(
                    rows,
                    weights,
                    first_centers(rows, weights, self.n_clusters, self.init, random, runner),
                    runner,
                    max_iter=self.max_iter,
                    max_shift=max_shift,
                )
                for _ in range(int(n_init))
            )
            return min(runs, key=lambda run: run.inertia)

    def _nearest(self, X: Any, sample_weight: Any = None) -> KMeansRun:
        """A run that ends where `fit` ended: nearest centres with the same bits."""
        rows = self._known_rows(X)
        weights = _check_sample_weight(sample_weight, rows, dtype=np.float64)
        centers = np.asarray(self.cluster_centers_, rows.dtype)
        with slice_runner(len(rows), self.n_jobs) as runner:
            return run_kmeans(rows, weights, centers, runner, max_iter=0, max_shift=0.0)
