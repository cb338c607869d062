"""Kernels run over slices of the rows, by a pool of threads."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

from spherevec.process import effective_jobs, one_blas_thread
from spherevec.threads import run_slices

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
        self._edges = [self.n_slices * i // n_ranges for i in range(n_ranges + 1)]
        self._pool = pool

    def run(self, kernel: Callable[..., None], *args: Any) -> None:
        """Call `kernel(*args, first_slice, last_slice)` on all slices; the calling thread takes the last range."""
        run_slices(self._pool, self._edges, kernel, *args)


@contextmanager
def slice_runner(n_rows: int, n_jobs: int | None) -> Iterator[SliceRunner]:
    """A `SliceRunner`, with BLAS held to one thread meanwhile: the slices already occupy the cores."""
    n_threads = effective_jobs(n_jobs)
    with ThreadPoolExecutor(max_workers=n_threads) as pool, one_blas_thread():
        yield SliceRunner(n_rows, n_threads, pool)
