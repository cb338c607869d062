"""Compiled loops over vectors of one byte a coordinate: making them, and choosing the best of them."""

from __future__ import annotations

import numpy as np

from spherevec.compiling import njit

_AT_ONCE = 64  # rows looked at together
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
        products: (q, last - first) float32 gets the answer.
    """
    for i in range(first, last):
        for k in range(len(queries)):
            total = np.int32(0)
            for j in range(rows.shape[1]):
                total = np.int32(total + np.int32(rows[i, j]) * np.int32(queries[k, j]))
            products[k, i - first] = factors[k] * total


@njit(nogil=True, cache=True)
def choose(
    products, scales, errors, permitted, extra, norms, query_errors, first, least, found, scores, slacks, counts
):  # fmt: skip
    """The rows whose scores may reach `least`, for each query; added behind those that were found before.

    A score is the product with a row's vector, plus `extra` where that is given; it is wrong by at most its slack.

    Args:
        products: (q, w) float32 scalar products of the queries with the rows of bytes from `first` on.
        scales, errors: (n,) of these rows.
        permitted: (n,) which rows may be an answer, or (0,) for all.
        extra: (q, n) float32, or (0, 0).
        norms, query_errors: (q,) the norm of each query, and what its product with a row of scale 1 may be wrong by.
        least: (q,) the score that matters.
        found, scores, slacks: (q, m) get the answers, counts: (q,) how many there are.
    """
    width = products.shape[1]
    scales, errors = scales[first : first + width], errors[first : first + width]
    for k in range(len(products)):
        own, more = products[k], extra[k, first : first + width] if len(extra) else extra.reshape(-1)
        at = counts[k]
        low = np.float32(least[k] - abs(least[k]) * 1e-6)
        norm, query_error = np.float32(norms[k] * 1.000001), np.float32(query_errors[k] * 1.000001)
        for start in range(0, width, _AT_ONCE):
            # First in float32, a little too high, on all rows at once: nearly all of them are far too low.
            end = min(start + _AT_ONCE, width)
            possible = np.int32(0)
            for i in range(start, end):
                upper = scales[i] * own[i]
                upper += abs(upper) * np.float32(1e-6) + (errors[i] * norm + scales[i] * query_error)
                if len(more):
                    upper += more[i] + abs(more[i]) * np.float32(1e-6)
                possible += np.int32(upper >= low)
            for i in range(start, end if possible else start):
                score = np.float64(scales[i]) * own[i]
                if len(more):
                    score += more[i]
                slack = errors[i] * norms[k] + np.float64(scales[i]) * query_errors[k]
                if score + slack >= least[k] and (len(permitted) == 0 or permitted[first + i]):
                    found[k, at], scores[k, at], slacks[k, at] = first + i, score, slack
                    at += 1
        counts[k] = at
