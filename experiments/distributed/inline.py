"""Workers in one process, one after the other: the same bits as on a Ray cluster, without its processes."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from spherevec.distributed.cluster import Step, WorkerPool
from spherevec.distributed.runtime import RayRuntime
from spherevec.distributed.worker import Worker
from spherevec.storage.files import working_folder


class InlinePool(WorkerPool):
    """Workers of this process, with references that are the answers themselves."""

    def __init__(self, workers: int, workdir: str | None = None) -> None:
        self.workers = workers
        self.ray = SimpleNamespace(
            get=lambda value, timeout=None: value,
            nodes=list,
            exceptions=SimpleNamespace(RayError=RuntimeError),
        )
        self._timeout = self._slowest = 0.0
        self._held, self.replacing = [Worker(number, workers, workdir) for number in range(workers)], threading.RLock()
        self.log = []

    def call(self, number: int, method: str, *arguments: Any, returns: int = 1, aside: bool = False) -> Any:
        with self.replacing:
            worker = self._held[number]
        return getattr(worker, method)(*arguments)

    def replace(self, number: int, error: Exception | None = None, actor: Any = None) -> None:
        """As if a worker had died."""
        with self.replacing:
            self._held[number] = Worker(number, self.workers)
            for numbers, step in list(self.log):
                if number in numbers:
                    step(number)

    def put(self, value: Any) -> Any:
        return value

    def ask(
        self, ask: Step, numbers: Iterable[int] | None = None, times: float = 1.0, again: Step | None = None
    ) -> list[Any]:
        asked = list(range(self.workers) if numbers is None else numbers)
        answers = [ask(number) for number in asked]
        if again is not None:
            self.log.append((asked, again))
        return answers

    def end(self) -> None:
        self._held.clear()


@contextlib.contextmanager
def inline_runtime(
    workers: int, exchange_tokens: int | None = None, workdir: str | Path | None = None
) -> Iterator[RayRuntime]:
    """As `spherevec.distributed.runtime.ray_runtime`."""
    with working_folder(workdir) as folder:
        pool = InlinePool(workers, None if workdir is None else str(workdir))
        yield RayRuntime(pool, folder, exchange_tokens)
        pool.end()
