"""What the clusterers share: how rows and settings are checked, and distances to the centres."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, ClusterMixin, TransformerMixin
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from spherevec.errors import ConfigError
from spherevec.sphere import FloatArray, normalize


class SphereClusterer(ClassNamePrefixFeaturesOutMixin, TransformerMixin, ClusterMixin, BaseEstimator):  # type: ignore[misc]
    """Base of the clusterers: subclasses store settings, and learn `cluster_centers_` (n_clusters, n_features)."""

    # What each parameter may be, checked by scikit-learn when `fit` begins.
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {}

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
        """`X` checked and put on the sphere, and the weight of each row, for `fit`.

        Args:
            parameter: the name of the parameter that says how many clusters there are.
        """
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


def _unit_rows(estimator: SphereClusterer, X: Any, *, reset: bool) -> FloatArray:
    # A sphere needs 2 dimensions; after `fit`, the number of columns is compared with what it saw instead.
    least = 2 if reset else 1
    X = validate_data(estimator, X, reset=reset, dtype=[np.float64, np.float32], order="C", ensure_min_features=least)
    rows: NDArray[Any] = np.ascontiguousarray(normalize(X))
    return rows
