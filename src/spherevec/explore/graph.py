"""The neighbour graph of the map: which points shall lie near each other."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from spherevec.explore import kernels
from spherevec.process import usable_cores
from spherevec.sphere import Floats
from spherevec.threads import run_slices

Rows = NDArray[np.int32]

_SLICE_ROWS = 1024
_LLOYD_ROUNDS = 2
_PROBES = 48

Runner = Callable[..., None]


@contextmanager
def row_runner(threads: int) -> Iterator[Runner]:
    """`run(kernel, rows, *args)` calls `kernel(*args, first, last)` on slices of the rows, by a pool of threads."""
    with ThreadPoolExecutor(threads or usable_cores(), thread_name_prefix="spherevec-map") as pool:

        def run(kernel: Callable[..., None], rows: int, *args: Any) -> None:
            run_slices(pool, [*range(0, max(rows, 1), _SLICE_ROWS), rows], kernel, *args)

        yield run


@dataclass(frozen=True)
class CellIndex:
    """Unit rows sorted into cells around centres; a query looks into the cells nearest to its own.

    A map of all rows may miss a neighbour, and must not compare all pairs; `spherevec.search.neighbors` is exact.

    Attributes:
        rows: (n, dim) the rows in the order of their cells.
        order: (n,) the number that each sorted row had before.
        starts: (cells + 1,) where each cell begins.
        centres: (cells, dim).
        probes: (cells, p) the cells that a query of a cell looks into.
        cells: (n,) the cell of each sorted row.
    """

    rows: Floats
    order: NDArray[np.int64]
    starts: NDArray[np.int64]
    centres: Floats
    probes: Rows
    cells: Rows

    @classmethod
    def build(cls, vectors: Floats, seed: int, run: Runner) -> CellIndex:
        """Sort unit vectors (n, dim) into about 4 sqrt(n) cells."""
        n = len(vectors)
        count = max(1, min(n, round(4 * math.sqrt(n)))) if n > 4096 else 1
        rng = np.random.default_rng(seed)
        centres = np.ascontiguousarray(vectors[np.sort(rng.permutation(n)[:count])], np.float32)
        cells = np.zeros(n, np.int32)
        vectors = np.ascontiguousarray(vectors, np.float32)
        if count > 1:
            for _ in range(_LLOYD_ROUNDS):
                run(kernels.nearest_cells, n, vectors, centres, cells)
                centres = _centres(vectors, cells, centres)
            run(kernels.nearest_cells, n, vectors, centres, cells)
        order = np.argsort(cells, kind="stable")
        starts = np.concatenate([[0], np.cumsum(np.bincount(cells, minlength=count))]).astype(np.int64)
        probes = np.zeros((count, 1), np.int32)
        if count > 1:
            probes = _nearest_centres(centres, min(_PROBES, count), run)
        return cls(vectors[order], order, starts, centres, probes, cells[order])

    def neighbours(self, k: int, run: Runner) -> tuple[Rows, Floats]:
        """The `k` nearest other rows to each row, (n, k), in the numbers that rows had before; -1 for none."""
        n = len(self.rows)
        found, cosines = np.empty((n, k), np.int32), np.empty((n, k), np.float32)
        own = np.arange(n, dtype=np.int64)
        run(
            kernels.search_cells, n, self.rows, self.cells, own, self.rows, self.starts, self.probes, found, cosines
        )  # fmt: skip
        back_found, back_cosines = np.empty_like(found), np.empty_like(cosines)
        back_found[self.order] = self._numbers(found)
        back_cosines[self.order] = cosines
        return back_found, back_cosines

    def search(self, queries: Floats, k: int, run: Runner) -> tuple[Rows, Floats]:
        """The `k` rows nearest to each query, (q, k), in the numbers that rows had before; -1 for none."""
        queries = np.ascontiguousarray(queries, np.float32)
        q = len(queries)
        cells = np.zeros(q, np.int32)
        run(kernels.nearest_cells, q, queries, self.centres, cells)
        found, cosines = np.empty((q, k), np.int32), np.empty((q, k), np.float32)
        own = np.full(q, -1, np.int64)
        run(kernels.search_cells, q, queries, cells, own, self.rows, self.starts, self.probes, found, cosines)
        return self._numbers(found), cosines

    def _numbers(self, found: Rows) -> Rows:
        return np.where(found >= 0, self.order[np.maximum(found, 0)], -1).astype(np.int32)


def _nearest_centres(centres: Floats, k: int, run: Runner) -> Rows:
    """The `k` centres nearest to each centre, (n, k); itself first."""
    n = len(centres)
    found, cosines = np.empty((n, k), np.int32), np.empty((n, k), np.float32)
    whole, nobody = np.asarray([0, n], np.int64), np.full(n, -1, np.int64)
    one_cell, cells = np.zeros((1, 1), np.int32), np.zeros(n, np.int32)
    run(kernels.search_cells, n, centres, cells, nobody, centres, whole, one_cell, found, cosines)
    return found


def _centres(vectors: Floats, cells: Rows, old: Floats) -> Floats:
    """The mean direction of each cell; an empty one, or one without a direction, keeps its centre."""
    order = np.argsort(cells, kind="stable")
    sizes = np.bincount(cells, minlength=len(old))
    new = old.copy()
    begin = 0
    for cell, size in enumerate(sizes.tolist()):
        if size:
            total = vectors[order[begin : begin + size]].sum(axis=0, dtype=np.float64)
            length = float(np.linalg.norm(total))
            if length > 1e-6:
                new[cell] = total / length
        begin += size
    return new


def symmetric(neighbours: Rows, count: int) -> tuple[NDArray[np.int64], Rows]:
    """The links of points that are neighbours in either direction, each once: starts and links.

    Args:
        neighbours: (count, k) rows, -1 for none.
    """
    from scipy import sparse

    k = neighbours.shape[1]
    heads = np.repeat(np.arange(count, dtype=np.int32), k)
    tails = neighbours.reshape(-1)
    real = tails >= 0
    ones = np.ones(int(real.sum()), np.int8)
    one_way = sparse.csr_array((ones, (heads[real], tails[real])), shape=(count, count))
    both = one_way.maximum(one_way.T).tocsr()
    both.sort_indices()
    return both.indptr.astype(np.int64), both.indices.astype(np.int32)
