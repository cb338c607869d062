"""Documents, words and topics on one globe: directions on S² fitted to the neighbourhoods of the full space.

The objective is t-SNE's, on the sphere: linked points attract, all points repel. Coarse shapes come first: the scale of
the kernel falls from a fifth of the globe to the distance of neighbouring points. Words and topics are drawn to the
documents nearest to them; they are pushed by the documents and push nobody, so they do not disturb the documents' map.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from spherevec.errors import ConfigError
from spherevec.explore import kernels
from spherevec.process import usable_cores
from spherevec.sphere import Floats
from spherevec.threads import run_slices

Rows = NDArray[np.int32]
Runner = Callable[..., None]

NEIGHBOURS = 15  # links of each point
EPOCHS = 300  # steps of all points
SAMPLES = 8  # near points, and far ones, that a step's repulsion is estimated from
REPULSION = 1.0
MOMENTUM = 0.8
RATE = 1.0  # at the start; falls linearly to nothing
WIDEST = 0.3  # scale of the kernel at the start, in radians
# Scale at the end: this over the square root of the number of points. It is reached after this share of the epochs.
CLOSEST, ANNEALED = 2.8, 0.5
# Side of a voxel in units of the scale, and its bounds in radians.
VOXEL, SMALLEST_VOXEL, LARGEST_VOXEL = 2.5, 0.01, 0.25
_PCA_ROWS = 20_000
_SLICE_ROWS = 1024
_LLOYD_ROUNDS = 2
_PROBES = 48  # cells that a query looks into


@dataclass(frozen=True)
class Places:
    """Where everything lies: unit rows (n, 3) float32."""

    docs: Floats
    words: Floats
    topics: Floats


def place_on_globe(
    docs: Floats,
    words: Floats | None = None,
    topics: Floats | None = None,
    *,
    seed: int = 1,
    threads: int = 0,
    epochs: int = EPOCHS,
) -> Places:
    """Places on the globe for documents, words and topics, given as unit rows of one space.

    The same seed gives the same bits for any number of threads. Memory grows by about one copy of the vectors and
    200 bytes a document.

    Args:
        docs: (n, dim). Without documents the words take their part.
        words: (w, dim) input vectors, those that documents are fitted to.
        topics: (k, dim).
        threads: 0 = all cores.
        epochs: steps; fewer are quicker and coarser.

    >>> rows = np.eye(5, dtype=np.float32)
    >>> place_on_globe(rows, rows[:2], epochs=5).words.shape
    (2, 3)
    """
    if epochs < 1:
        raise ConfigError(f"epochs must be at least 1, not {epochs}")
    dim = docs.shape[1]
    groups = [docs, *(np.zeros((0, dim), np.float32) if group is None else group for group in (words, topics))]
    for name, group in zip(("words", "topics"), groups[1:], strict=True):
        if group.shape[1] != dim:
            raise ConfigError(f"{name} have dimension {group.shape[1]}, documents have {dim}")
    leader = next((i for i, group in enumerate(groups) if len(group)), None)
    if leader is None:
        empty = np.zeros((0, 3), np.float32)
        return Places(empty, empty, empty)
    with row_runner(threads) as run, threadpool_limits(1, "blas"):
        placed = _place(groups[leader], groups[leader + 1 :], seed, epochs, run)
    nothing = [np.zeros((0, 3), np.float32)] * leader
    return Places(*nothing, *placed)


def _place(points: Floats, followers: Sequence[Floats], seed: int, epochs: int, run: Runner) -> list[Floats]:
    """Places of the points, and of each group of followers."""
    n = len(points)
    index = CellIndex.build(points, seed, run)
    neighbours, _ = index.neighbours(min(NEIGHBOURS, max(n - 1, 1)), run)
    starts, links = symmetric(neighbours, n)
    del neighbours
    places = [first_places(points, seed)]
    for group in followers:
        found, _ = index.search(group, min(NEIGHBOURS, n), run)
        starts = np.concatenate([starts, starts[-1] + found.shape[1] * np.arange(1, len(group) + 1)])
        links = np.concatenate([links, found.reshape(-1)])
        places.append(_amid(places[0], found))
    del index
    together = descend(np.concatenate(places), n, starts, links, seed, epochs, run)
    return np.split(together, np.cumsum([len(group) for group in places])[:-1])


def descend(
    places: Floats, n: int, starts: NDArray[np.int64], links: Rows, seed: int, epochs: int, run: Runner
) -> Floats:
    """The places after `epochs` steps of all points; the first `n` of them push.

    Args:
        places: (m, 3) to start from.
        starts, links: the graph in CSR form.
    """
    m = len(places)
    places = places.copy()  # the two arrays take turns
    new, pace, affinity = np.empty_like(places), np.zeros_like(places), np.zeros(m, np.float32)
    sorted_places, sorted_rows = np.empty((n, 3), np.float32), np.empty(n, np.int64)
    mean_affinity = 1.0
    for epoch in range(-1, epochs):  # the first round moves nothing, and measures the mean affinity
        progress = max(epoch, 0) / epochs
        scale = scale_at(progress, n)
        side = min(max(VOXEL * scale, SMALLEST_VOXEL), LARGEST_VOXEL)
        across = math.ceil(2 / side)
        voxels, filled = np.empty(across**3 + 1, np.int64), np.empty(across**3, np.int64)
        kernels.sort_into_voxels(places, n, np.float32(side), across, voxels, filled, sorted_places, sorted_rows)
        key = np.random.SeedSequence([seed, epoch + 1]).generate_state(1, np.uint64)[0]
        rate = 0.0 if epoch < 0 else RATE * (1 - progress)
        run(
            kernels.move_points, m, places, new, pace, affinity, starts, links,
            voxels, np.float32(side), across, sorted_places, sorted_rows, SAMPLES,
            np.float32(scale), np.float32(mean_affinity), np.float32(REPULSION), np.float32(rate),
            np.float32(MOMENTUM), key,
        )  # fmt: skip
        if n > 1:  # one point pushes nobody away from it
            mean_affinity = max(float(affinity[:n].mean(dtype=np.float64)), 1e-9)
        places, new = new, places
    return places


def scale_at(progress: float, n: int) -> float:
    """The scale of the kernel, in radians, after a share of the epochs."""
    closest = min(CLOSEST / math.sqrt(n), WIDEST)
    return float(closest * (WIDEST / closest) ** max(0.0, 1 - progress / ANNEALED))


def first_places(vectors: Floats, seed: int) -> Floats:
    """The three main directions of the vectors, stretched alike and normalised; a little noise parts equal rows."""
    rng = np.random.default_rng(seed)
    sample = vectors[np.sort(rng.permutation(len(vectors))[:_PCA_ROWS])].astype(np.float64)
    mean = sample.mean(axis=0)
    _, _, axes = np.linalg.svd(sample - mean, full_matrices=False)
    flat = np.zeros((len(vectors), 3), np.float32)
    flat[:, : min(3, len(axes))] = (vectors - mean.astype(np.float32)) @ axes[:3].T.astype(np.float32)
    flat /= flat.std(axis=0) + np.float32(1e-6)
    flat += 0.01 * rng.standard_normal(flat.shape, np.float32)
    return np.asarray(flat / np.linalg.norm(flat, axis=1, keepdims=True), np.float32)


def _amid(places: Floats, rows: Rows) -> Floats:
    """The middle of some places for each of many points; rows: (q, k), the nearest first."""
    middle = places[rows].mean(axis=1) + np.float32(1e-3) * places[rows[:, 0]]
    return np.asarray(middle / np.linalg.norm(middle, axis=1, keepdims=True), np.float32)


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
    def build(cls, vectors: Floats, seed: int, run: Runner, most_cells: int | None = None) -> CellIndex:
        """Sort unit vectors (n, dim) into about 4 sqrt(n) cells; a few thousand into one."""
        n = len(vectors)
        count = most_cells or (max(1, min(n, round(4 * math.sqrt(n)))) if n > 4096 else 1)
        rng = np.random.default_rng(seed)
        centres = np.ascontiguousarray(vectors[np.sort(rng.permutation(n)[:count])], np.float32)
        cells = np.zeros(n, np.int32)
        vectors = np.ascontiguousarray(vectors, np.float32)
        probes = np.zeros((count, 1), np.int32)
        if count > 1:
            for _ in range(_LLOYD_ROUNDS):
                run(kernels.nearest_cells, n, vectors, centres, cells)
                centres = _centres(vectors, cells, centres)
            run(kernels.nearest_cells, n, vectors, centres, cells)
            probes, _ = cls.build(centres, seed, run, 1).search(centres, min(_PROBES, count), run)
        order = np.argsort(cells, kind="stable")
        starts = np.concatenate([[0], np.cumsum(np.bincount(cells, minlength=count))]).astype(np.int64)
        return cls(vectors[order], order, starts, centres, probes, cells[order])

    def neighbours(self, k: int, run: Runner) -> tuple[Rows, Floats]:
        """The `k` nearest other rows to each row, (n, k), in the numbers that rows had before; -1 for none."""
        found, cosines = self._search(self.rows, self.cells, np.arange(len(self.rows)), k, run)
        back = np.argsort(self.order)
        return found[back], cosines[back]

    def search(self, queries: Floats, k: int, run: Runner) -> tuple[Rows, Floats]:
        """The `k` rows nearest to each query, (q, k), in the numbers that rows had before; -1 for none."""
        queries = np.ascontiguousarray(queries, np.float32)
        cells = np.zeros(len(queries), np.int32)
        run(kernels.nearest_cells, len(queries), queries, self.centres, cells)
        return self._search(queries, cells, np.full(len(queries), -1), k, run)

    def _search(self, queries: Floats, cells: Rows, own: NDArray[np.int64], k: int, run: Runner) -> tuple[Rows, Floats]:
        found, cosines = np.empty((len(queries), k), np.int32), np.empty((len(queries), k), np.float32)
        into = (self.rows, self.starts, self.probes, found, cosines)
        run(kernels.search_cells, len(queries), queries, cells, own, *into)
        return np.where(found >= 0, self.order[np.maximum(found, 0)], -1).astype(np.int32), cosines


def _centres(vectors: Floats, cells: Rows, old: Floats) -> Floats:
    """The mean direction of each cell; an empty one, or one without a direction, keeps its centre."""
    new, order = old.copy(), np.argsort(cells, kind="stable")
    for cell, rows in enumerate(np.split(order, np.cumsum(np.bincount(cells, minlength=len(old)))[:-1])):
        total = vectors[rows].sum(axis=0, dtype=np.float64)
        length = float(np.linalg.norm(total))
        if length > 1e-6:
            new[cell] = total / length
    return new


def symmetric(neighbours: Rows, count: int) -> tuple[NDArray[np.int64], Rows]:
    """The links of points that are neighbours in either direction, each once: starts and links.

    Args:
        neighbours: (count, k) rows, -1 for none.
    """
    from scipy import sparse

    heads, places = np.nonzero(neighbours >= 0)
    links = (heads.astype(np.int32), neighbours[heads, places])
    one_way = sparse.csr_array((np.ones(len(heads), np.int8), links), shape=(count, count))
    both = one_way.maximum(one_way.T).tocsr()
    both.sort_indices()
    return both.indptr.astype(np.int64), both.indices.astype(np.int32)
