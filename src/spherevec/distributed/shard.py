"""What one worker holds of a run, and what it does between two exchanges. Nothing here knows of Ray."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import astuple, dataclass, field, replace
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from spherevec.config import TrainConfig
from spherevec.distributed import interval
from spherevec.distributed.exchange import SHARED, RowDeltas, Slice, apply_delta, followed, merged, pack_into
from spherevec.engine.backends import make_backend
from spherevec.engine.base import Block, Floats
from spherevec.engine.bias import Biases
from spherevec.engine.cpu.document_rows import document_rows
from spherevec.engine.cpu.word_weights import Coherence, coherence, documents_looked_at
from spherevec.engine.figures import Sums
from spherevec.engine.fit import FitPlan, blank_tables
from spherevec.engine.initial import random_rows
from spherevec.engine.schedule import CHUNK_ROWS, SMALLEST_EPOCH, epoch_blocks
from spherevec.storage.memory import available_memory
from spherevec.training.run import refit_plan
from spherevec.training.runtime import training_data
from spherevec.training.workers import BlockQueue, BlockTrainer

# Rounds of an epoch of each of several workers: their mean goes less far than each of them, so a short text needs more
# and smaller rounds between two exchanges.
_SMALLEST_EPOCH = 32
_ROWS_AT_ONCE = 1 << 16


@dataclass(frozen=True)
class Task:
    """What all workers do between two exchanges.

    Attributes:
        step, steps: which exchange of the epoch, and how many it has.
        alpha: the learning rate that they begin with.
        sums: what the figures go on from.
        ahead: train the last part of the rounds while what was learned in the others is exchanged.
    """

    epoch: int
    step: int
    steps: int
    alpha: float
    word_bias: float
    document_bias: float
    sums: Sums = field(default_factory=Sums)
    ahead: bool = False


class Report(NamedTuple):
    """What a worker says of a task, besides its rows."""

    sums: Sums
    word_bias: float
    document_bias: float
    sent: int  # bytes
    seconds: float  # of training


class Shard:
    """A share of the documents, their vectors, and a copy of all word and context vectors.

    Args:
        number: of the worker, out of `workers`.
        ids, offsets: its documents.
        counts: (V,) of the words in the whole text.
        config: resolved for the whole text.
        tokens: of the whole text.
    """

    def __init__(
        self,
        number: int,
        workers: int,
        ids: NDArray[np.int32],
        offsets: NDArray[np.int64],
        counts: NDArray[np.int64],
        config: TrainConfig,
        tokens: int,
        workdir: str | Path | None = None,
    ) -> None:
        self._workers, self._tokens, self._seed = workers, tokens, config.seed
        self._data = training_data(ids, offsets, counts, config)
        self._config = config.with_(seed=seed_of(config.seed, number))
        self._backend = make_backend(self._data, config, workdir)
        self._biases = Biases(config.bias, config.concentration)
        self.finding = 0.0  # CPU seconds that it took last to find what has moved
        # What the workers agreed on last; a worker alone agrees with itself.
        self._agreed: dict[str, Floats] = {}
        self._sent: list[Slice] = []  # what was sent last, while it is being exchanged
        self._left: list[Block] = []  # of the task, to be trained meanwhile
        self._ahead, self._seconds, self._epoch = False, 0.0, -1
        self._own_blocks: list[Block] = []  # of the epoch
        if workers > 1:
            room = available_memory()  # a mapped file holds them where that is short
            self._agreed = {name: document_rows(self._data.words, config.vector_size, room, workdir) for name in SHARED}

    @property
    def rounds(self) -> int:
        """Blocks that an epoch has here, at the end of which an exchange may be."""
        return len(self._blocks(0))

    def _blocks(self, epoch: int) -> list[Block]:
        if self._epoch != epoch:
            smallest = SMALLEST_EPOCH if self._workers < 3 else _SMALLEST_EPOCH
            self._own_blocks = epoch_blocks(self._data, self._config, epoch, smallest) if self._data.units else []
            self._epoch = epoch
        return self._own_blocks

    def load(self, table: str, start: int, rows: Floats) -> None:
        """Set vectors; of documents, by the rows of this worker."""
        self._backend.load(table, start, rows)
        if table in self._agreed:
            self._agreed[table][start : start + len(rows), : self._config.vector_size] = rows

    def fill(self) -> None:
        """Random directions, as one machine has them: the same words on every worker, and documents of its own."""
        for table, count in self._data.table_rows(self._config).items():
            config = self._config.with_(seed=self._seed) if table in SHARED else self._config
            for start, rows in random_rows(config, table, count):
                self.load(table, start, rows)

    def finite(self, table: str) -> bool:
        return self._backend.finite(table)

    def read(self, table: str, start: int, stop: int) -> Floats:
        return self._backend.read(table, start, stop)

    def warm_up(self) -> None:
        """Compile all kernels of a run."""
        self._backend.warm_up()
        for table, moved in (self._slices()[0] if self._agreed else {}).items():
            self.absorb(merged([{table: moved}] * 2, 0.0))
            followed(*(moved.delta[:0].astype(np.float32),) * 3, moved.rows[:0], moved)
        if self._config.documents and self._config.refit:
            blank = blank_tables(self._data.words, self._config)
            self.refit_documents([(0, 0)], refit_plan(self._config, self._biases, blank))

    def absorb(self, *agreed: Slice) -> None:
        """Go to what the workers agreed on: every row that any of them has moved."""
        threads, width = self._config.thread_count, self._config.vector_size
        for number, part in enumerate(agreed):
            for table, whole in part.items():
                for moved in _some_rows(whole):
                    late = np.arange(len(moved.rows) if self._ahead else 0)  # may have moved since they were sent
                    rows, before = moved.rows[late], self._agreed[table][moved.rows[late], :width]
                    ended = apply_delta(self._agreed[table], moved, threads)
                    if len(rows):
                        now = self._backend.read_rows(table, rows)
                        ended[late] = followed(now, before, ended[late], rows, self._sent[number][table], threads)
                    self._backend.load_rows(table, moved.rows, ended)
        self._sent, self._ahead = [], False

    def train(self, task: Task, *agreed: Slice) -> tuple[Slice | None, ...]:
        """Begin a task, from what the workers agreed on; returns nothing, and what has moved, a slice for each worker.

        The nothing tells the driver that the slices are there.
        """
        self.absorb(*agreed)
        self._seconds = 0.0
        self._backend.restore_sums(task.sums)
        state = {"words": task.word_bias, "documents": task.document_bias, "seen": vars(task.sums)}
        self._biases.restore(state)
        blocks = self._blocks(task.epoch)
        first, last = (len(blocks) * step // task.steps for step in (task.step, task.step + 1))
        middle = last - int((last - first) * interval.AHEAD) if task.ahead else last
        self._left, self._ahead = blocks[middle:last], False
        self._train(blocks[first:middle])
        trained = time.thread_time()
        self._sent = self._slices()
        self.finding = time.thread_time() - trained
        return None, *self._sent

    def finish(self) -> Report:
        """Train what is left of the task."""
        sent = sum(moved.nbytes for part in self._sent for moved in part.values())
        if self._left:
            self._ahead = True
            self._train(self._left)
        else:
            self._sent = []
        return Report(self._backend.sums(), self._biases.words, self._biases.documents, sent, self._seconds)

    def _train(self, blocks: list[Block]) -> None:
        if not blocks:
            return
        started = time.perf_counter()
        trainer = BlockTrainer(self._backend, self._biases, learns=self._config.objective_info.likelihood)
        trainer.train(BlockQueue(blocks, self._backend.workers))
        self._seconds += time.perf_counter() - started

    def _slices(self) -> list[Slice]:
        """What has moved, a slice for each worker to add up; rows are in the order of frequency, so they are dealt out.

        Some rows at a time, as in `absorb`: a copy of all would take as much memory as the tables.
        """
        found = {table: self._steps(table) for table in self._agreed}
        return [
            {table: self._packed(table, *(one[rows % self._workers == number] for one in (rows, steps)))
             for table, (rows, steps) in found.items()}
            for number in range(self._workers)
        ]  # fmt: skip

    def _packed(self, table: str, rows: NDArray[np.int32], steps: NDArray[np.int32]) -> RowDeltas:
        delta = np.empty((len(rows), self._config.vector_size), np.int16)
        moved = RowDeltas(rows, steps, np.empty(len(rows), np.float32), delta)
        for some in _some_rows(moved):
            now = self._backend.read_rows(table, some.rows)
            pack_into(some, now, self._agreed[table], self._config.thread_count)
        return moved

    def _steps(self, table: str) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """The rows that differ from what was agreed on, and about how many steps they took.

        A step turns a row by about the learning rate; a row that went further took more of them.
        """
        before, found, steps = self._agreed[table], [np.zeros(0, np.int32)], [np.zeros(0, np.int32)]
        for start in range(0, len(before), CHUNK_ROWS):
            old = before[start : start + CHUNK_ROWS, : self._config.vector_size]
            distance = np.linalg.norm(self._backend.read(table, start, start + len(old)) - old, axis=1)
            here = np.flatnonzero(distance > 0)
            found.append((start + here).astype(np.int32))
            steps.append(np.maximum(1, (distance[here] / self._config.alpha) ** 2).astype(np.int32))
        return np.concatenate(found), np.concatenate(steps)

    def coherence(self, weights: Floats) -> Coherence:
        """What the documents here say of their words; see `spherevec.engine.cpu.word_weights`."""
        data, inputs = self._data, self._backend.host_inputs()
        documents = documents_looked_at(data.offsets, self._tokens)
        return coherence(data.ids, data.offsets, documents, inputs, weights, self._config.thread_count)

    def refit_documents(self, runs: Sequence[tuple[int, int]], plan: FitPlan) -> None:
        """Refit documents, by the rows of this worker."""
        own = replace(plan, config=plan.config.with_(threads=self._config.threads))
        for first, last in runs:
            self._backend.refit_documents(first, last, own)


def _some_rows(moved: RowDeltas) -> Iterator[RowDeltas]:
    """Views of some rows at a time; one of none where there are none."""
    for start in range(0, max(1, len(moved.rows)), _ROWS_AT_ONCE):
        some = slice(start, start + _ROWS_AT_ONCE)
        yield RowDeltas(moved.rows[some], moved.steps[some], moved.scale[some], moved.delta[some])


def seed_of(seed: int, number: int) -> int:
    """The seed of a worker; the first one has that of the run, so that alone it does what one machine does."""
    if not number:
        return seed
    return int(np.random.SeedSequence((seed, number)).generate_state(1, np.uint64)[0] >> np.uint64(1))


def total(sums: list[Sums]) -> Sums:
    """The sums of several workers, added up in their order."""
    return Sums(*(sum(column) for column in zip(*map(astuple, sums), strict=True)))
