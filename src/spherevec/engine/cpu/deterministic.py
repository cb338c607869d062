"""Training in rounds of shards: the same bits for any number of threads. `rounds.py` has the compiled loop."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import astuple
from pathlib import Path

import numpy as np

from spherevec.config import TrainConfig
from spherevec.engine.base import PIECE, SETTLING, Block, Floats, TrainingData
from spherevec.engine.bias import DAMPING
from spherevec.engine.cpu import rounds as loop
from spherevec.engine.cpu.atomics import CELL
from spherevec.engine.cpu.backend import CpuBackend
from spherevec.engine.cpu.kernels import PEERS
from spherevec.engine.cpu.rounds import COMMON, SHARDS
from spherevec.engine.cpu.vector_ops import padded_rows
from spherevec.engine.figures import SLOTS, Sums
from spherevec.storage.memory import touch_sparsely


class DeterministicCpuBackend(CpuBackend):
    """All workers train each block together: a block is a round of `SHARDS` shards."""

    def __init__(self, data: TrainingData, config: TrainConfig, workdir: str | Path | None = None) -> None:
        super().__init__(data, config, workdir)
        self.workers = min(self.workers, SHARDS)
        self._sums = np.zeros((SHARDS, 64), np.float64)[:, : len(SLOTS)]
        self._totals = np.zeros(len(SLOTS))  # of the rounds before this one
        self._biases = np.zeros(2)
        one_by_one = config.objective_info.one_by_one(config.batch)
        self._peers = not one_by_one and (config.refit or not config.documents)
        # Words that one center can bring along: the negatives of each of its batches or pairs.
        around = 2 * config.window + int(config.documents)
        self._negatives_a_center = config.negative * (around if one_by_one else -(-around // config.batch))
        words = np.arange(data.words)
        self._marks = np.zeros(data.words, np.uint8)
        self._marks[(words < COMMON) | (words >= data.words & -PEERS)] = loop.SEVERAL
        self._slots = np.full((2, self.workers, data.words), -1, np.int32)
        self._homes = np.full((2, data.words), -1, np.int32)
        self._room: tuple[int, int] = (0, 0)

    @property
    def rounds(self) -> DeterministicCpuBackend:
        return self

    def warm_up(self) -> None:
        # Of no round, to have it compiled.
        self.begin_rounds([]).train(0)

    def begin_rounds(self, blocks: Sequence[Block]) -> CpuRounds:
        """Get ready to train these blocks, of one epoch, one after another."""
        likelihood = self._config.objective_info.likelihood
        one = blocks[0] if blocks else Block(0, 0, 0, 0, 0.0, 0.0)
        plan = loop.Plan(
            edges=np.array([(block.first, block.last) for block in blocks], np.int64).reshape(-1, 2),
            alphas=np.array([(block.alpha_first, block.alpha_last) for block in blocks]).reshape(-1, 2),
            units=self._data.units,
            order_key=np.uint64(one.order_key),
            sample_key=np.uint64(one.sample_key),
            bias_rate=DAMPING * self._config.concentration if likelihood else 0.0,
            peers=self._peers,
        )
        self._biases[:] = one.word_bias, one.document_bias
        self._make_room(*loop.largest_round(self._corpus, plan))
        return CpuRounds(self, plan)

    def _make_room(self, units: int, tokens: int) -> None:
        """Room for rounds of so many units and tokens. Most of it is touched where it is needed only."""
        if units <= self._room[0] and tokens <= self._room[1] and self._room != (0, 0):
            return
        units, tokens = self._room = max(units, self._room[0]), max(tokens, self._room[1])
        window, width = self._config.window, self._width
        words = tokens + 2 * window * units
        self.round = loop.Round(
            kept=np.zeros(words, np.int32),
            units=np.zeros((units, loop.FIELDS), np.int64),
            tokens=np.zeros(units, np.int64),
            order=np.zeros(units, np.int32),
            edges=np.zeros(SHARDS + 1, np.int64),
            loads=np.zeros(SHARDS, np.int64),
            marks=self._marks,
            cells=np.zeros(loop.CELLS, np.int64),
            sums=self._sums,
            totals=self._totals,
            biases=self._biases,
        )
        # What a shard meets in its text, at most, and of negatives: see `deal` and `Peers`.
        text = words // SHARDS + PIECE + 2 * window + 1
        drawn = text * self._negatives_a_center
        if self._peers:
            drawn = COMMON + PEERS + min(self._data.words // PEERS + 1, words)
        self.inputs = self._copies(0, "inputs", text + drawn)
        self.contexts = self._copies(1, "contexts", text)
        long = units if len(self._data.pieces) and self._config.documents else 0
        self.documents = loop.DocumentCopies(
            table=self._tables["docs"],
            documents=np.zeros(long, np.int64),
            moves=np.zeros(long, np.int64),
            rows=padded_rows(long, width),
            used=np.zeros(1, np.int64),
            sums=padded_rows(self.workers, width),
        )

    def _copies(self, number: int, table: str, rows: int) -> loop.Copies:
        rows = min(rows, self._data.words)
        copied = padded_rows(SHARDS * rows, self._width)
        touch_sparsely(copied)  # a shard needs a part of its room: how much is not known before
        return loop.Copies(
            table=self._tables[table],
            slots=self._slots[number],
            touched=np.zeros((SHARDS, rows), np.int32),
            moves=np.zeros((SHARDS, rows), np.int32),
            rows=copied,
            used=np.zeros((SHARDS, CELL), np.int64),
            home=self._homes[number],
            following=np.zeros(SHARDS * rows, np.int32),
            sums=padded_rows(self.workers, self._width),
        )

    def train_rounds(self, worker: int, plan: loop.Plan) -> None:
        """Train the rounds of a plan together with the other workers."""
        loop.train_rounds(
            worker, self.workers, self.round, self.inputs, self.contexts, self.documents, self._corpus,
            self._scratch[worker], plan, self._settings, SETTLING,
        )  # fmt: skip

    def sums(self) -> Sums:
        return Sums(*(self._totals + self._sums.sum(axis=0)).tolist())

    def restore_sums(self, sums: Sums) -> None:
        self._sums[:] = 0
        self._totals[:] = astuple(sums)

    def learned_biases(self) -> tuple[float, float]:
        words, documents = self._biases.tolist()
        return words, documents

    def take(self) -> dict[str, Floats]:
        del self.round, self.inputs, self.contexts, self.documents
        return super().take()


class CpuRounds:
    """Rounds that all workers of a backend train together."""

    def __init__(self, backend: DeterministicCpuBackend, plan: loop.Plan) -> None:
        self._backend, self._plan = backend, plan
        self._cells = backend.round.cells
        self._cells[:] = 0

    def train(self, worker: int) -> None:
        self._backend.train_rounds(worker, self._plan)

    def stop(self) -> None:
        self._cells[loop.STOP] = 1

    @property
    def done(self) -> int:
        return int(self._cells[loop.DONE])
