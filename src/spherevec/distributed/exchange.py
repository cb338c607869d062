"""Which documents are on which worker, how often workers exchange what they have learned, and what they exchange.

All of it depends on the text, the settings and what the user says, never on a clock: the same run has the same bits.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from spherevec.config import TrainConfig
from spherevec.distributed.pieces import PARTS_A_WORKER
from spherevec.engine.base import SETTLING, Floats
from spherevec.errors import ConfigError
from spherevec.threads import in_order

SHARED = ("inputs", "contexts")  # the tables of which every worker has a copy
_ROWS_A_THREAD = 4096
BANDWIDTH = 10.0  # Gbit/s between two machines, unless the user says
LEAST_TOKENS = 250_000  # of a worker between two exchanges, where an epoch has that many
LEAST_EXCHANGES = 16  # of an epoch of eight workers or more, where it has that many rounds; fewer need two for each
SHARE = 0.1  # of the time that exchanges may take
# Of a worker of sixteen cores, measured: tokens that it trains in a second with few words, seconds for each number that
# it exchanges with many, and seconds of an exchange besides.
_TOKENS_A_SECOND, _SECONDS_A_NUMBER, _SECONDS = 11_000_000.0, 1e-9, 0.1


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


def check_interval(exchange_tokens: int | None, bandwidth: float, worker_timeout: float) -> None:
    """Refuse what is no interval, no bandwidth or no time."""
    whole = isinstance(exchange_tokens, int) and not isinstance(exchange_tokens, bool)
    if exchange_tokens is not None and not (whole and exchange_tokens >= 1):
        raise ConfigError(f"exchange_tokens must be a whole number of at least 1, not {exchange_tokens!r:.40}")
    for name, value in (("bandwidth", bandwidth), ("worker_timeout", worker_timeout)):
        number = isinstance(value, int | float) and not isinstance(value, bool)
        if not (number and math.isfinite(value) and value > 0):
            raise ConfigError(f"{name} must be a number above 0, not {value!r:.40}")


def suggested_tokens(words: int, config: TrainConfig, bandwidth: float) -> int:
    """Tokens between two exchanges, so that these take at most `SHARE` of the time where all rows move.

    A worker sends, and receives, both vectors of every word that has moved.
    """
    sending = 2 * 2.0 * words * (2 * config.vector_size + 12) * 8 / (bandwidth * 1e9)
    working = 2 * words * config.vector_size * _SECONDS_A_NUMBER + _SECONDS
    return max(LEAST_TOKENS, int((sending + working) / SHARE * _TOKENS_A_SECOND))


def exchanges_an_epoch(
    rounds: int,
    share: float,
    words: int,
    config: TrainConfig,
    workers: int,
    exchange_tokens: int | None = None,
    bandwidth: float = BANDWIDTH,
) -> int:
    """Exchanges of an epoch that has so many rounds on the worker with most, and a share of so many tokens on each."""
    wanted = math.ceil(share / (exchange_tokens or suggested_tokens(words, config, bandwidth)))
    if exchange_tokens is None and workers > 1:  # one alone exchanges nothing, and only reports
        wanted = max(wanted, min(LEAST_EXCHANGES, 2 * workers))
    return max(1, min(wanted, rounds))


class RowDeltas(NamedTuple):
    """Some rows of a table that have moved, in ascending order, and by how much; in 16 bits, as floats of half size."""

    rows: NDArray[np.int32]  # (n,)
    steps: NDArray[np.int32]  # (n,) taken by each
    delta: NDArray[np.float16]  # (n, dim)

    @property
    def nbytes(self) -> int:
        return sum(array.nbytes for array in self)


Slice = Mapping[str, RowDeltas]  # by table


def merged(parts: Sequence[Slice], alpha: float, threads: int = 1) -> Slice:
    """What several workers have moved, as one.

    As with the shards of a round on one machine (`merge_copies` in engine/cpu/rounds.py): where a row took few steps,
    the deltas are added up; where it took many, it came to rest in each worker by itself, and their mean is nearer to
    where it would have come to rest in all of them. `parts` are in the order of the workers, `alpha` is the learning
    rate that they began with.
    """
    return {table: _merged([part[table] for part in parts], SETTLING * alpha, threads) for table in parts[0]}


def _merged(parts: Sequence[RowDeltas], rate: float, threads: int) -> RowDeltas:
    rows = np.unique(np.concatenate([part.rows for part in parts]))
    steps, gone = np.zeros(len(rows), np.int64), np.zeros(len(rows))
    found_at = [np.searchsorted(rows, part.rows) for part in parts]
    for part, places in zip(parts, found_at, strict=True):
        steps[places] += part.steps
        gone[places] += -np.expm1(-rate * part.steps)
    weights = np.divide(-np.expm1(-rate * steps), gone, out=np.ones(len(rows)), where=gone > 0).astype(np.float32)
    delta = np.empty((len(rows), parts[0].delta.shape[1]), np.float16)

    def add(first: int, last: int) -> None:
        total = np.zeros((last - first, delta.shape[1]), np.float32)
        for part, places in zip(parts, found_at, strict=True):
            low, high = np.searchsorted(places, (first, last))
            total[places[low:high] - first] += part.delta[low:high]
        delta[first:last] = weights[first:last, None] * total

    _by_rows(add, len(rows), threads)
    return RowDeltas(rows, np.minimum(steps, np.iinfo(np.int32).max).astype(np.int32), delta)


def apply_delta(table: Floats, moved: RowDeltas, threads: int = 1) -> Floats:
    """Move rows of a table (V, at least dim), back to the sphere; returns where they are now, (n, dim)."""
    ended: Floats = np.empty(moved.delta.shape, np.float32)
    smallest = np.finfo(np.float32).tiny

    def move(first: int, last: int) -> None:
        rows, here = moved.rows[first:last], ended[first:last]
        np.add(table[rows, : here.shape[1]], moved.delta[first:last], out=here)
        here /= np.maximum(np.linalg.norm(here, axis=1, keepdims=True), smallest)
        table[rows, : here.shape[1]] = here

    _by_rows(move, len(ended), threads)
    return ended


def _by_rows(work: Callable[[int, int], None], rows: int, threads: int) -> None:
    """Do some rows at a time, on threads."""
    starts = range(0, rows, _ROWS_A_THREAD)
    for _ in in_order(starts, lambda _, first: work(first, min(first + _ROWS_A_THREAD, rows)), threads):
        pass
