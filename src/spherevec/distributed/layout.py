"""Which documents are on which worker: a fixed rule, and the way from a row of the whole to a row of a worker."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from spherevec.corpus.read.pieces import PARTS_A_WORKER


class Run(NamedTuple):
    """Consecutive documents that lie together."""

    worker: int
    local: int  # first row on the worker
    first: int  # first row of the whole
    size: int


@dataclass(frozen=True)
class Layout:
    """The parts of a text, in its order: part p is on worker p modulo `workers`, behind those it already has."""

    workers: int
    sizes: Sequence[int]  # documents of each part

    @property
    def runs(self) -> list[Run]:
        filled, first, runs = [0] * self.workers, 0, []
        for part, size in enumerate(self.sizes):
            worker = part % self.workers
            runs.append(Run(worker, filled[worker], first, size))
            filled[worker] += size
            first += size
        return runs

    def documents(self, worker: int) -> int:
        """How many documents a worker has."""
        return sum(self.sizes[worker :: self.workers])

    def between(self, start: int, stop: int) -> Iterator[Run]:
        """The runs that make up the rows [start, stop) of the whole, in their order."""
        for run in self.runs:
            first, last = max(start, run.first), min(stop, run.first + run.size)
            if first < last:
                yield Run(run.worker, run.local + first - run.first, first, last - first)


def split_documents(offsets: NDArray[np.int64], workers: int) -> Layout:
    """Parts of about as many tokens each."""
    documents = len(offsets) - 1
    parts = max(1, min(PARTS_A_WORKER * workers, documents)) if workers > 1 else 1
    marks = np.linspace(0, int(offsets[-1]), parts + 1)[1:-1]
    inner = np.searchsorted(offsets, marks).tolist()
    edges = [0, *sorted(min(max(edge, 0), documents) for edge in inner), documents]
    return Layout(workers, [last - first for first, last in pairwise(edges)])
