"""How fast exact search is: one byte a coordinate against float32, one query and sixteen.

    python -m benchmarks.search [--vectors 1000000] [--dim 100] [--turns 5] [--json]

The vectors are clustered, as trained ones are: neighbours of random directions would be all alike. Seconds are the
medians over the turns, of the clock and of the processor; in each turn everything is measured once.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.common import Report, command, ratios, shown
from spherevec.search.neighbors import ByteVectors, nearest_neighbors

TOPN = 10
_ROWS_MADE = 1 << 18


def clustered(n: int, dim: int, seed: int = 1) -> NDArray[np.float32]:
    """Unit rows (n, dim) around 2,000 centres, so wide that clusters touch."""
    rng = np.random.default_rng(seed)
    centres = 0.6 * rng.standard_normal((2000, dim), dtype=np.float32)
    vectors = np.empty((n, dim), np.float32)
    for start in range(0, n, _ROWS_MADE):
        rows = vectors[start : start + _ROWS_MADE]
        rows[:] = rng.standard_normal(rows.shape, dtype=np.float32)
        rows += centres[rng.integers(len(centres), size=len(rows))]
        rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    return vectors


def timed(call: Callable[[], Any]) -> tuple[float, float]:
    """Seconds of the clock, and of the processor on all cores."""
    clock, processor = time.perf_counter(), time.process_time()
    call()
    return time.perf_counter() - clock, time.process_time() - processor


def run(vectors: int = 1_000_000, dim: int = 100, turns: int = 5) -> Report:
    rows = clustered(vectors, dim)
    queries = rows[:: max(1, vectors // 16)][:16]
    small = rows[:1000]
    nearest_neighbors(queries, small, TOPN, in_bytes=ByteVectors.of(small))  # compiles
    making = timed(lambda: ByteVectors.of(rows))
    in_bytes = ByteVectors.of(rows)
    ways = {
        "one query, bytes": lambda: nearest_neighbors(queries[:1], rows, TOPN, in_bytes=in_bytes),
        "sixteen queries, bytes": lambda: nearest_neighbors(queries, rows, TOPN, in_bytes=in_bytes),
        "one query, float32": lambda: nearest_neighbors(queries[:1], rows, TOPN),
        "sixteen queries, float32": lambda: nearest_neighbors(queries, rows, TOPN),
    }
    taken = [{name: timed(call) for name, call in ways.items()} for _ in range(turns)]
    figures: Report = {
        name: [statistics.median(turn[name][kind] for turn in taken) for kind in (0, 1)] for name in ways
    }
    figures["making the bytes, once"] = list(making)
    one, many = ([turn[name][1] for turn in taken] for name in ("one query, bytes", "sixteen queries, bytes"))
    figures["sixteen over one, bytes"] = ratios(many, one)
    return figures


def show(figures: Report) -> None:
    print(f"{'seconds':30} {'clock':>8} {'processor':>10}")
    for name, value in figures.items():
        print(f"{name:30} {shown(value)}" if isinstance(value, dict) else f"{name:30} {value[0]:8.3f} {value[1]:10.3f}")


if __name__ == "__main__":
    command(__doc__, run, show, vectors=1_000_000, dim=100, turns=5)
