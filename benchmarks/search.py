"""How fast and how right search is: exact top-k on a million vectors, the approximate index against it.

    python -m benchmarks.search [--vectors 1000000] [--dim 100] [--json]

The vectors are clustered, as trained ones are: neighbours of random directions would be all alike.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.common import Report, command
from spherevec.search.neighbors import nearest_neighbors

K = 10


def clustered(n: int, dim: int, seed: int = 1) -> NDArray[np.float32]:
    """Unit rows (n, dim) around n / 200 centres, so wide that clusters touch."""
    rng = np.random.default_rng(seed)
    centres = 0.6 * rng.standard_normal((max(1, n // 200), dim), dtype=np.float32)
    rows = rng.standard_normal((n, dim), dtype=np.float32)
    rows += centres[rng.integers(len(centres), size=n)]
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    return rows


def best_of(repeats: int, call: Callable[[], Any]) -> float:
    seconds = []
    for _ in range(repeats):
        start = time.perf_counter()
        call()
        seconds.append(time.perf_counter() - start)
    return min(seconds)


def naive(queries: NDArray[np.float32], vectors: NDArray[np.float32]) -> NDArray[np.int64]:
    return np.argsort(-(queries @ vectors.T), axis=1)[:, :K]


def exact_figures(n: int, dim: int) -> dict[str, float]:
    vectors = clustered(n, dim)
    queries = clustered(100, dim, seed=2)
    return {
        "one query, ms": 1e3 * best_of(5, lambda: nearest_neighbors(queries[:1], vectors, K)),
        "one query, sorting all, ms": 1e3 * best_of(2, lambda: naive(queries[:1], vectors)),
        "hundred queries, ms": 1e3 * best_of(3, lambda: nearest_neighbors(queries, vectors, K)),
        "hundred queries, the matrix product alone, ms": 1e3
        * best_of(3, lambda: [queries @ vectors[i : i + 40_000].T for i in range(0, n, 40_000)]),
    }


def run(vectors: int = 1_000_000, dim: int = 100) -> Report:
    return {f"exact, {vectors:,} vectors": exact_figures(vectors, dim)}


def show(figures: Report) -> None:
    for title, group in figures.items():
        print(title)
        for name, value in group.items():
            print(f"  {name:48} {value:10.2f}")


if __name__ == "__main__":
    command(__doc__, run, show, vectors=1_000_000, dim=100)
