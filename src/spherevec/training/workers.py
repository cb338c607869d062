"""The threads of a run: who trains which block when, how they stop, and what is left when they have."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from dataclasses import replace
from functools import partial
from itertools import pairwise

import numpy as np

from spherevec.engine.base import Backend, Block, DeterministicBackend
from spherevec.engine.bias import Biases

Ranges = tuple[tuple[int, int], ...]

TICK = 0.2  # seconds between two reports
PARTS = 4  # of a block, at least, where several workers share the work: biases are soon known to all
ROUNDS = 16  # parts for each worker in an epoch, at least: none is left without work for long when it ends


class BlockQueue:
    """The blocks of an epoch, as workers take them and finish them.

    Args:
        workers: how many take blocks.
        left: the numbers [first, last) of the blocks that are left of an epoch begun before; all by default.
    """

    def __init__(self, blocks: Sequence[Block], workers: int, *, left: Ranges | None = None) -> None:
        self.blocks = blocks
        self._lock = threading.Lock()
        self._pending = np.zeros(len(blocks), bool)
        for first, last in ((0, len(blocks)),) if left is None else left:
            self._pending[first:last] = True
        self._waiting = deque(np.flatnonzero(self._pending).tolist())
        self._parts = deque[tuple[int, Block]]()  # of the blocks that are begun
        self._missing: dict[int, int] = {}
        # A text of one block is trained by one worker: the same bits each time.
        self._parts_a_block = 1
        if min(workers, len(blocks)) > 1:
            self._parts_a_block = max(min(PARTS, workers), -(-ROUNDS * workers // max(len(self._waiting), 1)))

    def take(self, count: int) -> list[int]:
        """The numbers of the next blocks, at most `count`."""
        with self._lock:
            return [self._waiting.popleft() for _ in range(min(count, len(self._waiting)))]

    def take_part(self, *, begun: bool = False) -> tuple[int, Block] | None:
        """A part of a block, with the block's number; None if there is no more.

        Args:
            begun: only of a block that is begun.
        """
        with self._lock:
            if not self._parts and not begun and self._waiting:
                number = self._waiting.popleft()
                self._parts.extend((number, part) for part in _cut(self.blocks[number], self._parts_a_block))
                self._missing[number] = len(self._parts)
            return self._parts.popleft() if self._parts else None

    def finish_part(self, number: int) -> bool:
        """Note that a part of a block is trained; whether all of it is."""
        with self._lock:
            self._missing[number] -= 1
            if self._missing[number]:
                return False
            del self._missing[number]
            self._pending[number] = False
            return True

    def finish(self, numbers: list[int]) -> None:
        self._pending[numbers] = False

    @property
    def left(self) -> Ranges:
        """What is not finished, by number: runs [first, last)."""
        steps = np.diff(self._pending, prepend=False, append=False)
        edges = np.flatnonzero(steps).reshape(-1, 2).tolist()
        return tuple((first, last) for first, last in edges)

    @property
    def done(self) -> float:
        """The share of the epoch that is finished."""
        return 1.0 - float(np.count_nonzero(self._pending)) / max(len(self.blocks), 1)


class BlockTrainer:
    """Trains blocks on the workers of a backend.

    Args:
        learns: adjust the biases after every block; they mean something to the likelihood alone.
    """

    def __init__(self, backend: Backend, biases: Biases, *, learns: bool) -> None:
        self._backend, self._biases, self._learns = backend, biases, learns

    def train(
        self,
        queue: BlockQueue,
        tick: Callable[[], object] = lambda: None,
        pause: Callable[[], bool] = lambda: False,
    ) -> None:
        """Train until no block is left or `pause` says so.

        Blocks that are begun are finished, also when an exception comes out: then `queue` tells what is left.

        Args:
            tick: called now and then.
        """
        stop, rounds = threading.Event(), self._backend.rounds
        if rounds is None:
            work = partial(self._train_blocks, queue, stop)
            _run_threads(work, self._backend.workers, stop.set, tick, pause)
        else:
            self._train_rounds(rounds, queue, tick, pause)

    def _train_blocks(self, queue: BlockQueue, stop: threading.Event, worker: int) -> None:
        """One block at least, however soon the next pause is due: a run that saves all the time comes to an end."""
        taken = queue.take_part()
        while taken:
            number, block = taken
            self._backend.train(worker, _with_biases(block, self._biases))
            if queue.finish_part(number) and self._learns:
                learn(self._backend, self._biases)
            taken = queue.take_part(begun=stop.is_set())

    def _train_rounds(
        self,
        backend: DeterministicBackend,
        queue: BlockQueue,
        tick: Callable[[], object],
        pause: Callable[[], bool],
    ) -> None:
        """All workers train each block together; the backend learns the biases."""
        numbers = [number for first, last in queue.left for number in range(first, last)]
        rounds = backend.begin_rounds([_with_biases(queue.blocks[number], self._biases) for number in numbers])

        def report() -> None:
            queue.finish(numbers[: rounds.done])
            tick()

        try:
            _run_threads(rounds.train, backend.workers, rounds.stop, report, pause)
        finally:
            queue.finish(numbers[: rounds.done])
            learn(backend, self._biases)


def _cut(block: Block, parts: int) -> list[Block]:
    """A block in as many parts, where it has enough units."""
    size = block.last - block.first
    edges = sorted({block.first + size * part // parts for part in range(parts + 1)})
    if len(edges) <= 2:
        return [block]

    def alpha(unit: int) -> float:
        return block.alpha_first + (block.alpha_last - block.alpha_first) * (unit - block.first) / size

    return [
        replace(block, first=first, last=last, alpha_first=alpha(first), alpha_last=alpha(last))
        for first, last in pairwise(edges)
    ]


def _with_biases(block: Block, biases: Biases) -> Block:
    return replace(block, word_bias=biases.words, document_bias=biases.documents)


def _run_threads(
    work: Callable[[int], None],
    workers: int,
    stop: Callable[[], object],
    tick: Callable[[], object],
    pause: Callable[[], bool],
) -> None:
    """Run `work` on threads, and look after them from this one. No thread is left when this ends, however it ends."""
    # None begins before all are there, and none if they never are: they may wait for one another.
    decided, complete = threading.Event(), False

    def start(worker: int) -> None:
        decided.wait()
        if complete:
            work(worker)

    pool = ThreadPoolExecutor(workers, thread_name_prefix="spherevec")
    try:
        pending = {pool.submit(start, worker) for worker in range(workers)}
        complete = True
        decided.set()
        while pending:
            done, pending = wait(pending, timeout=TICK, return_when=FIRST_EXCEPTION)
            errors = [error for future in done if (error := future.exception()) is not None]
            if errors:
                raise errors[0]
            tick()
            if pause():
                stop()
    finally:
        stop()
        decided.set()
        _shut_down(pool)


def _shut_down(pool: ThreadPoolExecutor) -> None:
    """Wait for the threads, even if another interruption comes meanwhile: a block is soon done."""
    interruption: KeyboardInterrupt | None = None
    while True:
        try:
            pool.shutdown()
            break
        except KeyboardInterrupt as again:
            interruption = again
    if interruption is not None:
        raise interruption


def learn(backend: Backend, biases: Biases) -> None:
    """Adjust the biases after a block, or take those of a backend that adjusts them while it trains."""
    learned = backend.learned_biases()
    if learned is None:
        biases.learn(backend.sums)
    else:
        biases.words, biases.documents = learned
