"""All workers of a run as one backend: the loop of one machine drives it, one exchange at a time."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from spherevec.config import TrainConfig
from spherevec.distributed.cluster import told as told_of
from spherevec.distributed.crew import Crew
from spherevec.distributed.exchange import SHARED, Slice, go_on
from spherevec.distributed.layout import Layout
from spherevec.distributed.recovery import Recovery
from spherevec.distributed.shard import Report, Task, total
from spherevec.distributed.worker import merge_slices, received
from spherevec.engine.base import Block, Floats
from spherevec.engine.cpu.document_rows import SHARE_OF_MEMORY
from spherevec.engine.cpu.vector_ops import padded_rows
from spherevec.engine.cpu.word_weights import Coherence
from spherevec.engine.figures import Sums
from spherevec.engine.fit import FitPlan
from spherevec.engine.schedule import CHUNK_ROWS, FINAL_SHARE, Schedule
from spherevec.storage.locks import told_in_one_line
from spherevec.storage.memory import available_memory

REFIT_STEPS = 8
# Exchanges from one point at which all workers have all that was learned to the next, where they train ahead. Only at
# such a point can a run be saved or interrupted.
LEG = 4


@dataclass
class Costs:
    """Where the time of a run went, in seconds, and what was sent."""

    seconds: float = 0.0  # of the driver's clock, for all exchanges and what was trained between them
    training: float = 0.0  # of a worker's clock, on average
    merging: float = 0.0  # of the driver's clock, while workers train ahead or wait
    noting: float = 0.0  # of the driver's clock, while the workers go on
    exchanges: int = 0
    sent: int = 0  # bytes, by all workers
    agreed: int = 0  # bytes that every worker received


class ClusterSchedule(Schedule):
    """Legs in the place of blocks: `first` and `last` are numbers of exchanges in their epoch, `order_key` the epoch.

    At the end of a leg all workers have what all have learned; there a run can be saved.
    """

    def __init__(self, config: TrainConfig, documents: int, exchanges: int, leg: int) -> None:
        self._config, self._documents, self._exchanges, self._leg = config, documents, exchanges, leg

    def blocks(self, epoch: int) -> list[Block]:
        firsts = range(0, self._exchanges, self._leg)
        edges = [(first, min(first + self._leg, self._exchanges)) for first in firsts]
        return [Block(*edge, epoch, 0, *(self.alpha(epoch, step) for step in edge)) for edge in edges]

    def alpha(self, epoch: int, step: int) -> float:
        """The learning rate at an exchange."""
        done = (epoch * self._exchanges + step) / (self._exchanges * self._config.epoch_count)
        return self._config.alpha * max(FINAL_SHARE, 1 - done)

    def refit_stop(self, first: int) -> int:
        return min(first + -(-self._documents // REFIT_STEPS), self._documents)


class ClusterBackend:
    """Holds the word and context vectors that the workers agreed on; documents are where they were put.

    Args:
        bring: brings the text to a new worker, and prepares it.
        folder: for what new workers start from.
    """

    workers = 1  # one thread drives the workers

    def __init__(
        self,
        crew: Crew,
        layout: Layout,
        words: int,
        config: TrainConfig,
        schedule: ClusterSchedule,
        exchanges: int,
        bring: Callable[[int], None],
        folder: Path,
    ) -> None:
        self._crew, self._layout, self._config, self._exchanges = crew, layout, config, exchanges
        self._alpha, self._bring, self._folder = schedule.alpha, bring, folder
        self._alone = crew.workers == 1
        self._words = words
        self._tables: dict[str, Floats] = {}
        if not self._alone:
            self._tables = {name: padded_rows(words, config.vector_size) for name in SHARED}
        self._sums = Sums()
        self._learned = (config.bias, config.bias)
        self._agreed: list[object] = []  # references to what the workers have still to be told
        sizes = dict.fromkeys(SHARED, words)
        if config.documents:
            sizes |= {f"docs{number}": layout.documents(number) for number in range(crew.workers)}
        self._recovery = Recovery(folder, config.vector_size, sizes)
        self._refits: list[tuple[dict[int, list[tuple[int, int]]], object]] = []
        self._aside = ThreadPoolExecutor(1, thread_name_prefix="spherevec")
        self._noting: Future[None] | None = None
        self.costs = Costs()
        crew.bring_up = self._bring_up

    # --- the seam ----------------------------------------------------------------------------------------------------

    def load(self, table: str, start: int, rows: Floats) -> None:
        crew = self._crew
        if table == "docs":
            for run in self._layout.between(start, start + len(rows)):
                part = rows[run.first - start : run.first - start + run.size]
                self._recovery.load(f"docs{run.worker}", run.local, part)
                crew.do("load", "docs", run.local, part, numbers=[run.worker])
            return
        if not self._alone:
            self._tables[table][start : start + len(rows), : self._config.vector_size] = rows
        self._recovery.load(table, start, rows)
        crew.do("load", table, start, crew.put(rows))

    def read(self, table: str, start: int, stop: int) -> Floats:
        width = self._config.vector_size
        if table in self._tables:
            self._wait()
            return self._tables[table][start:stop, :width].copy()
        if table != "docs":
            return self._read_from(0, table, start, min(stop, self._words))
        runs = self._layout.between(start, stop)
        parts = [self._read_from(run.worker, "docs", run.local, run.local + run.size) for run in runs]
        return np.concatenate([np.zeros((0, width), np.float32), *parts])

    def _read_from(self, number: int, table: str, start: int, stop: int) -> Floats:
        """Rows of one worker, also while it trains."""
        rows: Floats = self._crew.do("read", table, start, stop, numbers=[number], aside=True)[0]
        return rows

    def warm_up(self) -> None:
        self._crew.do("warm_up")

    def train(self, worker: int, block: Block) -> None:
        """A leg: between two exchanges all workers train, and then agree on what they have learned."""
        epoch, self._learned = block.order_key, (block.word_bias, block.document_bias)
        for step in range(block.first, block.last):
            sums = self._sums if self._alone else Sums()
            ahead = step + 1 < block.last
            self._exchange(Task(epoch, step, self._exchanges, self._alpha(epoch, step), *self._learned, sums, ahead))
        if self._recovery.due():
            self.tell_workers()
            self._wait()
            self._recovery.snapshot(self._read_part)

    def _exchange(self, task: Task) -> None:
        crew, told = self._crew, self._agreed
        shipped: dict[int, list[object]] = {}
        finishing: dict[int, object] = {}

        def begin(number: int) -> object:
            begun, *shipped[number] = crew.call(number, "train", task, *told, returns=1 + crew.workers)
            finishing[number] = crew.call(number, "finish")
            return begun

        def finish(number: int) -> object:
            if number not in finishing:  # died meanwhile
                begin(number)
            return finishing.pop(number)

        started = time.perf_counter()
        crew.ask(begin, times=1)
        begun = time.perf_counter()
        merges, slices = ([], []) if self._alone else self._merged(task.alpha, shipped, begin)
        if task.ahead:
            for number in range(crew.workers):
                crew.call(number, "apply", received, *merges, aside=True)
        merged = time.perf_counter()
        reports: list[Report] = crew.ask(finish, times=1)
        self._wait()
        self._agreed = merges
        self._sums = reports[0].sums if self._alone else total([self._sums, *(one.sums for one in reports)])
        words, documents, sent, training = (
            [getattr(report, name) for report in reports] for name in ("word_bias", "document_bias", "sent", "seconds")
        )
        self._learned = (sum(words) / crew.workers, sum(documents) / crew.workers)
        costs, seconds = self.costs, sum(training) / crew.workers
        # The workers go on meanwhile.
        self._noting = self._aside.submit(self._note, task, slices, seconds)
        costs.exchanges += 1
        costs.seconds += time.perf_counter() - started
        costs.training += seconds
        costs.merging += merged - begun
        costs.sent += sum(sent)
        costs.agreed += sum(moved.nbytes for part in slices for moved in part.values())

    def _merged(
        self, alpha: float, shipped: Mapping[int, list[object]], begin: Callable[[int], object]
    ) -> tuple[list[object], list[Slice]]:
        """What the workers have moved, added up slice by slice on them: references, and the slices.

        Args:
            shipped: references to what each worker has moved.
            begin: asks one that died for it again.
        """
        crew = self._crew
        while True:
            sums = [
                crew.merge(part, merge_slices, alpha, *(shipped[number][part] for number in range(crew.workers)))
                for part in range(crew.workers)
            ]
            try:
                return sums, list(crew.ray.get(sums, timeout=crew.limit))
            except crew.ray.exceptions.RayError as error:
                # A node may have died with what its workers had learned: they learn it again.
                gone = crew.dead()
                if not gone:
                    raise told_of(error, "adding up what the workers learned") from error
                died = error if isinstance(error, TimeoutError) else ConnectionError("its process or node has ended")
                for number in gone:
                    crew.replace(number, died)
                    begin(number)

    def _note(self, task: Task, agreed: list[Slice], seconds: float) -> None:
        """Keep what was agreed on: in the vectors here, and for workers that are to be replaced."""
        started = time.perf_counter()
        for part in agreed:
            for table, moved in part.items():
                go_on(self._tables[table], moved)
        self._recovery.note(task, agreed, seconds)
        self.costs.noting += time.perf_counter() - started

    def _wait(self) -> None:
        """Until all that was agreed on is kept."""
        noting = self._noting  # may be another's the next moment
        if noting is not None:
            noting.result()

    def tell_workers(self) -> None:
        """Bring all workers to what was agreed on last."""
        if self._agreed:
            self._crew.do("absorb", *self._agreed)
            self._agreed = []

    def sums(self) -> Sums:
        return self._sums

    def restore_sums(self, sums: Sums) -> None:
        self._sums = sums

    def learned_biases(self) -> tuple[float, float]:
        """The mean of what the workers learned."""
        return self._learned

    def host_inputs(self) -> Floats:
        self._wait()
        if not self._alone:
            return self._tables["inputs"]
        rows: Floats = padded_rows(self._words, self._config.vector_size)
        for start in range(0, self._words, CHUNK_ROWS):
            some = self.read("inputs", start, start + CHUNK_ROWS)
            rows[start : start + len(some), : self._config.vector_size] = some
        return rows

    def coherence(self, weights: Floats) -> Coherence:
        """What all documents say of their words: whole numbers, so their order does not matter."""
        self.tell_workers()
        parts = self._crew.do("coherence", self._crew.put(weights))
        cosines, seen, direction = (np.sum(column, axis=0) for column in zip(*parts, strict=True))
        return cosines, seen, direction

    def refit_documents(self, first: int, last: int, plan: FitPlan) -> None:
        if first == last:
            return  # compiled by `warm_up`
        self.tell_workers()
        sent = self._crew.put(plan)
        runs: dict[int, list[tuple[int, int]]] = {number: [] for number in range(self._crew.workers)}
        for run in self._layout.between(first, last):
            runs[run.worker].append((run.local, run.local + run.size))
        self._crew.ask(lambda number: self._crew.call(number, "refit_documents", runs[number], sent))
        self._refits.append((runs, sent))

    def take(self) -> dict[str, Floats]:
        sizes = {"inputs": self._words, "contexts": self._words}
        if self._config.documents:
            sizes["docs"] = sum(self._layout.sizes)
        taken = {}
        for table, rows in sizes.items():
            taken[table] = self._room(table, (rows, self._config.vector_size))
            for start in range(0, rows, CHUNK_ROWS):
                stop = min(start + CHUNK_ROWS, rows)
                taken[table][start:stop] = self.read(table, start, stop)
        self._tables = {}
        self._aside.shutdown()
        return taken

    def _room(self, table: str, shape: tuple[int, int]) -> Floats:
        """In memory or, where that would crowd it, in a file, which lives as long as it is mapped."""
        if shape[0] * shape[1] * 4 < SHARE_OF_MEMORY * available_memory():
            return np.empty(shape, np.float32)
        with told_in_one_line(self._folder):
            return np.memmap(self._folder / f"{table}.taken", np.float32, "w+", shape=shape)

    # --- faults ------------------------------------------------------------------------------------------------------

    def _read_part(self, name: str, start: int, stop: int) -> Floats:
        """Rows of the tables that snapshots know."""
        if not name.startswith("docs"):
            return self.read(name, start, stop)
        return self._read_from(int(name.removeprefix("docs")), "docs", start, stop)

    def _bring_up(self, number: int) -> None:
        """Bring a new worker to the end of the last exchange."""
        self._wait()
        self._bring(number)

        def do(method: str, *arguments: object, returns: int = 1) -> None:
            self._crew.ray.get(self._crew.call(number, method, *arguments, returns=returns))

        for name in (*SHARED, f"docs{number}") if self._config.documents else SHARED:
            for start, rows in self._recovery.rows(name):
                do("load", "docs" if name.startswith("docs") else name, start, rows)
        known: list[Slice] = []
        for task, agreed in self._recovery.exchanges():
            do("train", task, *known, returns=1 + self._crew.workers)
            do("finish")
            known = agreed
        if known and not self._agreed:  # all have been told
            do("absorb", *known)
        for runs, plan in self._refits:
            do("refit_documents", runs[number], plan)
