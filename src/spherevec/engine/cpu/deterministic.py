"""Training in rounds of shards: the same bits for any number of threads.

The shards of a round all start from the same vectors. Each trains on copies of the rows that it touches, whichever
thread it runs on; when all are done, the copies are brought together row by row, in the order of the shards.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import astuple
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from spherevec.config import TrainConfig
from spherevec.engine.base import SETTLING, Block, Floats, TrainingData
from spherevec.engine.cpu import kernels as kernel
from spherevec.engine.cpu.backend import CpuBackend, span_of
from spherevec.engine.cpu.overlay_ops import Overlay
from spherevec.engine.cpu.vector_ops import padded_rows
from spherevec.engine.figures import SLOTS, Sums

SHARDS = 16  # of a round: how many threads can work on it, and part of what the bits depend on


class ShardedTable:
    """The copies that the shards of a round make of the rows of one table.

    Args:
        table: (R, stride)
        places: (n,) the rows that are copied; others belong to one shard alone and are trained in place.
    """

    def __init__(self, table: Floats, places: NDArray[np.int32], workers: int) -> None:
        self._table, self._places = table, places
        self._numbers = np.zeros(0, np.int32)
        if len(places) < len(table):
            self._numbers = np.full(len(table), -1, np.int32)
            self._numbers[places] = np.arange(len(places), dtype=np.int32)
        self._slots = [np.full(len(places), -1, np.int32) for _ in range(workers)]
        self._home = np.full(len(places), -1, np.int32)
        self._sums = [padded_rows(1, table.shape[1]) for _ in range(workers)]
        self._used = np.zeros((SHARDS, 8), np.int64)  # a cache line each
        self._capacity = 0

    def forget(self) -> None:
        """Begin a round: no shard holds a copy."""
        self._used[:] = 0

    def reserve(self, rows: int) -> None:
        """Make room for the copies of a shard that touches at most so many rows. Memory is used as it is touched."""
        needed = min(rows, len(self._places))
        if needed <= self._capacity and self._capacity:
            return
        # Doubled, so that rounds that grow little by little do not allocate each time.
        self._capacity = max(1, min(2 * needed, len(self._places)))
        cells = SHARDS * self._capacity
        self._copies = padded_rows(cells, self._table.shape[1])
        self._touched, self._moves = np.zeros(cells, np.int32), np.zeros(cells, np.int32)
        self._following = np.zeros(cells, np.int32)

    def overlay(self, worker: int, shard: int) -> Overlay:
        """The table as an untouched shard sees it."""
        self._used[shard, 0] = 0
        own = slice(shard * self._capacity, (shard + 1) * self._capacity)
        return Overlay(
            table=self._table,
            numbers=self._numbers,
            slots=self._slots[worker],
            touched=self._touched[own],
            moves=self._moves[own],
            copies=self._copies[own],
            used=self._used[shard],
        )

    def add_moves(self, total: NDArray[np.int32]) -> None:
        """Add the steps that the round's copies have taken to those of their rows, (R,)."""
        for shard, used in enumerate(self._used[:, 0].tolist()):
            own = slice(shard * self._capacity, shard * self._capacity + used)
            total[self._places[self._touched[own]]] += self._moves[own]

    def merge(self, part: int, parts: int, rate: float) -> None:
        kernel.merge_shards(
            self._places, self._used[:, 0], self._touched, self._moves, self._copies,
            self._table, self._home, self._following, self._sums[part], part, parts, rate,
        )  # fmt: skip


class DeterministicCpuBackend(CpuBackend):
    """Trains rounds of `SHARDS` blocks; sums are those of shards, not of threads."""

    shards = SHARDS

    def __init__(self, data: TrainingData, config: TrainConfig, workdir: str | Path | None = None) -> None:
        super().__init__(data, config, workdir)
        self._sums = np.zeros((SHARDS, 64), np.float64)[:, : len(SLOTS)]
        self._finished = np.zeros(len(SLOTS))  # of the rounds before this one
        long = np.unique(data.pieces[:, 0]) if config.documents else np.zeros(0)
        words = np.arange(data.words, dtype=np.int32)
        places = {"inputs": words, "contexts": words, "docs": long.astype(np.int32)}
        self._sharded = {
            name: ShardedTable(self._tables[name], rows, self.workers) for name, rows in places.items()
        }  # fmt: skip
        # Words that one center can bring along: the negatives of each of its batches or pairs.
        around = 2 * config.window + int(config.documents)
        one_by_one = config.objective_info.one_by_one(config.batch)
        self._negatives_a_center = config.negative * (around if one_by_one else -(-around // config.batch))
        self._moved: dict[str, NDArray[np.int32]] | None = None

    @property
    def rounds(self) -> DeterministicCpuBackend:
        return self

    def count_moves(self) -> dict[str, NDArray[np.int32]]:
        self._moved = {name: np.zeros(self._data.words, np.int32) for name in ("inputs", "contexts")}
        return self._moved

    def warm_up(self) -> None:
        nothing = Block(0, 0, 1, 1, 0.0, 0.0)
        self.begin_round([nothing])
        self.train_shard(0, 0, nothing)
        self.merge(0, 1, [nothing])

    def begin_round(self, blocks: Sequence[Block]) -> None:
        """Make room for the copies of a round's shards."""
        data, window = self._data, self._config.window
        for sharded in self._sharded.values():
            sharded.forget()
        for block in blocks:
            tokens = kernel.tokens_at(span_of(block, data.units), data.offsets, data.pieces)
            reach = tokens + 2 * window * (block.last - block.first)
            self._sharded["inputs"].reserve(reach * (1 + self._negatives_a_center))
            self._sharded["contexts"].reserve(reach)
            self._sharded["docs"].reserve(block.last - block.first)

    def train_shard(self, worker: int, shard: int, block: Block) -> None:
        """Train one block of the round, against the vectors of the round's start."""
        overlays = {name: table.overlay(worker, shard) for name, table in self._sharded.items()}
        self._run(block, kernel.Vectors(**overlays), self._scratch[worker], self._sums[shard])
        for overlay in overlays.values():
            kernel.forget_touched(overlay.slots, overlay.touched, overlay.used[0])

    def merge(self, part: int, parts: int, blocks: Sequence[Block]) -> None:
        """Bring the round's copies together, for one of `parts` sets of rows; called from as many threads at once."""
        rate = SETTLING * blocks[0].alpha_first
        for sharded in self._sharded.values():
            sharded.merge(part, parts, rate)

    def end_round(self) -> None:
        """Add up what the shards report, always in their order."""
        self._finished += self._sums.sum(axis=0)
        self._sums[:] = 0
        for name, total in (self._moved or {}).items():
            self._sharded[name].add_moves(total)

    def sums(self) -> Sums:
        return Sums(*(self._finished + self._sums.sum(axis=0)).tolist())

    def restore_sums(self, sums: Sums) -> None:
        self._sums[:] = 0
        self._finished[:] = astuple(sums)
