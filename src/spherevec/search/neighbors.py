"""Nearest neighbours on the sphere: arrays in, arrays out.

Search is exact. A scan in low precision chooses candidates, which are scored again in float64; every row that rounding
could have kept out is a candidate. The scan multiplies float32 vectors through NumPy or, where there are very many,
goes over a copy of one byte a coordinate (`ByteVectors`). Both work in blocks, so memory does not grow with the scores.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, count, islice, pairwise, takewhile
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from spherevec import process
from spherevec.errors import ConfigError, FormatError
from spherevec.sphere import FloatArray
from spherevec.threads import in_order

Float32 = NDArray[np.float32]
Float64 = NDArray[np.float64]
Int64 = NDArray[np.int64]
# For each query, the rows that may not be an answer.
Exclusions: TypeAlias = Sequence[Sequence[int] | Int64]

# From this many rows on, a copy in bytes is worth its memory and the compiler's loading time.
BYTES_FROM_ROWS = 200_000

# Scores held at a time, in float32 values: 16 MB.
_SCORES_PER_BLOCK = 1 << 22
_ROWS_CHECKED = 1 << 16
_ROWS_PER_SCAN = 1 << 17  # by one thread
_CANDIDATES_PER_SCAN = 1 << 12  # of each query, before they are collected
_FIRST_ROWS = 1 << 8  # scanned before the others, which must reach what is among these
_ROWS_RESCORED = 1 << 13  # in float64 at a time
# Keeps the denominator of 3CosMul away from zero.
_EPSILON = 0.001
# Queries taken at a time; more would not make the matrix product faster.
_QUERIES_PER_BLOCK = 256
_FEW = 8  # where fewer than 1 in so many rows are permitted, gathering them beats scanning all


@dataclass(frozen=True)
class ByteVectors:
    """Vectors of one byte a coordinate and one scale a row, with a bound on the error of each."""

    blocks: NDArray[np.int8]  # (n / 64, d, 64) int8; d is rounded up to a multiple of 4
    scales: Float32  # (n,) float32; vector i is about scales[i] times its bytes
    errors: Float32  # (n,) float32; a product with a unit vector is wrong by at most this, rounding included

    @classmethod
    def of(cls, vectors: Float32) -> ByteVectors:
        """Round the rows (n, d) of any norm on all cores."""
        from spherevec.search.scan_kernel import BLOCK, to_bytes

        n, dim = vectors.shape
        blocks = np.zeros((-(-n // BLOCK), dim + -dim % 4, BLOCK), np.int8)
        made = cls(blocks, np.empty(n, np.float32), np.empty(n, np.float32))

        def work(_: int, start: int) -> int:
            end = min(start + _ROWS_PER_SCAN, n)
            return int(to_bytes(vectors, start, end, made.blocks, made.scales, made.errors))

        for damaged in in_order(range(0, n, _ROWS_PER_SCAN), work, process.usable_cores()):
            if damaged >= 0:
                check_finite(vectors[damaged : damaged + 1], damaged)
        return made


def nearest_neighbors(
    queries: Float32,
    vectors: Float32,
    topn: int,
    exclude: Exclusions | None = None,
    in_bytes: ByteVectors | None = None,
) -> tuple[Int64, Float32]:
    """The `topn` vectors nearest to each query, nearest first, equal cosines in the order of their index.

    The answer is that of a search in float64 over all vectors.

    Args:
        queries: (q, d) rows; unit rows give cosines, others give scalar products.
        vectors: (n, d) unit rows; a read-only memory map is fine.
        topn: how many neighbours; at most n are returned.
        exclude: for each query, the rows of `vectors` that may not be an answer.
        in_bytes: the same vectors in bytes, to be scanned instead.

    Returns:
        Row numbers (q, topn) and cosines (q, topn). Where fewer rows are permitted, row -1 and cosine -inf
        fill up the rest.

    Examples:
        >>> rows, cosines = nearest_neighbors(np.eye(2, dtype=np.float32), np.eye(2, dtype=np.float32), 1)
        >>> rows.tolist(), cosines.tolist()
        ([[0], [1]], [[1.0], [1.0]])
    """
    queries = np.ascontiguousarray(queries, np.float32)
    if queries.ndim != 2 or queries.shape[1] != vectors.shape[1]:
        raise ConfigError(f"queries of shape {queries.shape} do not fit vectors of dimension {vectors.shape[1]}")
    _check_topn(topn)
    topn = min(topn, len(vectors))
    rows, cosines = np.full((len(queries), topn), -1, np.int64), np.full((len(queries), topn), -np.inf, np.float32)
    found = best_rows(queries, vectors, topn, exclude=exclude, in_bytes=in_bytes)
    for number, (own, scores) in enumerate(found):
        rows[number, : len(own)], cosines[number, : len(own)] = own, np.clip(scores, -1, 1)
    return rows, cosines


def best_rows(
    queries: Float32,
    vectors: Float32,
    topn: int,
    *,
    rows: Int64 | None = None,
    extra: Float32 | None = None,
    exclude: Exclusions | None = None,
    in_bytes: ByteVectors | None = None,
    uppers: Float32 | None = None,
) -> Iterator[tuple[Int64, Float64]]:
    """For each query the `topn` rows of the highest scores and these, best first, equal scores by row.

    Args:
        queries: (q, d).
        vectors: (n, d) unit rows.
        rows: the rows that may be an answer, ascending; None for all.
        extra: (q, n) what each row gets on top of its scalar product.
        exclude, in_bytes: as for `nearest_neighbors`.
        uppers: (q, n) gets the most that the score of each permitted row may be.
    """
    if in_bytes is not None and rows is not None and len(rows) * _FEW < len(vectors):
        in_bytes = None
    step = max(1, min(_QUERIES_PER_BLOCK, _SCORES_PER_BLOCK // max(topn, 1)))
    for first in range(0, len(queries), step):
        block = queries[first : first + step]
        more = None if extra is None else extra[first : first + step]
        left_out: Exclusions = [()] * len(block) if exclude is None else exclude[first : first + step]
        searches = [_Best(query, topn, vectors, *given) for query, *given in zip(
            block, left_out, [None] * len(block) if more is None else more, strict=True
        )]  # fmt: skip
        most = None if uppers is None else uppers[first : first + step]
        if in_bytes is None:
            _scan_floats(block, vectors, rows, more, most, searches)
        else:
            _scan_bytes(block, in_bytes, rows, more, most, searches)
        for search in searches:
            yield search.rows, search.scores


def _scan_floats(
    queries: Float32,
    vectors: Float32,
    rows: Int64 | None,
    extra: Float32 | None,
    uppers: Float32 | None,
    searches: list[_Best],
) -> None:
    """Let all rows compete by their scores in float32, through NumPy alone."""
    # d products and sums err by d units in the last place of the product of the norms at most (Higham 2002, 3.1).
    slacks = 1.01 * (queries.shape[1] + 2) * 2.0**-24 * np.linalg.norm(queries.astype(np.float64), axis=1)
    n = len(vectors) if rows is None else len(rows)
    width = max(searches[0].topn, _SCORES_PER_BLOCK // len(queries))
    for start in range(0, n, width):
        here = slice(start, min(start + width, n))
        numbers = here if rows is None else rows[here]
        block = vectors[numbers]
        scores = queries @ block.T
        _check_finite(scores.max(axis=1), queries, block, start if rows is None else 0)
        for number, (search, own) in enumerate(zip(searches, scores, strict=True)):
            slack = float(slacks[number])
            if extra is not None:
                more = extra[number, numbers]
                slack += 2.0**-22 * (slack + 1 + float(np.abs(more).max(initial=0)))
                own += more
            own += np.float32(2 * slack)
            if uppers is not None:
                uppers[number, numbers] = own
            entering = np.flatnonzero(own >= max(search.least, np.finfo(np.float32).min))
            reached = own[entering]
            entering += start
            search.add(entering if rows is None else rows[entering], reached)


def _scan_bytes(
    queries: Float32,
    vectors: ByteVectors,
    rows: Int64 | None,
    extra: Float32 | None,
    uppers: Float32 | None,
    searches: list[_Best],
) -> None:
    """Let all rows compete by their scores in bytes, on all cores."""
    from spherevec.search.scan_kernel import scan

    n, dim = len(vectors.scales), vectors.blocks.shape[1]
    if not np.isfinite(queries).all():
        raise ConfigError("the query is not finite; it holds NaN or infinity")
    permitted = np.zeros(0 if rows is None else n, np.bool_)
    permitted[() if rows is None else rows] = True
    more, most = (np.zeros((0, 0), np.float32) if given is None else given for given in (extra, uppers))
    norms = np.linalg.norm(queries.astype(np.float64), axis=1) * (1 + 1e-12)
    padded = np.zeros((len(queries), dim), np.float32)
    padded[:, : queries.shape[1]] = queries

    def work(_: int, edges: tuple[int, int]) -> list[list[tuple[Int64, Float32]]]:
        start, end = edges
        found, counts = np.empty((len(queries), _CANDIDATES_PER_SCAN), np.int64), np.empty(len(queries), np.int64)
        reached = np.empty(found.shape, np.float32)
        least = np.array([search.least for search in searches])
        parts = []
        while start < end:
            start = scan(
                vectors.blocks, vectors.scales, vectors.errors, permitted, padded, more, most, norms,
                start, end, least, found, reached, counts,
            )  # fmt: skip
            filled = enumerate(counts.tolist())
            parts.append([(found[k, :count].copy(), reached[k, :count].copy()) for k, count in filled])
        return parts

    few = [0, *takewhile(min(n, _ROWS_PER_SCAN).__gt__, (_FIRST_ROWS * 8**power for power in count()))]
    edges = pairwise([*few, *range(_ROWS_PER_SCAN, n, _ROWS_PER_SCAN), n])
    first_blocks = in_order(islice(edges, len(few)), work, 1)
    for parts in chain(first_blocks, in_order(edges, work, process.usable_cores())):
        for part in parts:
            for search, candidates in zip(searches, part, strict=True):
                search.add(*candidates)


def nearest_multiplicative(
    positive: Float32, negative: Float32, vectors: Float32, topn: int, exclude: Sequence[int] = ()
) -> tuple[Int64, Float64]:
    """The `topn` best rows by the product of their similarities to `positive` over that to `negative` (3CosMul).

    A similarity is a cosine moved from [-1, 1] to [0, 1]; `multiplicative_terms` has the formula. All of it is
    computed in float64, row by row.

    Args:
        positive: (p, d) unit vectors to be near to.
        negative: (m, d) unit vectors to be far from.
        exclude: rows that may not be an answer.

    Returns:
        Row numbers and scores, best first.
    """
    _check_topn(topn)
    logarithms = np.zeros(len(vectors))
    for start in range(0, len(vectors), _ROWS_RESCORED):
        block, own = vectors[start : start + _ROWS_RESCORED].astype(np.float64), logarithms[start:][:_ROWS_RESCORED]
        own += sum(multiplicative_terms(exact_products(block, vector))[0] for vector in positive)
        own -= sum(multiplicative_terms(exact_products(block, vector))[1] for vector in negative)
    _check_finite(logarithms.max(keepdims=True, initial=-np.inf), positive, vectors, 0)
    logarithms[list(exclude)] = -np.inf
    found = np.lexsort((np.arange(len(vectors)), -logarithms))[:topn]
    found = found[np.isfinite(logarithms[found])]
    return found, np.exp(logarithms[found])


def multiplicative_terms(cosines: FloatArray) -> tuple[FloatArray, FloatArray]:
    """3CosMul in logarithms: what a cosine adds to a candidate's score as a wanted word, and takes away as another.

    The score is the product of the similarities to the wanted words over that to the others, each of the latter
    plus 0.001, which keeps it away from zero (Levy and Goldberg 2014).
    """
    # Rounding may leave a cosine just below -1.
    similar = np.maximum((1 + cosines) / 2, np.finfo(cosines.dtype).tiny)
    return np.log(similar), np.log(similar + _EPSILON)


def exact_products(rows: NDArray[np.floating[Any]], query: NDArray[np.floating[Any]]) -> Float64:
    """Scalar products (n,) in float64 of rows (n, d) with a query (d,), each summed in the same order.

    Unlike a matrix product, a row's result does not depend on where it stands or on how many there are.
    """
    return np.asarray(np.einsum("nd,d->n", rows.astype(np.float64, copy=False), query.astype(np.float64)))


class _Best:
    """The best rows for one query (d,) so far, best first, equal scores in the order of their rows.

    Args:
        vectors: (n, d), to score the rows in float64.
        exclude: rows that may not be an answer.
        extra: (n,) what each row gets on top of its scalar product, or None.
    """

    def __init__(
        self, query: Float32, topn: int, vectors: Float32, exclude: Sequence[int] | Int64, extra: Float32 | None
    ) -> None:
        self._query, self.topn, self._vectors, self.exclude, self._extra = query, topn, vectors, exclude, extra
        self.rows, self.scores = np.empty(0, np.int64), np.empty(0)
        self.least = -np.inf  # the topn-th best score is at least this

    def add(self, rows: Int64, uppers: Float32) -> None:
        """Let some rows compete, whose scores are at most `uppers`. The likeliest decide which others are scored."""
        if len(self.exclude) and len(rows):
            kept = ~np.isin(rows, self.exclude)
            rows, uppers = rows[kept], uppers[kept]
        if len(rows) > 2 * self.topn:
            likely = uppers >= np.partition(uppers, -self.topn)[-self.topn]
            self._score(rows[likely])
            rows = rows[~likely & (uppers >= self.least - 1e-6 * abs(self.least))]
        self._score(rows)

    def _score(self, candidates: Int64) -> None:
        """Score rows in float64, some at a time, so that memory stays bounded."""
        for start in range(0, len(candidates), _ROWS_RESCORED):
            rows = candidates[start : start + _ROWS_RESCORED]
            exact = exact_products(self._vectors[rows], self._query)
            exact += 0 if self._extra is None else self._extra[rows]
            rows, exact = np.concatenate([self.rows, rows]), np.concatenate([self.scores, exact])
            order = np.lexsort((rows, -exact))[: self.topn]
            self.rows, self.scores = rows[order], exact[order]
            if len(order) == self.topn:
                self.least = float(exact[order[-1]])


def _check_topn(topn: int) -> None:
    if topn < 1:
        raise ConfigError(f"the number of neighbours must be at least 1, not {topn}")


def _check_finite(highest: NDArray[np.floating[Any]], queries: Float32, vectors: Float32, start: int) -> None:
    """Raise for NaN in queries or vectors; the highest score is NaN where any is."""
    if np.isfinite(highest).all() or not len(vectors):
        return
    if not np.isfinite(queries).all():
        raise ConfigError("the query is not finite; it holds NaN or infinity")
    check_finite(vectors, start)


def check_finite(vectors: NDArray[np.floating[Any]], start: int = 0) -> None:
    """Raise `FormatError` where a row (n, d) holds NaN or infinity; the first row has the number `start`."""
    for low in range(0, len(vectors), _ROWS_CHECKED):
        finite = np.isfinite(vectors[low : low + _ROWS_CHECKED]).all(axis=1)
        if finite.all():
            continue
        damaged = start + low + int(np.argmin(finite))
        raise FormatError(
            f"vector {damaged} holds NaN or infinity; check the model (spherevec check) or train it again"
        )
