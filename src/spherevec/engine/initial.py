"""What a run starts from: random directions."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from spherevec import sphere
from spherevec.config import TrainConfig
from spherevec.engine.base import Floats
from spherevec.engine.schedule import COPIED_ROWS
from spherevec.threads import in_order

_TABLES = ("inputs", "contexts", "docs")


def random_rows(config: TrainConfig, table: str, rows: int, threads: int = 1) -> Iterator[tuple[int, Floats]]:
    """Random directions for a table, some at a time, with the number of the first; the same for any `threads`."""
    rng = np.random.default_rng((config.seed, _TABLES.index(table)))

    def numbers() -> Iterator[tuple[int, Floats]]:
        """They come one after another; other threads may do the rest."""
        for start in range(0, rows, COPIED_ROWS):
            some = min(COPIED_ROWS, rows - start)
            yield start, rng.standard_normal((some, config.vector_size), dtype=np.float32)

    return in_order(numbers(), lambda _, some: (some[0], sphere.normalize(some[1])), threads)
