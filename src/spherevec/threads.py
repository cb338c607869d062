"""Work on several threads whose results come in the order of what was given."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from queue import SimpleQueue
from typing import TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")

_AHEAD = 2  # items for each worker that may wait for their turn: this bounds memory


def in_order(items: Iterable[Item], work: Callable[[int, Item], Result], workers: int) -> Iterator[Result]:
    """The results of `work`, which gets the number of a worker that nobody else uses meanwhile, and an item.

    Items are taken in the calling thread. With one worker, so is the work.

    Example:
        >>> list(in_order([3, 1, 2], lambda worker, item: item * 10, 2))
        [30, 10, 20]
    """
    if workers == 1:
        for item in items:
            yield work(0, item)
        return
    idle: SimpleQueue[int] = SimpleQueue()
    for worker in range(workers):
        idle.put(worker)

    def run(item: Item) -> Result:
        worker = idle.get()
        try:
            return work(worker, item)
        finally:
            idle.put(worker)

    pending = deque[Future[Result]]()
    with ThreadPoolExecutor(workers, thread_name_prefix="spherevec") as pool:
        try:
            for item in items:
                pending.append(pool.submit(run, item))
                if len(pending) > _AHEAD * workers:
                    yield pending.popleft().result()
            while pending:
                yield pending.popleft().result()
        finally:  # an error, an interruption, or nobody wants the rest
            for future in pending:
                future.cancel()
