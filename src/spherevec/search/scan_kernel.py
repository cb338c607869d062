"""Compiled loops over vectors of one byte a coordinate: making them, and choosing the best of them.

Vectors lie in blocks of 64, one coordinate of all of them after another, so that the loops over a block are vectorised.
"""

from __future__ import annotations

import numpy as np

from spherevec.compiling import njit

BLOCK = 64  # the loops below name it, since a constant is unrolled
_FASTMATH = {"nsz", "arcp", "contract", "afn", "reassoc"}  # NaN and infinity stay visible


@njit(nogil=True, cache=True, fastmath=_FASTMATH)
def to_bytes(vectors, first, last, blocks, scales, errors):
    """Round the vectors `first` … `last` to bytes; returns a row that is not finite, or -1.

    Args:
        vectors: (n, d) float32.
        blocks, scales: (n / 64, d, 64) int8 and (n,) float32 get the answer: a vector is about its scale times its
            bytes.
        errors: (n,) float32 gets a bound on what a product with a unit vector may be wrong by.
    """
    dim = blocks.shape[1]
    # The bytes have the norm 127 · sqrt(dim) at most; so many products and sums in float32 err by as many units.
    rounding = 127 * np.sqrt(dim) * 1.01 * (dim + 16) * 2.0**-24
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
        difference = 0.0
        for j in range(vectors.shape[1]):
            byte = min(np.int32(vectors[i, j] * inverse + np.float32(128.5)) - 128, 127)  # to the nearest
            blocks[i // 64, j, i % 64] = byte
            difference += (np.float64(vectors[i, j]) - np.float64(byte) * scale) ** 2
        # Rounded up: float32 keeps 24 bits, and nothing below 1e-38.
        errors[i] = (np.sqrt(difference) + rounding * scale) * (1 + 1e-6) + 1e-37
    return -1


@njit(nogil=True, cache=True, fastmath=_FASTMATH)
def multiply(block, queries, floats, products):
    """Scalar products (q, 64) of the vectors of a block (d, 64) with each query (q, d); d is a multiple of 4.

    Four queries at a time share what they load. `floats` (d, 64) float32 is scratch.
    """
    dim = len(block)
    for j in range(dim):
        for r in range(64):
            floats[j, r] = block[j, r]
    products[:] = 0
    fours = len(queries) // 4 * 4
    for k in range(0, fours, 4):
        for j in range(0, dim, 4):
            a, b, c, d = queries[k, j], queries[k, j + 1], queries[k, j + 2], queries[k, j + 3]
            e, f, g, h = queries[k + 1, j], queries[k + 1, j + 1], queries[k + 1, j + 2], queries[k + 1, j + 3]
            m, n, o, p = queries[k + 2, j], queries[k + 2, j + 1], queries[k + 2, j + 2], queries[k + 2, j + 3]
            s, t, u, v = queries[k + 3, j], queries[k + 3, j + 1], queries[k + 3, j + 2], queries[k + 3, j + 3]
            for r in range(64):
                w, x, y, z = floats[j, r], floats[j + 1, r], floats[j + 2, r], floats[j + 3, r]
                products[k, r] += a * w + b * x + c * y + d * z
                products[k + 1, r] += e * w + f * x + g * y + h * z
                products[k + 2, r] += m * w + n * x + o * y + p * z
                products[k + 3, r] += s * w + t * x + u * y + v * z
    for k in range(fours, len(queries)):
        for j in range(0, dim, 4):
            a, b, c, d = queries[k, j], queries[k, j + 1], queries[k, j + 2], queries[k, j + 3]
            for r in range(64):
                products[k, r] += a * floats[j, r] + b * floats[j + 1, r] + c * floats[j + 2, r] + d * floats[j + 3, r]


@njit(nogil=True, cache=True)
def scan(
    blocks, scales, errors, permitted, queries, extra, uppers, norms, first, last, least, found, reached, counts
):  # fmt: skip
    """The rows `first` … `last` whose scores may reach `least`, for each query; returns the row it came to.

    It stops early where a query has no room for more answers. A score is the product with a row's vector, plus `extra`
    where that is given.

    Args:
        blocks, scales, errors: the vectors, see `to_bytes`; `first` is a multiple of 64.
        permitted: (n,) which rows may be an answer, or (0,) for all.
        queries: (q, d) float32; extra: (q, n) float32, or (0, 0).
        uppers: (q, n) float32 gets the most that each score may be, or (0, 0).
        norms: (q,) the norm of each query.
        least: (q,) the score that matters.
        found, reached: (q, m) get the answers and the most that their scores may be, m at least 64.
        counts: (q,) gets how many there are.
    """
    counts[:] = 0
    floats, products = np.empty(blocks.shape[1:], np.float32), np.empty((len(queries), 64), np.float32)
    unit, most = np.float32(1e-6), 0
    for start in range(first, last, 64):
        if most + 64 > found.shape[1]:
            return start
        width = min(64, last - start)
        multiply(blocks[start // 64], queries, floats, products)
        for k in range(len(queries)):
            # A little too high, for all rows at once: nearly all are far too low.
            low = np.float32(least[k] - abs(least[k]) * 1e-6)
            norm = np.float32(norms[k] * 1.000001)
            possible = np.int32(0)
            for r in range(width):
                row = start + r
                upper = scales[row] * products[k, r] + errors[row] * norm
                if len(extra):
                    upper += extra[k, row] + abs(extra[k, row]) * unit
                if len(uppers):
                    uppers[k, row] = upper
                products[k, r] = upper
                possible += np.int32(upper >= low)
            for r in range(width if possible else 0):
                if products[k, r] >= low and (len(permitted) == 0 or permitted[start + r]):
                    found[k, counts[k]], reached[k, counts[k]] = start + r, products[k, r]
                    counts[k] += 1
                    most = max(most, counts[k])
    return last
