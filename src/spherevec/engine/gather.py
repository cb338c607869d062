"""Many short runs of an array, copied together on several threads: what a GPU is fed with, unit by unit."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from numpy.typing import NDArray

from spherevec.compiling import njit
from spherevec.threads import run_slices

LEAST_TOKENS = 1 << 18  # that are worth a thread


@njit(nogil=True, cache=True)
def copy_runs(ids: Any, runs: Any, ends: Any, out: Any, first: Any, last: Any) -> None:
    """Copy the runs [first, last); run i ends at `ends[i]` of `out`."""
    for run in range(first, last):
        start, stop = runs[run, 0], runs[run, 1]
        place = ends[run] - (stop - start)
        for token in range(stop - start):
            out[place + token] = ids[start + token]


def gather(
    ids: NDArray[np.int32], runs: NDArray[np.int64], out: NDArray[np.int32], pool: ThreadPoolExecutor, threads: int
) -> None:
    """Copy `ids[start:stop]` of each run one after another to `out`, in parts of about equal size on a pool's threads.

    Args:
        runs: (n, 2) start and stop of each.
        out: as long as all runs together.

    Example:
        >>> out = np.empty(3, np.int32)
        >>> with ThreadPoolExecutor(2) as pool:
        ...     gather(np.arange(9, dtype=np.int32), np.array([[5, 7], [0, 1]]), out, pool, 2)
        >>> out.tolist()
        [5, 6, 0]
    """
    ends = np.cumsum(runs[:, 1] - runs[:, 0])
    parts = max(1, min(threads, len(out) // LEAST_TOKENS))
    edges = np.searchsorted(ends, np.linspace(0, len(out), parts + 1)[1:-1]).tolist()
    edges = [0, *edges, len(runs)]
    run_slices(pool, edges, copy_runs, ids, runs, ends, out)
