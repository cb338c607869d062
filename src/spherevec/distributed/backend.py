"""All workers of a run as one backend: the loop of one machine drives it, one exchange at a time."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from spherevec.config import TrainConfig
from spherevec.distributed.cluster import worker_error
from spherevec.distributed.exchange import SHARED, Slice
from spherevec.distributed.layout import Layout
from spherevec.distributed.worker import Report, Task, total
from spherevec.distributed.worker_pool import WorkerPool
from spherevec.engine.base import Block, Floats, OneByOne, table_rows
from spherevec.engine.cpu.document_rows import document_rows
from spherevec.engine.cpu.vector_ops import padded_rows
from spherevec.engine.cpu.word_weights import Coherence, weights_of
from spherevec.engine.figures import Sums
from spherevec.engine.fit import FitPlan, FitTables, negative_moments
from spherevec.engine.schedule import FINAL_SHARE, Schedule
from spherevec.storage.memory import available_memory

REFIT_STEPS = 8
ROWS_SENT = 1 << 16  # vectors of one message
# A new worker starts from the last snapshot of all vectors and goes through the exchanges since. There is a new one
# after so many seconds of training, or times what a snapshot costs, or bytes of exchanges.
MOST_SECONDS, TIMES_THE_COST, MOST_BYTES = 60.0, 20.0, 4 << 30


class ClusterSchedule(Schedule):
    """Exchanges in the place of blocks: `first` is the number of one in its epoch, `order_key` the epoch."""

    def __init__(self, config: TrainConfig, documents: int, exchanges: int) -> None:
        self._config, self._documents, self.exchanges = config, documents, exchanges

    def blocks(self, epoch: int) -> list[Block]:
        count = self.exchanges
        shares = [max(FINAL_SHARE, 1 - (epoch + step / count) / self._config.epoch_count) for step in range(count + 1)]
        alphas = [self._config.alpha * share for share in shares]
        return [Block(step, step + 1, epoch, 0, *alphas[step : step + 2]) for step in range(count)]

    def refit_stop(self, first: int) -> int:
        return min(first + -(-self._documents // REFIT_STEPS), self._documents)


class ClusterBackend:
    """The vectors are on the workers: all words on each, documents where their text is.

    What a new worker needs that takes the place of a dead one is kept in Ray's object store on this machine, which
    puts on disk what it has no room for. Document vectors leave their worker for snapshots, checkpoints and the model.

    Args:
        words: how many there are.
        exchanges: of an epoch.
        bring: brings the text to a new worker, and prepares it.
        folder: for vectors of the model that memory has no room for.
    """

    workers = 1  # one thread drives the workers

    def __init__(
        self,
        pool: WorkerPool,
        layout: Layout,
        words: int,
        config: TrainConfig,
        exchanges: int,
        bring: Callable[[int], object],
        folder: Path,
    ) -> None:
        self._pool, self._layout, self._config, self._exchanges = pool, layout, config, exchanges
        self._bring, self._folder = bring, folder
        self._sizes = table_rows(words, sum(layout.sizes), config)
        self._sums = Sums()
        self._learned = (config.bias, config.bias)
        # What a new worker starts from: rows of one worker (None for all), and every exchange since, with all slices.
        self._filled, self._absorbed = False, True  # absorbed: the last exchange is with all workers
        self._start: list[tuple[int | None, str, int, object]] = []
        self._log: list[tuple[Task, object]] = []
        self._cost = self._since = self._bytes = 0.0
        self._refits: list[tuple[dict[int, list[tuple[int, int]]], object]] = []
        # What figures of progress have read since the last exchange; None while nothing is trained.
        self._seen: dict[tuple[str, int, int], Floats] | None = None
        pool.bring_up = self._bring_up

    # --- the seam ----------------------------------------------------------------------------------------------------

    def fill(self) -> None:
        """Every worker makes its random directions by itself."""
        self._filled = True
        self._pool.do("fill")

    def load(self, table: str, start: int, rows: Floats) -> None:
        for worker, first, some in self._dealt(table, start, rows):
            sent = self._pool.put(some)
            self._start.append((worker, table, first, sent))
            self._pool.do("load", table, first, sent, numbers=None if worker is None else [worker])

    def _dealt(self, table: str, start: int, rows: Floats) -> list[tuple[int | None, int, Floats]]:
        """Which rows go to which worker (None for all), and where they begin there."""
        if table in SHARED:
            return [(None, start, rows)]
        runs = self._layout.between(start, start + len(rows))
        return [(run.worker, run.local, rows[run.first - start : run.first - start + run.size]) for run in runs]

    def read(self, table: str, start: int, stop: int) -> Floats:
        """Rows of all workers' documents, or of the first one's words; while they train, as after the last exchange."""
        stop = min(stop, self._sizes[table])
        asked, seen = (table, start, stop), self._seen
        if seen is not None and asked in seen:
            return seen[asked]
        runs = [(0, start, stop)]
        if table not in SHARED:
            runs = [(run.worker, run.local, run.local + run.size) for run in self._layout.between(start, stop)]
        nothing: Floats = np.zeros((0, self._config.vector_size), np.float32)
        parts = [self._pool.do("read", table, *run, numbers=[worker], aside=True, times=1)[0] for worker, *run in runs]
        rows = np.concatenate([nothing, *parts])
        if seen is not None:
            seen[asked] = rows
        return rows

    def total(self, table: str) -> NDArray[np.float64]:
        """Of all workers' documents, or of the words that each has a copy of."""
        totals = np.sum(self._pool.do("total", table), axis=0)
        return np.asarray(totals / self._pool.workers if table in SHARED else totals)

    def warm_up(self) -> None:
        self._pool.do("warm_up")

    def begin(self, blocks: Sequence[Block]) -> OneByOne:
        return OneByOne(self, blocks)

    def train_block(self, block: Block) -> None:
        """One exchange: all workers train, and then agree on what they have learned."""
        pool, alone = self._pool, self._pool.workers == 1
        sums = self._sums if alone else Sums()
        biases = (block.word_bias, block.document_bias)
        task = Task(block.order_key, block.first, self._exchanges, block.alpha_first, *biases, sums)
        shipped: dict[int, list[object]] = {}

        def begin(number: int) -> object:
            report, *shipped[number] = pool.call(number, "train", task, returns=1 + pool.workers)
            return report

        started, self._seen = time.monotonic(), {}
        try:
            reports: list[Report] = pool.ask(begin, times=1)
            merges, slices = ([], []) if alone else self._merged(task.alpha, shipped, begin)
            self._absorbed = alone
            self._log.append((task, pool.put(slices)))
            if not alone:
                pool.do("absorb", *merges, times=1)
            self._absorbed = True
        finally:
            self._seen = None
        self._sums = reports[0].sums if alone else total([self._sums, *(report.sums for report in reports)])
        word_biases, document_biases = zip(*(report[1:] for report in reports), strict=True)
        self._learned = (sum(word_biases) / pool.workers, sum(document_biases) / pool.workers)
        self._bytes += sum(moved.nbytes for part in slices for moved in part.values())
        self._since += time.monotonic() - started
        if self._since > max(MOST_SECONDS, TIMES_THE_COST * self._cost) or self._bytes > MOST_BYTES:
            self._snapshot()

    def _merged(
        self, alpha: float, shipped: Mapping[int, list[object]], begin: Callable[[int], object]
    ) -> tuple[list[object], list[Slice]]:
        """What the workers have moved, added up slice by slice on them: references, and the slices.

        Args:
            shipped: references to what each worker has moved.
            begin: asks one that died for it again.
        """
        pool = self._pool
        while True:
            sums = [
                pool.merge(part, alpha, *(shipped[number][part] for number in range(pool.workers)))
                for part in range(pool.workers)
            ]
            try:
                return sums, list(pool.ray.get(sums, timeout=pool.limit))
            except pool.ray.exceptions.RayError as error:
                # A node may have died with what its workers had learned: they learn it again.
                gone = pool.dead()
                if not gone:
                    raise worker_error(error, "adding up what the workers learned") from error
                died = error if isinstance(error, TimeoutError) else ConnectionError("its process or node has ended")
                for number in gone:
                    pool.replace(number, died)
                    begin(number)

    def sums(self) -> Sums:
        return self._sums

    def restore_sums(self, sums: Sums) -> None:
        self._sums = sums

    def learned_biases(self) -> tuple[float, float]:
        """The mean of what the workers learned."""
        return self._learned

    def fit_tables(self, counts: NDArray[np.int64]) -> FitTables | None:
        if not self._config.objective_info.likelihood:
            return None
        inputs: Floats = padded_rows(self._sizes["inputs"], self._config.vector_size)
        for start, some in self._chunks("inputs"):
            inputs[start : start + len(some), : self._config.vector_size] = some
        weights = weights_of(self._coherence, counts, inputs)
        return FitTables(weights, *negative_moments(inputs[:, : self._config.vector_size], counts))

    def _chunks(self, table: str) -> Iterator[tuple[int, Floats]]:
        for start in range(0, self._sizes[table], ROWS_SENT):
            yield start, self.read(table, start, start + ROWS_SENT)

    def _coherence(self, weights: Floats) -> Coherence:
        """What all documents say of their words: whole numbers, so their order does not matter."""
        parts = self._pool.do("coherence", self._pool.put(weights))
        cosines, seen, direction = (np.sum(column, axis=0) for column in zip(*parts, strict=True))
        return cosines, seen, direction

    def refit_documents(self, first: int, last: int, plan: FitPlan) -> None:
        sent = self._pool.put(plan)
        runs: dict[int, list[tuple[int, int]]] = {number: [] for number in range(self._pool.workers)}
        for run in self._layout.between(first, last):
            runs[run.worker].append((run.local, run.local + run.size))
        self._pool.ask(lambda number: self._pool.call(number, "refit_documents", runs[number], sent))
        self._refits.append((runs, sent))

    def take(self) -> dict[str, Floats]:
        taken = {}
        for table, rows in self._sizes.items():
            width = self._config.vector_size
            room = document_rows(rows, width, available_memory(), self._folder)  # in a file where memory is short
            taken[table] = room.reshape(-1)[: rows * width].reshape(rows, width)
            for start, some in self._chunks(table):
                taken[table][start : start + len(some)] = some
        return taken

    # --- faults ------------------------------------------------------------------------------------------------------

    def _snapshot(self) -> None:
        """Forget the past: from now on, new workers start from here."""
        started, made = time.monotonic(), list[tuple[int | None, str, int, object]]()
        for table in self._sizes:
            for start, rows in self._chunks(table):
                dealt = self._dealt(table, start, rows)
                made += [(worker, table, first, self._pool.put(some)) for worker, first, some in dealt]
        self._start = made
        self._log, self._since, self._bytes, self._filled = [], 0.0, 0.0, False
        self._cost = time.monotonic() - started

    def _bring_up(self, number: int) -> None:
        """Bring a new worker to the end of the last exchange."""
        self._bring(number)

        def do(method: str, *arguments: object, returns: int = 1) -> None:
            self._pool.ray.get(self._pool.call(number, method, *arguments, returns=returns))

        if self._filled:
            do("fill")
        for worker, table, start, rows in self._start:
            if worker in (None, number):
                do("load", table, start, rows)
        for task, slices in self._log:
            do("train", task, returns=1 + self._pool.workers)
            if self._absorbed or task is not self._log[-1][0]:
                do("absorb", *self._pool.ray.get(slices))
        for runs, plan in self._refits:
            do("refit_documents", runs[number], plan)
