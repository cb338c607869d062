"""The compiled loops of an exchange: rows packed into 16-bit numbers, added up, and taken back to the sphere.

A row of way travels as whole numbers up to 32767 and one scale. Rows are independent of one another, so threads may
share them without changing a bit.
"""

from __future__ import annotations

import math

import numpy as np

from spherevec.compiling import njit

_LARGEST = np.float32(32767.0)


@njit(nogil=True, cache=True)
def pack(now, before, rows, first, last, scale, way):
    """way[i] * scale[i] = now[i] - before[rows[i]] for i in [first, last): (n, dim), (V, dim) and (n, dim) int16."""
    dim = way.shape[1]
    for i in range(first, last):
        row = rows[i]
        most = np.float32(0.0)
        for k in range(dim):
            most = max(most, abs(now[i, k] - before[row, k]))
        scale[i] = most / _LARGEST
        if most > 0:
            factor = _LARGEST / most
            for k in range(dim):
                way[i, k] = np.int16(round((now[i, k] - before[row, k]) * factor))
        else:
            way[i, :] = 0


@njit(nogil=True, cache=True)
def add_ways(places, first, last, scale, way, total):
    """total[places[i]] += scale[i] * way[i] for i in [first, last)."""
    for i in range(first, last):
        place, factor = places[i], scale[i]
        for k in range(way.shape[1]):
            total[place, k] += factor * np.float32(way[i, k])


@njit(nogil=True, cache=True)
def go(table, rows, first, last, scale, way, ended):
    """Rows of `table` (V, at least dim) go their ways and back to the sphere; `ended` (n, dim) gets them, too."""
    dim = way.shape[1]
    for i in range(first, last):
        row, factor = rows[i], scale[i]
        square = 0.0
        for k in range(dim):
            value = table[row, k] + factor * np.float32(way[i, k])
            ended[i, k] = value
            square += value * value
        length = np.float32(1.0 / math.sqrt(square)) if square > 0 else np.float32(0.0)
        for k in range(dim):
            ended[i, k] *= length
            table[row, k] = ended[i, k]
