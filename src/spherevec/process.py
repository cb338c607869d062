"""What belongs to the whole process is borrowed here and given back: csv limits, BLAS threads, signals, warnings.

Several threads may borrow at the same time: the first changes the state, the last gives it back.
"""

from __future__ import annotations

import csv
import os
import signal
import sys
import threading
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, suppress
from functools import cache
from typing import TYPE_CHECKING, Any

from spherevec.errors import ConfigError

if TYPE_CHECKING:
    from threadpoolctl import ThreadpoolController

# The signals that ask a program to end.
ENDING_SIGNALS = tuple(getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name))
# So many signals may raise while handlers are given back.
_ATTEMPTS = 100

# A cell of a table may be this long, in characters.
LONGEST_CELL = 1 << 26


def _borrowing(
    change: Callable[[], Any], give_back: Callable[[Any, int], object]
) -> Callable[[], AbstractContextManager[None]]:
    """A context in which some state is changed.

    Args:
        change: changes it, and returns what was there before.
        give_back: gets what was there before the first borrower, and how many others are left.
    """
    lock, before = threading.Lock(), list[Any]()

    @contextmanager
    def borrowed() -> Iterator[None]:
        with lock:
            before.append(change())
        try:
            yield
        finally:
            with lock:
                original, *others = before
                before.pop()
                give_back(original, len(others))

    return borrowed


@cache
def _blas_controller() -> ThreadpoolController:
    import scipy.linalg.cython_blas  # noqa: F401 - the BLAS that compiled kernels call must be loaded to be found
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()


# Cells of `LONGEST_CELL` characters may be read meanwhile.
long_csv_cells = _borrowing(
    lambda: csv.field_size_limit(max(csv.field_size_limit(), LONGEST_CELL)),
    lambda before, others: None if others else csv.field_size_limit(before),
)
# BLAS uses one thread meanwhile: the caller's threads occupy the cores. Each borrower gives back what the first one
# found: OpenBLAS takes a higher number from some threads only, so that the last could not do it for the others.
one_blas_thread = _borrowing(
    lambda: _blas_controller().limit(limits=1, user_api="blas"), lambda before, _: before.restore_original_limits()
)


def usable_cores() -> int:
    """Cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def effective_jobs(n_jobs: int | None) -> int:
    """Threads for `n_jobs` as scikit-learn means it: -1 all cores, -2 all but one; None is as many as -1."""
    if n_jobs == 0:
        raise ConfigError("n_jobs=0 has no meaning; -1 is all cores")
    if n_jobs is not None and n_jobs > 0:
        return n_jobs
    return max(1, usable_cores() + 1 + (-1 if n_jobs is None else n_jobs))


def warn(message: str, stacklevel: int = 1) -> None:
    """Warn without ever ending what goes on, even where warnings are errors or cannot be shown."""
    try:
        warnings.warn(message, stacklevel=stacklevel + 1)
    except Exception:
        # Where warnings are errors, the message still reaches whoever reads standard error.
        with suppress(Exception):
            sys.stderr.write(f"warning: {message}\n")


@contextmanager
def signals_held_back() -> Iterator[list[int]]:
    """Signals that ask the program to end wait until the block has ended; then the first in the list is delivered.

    Only the main thread can hold signals back, and only it receives them; elsewhere this does nothing.

    Examples:
        >>> with signals_held_back() as held:
        ...     signal.raise_signal(signal.SIGINT)  # would raise KeyboardInterrupt here
        ...     print([signal.Signals(number).name for number in held])
        ...     held.clear()  # else it is raised after the block
        ['SIGINT']
    """
    held: list[int] = []
    if threading.current_thread() is not threading.main_thread():
        yield held
        return
    before: dict[int, Any] = {}
    ended = False

    def hold(number: int, frame: object) -> None:
        if not ended:
            held.append(number)
        else:  # a storm of signals kept this from being replaced: it does it now
            signal.signal(number, before[number])
            signal.raise_signal(number)

    try:
        for number in ENDING_SIGNALS:
            handler = signal.getsignal(number)
            # What is ignored stays ignored; a handler that is not Python's cannot be put back.
            if handler not in (signal.SIG_IGN, None):
                before[number] = handler
                signal.signal(number, hold)
        yield held
    finally:
        try:
            give_handlers_back(before)
        finally:
            ended = True
        for number in held[:1]:
            signal.raise_signal(number)


def give_handlers_back(handlers: Mapping[int, Any]) -> None:
    """Set the handlers of signals, also where one that is back already raises; what was raised last goes on."""
    left, raised = list(handlers), None
    for _ in range(_ATTEMPTS):
        try:
            while left:
                signal.signal(left[-1], handlers[left[-1]])
                left.pop()
            break
        except BaseException as error:
            raised = error
    if raised is not None:
        raise raised
