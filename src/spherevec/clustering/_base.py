"""What the clusterers share: how rows and settings are checked, distances to the centres, work on slices of rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, ClusterMixin, TransformerMixin
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from spherevec.errors import ConfigError
from spherevec.model.keyed_vectors import KeyedVectors
from spherevec.process import effective_jobs, one_blas_thread
from spherevec.sphere import FloatArray, normalize

MapSlices = Callable[[Callable[[slice], Any]], list[Any]]
AT_LEAST_ONE = Interval(Integral, 1, None, closed="left")

# Below about this many rows, handing a slice to a thread costs more than the slice.
_MIN_SLICE_ROWS = 2048
_MAX_SLICES = 64
BLOCK_ROWS = 1024  # whose cosines or densities to all clusters are held at once


class SphereClusterer(ClassNamePrefixFeaturesOutMixin, TransformerMixin, ClusterMixin, BaseEstimator):  # type: ignore[misc]
    """Base of the clusterers: subclasses store settings, and learn `cluster_centers_` (n_clusters, n_features)."""

    # What each parameter may be, checked by scikit-learn when `fit` begins.
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "init": [StrOptions({"k-means++", "random"}), "array-like"],
        "n_init": [AT_LEAST_ONE],
        "max_iter": [AT_LEAST_ONE],
        "tol": [Interval(Real, 0, None, closed="left")],
        "random_state": ["random_state"],
        "n_jobs": [None, Integral],
    }

    cluster_centers_: FloatArray

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        raise NotImplementedError

    def fit_predict(self, X: Any, y: Any = None, sample_weight: Any = None) -> NDArray[np.int32]:
        """`fit(X)`, then the label of each row, shape (n_samples,)."""
        labels: NDArray[np.int32] = self.fit(X, sample_weight=sample_weight).labels_
        return labels

    def fit_transform(self, X: Any, y: Any = None, sample_weight: Any = None) -> Any:
        """`fit(X)`, then `transform(X)`."""
        return self.fit(X, sample_weight=sample_weight).transform(X)

    def transform(self, X: Any) -> FloatArray:
        """Cosine distance, 1 − cos, from each row to each centre, shape (n_samples, n_clusters)."""
        rows = self._known_rows(X)
        distances: FloatArray = rows @ np.asarray(self.cluster_centers_, rows.dtype).T
        np.subtract(1, distances, out=distances)
        # Rounding puts a cosine slightly outside [-1, 1].
        return np.clip(distances, 0, 2, out=distances)

    @property
    def _n_features_out(self) -> int:
        return len(self.cluster_centers_)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags

    def _new_rows(self, X: Any, sample_weight: Any, parameter: str) -> tuple[FloatArray, NDArray[np.float64]]:
        """`X` checked and put on the sphere, and the weight of each row, for `fit`; `parameter` counts the clusters."""
        rows = _unit_rows(self, X, reset=True)
        count = getattr(self, parameter)
        if len(rows) < count:
            raise ConfigError(f"{parameter}={count} is more than n_samples={len(rows)}; ask for fewer")
        weights: NDArray[np.float64] = _check_sample_weight(
            sample_weight, rows, dtype=np.float64, ensure_non_negative=True
        )
        if not weights.any():  # which older releases of scikit-learn let pass
            raise ValueError("Sample weights must contain at least one non-zero number.")
        return rows, weights

    def _known_rows(self, X: Any) -> FloatArray:
        """`X` checked against what `fit` saw and put on the sphere."""
        check_is_fitted(self)
        return _unit_rows(self, X, reset=False)

    def _runs(self) -> int:
        """How many runs; from given directions every run would be the same."""
        if not isinstance(self.init, str):
            return 1
        return (10 if self.init == "random" else 1) if self.n_init == "auto" else int(self.n_init)


def _unit_rows(estimator: SphereClusterer, X: Any, *, reset: bool) -> FloatArray:
    if isinstance(X, KeyedVectors):
        raise ConfigError("these are vectors with names; give their rows, such as model.docs.vectors")
    # A sphere needs 2 dimensions; after `fit`, the number of columns is compared with what it saw instead.
    least = 2 if reset else 1
    X = validate_data(estimator, X, reset=reset, dtype=[np.float64, np.float32], order="C", ensure_min_features=least)
    rows: NDArray[Any] = np.ascontiguousarray(normalize(X))
    return rows


@contextmanager
def sliced(n_rows: int, n_jobs: int | None) -> Iterator[MapSlices]:
    """A function that calls another on slices of the rows, by several threads, and lists what it returns, in order.

    The number of slices follows from the number of rows alone, so that sums over slices come out the same with any
    number of threads. BLAS is held to one thread meanwhile: the slices already occupy the cores.
    """
    # A power of two, which divides evenly among the usual numbers of cores.
    n_slices = min(_MAX_SLICES, 1 << max(n_rows // _MIN_SLICE_ROWS, 1).bit_length() - 1)
    slices = [slice(n_rows * i // n_slices, n_rows * (i + 1) // n_slices) for i in range(n_slices)]
    with ThreadPoolExecutor(max_workers=effective_jobs(n_jobs)) as pool, one_blas_thread():
        yield lambda work: list(pool.map(work, slices))
