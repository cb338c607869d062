"""Workers in one process, one after the other: the same bits as on a Ray cluster, without its processes."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from spherevec.distributed.runtime import RayRuntime
from spherevec.distributed.worker import Worker
from spherevec.storage.files import working_folder


class InlinePool:
    """What `spherevec.distributed.worker_pool.WorkerPool` offers, with references that are the answers themselves."""

    def __init__(self, workers: int, workdir: str | None = None) -> None:
        self.workers, self.limit = workers, 0.0
        self.ray = SimpleNamespace(
            get=lambda value, timeout=None: value,
            nodes=list,
            exceptions=SimpleNamespace(RayError=RuntimeError),
        )
        self._held, self._replacing = [Worker(number, workers, workdir) for number in range(workers)], threading.RLock()
        self.bring_up: Callable[[int], None] = lambda number: None

    def call(self, number: int, method: str, *arguments: Any, returns: int = 1, aside: bool = False) -> Any:
        with self._replacing:
            worker = self._held[number]
        return getattr(worker, method)(*arguments)

    def replace(self, number: int) -> None:
        """As if a worker had died."""
        with self._replacing:
            self._held[number] = Worker(number, self.workers)
            self.bring_up(number)

    def put(self, value: Any) -> Any:
        return value

    def ask(self, ask: Callable[[int], Any], numbers: Iterable[int] | None = None, times: float = 1.0) -> list[Any]:
        return [ask(number) for number in (range(self.workers) if numbers is None else numbers)]

    def do(self, method: str, *arguments: Any, numbers: Iterable[int] | None = None, **how: Any) -> list[Any]:
        return self.ask(lambda number: self.call(number, method, *arguments), numbers)

    def merge(self, number: int, alpha: float, *parts: Any) -> Any:
        return self.call(number, "merge", alpha, *parts)

    def end(self) -> None:
        self._held.clear()


@contextlib.contextmanager
def inline_runtime(
    workers: int, exchange_tokens: int | None = None, workdir: str | Path | None = None
) -> Iterator[RayRuntime]:
    """As `spherevec.distributed.runtime.ray_runtime`."""
    with working_folder(workdir) as folder:
        pool = InlinePool(workers, None if workdir is None else str(workdir))
        yield RayRuntime(pool, folder, exchange_tokens)  # type: ignore[arg-type]
        pool.end()
