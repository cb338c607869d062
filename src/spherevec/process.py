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
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import cache
from typing import TYPE_CHECKING, Any

from spherevec.errors import ConfigError

if TYPE_CHECKING:
    from threadpoolctl import ThreadpoolController

# The signals that ask a program to end.
ENDING_SIGNALS = tuple(getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name))


class _Borrowed:
    """State that is changed when the first borrower comes and given back when the last one goes."""

    def __init__(self, change: Callable[[], Callable[[], object]]) -> None:
        self._change = change
        self._lock = threading.Lock()
        self._borrowers = 0
        self._give_back: Callable[[], object] = lambda: None

    @contextmanager
    def borrowed(self) -> Iterator[None]:
        with self._lock:
            if self._borrowers == 0:
                self._give_back = self._change()
            self._borrowers += 1
        try:
            yield
        finally:
            with self._lock:
                self._borrowers -= 1
                if self._borrowers == 0:
                    self._give_back()


# A cell of a table may be this long, in characters.
LONGEST_CELL = 1 << 26


def _raise_csv_limit() -> Callable[[], object]:
    before = csv.field_size_limit()
    csv.field_size_limit(max(before, LONGEST_CELL))
    return lambda: csv.field_size_limit(before)


class _OneBlasThread:
    """BLAS uses one thread meanwhile.

    Each borrower gives back what the first one found: OpenBLAS takes a higher number from some threads only, so that
    the last to leave could not do it for the others.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._borrowers = 0
        self._original: Any = None

    @contextmanager
    def borrowed(self) -> Iterator[None]:
        with self._lock:
            limit = _blas_controller().limit(limits=1, user_api="blas")
            if self._borrowers == 0:
                self._original = limit
            self._borrowers += 1
        try:
            yield
        finally:
            with self._lock:
                self._borrowers -= 1
                self._original.restore_original_limits()


@cache
def _blas_controller() -> ThreadpoolController:
    import scipy.linalg.cython_blas  # noqa: F401 - the BLAS that compiled kernels call must be loaded to be found
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()


# Cells of `LONGEST_CELL` characters may be read meanwhile.
long_csv_cells = _Borrowed(_raise_csv_limit).borrowed
# BLAS uses one thread meanwhile: the caller's threads occupy the cores.
one_blas_thread = _OneBlasThread().borrowed


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


def files_to_spare() -> int:
    """How many files may be opened for work: a quarter of what the system allows this process, at least one."""
    try:
        import resource

        allowed, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    except ImportError:
        return 128
    return 1024 if allowed == resource.RLIM_INFINITY else max(1, allowed // 4)


def warn(message: str, stacklevel: int = 1) -> None:
    """Warn without ever ending what goes on, even where warnings are errors or cannot be shown."""
    try:
        warnings.warn(message, stacklevel=stacklevel + 1)
    except Exception:
        # Where warnings are errors, the message still reaches whoever reads standard error.
        with suppress(Exception):
            sys.stderr.write(f"warning: {message}\n")


class _Shield:
    """The signals that came while they were held back."""

    def __init__(self) -> None:
        self._noted: list[int] = []

    def note(self, number: int, frame: object) -> None:
        self._noted.append(number)

    def take(self) -> list[int]:
        """The signals so far; they will not be delivered any more."""
        noted, self._noted = self._noted, []
        return noted


@contextmanager
def signals_held_back() -> Iterator[_Shield]:
    """Signals that ask the program to end wait until the block has ended; then the first of them is delivered.

    Only the main thread can hold signals back, and only it receives them; elsewhere this does nothing.

    Examples:
        >>> with signals_held_back() as held:
        ...     signal.raise_signal(signal.SIGINT)  # would raise KeyboardInterrupt here
        ...     [signal.Signals(number).name for number in held.take()]  # else it is raised after the block
        ['SIGINT']
    """
    shield = _Shield()
    if threading.current_thread() is not threading.main_thread():
        yield shield
        return
    before: dict[int, Any] = {}
    try:
        for number in ENDING_SIGNALS:
            handler = signal.getsignal(number)
            # What is ignored stays ignored; a handler that is not Python's cannot be put back.
            if handler not in (signal.SIG_IGN, None):
                before[number] = handler
                signal.signal(number, shield.note)
        yield shield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        for number in shield.take()[:1]:
            signal.raise_signal(number)
