"""Which documents are on which worker, and how often workers exchange what they have learned.

Both depend on the text, the settings and what the user says, never on a clock: the same run has the same bits.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from spherevec.config import TrainConfig
from spherevec.corpus.read.pieces import PARTS_A_WORKER
from spherevec.errors import ConfigError

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
    """Exchanges of an epoch.

    Args:
        rounds: of an epoch, on the worker that has most: an exchange is at the end of one.
        share: tokens of a worker.
    """
    wanted = math.ceil(share / (exchange_tokens or suggested_tokens(words, config, bandwidth)))
    if exchange_tokens is None and workers > 1:  # one alone exchanges nothing, and only reports
        wanted = max(wanted, min(LEAST_EXCHANGES, 2 * workers))
    return max(1, min(wanted, rounds))
