"""What workers tell one another: which rows have moved, how far, and in how many steps; and the sum of that."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from spherevec.distributed.kernels import add_deltas, apply_deltas, pack
from spherevec.engine.base import SETTLING, Floats
from spherevec.threads import run_slices

SHARED = ("inputs", "contexts")  # the tables of which every worker has a copy
_ROWS_A_THREAD = 4096


class RowDeltas(NamedTuple):
    """Some rows of a table that have moved, in ascending order, and by how much: `scale` times `delta`.

    16 bits a number are half of what the vectors have, and exact to a 30,000th of the longest number of a row.
    """

    rows: NDArray[np.int32]  # (n,)
    steps: NDArray[np.int32]  # (n,) taken by each
    scale: NDArray[np.float32]  # (n,)
    delta: NDArray[np.int16]  # (n, dim)

    @property
    def nbytes(self) -> int:
        return sum(array.nbytes for array in self)


Slice = Mapping[str, RowDeltas]  # by table


def packed(
    rows: NDArray[np.int32], steps: NDArray[np.int32], now: Floats, before: Floats, threads: int = 1
) -> RowDeltas:
    """What rows have moved.

    Args:
        now: (n, dim) where they are.
        before: (V, at least dim) where all were.
    """
    scale, delta = np.empty(len(rows), np.float32), np.empty(now.shape, np.int16)
    _spread(lambda first, last: pack(now, before, rows, first, last, scale, delta), len(rows), threads)
    return RowDeltas(rows, steps, scale, delta)


def merged(parts: Sequence[Slice], alpha: float, threads: int = 1) -> Slice:
    """What several workers have moved, as one.

    As with the shards of a round on one machine (see `merge_shards` in the kernels): where a row took few steps, the
    deltas are added up; where it took many, it came to rest in each worker by itself, and their mean is nearer to where
    it would have come to rest in all of them.

    Args:
        parts: in the order of the workers.
        alpha: the learning rate that the workers began with.
    """
    return {table: _merged([part[table] for part in parts], SETTLING * alpha, threads) for table in parts[0]}


def _merged(parts: Sequence[RowDeltas], rate: float, threads: int) -> RowDeltas:
    rows = np.unique(np.concatenate([part.rows for part in parts]))
    steps, gone = np.zeros(len(rows), np.int64), np.zeros(len(rows))
    total = np.zeros((len(rows), parts[0].delta.shape[1]), np.float32)
    found_at = [np.searchsorted(rows, part.rows) for part in parts]
    for part, places in zip(parts, found_at, strict=True):
        steps[places] += part.steps
        gone[places] += -np.expm1(-rate * part.steps)

    def add(first: int, last: int) -> None:
        for part, places in zip(parts, found_at, strict=True):
            low, high = np.searchsorted(places, (first, last))
            add_deltas(places, low, high, part.scale, part.delta, total)

    _spread(add, len(rows), threads)
    several = gone > 0
    weights = np.ones(len(rows))
    weights[several] = -np.expm1(-rate * steps[several]) / gone[several]
    nothing = np.zeros((1, total.shape[1]), np.float32)
    none, most = np.zeros(len(rows), np.int32), np.iinfo(np.int32).max
    found = packed(none, np.minimum(steps, most).astype(np.int32), total, nothing, threads)
    return found._replace(rows=rows, scale=(found.scale * weights).astype(np.float32))


def apply_delta(table: Floats, moved: RowDeltas, threads: int = 1) -> Floats:
    """Move rows of a table (V, at least dim), back to the sphere; returns where they are now, (n, dim)."""
    ended: Floats = np.empty(moved.delta.shape, np.float32)
    _spread(
        lambda first, last: apply_deltas(table, moved.rows, first, last, moved.scale, moved.delta, ended),
        len(moved.rows),
        threads,
    )
    return ended


def _spread(work: Callable[[int, int], None], rows: int, threads: int) -> None:
    """Do some rows at a time, on threads."""
    starts = range(0, rows, _ROWS_A_THREAD)
    if threads == 1 or len(starts) < 2:
        work(0, rows)
        return
    with ThreadPoolExecutor(threads, thread_name_prefix="spherevec") as pool:
        run_slices(pool, [*starts, rows], work)
