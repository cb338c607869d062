"""All workers of a run as one backend: the loop of one machine drives it, one exchange at a time."""

from __future__ import annotations

import time
from collections.abc import Callable
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
from spherevec.distributed.worker import merge_slices
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


@dataclass
class Costs:
    """Where the time of a run went, in seconds of the driver's clock, and what was sent."""

    training: float = 0.0
    merging: float = 0.0
    noting: float = 0.0  # while the workers go on
    exchanges: int = 0
    sent: int = 0  # bytes, by all workers
    agreed: int = 0  # bytes that every worker received


class ClusterSchedule(Schedule):
    """Exchanges in the place of blocks: `first` is the number of an exchange in its epoch, `order_key` the epoch."""

    def __init__(self, config: TrainConfig, documents: int, exchanges: int) -> None:
        self._config, self._documents, self.exchanges = config, documents, exchanges

    def blocks(self, epoch: int) -> list[Block]:
        steps = self.exchanges * self._config.epoch_count

        def alpha(step: int) -> float:
            return self._config.alpha * max(FINAL_SHARE, 1 - step / steps)

        start = epoch * self.exchanges
        return [
            Block(step, step + 1, epoch, 0, alpha(start + step), alpha(start + step + 1))
            for step in range(self.exchanges)
        ]

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
        exchanges: int,
        bring: Callable[[int], None],
        folder: Path,
    ) -> None:
        self._crew, self._layout, self._config, self._exchanges = crew, layout, config, exchanges
        self._bring, self._folder = bring, folder
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
        self._recovery = Recovery(folder, config.vector_size, sizes, self._read_part)
        self._refits: list[tuple[dict[int, list[tuple[int, int]]], object]] = []
        self._started = False
        self._aside = ThreadPoolExecutor(1, thread_name_prefix="spherevec")
        self._noting: Future[None] | None = None
        self.costs = Costs()
        crew.bring_up = self._bring_up

    # --- the seam ----------------------------------------------------------------------------------------------------

    def load(self, table: str, start: int, rows: Floats) -> None:
        crew = self._crew
        if table == "docs":
            runs = list(self._layout.between(start, start + len(rows)))
            parts = [rows[run.first - start : run.first - start + run.size] for run in runs]
            asked = [
                (run.worker, crew.call(run.worker, "load", "docs", run.local, part))
                for run, part in zip(runs, parts, strict=True)
            ]
        else:
            if not self._alone:
                self._tables[table][start : start + len(rows), : self._config.vector_size] = rows
            sent = crew.ray.put(rows)
            asked = [(number, crew.call(number, "load", table, start, sent)) for number in range(crew.workers)]
        for number, reference in asked:
            crew.get(number, reference)

    def read(self, table: str, start: int, stop: int) -> Floats:
        width, crew = self._config.vector_size, self._crew
        if table in self._tables:
            self._wait()
            return self._tables[table][start:stop, :width].copy()
        if table != "docs":
            return self._ask_alone(table, start, min(stop, self._words))
        runs = list(self._layout.between(start, stop))
        asked = [crew.call(run.worker, "read", "docs", run.local, run.local + run.size, aside=True) for run in runs]
        parts = [crew.get(run.worker, ref) for run, ref in zip(runs, asked, strict=True)]
        return np.concatenate([np.zeros((0, width), np.float32), *parts])

    def _ask_alone(self, table: str, start: int, stop: int) -> Floats:
        """Rows of the only worker, also while it trains."""
        rows: Floats = self._crew.get(0, self._crew.call(0, "read", table, start, stop, aside=True))
        return rows

    def warm_up(self) -> None:
        self._crew.ask_all("warm_up")
        self._recovery.snapshot()
        self._started = True

    def train(self, worker: int, block: Block) -> None:
        """One exchange: all workers train, and agree on what they have learned."""
        crew = self._crew
        sums = self._sums if self._alone else Sums()
        task = Task(block.order_key, block.first, self._exchanges, block.word_bias, block.document_bias, sums)
        started = time.perf_counter()
        if self._alone:
            reports: list[Report] = crew.ask_all("train", lambda number: (task,))
            slices: list[Slice] = []
            trained = time.perf_counter()
        else:
            reports, slices, trained = self._exchange(task, block.alpha_first)
        merged = time.perf_counter()
        self._wait()
        self._sums = reports[0].sums if self._alone else total([self._sums, *(one.sums for one in reports)])
        count = crew.workers
        self._learned = (
            sum(report.word_bias for report in reports) / count,
            sum(report.document_bias for report in reports) / count,
        )
        # The workers go on meanwhile.
        self._noting = self._aside.submit(self._note, task, slices, trained - started)
        costs = self.costs
        costs.exchanges += 1
        costs.training += trained - started
        costs.merging += merged - trained
        costs.sent += sum(report.sent for report in reports)
        costs.agreed += sum(moved.nbytes for part in slices for moved in part.values())
        if self._recovery.due():
            self._wait()
            self._recovery.snapshot()

    def _note(self, task: Task, agreed: list[Slice], seconds: float) -> None:
        """Keep what was agreed on: in the vectors here, and for workers that are to be replaced."""
        started = time.perf_counter()
        self._settle(agreed)
        self._recovery.note(task, agreed, seconds)
        self.costs.noting += time.perf_counter() - started

    def _wait(self) -> None:
        """Until all that was agreed on is kept."""
        noting = self._noting  # may be another's the next moment
        if noting is not None:
            noting.result()

    def _exchange(self, task: Task, alpha: float) -> tuple[list[Report], list[Slice], float]:
        crew = self._crew
        told, fresh = self._agreed, self._watched()

        def arguments(number: int) -> tuple[object, ...]:
            return (task,) if number in fresh else (task, *told)

        answers = crew.ask_all("train", arguments, returns=1 + crew.workers)
        while True:
            trained = time.perf_counter()
            sums = [
                crew.merge(part, merge_slices, alpha, *(answer[1 + part] for answer in answers))
                for part in range(crew.workers)
            ]
            try:
                slices = list(crew.ray.get(sums))
                break
            except crew.ray.exceptions.RayError as error:
                # A node may have died with what its workers had learned: they learn it again.
                gone = crew.dead()
                if not gone:
                    raise told_of(error, "adding up what the workers learned") from error
                for number in gone:
                    crew.replace(number, error)
                    again = crew.call(number, "train", task, returns=1 + crew.workers)
                    answers[number] = (crew.get(number, again[0]), *again[1:])
        crew.bring_up = self._bring_up
        self._agreed = sums
        return [answer[0] for answer in answers], slices, trained

    def _settle(self, agreed: list[Slice]) -> None:
        for part in agreed:
            for table, moved in part.items():
                go_on(self._tables[table], moved)

    def tell_workers(self) -> None:
        """Bring all workers to what was agreed on last."""
        told, self._agreed = self._agreed, []
        if told:
            fresh = self._watched()
            self._crew.ask_all("absorb", lambda number: () if number in fresh else told)
            self._crew.bring_up = self._bring_up

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
            some = self._ask_alone("inputs", start, min(start + CHUNK_ROWS, self._words))
            rows[start : start + len(some), : self._config.vector_size] = some
        return rows

    def coherence(self, weights: Floats) -> Coherence:
        """What all documents say of their words: whole numbers, so their order does not matter."""
        self.tell_workers()
        sent = self._crew.ray.put(weights)
        parts = self._crew.ask_all("coherence", lambda number: (sent,))
        cosines, seen, direction = (np.sum(column, axis=0) for column in zip(*parts, strict=True))
        return cosines, seen, direction

    def refit_documents(self, first: int, last: int, plan: FitPlan) -> None:
        if first == last:
            return  # compiled by `warm_up`
        self.tell_workers()
        sent = self._crew.ray.put(plan)
        runs: dict[int, list[tuple[int, int]]] = {number: [] for number in range(self._crew.workers)}
        for run in self._layout.between(first, last):
            runs[run.worker].append((run.local, run.local + run.size))
        self._crew.ask_all("refit_documents", lambda number: (runs[number], sent))
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

    def _watched(self) -> set[int]:
        """The workers that are brought up from now on: they know all that was agreed on."""
        fresh = set[int]()

        def bring_up(number: int) -> None:
            self._bring_up(number)
            fresh.add(number)

        self._crew.bring_up = bring_up
        return fresh

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
        number = int(name.removeprefix("docs"))
        rows: Floats = self._crew.get(number, self._crew.call(number, "read", "docs", start, stop))
        return rows

    def _bring_up(self, number: int) -> None:
        """Bring a new worker to the end of the last exchange."""
        crew = self._crew
        self._wait()
        self._bring(number)
        if not self._started:
            return
        docs = f"docs{number}"
        tables = {"inputs": "inputs", "contexts": "contexts"} | ({docs: "docs"} if self._config.documents else {})
        for name, table in tables.items():
            for start, rows in self._recovery.rows(name):
                crew.ray.get(crew.call(number, "load", table, start, rows))
        known: list[Slice] = []
        for task, agreed in self._recovery.exchanges():
            crew.ray.get(crew.call(number, "replay", task, *known))
            known = agreed
        if known:
            crew.ray.get(crew.call(number, "absorb", *known))
        for runs, plan in self._refits:
            crew.ray.get(crew.call(number, "refit_documents", runs[number], plan))
