"""Nearest neighbours on the sphere: arrays in, arrays out.

Search is exact and runs over blocks of vectors, so its memory does not grow with their number.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from spherevec.errors import ConfigError, FormatError
from spherevec.sphere import FloatArray

Float32 = NDArray[np.float32]
Int64 = NDArray[np.int64]
# For each query, the rows that may not be an answer.
Exclusions: TypeAlias = Sequence[Sequence[int] | Int64]

# Scores held at a time, in float32 values: 16 MB.
_SCORES_PER_BLOCK = 1 << 22
_ROWS_CHECKED = 1 << 16
# Rows scored in float64 at a time, and candidates of a query kept before they are.
_ROWS_RESCORED = 1 << 13
_MOST_CANDIDATES = 1 << 16
# Keeps the denominator of 3CosMul away from zero.
_EPSILON = 0.001
# Queries taken at a time; more would not make the matrix product faster.
_QUERIES_PER_BLOCK = 256


def nearest_neighbors(
    queries: Float32, vectors: Float32, topn: int, exclude: Exclusions | None = None
) -> tuple[Int64, Float32]:
    """The `topn` vectors nearest to each query, nearest first, equal cosines in the order of their index.

    The answer is that of a search in float64 over all vectors, however blocks are cut: scores in float32 only choose
    the candidates, and every row that rounding could have kept out is one.

    Args:
        queries: (q, d) rows; unit rows give cosines, others give scalar products.
        vectors: (n, d) unit rows; a read-only memory map is fine.
        topn: how many neighbours; at most n are returned.
        exclude: for each query, the rows of `vectors` that may not be an answer.

    Returns:
        Row numbers (q, topn) and cosines (q, topn). Where fewer rows are permitted, row -1 and cosine -inf
        fill up the rest.

    Examples:
        >>> rows, cosines = nearest_neighbors(np.eye(2, dtype=np.float32), np.eye(2, dtype=np.float32), 1)
        >>> rows.tolist(), cosines.tolist()
        ([[0], [1]], [[1.0], [1.0]])
    """
    queries = _as_rows(queries, vectors)
    topn = _possible(topn, len(vectors))
    rows = np.full((len(queries), topn), -1, np.int64)
    cosines = np.full((len(queries), topn), -np.inf, np.float32)
    # Queries in a block: the candidates of all of them are kept beside the scores.
    step = max(1, min(_QUERIES_PER_BLOCK, _SCORES_PER_BLOCK // max(topn, 1)))
    for first in range(0, len(queries), step):
        block = queries[first : first + step]
        slack = _rounding(block)
        searches = [_Search(query, topn, slack[number]) for number, query in enumerate(block)]
        width = max(topn, _SCORES_PER_BLOCK // len(block))
        for start in range(0, len(vectors), width):
            scores = block @ vectors[start : start + width].T
            _check_finite(scores.max(axis=1), block, vectors, start, start + width)
            if exclude is not None:
                _hide(scores, exclude[first : first + step], start)
            for search, row_scores in zip(searches, scores, strict=True):
                search.add(row_scores, start, vectors)
        for number, search in enumerate(searches, first):
            found, exact = search.best(vectors)
            rows[number, : len(found)] = found
            cosines[number, : len(found)] = np.clip(exact, -1, 1)
    return rows, cosines


def nearest_multiplicative(
    positive: Float32,
    negative: Float32,
    vectors: Float32,
    topn: int,
    exclude: Exclusions | None = None,
) -> tuple[Int64, Float32]:
    """The `topn` best rows by the product of their similarities to `positive` over that to `negative` (3CosMul).

    A similarity is a cosine moved from [-1, 1] to [0, 1]; `multiplicative_terms` has the formula. All of it is
    computed in float64, row by row.

    Args:
        positive: (q, p, d) unit vectors to be near to.
        negative: (q, m, d) unit vectors to be far from.

    Returns:
        Row numbers (q, topn) and scores (q, topn), filled up as in `nearest_neighbors`.
    """
    topn = _possible(topn, len(vectors))
    rows = np.full((len(positive), topn), -1, np.int64)
    scores = np.full((len(positive), topn), -np.inf, np.float32)
    for query in range(len(positive)):
        logarithms = np.empty(len(vectors))
        for start in range(0, len(vectors), _ROWS_RESCORED):
            block = vectors[start : start + _ROWS_RESCORED].astype(np.float64)
            near = [multiplicative_terms(exact_products(block, vector))[0] for vector in positive[query]]
            far = [multiplicative_terms(exact_products(block, vector))[1] for vector in negative[query]]
            logarithms[start : start + len(block)] = sum(near, np.zeros(len(block))) - sum(far, np.zeros(len(block)))
        _check_finite(logarithms.max(keepdims=True, initial=-np.inf), positive[query], vectors, 0, len(vectors))
        if exclude is not None:
            logarithms[list(exclude[query])] = -np.inf
        found = _ordered(np.arange(len(vectors)), logarithms, topn)
        found = found[np.isfinite(logarithms[found])]
        rows[query, : len(found)] = found
        scores[query, : len(found)] = np.exp(logarithms[found])
    return rows, scores


def multiplicative_terms(cosines: FloatArray) -> tuple[FloatArray, FloatArray]:
    """3CosMul in logarithms: what a cosine adds to a candidate's score as a wanted word, and takes away as another.

    The score is the product of the similarities to the wanted words over that to the others, each of the latter
    plus 0.001, which keeps it away from zero (Levy and Goldberg 2014).
    """
    # Rounding may leave a cosine just below -1.
    similar = np.maximum((1 + cosines) / 2, np.finfo(cosines.dtype).tiny)
    return np.log(similar), np.log(similar + _EPSILON)


def exact_products(rows: NDArray[np.floating[Any]], query: NDArray[np.floating[Any]]) -> NDArray[np.float64]:
    """Scalar products (n,) in float64 of rows (n, d) with a query (d,), each summed in the same order.

    Unlike a matrix product, a row's result does not depend on where it stands or on how many there are.
    """
    return np.asarray(np.einsum("nd,d->n", rows.astype(np.float64, copy=False), query.astype(np.float64)))


class _Search:
    """The candidates of one query (d,): rows that may be among its `k` nearest, whatever rounding did to scores.

    Args:
        slack: how far a score in float32 may be from the true one.
    """

    def __init__(self, query: Float32, k: int, slack: float) -> None:
        self._query, self._k, self._slack = query, k, np.float32(slack)
        self._rows = np.empty(0, np.int64)
        self._scores = np.empty(0, np.float32)
        self._least = np.float32(-np.inf)  # the k-th best score so far, less what rounding may have added to it

    def add(self, scores: Float32, start: int, vectors: Float32) -> None:
        """Let the rows from `start` on compete, by their scores in float32; -inf takes a row out."""
        entering = np.flatnonzero(scores >= max(self._least, np.finfo(np.float32).min))
        if len(entering) > 2 * self._k:
            lowest = np.partition(scores[entering], len(entering) - self._k)[len(entering) - self._k]
            entering = entering[scores[entering] >= lowest - 2 * self._slack]
        if len(entering) == 0:
            return
        self._rows = np.concatenate([self._rows, entering + start])
        self._scores = np.concatenate([self._scores, scores[entering]])
        if len(self._scores) >= self._k:
            kth = np.partition(self._scores, len(self._scores) - self._k)[len(self._scores) - self._k]
            self._least = kth - 2 * self._slack
            kept = self._scores >= self._least
            self._rows, self._scores = self._rows[kept], self._scores[kept]
        if len(self._rows) > max(4 * self._k, _MOST_CANDIDATES):
            # Many equal vectors: decide among those seen so far now, so that memory stays bounded.
            best, _ = self.best(vectors)
            kept = np.isin(self._rows, best)
            self._rows, self._scores = self._rows[kept], self._scores[kept]

    def best(self, vectors: Float32) -> tuple[Int64, NDArray[np.float64]]:
        """The k best candidates and their scores in float64, best first, equal scores in the order of their row."""
        exact = np.empty(len(self._rows))
        for start in range(0, len(self._rows), _ROWS_RESCORED):
            here = slice(start, start + _ROWS_RESCORED)
            exact[here] = exact_products(vectors[self._rows[here]], self._query)
        order = _ordered(self._rows, exact, self._k)
        return self._rows[order], exact[order]


def _ordered(rows: Int64, scores: NDArray[np.float64], k: int) -> NDArray[np.intp]:
    """The places of the `k` highest scores, equal ones in the order of their row."""
    return np.lexsort((rows, -scores))[:k]


def _rounding(queries: Float32) -> Float32:
    """How far a scalar product in float32 with a unit row may be from the true one, for each query (q,).

    d products and sums err by d units in the last place of the product of the norms at most (Higham 2002, 3.1).
    """
    dim = queries.shape[1]
    norms = np.sqrt(np.einsum("ij,ij->i", queries, queries, dtype=np.float64))
    return np.asarray(1.01 * (dim + 2) * 2.0**-24 * norms, np.float32)


def _possible(k: int, rows: int) -> int:
    if k < 1:
        raise ConfigError(f"the number of neighbours must be at least 1, not {k}")
    return min(k, rows)


def _hide(scores: Float32, exclude: Exclusions, start: int) -> None:
    for query, rows in enumerate(exclude):
        for row in rows:
            if 0 <= row - start < scores.shape[1]:
                scores[query, row - start] = -np.inf


def _check_finite(
    highest: NDArray[np.floating[Any]], queries: Float32, vectors: Float32, start: int, stop: int
) -> None:
    """Complain about NaN by its row; the highest score is NaN where any is."""
    if np.isfinite(highest).all() or not len(vectors):
        return
    if not np.isfinite(queries).all():
        raise ConfigError("the query is not finite; it holds NaN or infinity")
    check_finite(vectors[start:stop], start)


def check_finite(vectors: NDArray[np.floating[Any]], start: int = 0) -> None:
    """Raise `FormatError` where a row (n, d) holds NaN or infinity.

    Args:
        start: the number of the first row, for the message.
    """
    for low in range(0, len(vectors), _ROWS_CHECKED):
        finite = np.isfinite(vectors[low : low + _ROWS_CHECKED]).all(axis=1)
        if finite.all():
            continue
        damaged = start + low + int(np.argmin(finite))
        raise FormatError(
            f"vector {damaged} holds NaN or infinity; check the model (spherevec check) or train it again"
        )


def _as_rows(queries: Float32, vectors: Float32) -> Float32:
    rows = np.ascontiguousarray(queries, np.float32)
    if rows.ndim != 2 or rows.shape[1] != vectors.shape[1]:
        raise ConfigError(f"queries of shape {rows.shape} do not fit vectors of dimension {vectors.shape[1]}")
    return rows
