"""The compiled loops of an exchange: rows packed into 16-bit numbers, added up, and taken back to the sphere.

A delta of a row travels as whole numbers up to 32767 and one scale. Rows are independent of one another, so threads may
share them without changing a bit.
"""

from __future__ import annotations

import math

import numpy as np

from spherevec.compiling import njit

_LARGEST = np.float32(32767.0)


@njit(nogil=True, cache=True)
def pack(now, before, rows, first, last, scale, delta):
    """delta[i] * scale[i] = now[i] - before[rows[i]] for i in [first, last): (n, dim), (V, dim) and (n, dim) int16."""
    dim = delta.shape[1]
    for i in range(first, last):
        row = rows[i]
        most = np.float32(0.0)
        for k in range(dim):
            most = max(most, abs(now[i, k] - before[row, k]))
        scale[i] = most / _LARGEST
        if most > 0:
            factor = _LARGEST / most
            for k in range(dim):
                delta[i, k] = np.int16(round((now[i, k] - before[row, k]) * factor))
        else:
            delta[i, :] = 0


@njit(nogil=True, cache=True)
def add_deltas(places, first, last, scale, delta, total):
    """total[places[i]] += scale[i] * delta[i] for i in [first, last)."""
    for i in range(first, last):
        place, factor = places[i], scale[i]
        for k in range(delta.shape[1]):
            total[place, k] += factor * np.float32(delta[i, k])


@njit(nogil=True, cache=True)
def apply_deltas(table, rows, first, last, scale, delta, ended):
    """Add deltas to rows of `table` (V, at least dim), back to the sphere; `ended` (n, dim) gets them, too."""
    dim = delta.shape[1]
    for i in range(first, last):
        row, factor = rows[i], scale[i]
        square = 0.0
        for k in range(dim):
            value = table[row, k] + factor * np.float32(delta[i, k])
            ended[i, k] = value
            square += value * value
        length = np.float32(1.0 / math.sqrt(square)) if square > 0 else np.float32(0.0)
        for k in range(dim):
            ended[i, k] *= length
            table[row, k] = ended[i, k]
