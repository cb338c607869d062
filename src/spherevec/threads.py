"""Work on several threads: items whose results come in order, and slices of rows."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import pairwise
from queue import SimpleQueue
from typing import Any, TypeVar

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


def run_slices(pool: ThreadPoolExecutor, edges: Sequence[int], kernel: Callable[..., None], *args: Any) -> None:
    """Call `kernel(*args, first, last)` for each slice between two edges; the calling thread takes the last slice.

    Example:
        >>> squares = [0] * 5
        >>> def square(numbers, first, last):
        ...     squares[first:last] = [number**2 for number in numbers[first:last]]
        >>> with ThreadPoolExecutor(2) as pool:
        ...     run_slices(pool, [0, 2, 5], square, [1, 2, 3, 4, 5])
        >>> squares
        [1, 4, 9, 16, 25]
    """
    *others, own = pairwise(edges)
    pending = [pool.submit(kernel, *args, first, last) for first, last in others]
    kernel(*args, *own)
    for future in pending:
        future.result()
