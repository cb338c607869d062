"""Training in rounds of shards: the same bits for any number of threads. `rounds.py` has the compiled loop."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import astuple
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from spherevec.config import TrainConfig
from spherevec.engine.base import PIECE, SETTLING, Block, Floats, TrainingData
from spherevec.engine.cpu import rounds as loop
from spherevec.engine.cpu.backend import CpuBackend, CpuTraining
from spherevec.engine.cpu.kernels import PEERS
from spherevec.engine.cpu.rounds import CELL, COMMON, SEVERAL, SHARDS
from spherevec.engine.cpu.vector_ops import padded_rows, padded_width
from spherevec.engine.figures import SLOTS, Sums
from spherevec.engine.fit import FitTables
from spherevec.storage.memory import touch_sparsely

MOST_PIECES = 4096  # of one document in a round, which has about 250 units of that length


class DeterministicCpuBackend(CpuBackend):
    """All workers train each block together: a block is a round of `SHARDS` shards."""

    def __init__(self, data: TrainingData, config: TrainConfig, workdir: str | Path | None = None) -> None:
        super().__init__(data, config, workdir)
        self.workers = min(self.workers, SHARDS)
        self._sums = np.zeros((SHARDS, 64), np.float64)[:, : len(SLOTS)]
        self._totals = np.zeros((2, len(SLOTS)))  # of the rounds before this one, and of the last of them
        one_by_one = config.objective_info.one_by_one(config.batch)
        self._peers = not one_by_one and (config.refit or not config.documents)
        # Words that one center can bring along: the negatives of each of its batches or pairs.
        around = 2 * config.window + int(config.documents)
        self._negatives_a_center = config.negative * (around if one_by_one else -(-around // config.batch))
        words = np.arange(data.words)
        self._marks = np.zeros(data.words, np.uint8)
        self._marks[(words < COMMON) | (words >= data.words & -PEERS)] = SEVERAL
        self._room: tuple[int, int] = (-1, -1)

    def begin(self, blocks: Sequence[Block]) -> CpuTraining:
        plan = self._plan(blocks, self._peers)
        self._make_room(*loop.largest_round(self._corpus, plan))
        # Cells of its own: whoever holds the training before this one may still ask how much it has done.
        rounds = self.round._replace(cells=np.zeros_like(self.round.cells))

        def train(worker: int) -> None:
            loop.train_rounds(
                worker, self.workers, rounds, self.inputs, self.contexts, self.documents, self._corpus,
                self._scratch[worker], plan, self._settings, SETTLING,
            )  # fmt: skip

        return CpuTraining(rounds.cells, train)

    def _make_room(self, units: int, tokens: int) -> None:
        """Room for rounds of so many units and tokens. Most of it is touched where it is needed only."""
        if units <= self._room[0] and tokens <= self._room[1]:
            return
        units, tokens = self._room = max(units, self._room[0]), max(tokens, self._room[1])
        window = self._config.window
        words = tokens + 2 * window * units
        self.round = loop.Round(
            kept=np.zeros(words, np.int32),
            units=np.zeros((units, loop.FIELDS), np.int64),
            edges=np.zeros(SHARDS + 1, np.int64),
            marks=self._marks,
            places=np.zeros_like(self._marks),
            input_marks=self._marks if self._peers else np.full_like(self._marks, SEVERAL),
            cells=np.zeros(loop.CELLS, np.int64),
            sums=self._sums,
            totals=self._totals,
            biases=self._biases,
            known=np.zeros((self.workers, 256)),
        )
        # What a shard meets in its text, at most, and of negatives: see `deal` and `Peers`.
        text = words // SHARDS + PIECE + 2 * window + 1
        drawn = text * self._negatives_a_center
        if self._peers:
            drawn = COMMON + PEERS + min(self._data.words // PEERS + 1, words)
        known = self._data.words
        met = min(known, words + COMMON + PEERS)
        self.inputs = self._copies("inputs", min(text + drawn, known), met if self._peers else known, SHARDS)
        self.contexts = self._copies("contexts", min(text, known), met, SHARDS)
        # Every unit of a long document makes a copy of its vector. How many units there is room for must not decide how
        # exactly their steps add up: a resumed run has other rounds before it.
        pieces = np.bincount(self._data.pieces[:, 0]) if self._config.documents else np.zeros(0, np.int64)
        long = min(units, int(np.count_nonzero(pieces)))
        self.documents = self._copies("docs", min(long, 1), long, min(int(pieces.max(initial=0)) + 1, MOST_PIECES))

    def _copies(self, table: str, copies: int, shared: int, times: int) -> loop.Copies:
        """What workers need for `copies` copies, of `shared` rows, each `times` times at most."""
        of_words, length = table != "docs", len(self._tables[table]) if shared else 0
        workers, stride = self.workers, padded_width(self._width)
        # A shard needs a part of its room, a round some of the rows: how much is not known before.
        rows, learned = padded_rows(workers * copies, self._width), padded_rows(shared, self._width)
        touch_sparsely(rows)
        touch_sparsely(learned)
        return loop.Copies(
            table=self._tables[table],
            slots=np.zeros((workers, length) if of_words else (0, 0), np.int32),
            touched=np.zeros((workers, copies), np.int32),
            moves=np.zeros((workers, copies + 1), np.int32),
            rows=rows.reshape(workers, copies, stride),
            used=np.zeros((SHARDS, CELL), np.int64),
            numbers=np.full(length, -1, np.int32),
            shared=np.zeros(shared + 1, np.int32),
            locks=np.zeros(shared, np.int64),
            learned=learned.view(np.int32),
            steps=np.zeros(shared, np.int64),
            gone=np.zeros(shared, np.int64),
            # As fine as it can be: a coordinate of a copy moves by 2 at most, and their sum must fit 31 bits.
            unit=np.float32(2.0 ** (math.ceil(math.log2(2 * max(times, 1))) - 30)),
            sums=padded_rows(workers, self._width),
        )

    def sums(self) -> Sums:
        return Sums(*(self._totals[0] + self._sums.sum(axis=0)).tolist())

    def restore_sums(self, sums: Sums) -> None:
        self._sums[:] = 0
        self._totals[0] = astuple(sums)

    def fit_tables(self, counts: NDArray[np.int64]) -> FitTables | None:
        self._give_back_room()
        return super().fit_tables(counts)

    def take(self) -> dict[str, Floats]:
        self._give_back_room()
        return super().take()

    def _give_back_room(self) -> None:
        """No rounds follow soon, and other arrays need the memory; `begin` makes room again."""
        self._room = (-1, -1)
        for name in ("round", "inputs", "contexts", "documents"):
            vars(self).pop(name, None)
