"""Nearest neighbours on the sphere: arrays in, arrays out.

Exact search runs over blocks of vectors, so its memory does not grow with their number; `AnnIndex` is the approximate
index for many millions of vectors (extra `ann`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from spherevec.errors import ConfigError, FormatError, MissingExtraError

Float32 = NDArray[np.float32]
Int64 = NDArray[np.int64]
# For each query, the rows that may not be an answer.
Exclusions: TypeAlias = Sequence[Sequence[int] | Int64]

# Scores held at a time, in float32 values: 16 MB.
_SCORES_PER_BLOCK = 1 << 22
# Queries taken at a time; more would not make the matrix product faster.
_QUERIES_PER_BLOCK = 256
# The approximate index: links of each vector, and candidates kept while searching. On touching clusters of 100,000
# vectors these found 99 % of the neighbours in a millisecond; half of each found 93 % in half the time.
_LINKS = 32
_CANDIDATES = 256


def top_k(queries: Float32, vectors: Float32, k: int, exclude: Exclusions | None = None) -> tuple[Int64, Float32]:
    """The `k` vectors nearest to each query, nearest first, equal cosines in the order of their index.

    Args:
        queries: (q, d) unit rows.
        vectors: (n, d) unit rows; a read-only memory map is fine.
        k: how many neighbours; at most n are returned.
        exclude: for each query, the rows of `vectors` that may not be an answer.

    Returns:
        Row numbers (q, k) and cosines (q, k). A query with fewer than k permitted rows is filled up with row -1 and
        cosine -inf.
    """
    queries = _as_rows(queries, vectors)

    def cosines(of: slice, among: slice) -> Float32:
        return queries[of] @ vectors[among].T

    rows, _ = _best_over_blocks(cosines, len(queries), len(vectors), k, exclude)
    return _in_exact_order(queries, vectors, rows)


def top_k_multiplicative(
    positive: Float32,
    negative: Float32,
    vectors: Float32,
    k: int,
    exclude: Exclusions | None = None,
) -> tuple[Int64, Float32]:
    """The `k` best rows by the product of their similarities to `positive` over that to `negative` (3CosMul).

    A similarity is a cosine moved from [-1, 1] to [0, 1].

    Args:
        positive: (q, p, d) unit vectors to be near to.
        negative: (q, m, d) unit vectors to be far from.

    Returns:
        Row numbers (q, k) and scores (q, k), filled up as in `top_k`.
    """

    def product(group: Float32, of: slice, among: slice) -> Float32:
        block = vectors[among]
        result = np.ones((of.stop - of.start, len(block)), np.float32)
        for member in range(group.shape[1]):
            result *= (1 + np.ascontiguousarray(group[of, member]) @ block.T) / 2
        return result

    def scores(of: slice, among: slice) -> Float32:
        # The small constant keeps a direction opposite to a negative from dividing by zero.
        ratio: Float32 = product(positive, of, among) / (product(negative, of, among) + np.float32(1e-6))
        return ratio

    return _best_over_blocks(scores, len(positive), len(vectors), k, exclude)


def _best_over_blocks(
    score: Callable[[slice, slice], Float32],
    query_count: int,
    row_count: int,
    k: int,
    exclude: Exclusions | None,
) -> tuple[Int64, Float32]:
    """The `k` highest scores of each query, best first, equal scores in the order of their row."""
    if k < 1:
        raise ConfigError(f"the number of neighbours must be at least 1, not {k}")
    k = min(k, row_count)
    best_rows = np.full((query_count, k), -1, np.int64)
    best_scores = np.full((query_count, k), -np.inf, np.float32)
    # Queries in a block: the candidates of all of them are kept beside the scores.
    step = max(1, min(_QUERIES_PER_BLOCK, _SCORES_PER_BLOCK // max(k, 1)))
    for first in range(0, query_count, step):
        of = slice(first, min(first + step, query_count))
        width = max(k, _SCORES_PER_BLOCK // (of.stop - of.start))
        for start in range(0, row_count, width):
            among = slice(start, min(start + width, row_count))
            scores = score(of, among)
            if exclude is not None:
                _hide(scores, exclude[of], among)
            _merge(best_rows[of], best_scores[of], scores, start)
    return best_rows, best_scores


def _hide(scores: Float32, exclude: Exclusions, among: slice) -> None:
    for query, rows in enumerate(exclude):
        for row in rows:
            if among.start <= row < among.stop:
                scores[query, row - among.start] = -np.inf


def _merge(best_rows: Int64, best_scores: Float32, scores: Float32, start: int) -> None:
    """Let the scores (q, b) of rows `start`… compete with the best (q, k) so far, in place."""
    k = best_rows.shape[1]
    for query, row_scores in enumerate(scores):
        # Later rows lose ties, so that only a strictly better score enters.
        entry = best_scores[query, -1]
        entering = np.flatnonzero(row_scores > entry)
        if len(entering) > 2 * k:
            lowest = np.partition(row_scores[entering], len(entering) - k)[len(entering) - k]
            entering = entering[row_scores[entering] >= lowest]
        if len(entering) == 0:
            continue
        all_scores = np.concatenate([best_scores[query], row_scores[entering]])
        all_rows = np.concatenate([best_rows[query], entering + start])
        # A stable sort keeps equal scores in the order of their rows.
        order = np.argsort(-all_scores, kind="stable")[:k]
        best_scores[query] = all_scores[order]
        best_rows[query] = all_rows[order]


def _in_exact_order(queries: Float32, vectors: Float32, rows: Int64) -> tuple[Int64, Float32]:
    """Score the chosen rows (q, k) again in float64, so that their order does not depend on how blocks were cut."""
    cosines = np.full(rows.shape, -np.inf, np.float32)
    rows = rows.copy()
    for query in range(len(queries)):
        chosen = np.sort(rows[query][rows[query] >= 0])
        exact = (vectors[chosen].astype(np.float64) @ queries[query].astype(np.float64)).astype(np.float32)
        order = np.argsort(-exact, kind="stable")
        rows[query, : len(order)] = chosen[order]
        cosines[query, : len(order)] = np.clip(exact[order], -1, 1)
    return rows, cosines


def _as_rows(queries: Float32, vectors: Float32) -> Float32:
    rows = np.ascontiguousarray(queries, np.float32)
    if rows.ndim != 2 or rows.shape[1] != vectors.shape[1]:
        raise ConfigError(f"queries of shape {rows.shape} do not fit vectors of dimension {vectors.shape[1]}")
    return rows


class AnnIndex:
    """An approximate index over unit vectors: built once, then searched from disk through a memory map.

    Needs the extra `ann`. An index file holds no pickle, but it is read by native code: open only your own.
    """

    def __init__(self, index: Any) -> None:
        self._index = index
        self._index.expansion_search = _CANDIDATES

    @classmethod
    def build(cls, vectors: Float32, threads: int = 0) -> AnnIndex:
        """Index the unit rows (n, d); `threads` = 0 means all cores."""
        usearch = _usearch()
        index = usearch.Index(ndim=vectors.shape[1], metric="ip", dtype="f16", connectivity=_LINKS)
        index.add(np.arange(len(vectors), dtype=np.uint64), vectors, threads=threads)
        return cls(index)

    def save(self, path: str | Path) -> None:
        from spherevec.storage.files import atomic_file

        with atomic_file(path, overwrite=True) as temporary:
            self._index.save(str(temporary))

    @classmethod
    def load(cls, path: str | Path) -> AnnIndex:
        """Open a saved index without reading it into memory."""
        usearch = _usearch()
        if not Path(path).is_file():
            raise FormatError(f"{path}: no such index file; build one with AnnIndex.build(vectors).save(path)")
        try:
            index = usearch.Index.restore(str(path), view=True)
        except (RuntimeError, ValueError, KeyError) as error:
            raise FormatError(f"{path}: not an index file ({error}); build it again") from None
        if index is None:
            raise FormatError(f"{path}: not an index file; build it again")
        return cls(index)

    def __len__(self) -> int:
        return len(self._index)

    @property
    def vector_size(self) -> int:
        return int(self._index.ndim)

    def fits(self, vectors: Float32) -> bool:
        """Whether this is an index of these vectors, as far as their number and a few of them tell."""
        if (len(self), self.vector_size) != vectors.shape:
            return False
        for row in {0, len(vectors) // 2, len(vectors) - 1} if len(vectors) else ():
            # The index keeps 11 bits of each number, which is enough to know a vector again.
            if not np.allclose(np.ravel(self._index.get(row)), vectors[row], atol=1e-3):
                return False
        return True

    def search(self, queries: Float32, k: int, threads: int = 0) -> tuple[Int64, Float32]:
        """Like `top_k`, without the promise that every neighbour is found.

        Returns:
            Row numbers (q, k) and cosines (q, k), filled up with -1 and -inf where fewer were found.
        """
        queries = np.ascontiguousarray(queries, np.float32)
        if queries.ndim != 2 or queries.shape[1] != self.vector_size:
            raise ConfigError(f"queries of shape {queries.shape} do not fit an index of dimension {self.vector_size}")
        if k < 1:
            raise ConfigError(f"the number of neighbours must be at least 1, not {k}")
        k = min(k, len(self))
        rows = np.full((len(queries), k), -1, np.int64)
        cosines = np.full((len(queries), k), -np.inf, np.float32)
        if len(queries) == 1:
            matches = self._index.search(queries[0], k)
            rows[0, : len(matches)] = matches.keys
            cosines[0, : len(matches)] = 1 - matches.distances
            return rows, cosines
        matches = self._index.search(queries, k, threads=threads)
        found = np.arange(k)[None, :] < np.asarray(matches.counts)[:, None]
        rows[found] = matches.keys[found]
        cosines[found] = 1 - matches.distances[found]
        return rows, cosines


def _usearch() -> Any:
    try:
        import usearch.index
    except ImportError:
        raise MissingExtraError("the approximate index", "ann") from None
    return usearch.index
