"""What the clusterers share: how rows and settings are checked, and distances to the centres."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, ClusterMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from spherevec.errors import ConfigError
from spherevec.sphere import FloatArray, normalize


class SphereClusterer(ClassNamePrefixFeaturesOutMixin, TransformerMixin, ClusterMixin, BaseEstimator):  # type: ignore[misc]
    """Base of the clusterers: subclasses store settings, and learn `cluster_centers_` (n_clusters, n_features)."""

    n_clusters: int
    cluster_centers_: FloatArray

    def fit(self, X: Any, y: Any = None) -> Self:
        raise NotImplementedError

    def fit_transform(self, X: Any, y: Any = None) -> Any:
        """`fit(X)`, then `transform(X)`."""
        return self.fit(X).transform(X)

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

    def _new_rows(self, X: Any) -> FloatArray:
        """`X` checked and put on the sphere, for `fit`."""
        rows = _unit_rows(self, X, reset=True)
        if len(rows) < self.n_clusters:
            raise ConfigError(
                f"n_clusters={self.n_clusters} is more than n_samples={len(rows)}; ask for fewer clusters"
            )
        return rows

    def _known_rows(self, X: Any) -> FloatArray:
        """`X` checked against what `fit` saw and put on the sphere."""
        check_is_fitted(self)
        return _unit_rows(self, X, reset=False)

    def _check_whole(self, name: str, low: int) -> None:
        value: Any = getattr(self, name)
        if isinstance(value, bool) or not isinstance(value, Integral) or int(value) < low:
            raise ConfigError(f"{name} must be a whole number, at least {low}, not {value!r}")

    def _check_real(self, name: str, low: float) -> None:
        value: Any = getattr(self, name)
        if isinstance(value, bool) or not isinstance(value, Real) or not low <= float(value) < np.inf:
            raise ConfigError(f"{name} must be a finite number, at least {low}, not {value!r}")

    def _check_choice(self, name: str, choices: tuple[str, ...]) -> None:
        value = getattr(self, name)
        if not isinstance(value, str) or value not in choices:
            raise ConfigError(f"{name} must be one of {', '.join(choices)}, not {value!r}")


def _unit_rows(estimator: SphereClusterer, X: Any, *, reset: bool) -> FloatArray:
    # A sphere needs 2 dimensions; after `fit`, the number of columns is compared with what it saw instead.
    least = 2 if reset else 1
    X = validate_data(estimator, X, reset=reset, dtype=[np.float64, np.float32], order="C", ensure_min_features=least)
    rows: NDArray[Any] = np.ascontiguousarray(normalize(X))
    return rows
