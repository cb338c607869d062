"""The threads of a run: who trains which block when, how they stop, and what is left when they have."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from dataclasses import replace
from itertools import pairwise

import numpy as np

from spherevec.engine.base import Backend, Block, DeterministicBackend
from spherevec.engine.bias import Biases
from spherevec.training.position import Ranges

TICK = 0.2  # seconds between two reports
PARTS = 4  # of a block, at least, where several workers share the work: biases are soon known to all
ROUNDS = 16  # parts for each worker in an epoch, at least: none is left without work for long when it ends


class BlockQueues:
    """The blocks of an epoch, as workers take them and finish them.

    Args:
        workers: how many take blocks.
        in_shares: give each worker one contiguous share of the blocks, as the authors' program does with a file;
            and further blocks from the end of others' shares when its own is done; otherwise workers take the next
            block as they become free.
        left: the numbers [first, last) of the blocks that are left of an epoch begun before; all by default.
    """

    def __init__(
        self, blocks: Sequence[Block], workers: int, *, in_shares: bool = False, left: Ranges | None = None
    ) -> None:
        self.blocks = blocks
        self._lock = threading.Lock()
        self._pending = np.zeros(len(blocks), bool)
        for first, last in ((0, len(blocks)),) if left is None else left:
            self._pending[first:last] = True
        numbers = np.flatnonzero(self._pending)
        edges = np.linspace(0, len(numbers), (workers if in_shares else 1) + 1).astype(int)
        self._shares = [deque(share.tolist()) for share in np.split(numbers, edges[1:-1])]
        self._begun: list[deque[tuple[int, Block]]] = [deque() for _ in self._shares]
        self._missing: dict[int, int] = {}
        # A text of one block is trained by one worker: the same bits each time.
        self._parts = 1
        if min(workers, len(blocks)) > 1:
            self._parts = max(min(PARTS, workers), -(-ROUNDS * workers // max(len(numbers), 1)))

    def take(self, worker: int, count: int = 1) -> list[int]:
        """The numbers of the next blocks for a worker, at most `count`."""
        with self._lock:
            share = self._shares[worker % len(self._shares)]
            return [share.popleft() for _ in range(min(count, len(share)))]

    def take_part(self, worker: int, *, begun: bool = False) -> tuple[int, Block] | None:
        """A part of a block for a worker, with the block's number; None if there is no more.

        Args:
            begun: only of a block that is begun.
        """
        with self._lock:
            parts = self._begun[worker % len(self._shares)]
            share = self._shares[worker % len(self._shares)]
            fullest = max(self._shares, key=len)
            if not parts and not begun and fullest:
                number = share.popleft() if share else fullest.pop()
                parts.extend((number, part) for part in _cut(self.blocks[number], self._parts))
                self._missing[number] = len(parts)
            return parts.popleft() if parts else None

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


def train_blocks(
    backend: Backend,
    queues: BlockQueues,
    biases: Biases,
    *,
    learns: bool,
    tick: Callable[[float], None],
    pause: Callable[[], bool] = lambda: False,
) -> None:
    """Train blocks on the backend's workers until none is left or `pause` says so, and reporting now and then.

    Blocks that are begun are finished, also when an exception comes out: then `queues` tells what is left.

    Args:
        learns: adjust the biases after every block; they mean something to the likelihood alone.
    """
    stop = threading.Event()

    def work(worker: int) -> None:
        # One block at least, however soon the next pause is due: a run that saves all the time still comes to an end.
        taken = queues.take_part(worker)
        while taken:
            number, block = taken
            backend.train(worker, _with_biases(block, biases))
            if queues.finish_part(number) and learns:
                learn(backend, biases)
            taken = queues.take_part(worker, begun=stop.is_set())

    _run_threads(work, backend.workers, stop, queues, tick, pause)


def train_rounds(
    backend: DeterministicBackend,
    queues: BlockQueues,
    biases: Biases,
    *,
    learns: bool,
    tick: Callable[[float], None],
    pause: Callable[[], bool] = lambda: False,
) -> None:
    """As `train_blocks`, in rounds: the blocks of a round are shards that all start from the same vectors.

    A round that is begun is finished. Biases are adjusted between rounds.
    """
    workers = min(backend.workers, backend.shards)
    stop, lock = threading.Event(), threading.Lock()
    numbers: list[int] = []
    blocks: list[Block] = []
    shards: Iterator[tuple[int, Block]] = iter(())

    def begin() -> None:
        nonlocal numbers, blocks, shards
        numbers = [] if stop.is_set() else queues.take(0, backend.shards)
        blocks = [_with_biases(queues.blocks[number], biases) for number in numbers]
        shards = iter(enumerate(blocks))
        backend.begin_round(blocks)

    def end() -> None:
        backend.end_round()
        if learns:
            biases.learn(backend.sums)
        queues.finish(numbers)
        begin()

    trained, merged = threading.Barrier(workers), threading.Barrier(workers, action=end)

    def work(worker: int) -> None:
        try:
            while blocks:
                for shard, block in _taken(shards, lock):
                    backend.train_shard(worker, shard, block)
                trained.wait()
                backend.merge(worker, workers, blocks)
                merged.wait()
        except BaseException:
            trained.abort()
            merged.abort()
            raise

    begin()
    _run_threads(work, workers, stop, queues, tick, pause)


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
    stop: threading.Event,
    queues: BlockQueues,
    tick: Callable[[float], None],
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
                # A thread that waited for another fails with it; the cause is the other's.
                raise min(errors, key=lambda error: isinstance(error, threading.BrokenBarrierError))
            tick(queues.done)
            if pause():
                stop.set()
    finally:
        stop.set()
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


def _taken(shards: Iterator[tuple[int, Block]], lock: threading.Lock) -> Iterator[tuple[int, Block]]:
    """The shards of an iterator that several threads take from."""
    while True:
        with lock:
            taken = next(shards, None)
        if taken is None:
            return
        yield taken


def learn(backend: Backend, biases: Biases) -> None:
    """Adjust the biases after a block, or take those of a backend that adjusts them while it trains."""
    learned = backend.learned_biases()
    if learned is None:
        biases.learn(backend.sums)
    else:
        biases.words, biases.documents = learned
