"""Documents, words and topics on one globe: directions on S² fitted to the neighbourhoods of the full space.

The objective is t-SNE's, on the sphere: linked points attract, all points repel. Coarse shapes come first: the scale of
the kernel falls from a fifth of the globe to the distance of neighbouring points. Words and topics are drawn to the
documents nearest to them; they are pushed by the documents and push nobody, so they do not disturb the documents' map.
So are the documents beyond the first 50,000, which are drawn at random.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from spherevec.errors import ConfigError
from spherevec.explore import kernels
from spherevec.process import one_blas_thread, usable_cores
from spherevec.sphere import Floats
from spherevec.threads import run_slices
from spherevec.topics.graph import nearest_rows, neighbor_graph, sample_of

Rows = NDArray[np.int32]

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
LANDMARKS = 50_000  # documents that are neighbours of each other; more would make the graph of all pairs too dear
_PCA_ROWS = 20_000
_SLICE_ROWS = 1024


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
    # The landmarks alone have neighbours among themselves; all others follow them.
    points = groups[leader]
    landmarks = sample_of(len(points), LANDMARKS, seed)
    others = np.delete(np.arange(len(points)), landmarks)
    placed = _place(points[landmarks], [points[others], *groups[leader + 1 :]], seed, epochs, threads)
    places = np.zeros((len(points), 3), np.float32)
    places[landmarks], places[others] = placed[:2]
    return Places(*([places[:0]] * leader + [places] + placed[2:]))


def _place(points: Floats, followers: Sequence[Floats], seed: int, epochs: int, threads: int) -> list[Floats]:
    """Places of the points, and of each group of followers."""
    n = len(points)
    graph = neighbor_graph(points, NEIGHBOURS, threads)
    starts, links = graph.indptr.astype(np.int64), graph.indices.astype(np.int32)
    with one_blas_thread():
        places = [first_places(points, seed)]
    for group in followers:
        found, _ = nearest_rows(group, points, min(NEIGHBOURS, n), threads)
        starts = np.concatenate([starts, starts[-1] + found.shape[1] * np.arange(1, len(group) + 1)])
        links = np.concatenate([links, found.reshape(-1)])
        places.append(_amid(places[0], found))
    together = descend(np.concatenate(places), n, starts, links, seed, epochs, threads)
    return np.split(together, np.cumsum([len(group) for group in places])[:-1])


def descend(
    places: Floats, n: int, starts: NDArray[np.int64], links: Rows, seed: int, epochs: int, threads: int
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
    mean_affinity, edges = 1.0, [*range(0, m, _SLICE_ROWS), m]
    pool = ThreadPoolExecutor(threads or usable_cores(), thread_name_prefix="spherevec-map")
    for epoch in range(-1, epochs):  # the first round moves nothing, and measures the mean affinity
        progress = max(epoch, 0) / epochs
        scale = scale_at(progress, n)
        side = min(max(VOXEL * scale, SMALLEST_VOXEL), LARGEST_VOXEL)
        across = math.ceil(2 / side)
        voxels, filled = np.empty(across**3 + 1, np.int64), np.empty(across**3, np.int64)
        kernels.sort_into_voxels(places, n, np.float32(side), across, voxels, filled, sorted_places, sorted_rows)
        key = np.random.SeedSequence([seed, epoch + 1]).generate_state(1, np.uint64)[0]
        rate = 0.0 if epoch < 0 else RATE * (1 - progress)
        run_slices(
            pool, edges, kernels.move_points, places, new, pace, affinity, starts, links,
            voxels, np.float32(side), across, sorted_places, sorted_rows, SAMPLES,
            np.float32(scale), np.float32(mean_affinity), np.float32(REPULSION), np.float32(rate),
            np.float32(MOMENTUM), key,
        )  # fmt: skip
        if n > 1:  # one point pushes nobody away from it
            mean_affinity = max(float(affinity[:n].mean(dtype=np.float64)), 1e-9)
        places, new = new, places
    pool.shutdown()
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
