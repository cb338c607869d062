"""Documents, words and topics on one globe: directions on S² fitted to the neighbourhoods of the full space."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from spherevec.errors import ConfigError
from spherevec.explore import kernels
from spherevec.explore.graph import CellIndex, Floats, Graph, row_runner, symmetric

NEIGHBOURS = 15
EPOCHS = 300
NEGATIVES = 8
REPULSION = 1.0
MOMENTUM = 0.5
RATE = 1.0
SCALE = 2.8


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
    scale: float = SCALE,
    start: float = 0.3,
    anneal: float = 0.5,
    wide: float = 2.5,
    neighbours: int = NEIGHBOURS,
    samples: int = NEGATIVES,
    repulsion: float = REPULSION,
    momentum: float = MOMENTUM,
    rate: float = RATE,
) -> Places:
    dim = docs.shape[1]
    with row_runner(threads) as run:
        index = CellIndex.build(docs, seed, run)
        found, _ = index.neighbours(min(neighbours, max(len(docs) - 1, 1)), run)
        starts, links = symmetric(found, len(docs))
        n = len(docs)
        others = [t for t in (words, topics) if t is not None and len(t)]
        weights = np.repeat((1 / np.maximum(np.diff(starts), 1)).astype(np.float32), np.diff(starts))
        total = n + sum(map(len, others))
        k = min(neighbours, n)
        for t in others:
            f, _ = index.search(t, k, run)
            starts = np.concatenate([starts, starts[-1] + k * np.arange(1, len(t) + 1)])
            links = np.concatenate([links, f.reshape(-1)])
            weights = np.concatenate([weights, np.full(len(t) * k, 1 / k, np.float32)])
        places = np.zeros((total, 3), np.float32)
        places[:n] = first_places(docs, seed)
        if others:
            at = n
            for t in others:
                rows = links[starts[at]: starts[at + len(t)]].reshape(len(t), k)
                mean = places[rows].mean(axis=1) + 1e-6 * places[rows[:, 0]]
                places[at: at + len(t)] = mean / np.linalg.norm(mean, axis=1, keepdims=True)
                at += len(t)
        new, pace = np.empty_like(places), np.zeros_like(places)
        affinity = np.zeros(total, np.float32)
        s_end = scale / np.sqrt(n)
        mean_affinity = 1.0
        sp, sr = np.empty((n, 3), np.float32), np.empty(n, np.int64)
        for epoch in range(epochs):
            progress = epoch / epochs
            key = np.uint64(np.random.SeedSequence([seed, epoch]).generate_state(1, np.uint64)[0])
            s = s_end * (max(start, s_end) / s_end) ** max(0.0, 1 - progress / anneal)
            side = min(max(wide * s, 0.01), 0.25)
            across = int(np.ceil(2 / side))
            vs, fl = np.empty(across**3 + 1, np.int64), np.empty(across**3, np.int64)
            kernels.sort_into_voxels(places, n, np.float32(side), across, vs, fl, sp, sr)
            args = lambda rate_, mean: (places, new, pace, affinity, starts, links, weights, vs, np.float32(side), across, sp, sr, samples,
                np.float32(s), np.float32(mean), np.float32(repulsion), np.float32(rate_), np.float32(momentum), key)
            if epoch == 0:
                run(kernels.move_points, total, *args(0, 1))
                mean_affinity = float(affinity[:n].mean(dtype=np.float64))
                pace[:] = 0
            run(kernels.move_points, total, *args(rate * (1 - progress), mean_affinity))
            mean_affinity = float(affinity[:n].mean(dtype=np.float64))
            places, new = new, places
    return Places(places[:n], places[n : n + (0 if words is None else len(words))], places[total - (0 if topics is None else len(topics)):])


def first_places(vectors: Floats, seed: int) -> Floats:
    """The three main directions of the vectors, stretched evenly and normalised."""
    sample = vectors[np.sort(np.random.default_rng(seed).permutation(len(vectors))[:20000])].astype(np.float64)
    mean = sample.mean(axis=0)
    _, _, axes = np.linalg.svd(sample - mean, full_matrices=False)
    flat = (vectors - mean.astype(np.float32)) @ axes[:3].T.astype(np.float32)
    flat /= flat.std(axis=0) + 1e-9
    flat += 1e-3 * np.random.default_rng(seed).standard_normal(flat.shape, np.float32)
    return np.asarray(flat / np.linalg.norm(flat, axis=1, keepdims=True), np.float32)
