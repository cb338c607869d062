"""The threads of a run: who trains which block when, how they stop, and what is left when they have."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait

from spherevec.engine.base import Training

TICK = 0.2  # seconds between two reports


def train_blocks(
    training: Training,
    workers: int,
    tick: Callable[[], object] = lambda: None,
    pause: Callable[[], bool] = lambda: False,
) -> None:
    """Train on threads until no block is left or `pause` says so, and look after them from this one.

    Blocks that are begun are finished, and no thread is left when this ends, however it ends.

    Args:
        tick: called now and then.
    """
    # None begins before all are there, and none if they never are: they may wait for one another.
    decided, complete = threading.Event(), False

    def start(worker: int) -> None:
        decided.wait()
        if complete:
            training.train(worker)

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
                training.stop()
    finally:
        training.stop()
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
