"""Kernels run over slices of the rows, by a pool of threads."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import cache
from itertools import pairwise
from typing import Any

from threadpoolctl import ThreadpoolController

# Below about this many rows, handing a slice to a thread costs more than the slice.
_MIN_SLICE_ROWS = 2048
_MAX_SLICES = 64


class SliceRunner:
    """Calls a kernel on ranges of slices, one range a thread.

    The number of slices follows from the number of rows alone, so that sums over slices come out the same with any
    number of threads.
    """

    def __init__(self, n_rows: int, n_threads: int, pool: ThreadPoolExecutor) -> None:
        # A power of two, which divides evenly among the usual numbers of cores.
        self.n_slices = min(_MAX_SLICES, 1 << max(n_rows // _MIN_SLICE_ROWS, 1).bit_length() - 1)
        n_ranges = min(n_threads, self.n_slices)
        edges = [self.n_slices * i // n_ranges for i in range(n_ranges + 1)]
        self._ranges = list(pairwise(edges))
        self._pool = pool

    def run(self, kernel: Callable[..., None], *args: Any) -> None:
        """Call `kernel(*args, first_slice, last_slice)` on all slices; the calling thread takes the last range."""
        *others, (first, last) = self._ranges
        pending = [self._pool.submit(kernel, *args, *bounds) for bounds in others]
        kernel(*args, first, last)
        for future in pending:
            future.result()


@contextmanager
def slice_runner(n_rows: int, threads: int) -> Iterator[SliceRunner]:
    """A `SliceRunner`, with BLAS held to one thread meanwhile: the slices already occupy the cores."""
    n_threads = threads or usable_cores()
    with ThreadPoolExecutor(max_workers=n_threads) as pool, _blas_controller().limit(limits=1, user_api="blas"):
        yield SliceRunner(n_rows, n_threads, pool)


def usable_cores() -> int:
    """Cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@cache
def _blas_controller() -> ThreadpoolController:
    import scipy.linalg.cython_blas  # noqa: F401 - the BLAS that compiled kernels call must be loaded to be found

    return ThreadpoolController()
