"""All workers of a run as one backend: the loop of one machine drives it, one exchange at a time."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from spherevec.config import TrainConfig
from spherevec.distributed.cluster import worker_error
from spherevec.distributed.exchange import SHARED, Slice
from spherevec.distributed.layout import Layout
from spherevec.distributed.shard import Report, Task, total
from spherevec.distributed.worker import merge_slices, received
from spherevec.distributed.worker_pool import WorkerPool
from spherevec.engine.base import Block, Floats, table_rows
from spherevec.engine.cpu.document_rows import SHARE_OF_MEMORY
from spherevec.engine.cpu.vector_ops import padded_rows
from spherevec.engine.cpu.word_weights import Coherence, weights_of
from spherevec.engine.figures import Sums
from spherevec.engine.fit import FitPlan, FitTables, negative_moments
from spherevec.engine.schedule import FINAL_SHARE, Schedule
from spherevec.storage.memory import available_memory
from spherevec.storage.os_errors import explain_os_errors

REFIT_STEPS = 8
# Exchanges from one point at which all workers have all that was learned to the next. Only at such a point can a run be
# saved or interrupted.
EXCHANGES_PER_SYNC = 4
ROWS_SENT = 1 << 16  # vectors of one message
SEEN_SECONDS = 2.0  # after which rows are asked for again that figures of progress need
# A new worker starts from the last snapshot of all vectors and goes through the exchanges since. There is a new one
# after so many seconds of training, or times what a snapshot costs, or bytes of exchanges.
MOST_SECONDS, TIMES_THE_COST, MOST_BYTES = 60.0, 20.0, 4 << 30


@dataclass
class Costs:
    """Where the time of a run went, in seconds, and what was sent."""

    seconds: float = 0.0  # of the driver's clock, for all exchanges and what was trained between them
    training: float = 0.0  # of a worker's clock, on average
    merging: float = 0.0  # of the driver's clock, while workers train ahead or wait
    exchanges: int = 0
    sent: int = 0  # bytes, by all workers
    agreed: int = 0  # bytes that every worker received


class ClusterSchedule(Schedule):
    """Legs in the place of blocks: `first` and `last` are numbers of exchanges in their epoch, `order_key` the epoch.

    At the end of a leg all workers have what all have learned; there a run can be saved.
    """

    def __init__(self, config: TrainConfig, documents: int, exchanges: int) -> None:
        self._config, self._documents, self.exchanges = config, documents, exchanges

    def blocks(self, epoch: int) -> list[Block]:
        firsts = range(0, self.exchanges, EXCHANGES_PER_SYNC)
        edges = [(first, min(first + EXCHANGES_PER_SYNC, self.exchanges)) for first in firsts]
        return [Block(*edge, epoch, 0, *(self.alpha(epoch, step) for step in edge)) for edge in edges]

    def alpha(self, epoch: int, step: int) -> float:
        """The learning rate at an exchange."""
        done = (epoch * self.exchanges + step) / (self.exchanges * self._config.epoch_count)
        return self._config.alpha * max(FINAL_SHARE, 1 - done)

    def refit_stop(self, first: int) -> int:
        return min(first + -(-self._documents // REFIT_STEPS), self._documents)


class ClusterBackend:
    """The vectors are on the workers: all words on each, documents where their text is.

    What a new worker needs that takes the place of a dead one is kept in Ray's object store on this machine, which
    puts on disk what it has no room for. Document vectors leave their worker for snapshots, checkpoints and the model.

    Args:
        ahead: workers train on while what they have learned is on its way.
        bring: brings the text to a new worker, and prepares it.
        folder: for vectors of the model that memory has no room for.
    """

    workers = 1  # one thread drives the workers
    rounds = None  # blocks are trained one by one; each worker has rounds of its own

    def __init__(
        self,
        pool: WorkerPool,
        layout: Layout,
        words: int,
        config: TrainConfig,
        schedule: ClusterSchedule,
        ahead: bool,
        bring: Callable[[int], None],
        folder: Path,
    ) -> None:
        self._pool, self._layout, self._config, self._schedule, self._ahead = pool, layout, config, schedule, ahead
        self._bring, self._folder = bring, folder
        self._alone = pool.workers == 1
        self._sizes = table_rows(words, sum(layout.sizes), config)
        self._sums = Sums()
        self._learned = (config.bias, config.bias)
        # What a new worker starts from: rows of one worker (None for all), and every exchange since, with all slices.
        self._filled, self._synchronised = False, True  # settled: the last exchange is with all workers
        self._start: list[tuple[int | None, str, int, object]] = []
        self._log: list[tuple[Task, Future[object]]] = []
        self._aside = ThreadPoolExecutor(1, thread_name_prefix="spherevec")
        self._cost = self._since = self._bytes = 0.0
        self._refits: list[tuple[dict[int, list[tuple[int, int]]], object]] = []
        self._training = False  # what is read meanwhile is for figures of progress
        self._seen: tuple[object, float, Floats] = (None, 0.0, np.zeros((0, 0), np.float32))
        self.costs = Costs()
        pool.bring_up = self._bring_up

    # --- the seam ----------------------------------------------------------------------------------------------------

    def fill(self) -> None:
        """Every worker makes its random directions by itself."""
        self._filled = True
        self._pool.do("fill")

    def load(self, table: str, start: int, rows: Floats) -> None:
        if table != "docs":
            self._load(None, table, start, rows)
            return
        for run in self._layout.between(start, start + len(rows)):
            self._load(run.worker, "docs", run.local, rows[run.first - start : run.first - start + run.size])

    def _load(self, worker: int | None, table: str, start: int, rows: Floats) -> None:
        sent = self._pool.put(rows)
        self._start.append((worker, table, start, sent))
        self._pool.do("load", table, start, sent, numbers=None if worker is None else [worker])

    def read(self, table: str, start: int, stop: int) -> Floats:
        """Rows of all workers' documents, or of the first one's words; while they train, as they were a moment ago."""
        stop = min(stop, self._sizes[table])
        asked, now = (table, start, stop), time.monotonic()
        if self._training and self._seen[0] == asked and now < self._seen[1] + SEEN_SECONDS:
            return self._seen[2]
        runs = [(0, start, stop)]
        if table == "docs":
            runs = [(run.worker, run.local, run.local + run.size) for run in self._layout.between(start, stop)]
        nothing: Floats = np.zeros((0, self._config.vector_size), np.float32)
        parts = [self._pool.do("read", table, *run, numbers=[worker], aside=True, times=1)[0] for worker, *run in runs]
        rows = np.concatenate([nothing, *parts])
        if self._training:
            self._seen = (asked, now, rows)
        return rows

    def finite(self, table: str) -> bool:
        """Each worker looks at its own."""
        return all(self._pool.do("finite", table))

    def warm_up(self) -> None:
        self._pool.do("warm_up")

    def train(self, worker: int, block: Block) -> None:
        """A leg: between two exchanges all workers train, and then agree on what they have learned."""
        epoch, self._learned = block.order_key, (block.word_bias, block.document_bias)
        agreed: list[object] = []
        self._training = True
        try:
            for step in range(block.first, block.last):
                sums = self._sums if self._alone else Sums()
                alpha, ahead = self._schedule.alpha(epoch, step), self._ahead and step + 1 < block.last
                task = Task(epoch, step, self._schedule.exchanges, alpha, *self._learned, sums, ahead)
                agreed = self._exchange(task, agreed)
                if len(self._log) > 1:
                    self._log[-2][1].result()  # kept, or there is no room
            if agreed:
                self._pool.do("absorb", *agreed, times=1)
                self._synchronised = True
        finally:
            self._training = False
        if self._since > max(MOST_SECONDS, TIMES_THE_COST * self._cost) or self._bytes > MOST_BYTES:
            self._snapshot()

    def _exchange(self, task: Task, known: list[object]) -> list[object]:
        """One exchange; references to what the workers agreed on.

        Args:
            known: what they agreed on last.
        """
        pool = self._pool
        shipped: dict[int, list[object]] = {}
        finishing: dict[int, object] = {}

        def begin(number: int) -> object:
            begun, *shipped[number] = pool.call(number, "train", task, *known, returns=1 + pool.workers)
            finishing[number] = pool.call(number, "finish")
            return begun

        def finish(number: int) -> object:
            if number not in finishing:  # died meanwhile
                begin(number)
            return finishing.pop(number)

        started = time.perf_counter()
        pool.ask(begin, times=1)
        begun = time.perf_counter()
        merges, slices = ([], []) if self._alone else self._merged(task.alpha, shipped, begin)
        merged = time.perf_counter()
        reports: list[Report] = pool.ask(finish, times=1)
        self._log.append((task, self._aside.submit(pool.put, slices)))  # the workers go on meanwhile
        self._synchronised = self._alone
        self._sums = reports[0].sums if self._alone else total([self._sums, *(one.sums for one in reports)])
        words, documents, sent, training = (
            [getattr(report, name) for report in reports] for name in ("word_bias", "document_bias", "sent", "seconds")
        )
        self._learned = (sum(words) / pool.workers, sum(documents) / pool.workers)
        costs, seconds, size = self.costs, sum(training) / pool.workers, sum(_bytes(part) for part in slices)
        self._since += seconds
        self._bytes += size
        costs.exchanges += 1
        costs.seconds += time.perf_counter() - started
        costs.training += seconds
        costs.merging += merged - begun
        costs.sent += sum(sent)
        costs.agreed += size
        return merges

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
                pool.merge(part, merge_slices, alpha, *(shipped[number][part] for number in range(pool.workers)))
                for part in range(pool.workers)
            ]
            # All slices set out for all machines as soon as they are there, in both directions at once.
            for number in range(pool.workers):
                pool.call(number, "apply", received, *sums, aside=True)
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
        if first == last:
            return  # compiled by `warm_up`
        sent = self._pool.put(plan)
        runs: dict[int, list[tuple[int, int]]] = {number: [] for number in range(self._pool.workers)}
        for run in self._layout.between(first, last):
            runs[run.worker].append((run.local, run.local + run.size))
        self._pool.ask(lambda number: self._pool.call(number, "refit_documents", runs[number], sent))
        self._refits.append((runs, sent))

    def take(self) -> dict[str, Floats]:
        taken = {}
        for table, rows in self._sizes.items():
            taken[table] = self._room(table, (rows, self._config.vector_size))
            for start, some in self._chunks(table):
                taken[table][start : start + len(some)] = some
        self._aside.shutdown()
        return taken

    def _room(self, table: str, shape: tuple[int, int]) -> Floats:
        """In memory or, where that would crowd it, in a file, which lives as long as it is mapped."""
        if shape[0] * shape[1] * 4 < SHARE_OF_MEMORY * available_memory():
            return np.empty(shape, np.float32)
        with explain_os_errors(writing=self._folder):
            return np.memmap(self._folder / f"{table}.taken", np.float32, "w+", shape=shape)

    # --- faults ------------------------------------------------------------------------------------------------------

    def _snapshot(self) -> None:
        """Forget the past: from now on, new workers start from here."""
        started, made = time.monotonic(), list[tuple[int | None, str, int, object]]()
        for table in self._sizes:
            for first, rows in self._chunks(table):
                runs = [(None, 0, first, len(rows))] if table in SHARED else [
                    (run.worker, run.first - first, run.local, run.size)
                    for run in self._layout.between(first, first + len(rows))
                ]  # fmt: skip
                for worker, at, local, size in runs:
                    made.append((worker, table, local, self._pool.put(rows[at : at + size])))
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
        known: list[Slice] = []
        for task, slices in self._log:
            do("train", task, *known, returns=1 + self._pool.workers)
            do("finish")
            known = self._pool.ray.get(slices.result())
        if self._synchronised:
            do("absorb", *known)
        for runs, plan in self._refits:
            do("refit_documents", runs[number], plan)


def _bytes(part: Slice) -> int:
    return sum(moved.nbytes for moved in part.values())
