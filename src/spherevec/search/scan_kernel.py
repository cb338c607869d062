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
def byte_products(rows, queries, factors, first, last, products):
    """Scalar products of the rows `first` … `last` with each query.

    Args:
        rows: (n, d) int8.
        queries: (q, d) int16; query k is about factors[k] · queries[k].
        products: (last - first, q) float32 gets the answer.
    """
    for i in range(first, last):
        for k in range(len(queries)):
            total = np.int32(0)
            for j in range(rows.shape[1]):
                total = np.int32(total + np.int32(rows[i, j]) * np.int32(queries[k, j]))
            products[i - first, k] = factors[k] * total


@njit(nogil=True, cache=True)
def choose(
    products, scales, errors, permitted, extra, norms, query_errors, first, least, found, scores, slacks, counts
):  # fmt: skip
    """The rows whose scores may reach `least`, for each query; added behind those that were found before.

    A score is the product with a row's vector, plus `extra` where that is given; it is wrong by at most its slack.

    Args:
        products: (w, q) float32 scalar products of the rows of bytes from `first` on with the queries.
        scales, errors: (n,) of these rows.
        permitted: (n,) which rows may be an answer, or (0,) for all.
        extra: (q, n) float32, or (0, 0).
        norms, query_errors: (q,) the norm of each query, and what its product with a row of scale 1 may be wrong by.
        least: (q,) the score that matters.
        found, scores, slacks: (q, m) get the answers, counts: (q,) how many there are.
    """
    width, n_queries = products.shape
    scales, errors = scales[first : first + width], errors[first : first + width]
    lows, wide_norms, wide_errors = np.empty((3, n_queries), np.float32)
    for k in range(n_queries):
        lows[k] = least[k] - abs(least[k]) * 1e-6
        wide_norms[k], wide_errors[k] = norms[k] * 1.000001, query_errors[k] * 1.000001
    for i in range(width):
        # First in float32, a little too high, for all queries at once: nearly all rows are far too low.
        possible = np.int32(0)
        for k in range(n_queries):
            upper = scales[i] * products[i, k]
            upper += abs(upper) * np.float32(1e-6) + (errors[i] * wide_norms[k] + scales[i] * wide_errors[k])
            if len(extra):
                upper += extra[k, first + i] + abs(extra[k, first + i]) * np.float32(1e-6)
            possible += np.int32(upper >= lows[k])
        if possible == 0 or (len(permitted) and not permitted[first + i]):
            continue
        for k in range(n_queries):
            score = np.float64(scales[i]) * products[i, k]
            if len(extra):
                score += extra[k, first + i]
            slack = errors[i] * norms[k] + np.float64(scales[i]) * query_errors[k]
            if score + slack >= least[k]:
                at = counts[k]
                found[k, at], scores[k, at], slacks[k, at] = first + i, score, slack
                counts[k] = at + 1
