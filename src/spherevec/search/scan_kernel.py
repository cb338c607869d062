"""Compiled loops over vectors of one byte a coordinate: making them, and choosing the best of them."""

from __future__ import annotations

import numpy as np

from spherevec.compiling import njit

_FASTMATH = {"nsz", "arcp", "contract", "afn", "reassoc"}  # NaN and infinity stay visible


@njit(nogil=True, cache=True, fastmath=_FASTMATH)
def to_bytes(vectors, first, last, rows, scales, errors):
    """Round the vectors `first` … `last` to bytes; returns a row that is not finite, or -1.

    Args:
        vectors: (n, d) float32.
        rows, scales: (n, d) int8 and (n,) float32 get the answer: vector i is about scales[i] · rows[i].
        errors: (n,) float32 gets a bound on the norm of the difference.
    """
    for i in range(first, last):
        largest, squares = np.float32(0), 0.0
        for j in range(vectors.shape[1]):
            size = abs(vectors[i, j])
            largest = size if size > largest else largest
            squares += np.float64(vectors[i, j]) ** 2
        if not np.isfinite(squares):
            return i
        scale = np.float64(np.float32(largest / 127.0))
        if scale < 1e-36:  # too small for float32 to divide by: the whole vector is the error
            scale = 0.0
        scales[i] = scale
        inverse = np.float32(0 if scale == 0 else 1 / scale)
        for j in range(vectors.shape[1]):
            byte = np.int32(vectors[i, j] * inverse + np.float32(128.5)) - 128  # to the nearest; at most 127
            rows[i, j] = np.int8(min(byte, 127))
        difference = 0.0
        for j in range(vectors.shape[1]):
            difference += (np.float64(vectors[i, j]) - np.float64(rows[i, j]) * scale) ** 2
        # Rounded up: float32 keeps 24 bits, and nothing below 1e-38.
        errors[i] = np.sqrt(difference) * (1 + 1e-6) + 1e-37
    return -1


@njit(nogil=True, cache=True)
def scan(
    rows, scales, errors, permitted, extra, queries, factors, norms, query_errors, first, last, least,
    found, scores, slacks, counts,
):  # fmt: skip
    """The rows `first` … `last` whose scores may reach `least`, for each query.

    A score is the scalar product, plus `extra` where that is given; it is wrong by at most its slack.

    Args:
        rows, scales, errors: as `to_bytes` makes them.
        permitted: (n,) which rows may be an answer, or (0,) for all.
        extra: (q, n) float32, or (0, 0).
        queries: (q, d) int16; query k is about factors[k] · queries[k].
        norms, query_errors: (q,) the norm of each query, and what a row of scale 1 may be wrong by because of it.
        least: (q,) the score that matters.
        found, scores, slacks: (q, last - first) get the answers, counts: (q,) how many there are.
    """
    for i in range(first, last):
        if len(permitted) and not permitted[i]:
            continue
        scale = np.float64(scales[i])
        for k in range(len(queries)):
            total = np.int32(0)
            for j in range(rows.shape[1]):
                total = np.int32(total + np.int32(rows[i, j]) * np.int32(queries[k, j]))
            score = scale * factors[k] * total
            if len(extra):
                score += extra[k, i]
            slack = errors[i] * norms[k] + scale * query_errors[k]
            if score + slack >= least[k]:
                at = counts[k]
                found[k, at], scores[k, at], slacks[k, at] = i, score, slack
                counts[k] = at + 1
