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


@njit(nogil=True, cache=True)
def follow(now, before, after, places, first, last, scale, delta):
    """Rows that were trained on after they were sent keep what they have learned since; [first, last) of (n, dim).

    Args:
        now: where they are, and then where they are with what all have agreed on.
        before, after: what was agreed on before, and now.
        places: (n,) which row of `scale` and `delta` is what was sent of each; -1 where nothing was.
    """
    dim = now.shape[1]
    sent = np.empty(dim, np.float32)
    for i in range(first, last):
        square = 1.0
        if places[i] >= 0:
            square, factor = 0.0, scale[places[i]]
            for k in range(dim):
                sent[k] = before[i, k] + factor * np.float32(delta[places[i], k])
                square += sent[k] * sent[k]
        else:
            sent[:] = before[i]
        length = np.float32(1.0 / math.sqrt(square)) if square > 0 else np.float32(0.0)
        square = 0.0
        for k in range(dim):
            now[i, k] += after[i, k] - length * sent[k]
            square += now[i, k] * now[i, k]
        length = np.float32(1.0 / math.sqrt(square)) if square > 0 else np.float32(0.0)
        for k in range(dim):
            now[i, k] *= length
