"""Checks that the document evaluations share."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from spherevec.errors import ConfigError


def documents_and_labels(vectors: ArrayLike, labels: ArrayLike) -> tuple[NDArray[Any], NDArray[Any]]:
    """`vectors` of shape (n, dim), all finite, and `labels` of shape (n,)."""
    rows, classes = np.asarray(vectors), np.asarray(labels)
    if rows.ndim != 2 or classes.shape != rows.shape[:1]:
        raise ConfigError(f"vectors of shape {rows.shape} do not go with labels of shape {classes.shape}")
    if not np.isfinite(rows).all():
        raise ConfigError(f"row {int(np.flatnonzero(~np.isfinite(rows).all(axis=1))[0])} of the vectors is not finite")
    return rows, classes
