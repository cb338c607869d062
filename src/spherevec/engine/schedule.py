"""What a run starts from, and what its epochs consist of: blocks of units in some order, with learning rates."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from spherevec import sphere
from spherevec.config import TrainConfig
from spherevec.devices import DEVICES
from spherevec.engine.base import PIECE, Block, Floats, TrainingData
from spherevec.threads import in_order

ROUND_TOKENS = 256_000  # of a deterministic run, at most: what a shard learns the others see only after the round
SMALLEST_EPOCH = 8  # rounds, where there are enough units: however short the text, an epoch has several
FINAL_SHARE = 1e-4  # the learning rate never falls below this share of its start
CHUNK_ROWS = 8192  # documents looked at in one go
COPIED_ROWS = 1024  # vectors of which copies are held
_TABLES = ("inputs", "contexts", "docs")


class Schedule:
    """What a run does, one step after the other: the blocks of each epoch, and the steps of the final refit."""

    def __init__(self, data: TrainingData, config: TrainConfig) -> None:
        self._data, self._config = data, config

    def blocks(self, epoch: int) -> list[Block]:
        return epoch_blocks(self._data, self._config, epoch)

    def refit_stop(self, first: int) -> int:
        """Up to which document the step of the refit goes that begins with `first`."""
        offsets, tokens = self._data.offsets, DEVICES[self._config.device].refit_tokens
        reached = int(np.searchsorted(offsets, offsets[first] + tokens))
        return min(max(reached, first + 1), self._data.documents)


def further_pieces(offsets: NDArray[np.int64], size: int) -> NDArray[np.int64]:
    """The pieces of `size` tokens that long documents have beyond their first, (M, 2): document, first token."""
    found = [np.empty((0, 2), np.int64)]
    for start in range(0, len(offsets) - 1, CHUNK_ROWS):
        edges = np.asarray(offsets[start : start + CHUNK_ROWS + 1])
        for long in np.flatnonzero(np.diff(edges) > size):
            firsts = np.arange(edges[long] + size, edges[long + 1], size)
            found.append(np.column_stack([np.full(len(firsts), start + long), firsts]))
    return np.ascontiguousarray(np.concatenate(found))


def epoch_blocks(data: TrainingData, config: TrainConfig, epoch: int, smallest: int = SMALLEST_EPOCH) -> list[Block]:
    """The work of an epoch. Alpha falls linearly from block to block, over all epochs.

    An epoch of a deterministic run has at least `smallest` rounds, where there are enough units.
    """
    tokens = DEVICES[config.device].block_tokens
    if config.is_deterministic:
        tokens = max(1, min(ROUND_TOKENS, len(data.ids) // smallest))
    edges = block_edges(data, tokens, in_file_order=config.order == "file")
    order_key, sample_key = np.random.SeedSequence((config.seed, epoch)).generate_state(2, np.uint64).tolist()
    if config.order == "file":
        order_key = 0
    steps = (len(edges) - 1) * config.epoch_count

    def alpha(step: int) -> float:
        return config.alpha * max(FINAL_SHARE, 1 - step / steps)

    return [
        Block(first, last, order_key, sample_key, alpha(step), alpha(step + 1))
        for step, (first, last) in enumerate(pairwise(edges), start=epoch * (len(edges) - 1))
    ]


def block_edges(data: TrainingData, tokens: int, *, in_file_order: bool) -> list[int]:
    """Cut an epoch into blocks of about so many tokens: positions in its order, from 0 to the number of units.

    In a random order as many units are about as many tokens. In the order of the file they are not, so blocks are cut
    where the tokens say, and those of further pieces, which come last, by their number.
    """
    count = max(1, min(data.units, round(len(data.ids) / tokens)))
    if not in_file_order:
        return sorted({*np.linspace(0, data.units, count + 1).astype(np.int64).tolist()})
    documents = len(data.offsets) - 1
    by_tokens = np.searchsorted(data.offsets, np.linspace(0, len(data.ids), count + 1)[1:-1]).tolist()
    by_pieces = range(documents, data.units, max(1, tokens // PIECE))
    return sorted({0, data.units, *by_tokens, *by_pieces})


def random_rows(config: TrainConfig, table: str, rows: int, threads: int = 1) -> Iterator[tuple[int, Floats]]:
    """Random directions for a table, some at a time, with the number of the first; the same for any `threads`."""
    rng = np.random.default_rng((config.seed, _TABLES.index(table)))

    def numbers() -> Iterator[tuple[int, Floats]]:
        """They come one after another; other threads may do the rest."""
        for start in range(0, rows, COPIED_ROWS):
            some = min(COPIED_ROWS, rows - start)
            yield start, rng.standard_normal((some, config.vector_size), dtype=np.float32)

    return in_order(numbers(), lambda _, some: (some[0], sphere.normalize(some[1])), threads)
