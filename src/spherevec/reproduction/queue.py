"""Work through the cells that have not been measured: in which order, how many at a time, and how long it will take."""

from __future__ import annotations

import shutil
import threading
import time
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from spherevec.corpus import EncodedCorpus
from spherevec.errors import MissingExtraError
from spherevec.reproduction.corpora import Corpora
from spherevec.reproduction.machine import version_of
from spherevec.reproduction.methods import METHODS
from spherevec.reproduction.plan import Cell, Scale
from spherevec.reproduction.processes import CellFailedError, Processes
from spherevec.reproduction.store import Store
from spherevec.reproduction.worker import Request

_EVALUATION_SECONDS = 8.0  # roughly, of starting a process and looking at vectors; only used to foretell


class Watcher(Protocol):
    """Is told how a run goes on, by one thread at a time."""

    def begins(self, cells: int, known: int, seconds: float) -> None: ...
    def goes_on(self, cells: list[Cell], done: float, seconds_left: float) -> None: ...
    def ends(self, cell: Cell, seconds: float, failure: str | None) -> None: ...
    def notes(self, text: str) -> None: ...


@dataclass
class Run:
    """One run in progress.

    Attributes:
        cells: everything that the page could show.
        absent: data set → why it is not there.
        failures: cell → the reason in one line.
    """

    out: Path
    data: Path | None
    scale: Scale
    seeds: int
    threads: int
    cells: list[Cell]
    absent: dict[str, str]
    corpora: Corpora
    store: Store
    failures: dict[Cell, str] = field(default_factory=dict)


def measure_missing(run: Run, chosen: Sequence[Cell], jobs: int, watcher: Watcher) -> None:
    """Measure those of `chosen` that have not been, `jobs` at a time; times come last, one by one and in turns."""
    pending = _with_needs([cell for cell in chosen if not run.store.path(cell).exists()], run.store)
    _check_packages(pending)
    quality = [cell for cell in pending if cell.kind != "time"]
    times = [cell for cell in pending if cell.kind == "time"]
    ledger = _Ledger({cell: _expected_seconds(cell, run) for cell in pending}, watcher)
    watcher.begins(len(pending), len(chosen) - len(pending), ledger.expected_seconds(jobs))
    for cells, at_once in ((quality, jobs), (times, 1)):
        _measure_all(run, cells, at_once, ledger)
    if all(run.store.path(cell).exists() for cell in run.cells if cell.needs):
        shutil.rmtree(run.store.vectors, ignore_errors=True)


def _measure_all(run: Run, cells: Sequence[Cell], jobs: int, ledger: _Ledger) -> None:
    processes = Processes()
    pool = ThreadPoolExecutor(jobs)
    futures: dict[Cell, Future[None]] = {}
    try:
        for cell in cells:
            # A needed cell was handed in before, so it has at least begun: waiting for it cannot last for ever.
            needed = futures.get(cell.needs) if cell.needs else None
            futures[cell] = pool.submit(_measure, run, cell, needed, processes, ledger)
        for future in futures.values():
            future.result()
    except BaseException:
        for future in futures.values():
            future.cancel()
        processes.stop()
        raise
    finally:
        pool.shutdown()


def _measure(run: Run, cell: Cell, needed: Future[None] | None, processes: Processes, ledger: _Ledger) -> None:
    """Measure and keep one cell; a failure is noted, and others go on."""
    if needed is not None:
        needed.result()
    if cell.needs in run.failures:
        run.failures[cell] = "the vectors that it needs could not be measured"
        return
    wanted = any(other.needs == cell and not run.store.path(other).exists() for other in run.cells)
    ledger.starts(cell)
    try:
        request = Request(
            cell,
            run.scale,
            run.corpora.of(cell),
            run.data,
            run.threads,
            figures=run.out,
            given=run.store.words_path(cell.needs) if cell.needs else None,
            words=run.store.words_path(cell) if wanted else None,
        )
        run.store.save(cell, processes.measure(request, lambda share: ledger.goes_on(cell, share)))
        ledger.ends(cell, None)
    except CellFailedError as error:
        if processes.stopped:
            return
        run.failures[cell] = str(error)
        ledger.ends(cell, str(error))


class _Ledger:
    """What is done and what is left, in seconds."""

    def __init__(self, expected: dict[Cell, float], watcher: Watcher) -> None:
        self._expected, self._watcher = expected, watcher
        self._shares: dict[Cell, float] = {}
        self._started: dict[Cell, float] = {}
        self._ended: set[Cell] = set()
        self._begun = time.monotonic()
        self._lock = threading.Lock()

    def expected_seconds(self, jobs: int) -> float:
        timed = sum(seconds for cell, seconds in self._expected.items() if cell.kind == "time")
        return timed + (sum(self._expected.values()) - timed) / jobs

    def starts(self, cell: Cell) -> None:
        with self._lock:
            self._started[cell] = time.monotonic()
            self._shares[cell] = 0.0
            self._tell()

    def goes_on(self, cell: Cell, share: float) -> None:
        with self._lock:
            self._shares[cell] = share
            self._tell()

    def ends(self, cell: Cell, failure: str | None) -> None:
        with self._lock:
            self._shares[cell] = 1.0
            self._ended.add(cell)
            self._watcher.ends(cell, time.monotonic() - self._started[cell], failure)
            self._tell()

    def _tell(self) -> None:
        done = sum(self._expected[cell] * share for cell, share in self._shares.items())
        left = sum(self._expected.values()) - done
        passed = time.monotonic() - self._begun
        # The forecast is trusted at first, the pace of this machine more and more.
        whole = done + left
        pace = (passed / done) if done > 0 else 1.0
        trust = done / whole if whole else 1.0
        running = [cell for cell in self._started if cell not in self._ended]
        self._watcher.goes_on(running, sum(self._shares.values()), left * (trust * pace + (1 - trust)))


def _with_needs(pending: list[Cell], store: Store) -> list[Cell]:
    """Put cells whose vectors are needed, and not kept, before those that need them."""
    ordered: dict[Cell, None] = {}
    for cell in pending:
        if cell.needs and not store.words_path(cell.needs).exists():
            ordered.setdefault(cell.needs)
        ordered.setdefault(cell)
    return list(ordered)


def _check_packages(pending: Sequence[Cell]) -> None:
    for name in dict.fromkeys(cell.method for cell in pending):
        for package in METHODS[name].packages:
            if not version_of(package):
                raise MissingExtraError(f"{METHODS[name].title} (package {package})", METHODS[name].extra)


def _expected_seconds(cell: Cell, run: Run) -> float:
    method, scale = METHODS[cell.method], run.scale
    with EncodedCorpus.open(run.corpora.whole(cell.data)) as corpus:
        tokens, documents = corpus.n_tokens, corpus.n_documents
    passes: float = scale.epochs[cell.data] if method.by_epochs else 1
    if cell.kind == "time":
        passes = scale.sampled / documents if method.reads_text else 1.5 if method.by_epochs else 0.5
    return tokens * passes / (method.pace * 1e6) + _EVALUATION_SECONDS
