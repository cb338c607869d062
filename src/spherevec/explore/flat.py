"""The flat map: Hammer's equal-area projection of the globe, as the page draws it."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

Floats64 = NDArray[np.float64]


def flatten(places: NDArray[np.floating], centre: tuple[float, float] = (0.0, 0.0)) -> Floats64:
    """Unit rows (n, 3) on the flat map, (n, 2): inside an ellipse of width 4√2 and height 2√2.

    Equal areas of the globe have equal areas on the map.

    Args:
        centre: longitude and latitude of the middle of the map, in radians.

    >>> flatten(np.asarray([[1.0, 0.0, 0.0], [0.0, 0.0, 1.0]])).round(3).tolist()
    [[0.0, 0.0], [0.0, 1.414]]
    """
    lon, lat = centre
    east = np.asarray([-math.sin(lon), math.cos(lon), 0.0])
    north = np.asarray([-math.sin(lat) * math.cos(lon), -math.sin(lat) * math.sin(lon), math.cos(lat)])
    out = np.asarray([math.cos(lat) * math.cos(lon), math.cos(lat) * math.sin(lon), math.sin(lat)])
    rows = np.asarray(places, np.float64)
    up = np.clip(rows @ north, -1, 1)
    half = np.arctan2(rows @ east, rows @ out) / 2
    level = np.sqrt(1 - up**2)
    divisor = np.sqrt(np.maximum(1 + level * np.cos(half), 1e-12))
    return np.stack([2 * math.sqrt(2) * level * np.sin(half) / divisor, math.sqrt(2) * up / divisor], axis=1)


def raise_from(points: NDArray[np.floating]) -> Floats64:
    """The unit rows (n, 3) behind points (n, 2) of the flat map about (0, 0); the inverse of `flatten`."""
    x, y = np.asarray(points, np.float64).T
    square = 1 - (x / 4) ** 2 - (y / 2) ** 2
    root = np.sqrt(np.maximum(square, 0))
    lon = 2 * np.arctan2(root * x, 2 * (2 * square - 1))
    up = np.clip(root * y, -1, 1)
    level = np.sqrt(1 - up**2)
    return np.stack([level * np.cos(lon), level * np.sin(lon), up], axis=1)
