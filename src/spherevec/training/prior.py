"""What is known stays: the vectors of known words as von Mises–Fisher priors while a model learns from new text.

A word that occurred n times before and occurs m times in the new text has w n + m witnesses: an old occurrence counts
for w = 2 new ones, since the model took twice as many passes over it. If training alone would move the word from x₀ to
x, the prior holds it back by w n of them: it belongs at the direction of w n x₀ + m x. An epoch that moves a word only
a little earns only a little of that pull, so that the balance is the same for every learning rate: with
a = strength · alpha · (w n + m), the occurrences counted after subsampling, the share of x₀ is

    w n / (w n + m) · (1 - exp(-a))

A word that does not occur in the new text goes back to where it was, to the last bit.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from spherevec import sphere
from spherevec.config import TrainConfig
from spherevec.engine.base import Backend
from spherevec.engine.schedule import CHUNK_ROWS
from spherevec.sphere import Floats

# Steps that one occurrence stands for, and new occurrences that an old one counts for; experiments/update says how they
# were chosen.
STRENGTH, WITNESSES = 20.0, 2.0
_PROBABILITY_ONE = 2.0**32


class WordPrior:
    """Pulls the first V words of a run back to where they were, after every epoch.

    Args:
        tables: "inputs" and "contexts" as they were before, (V, dim) each.
        before, new: (V,) how often each word occurred in the text of before, and occurs in the new text.
        keep_probability: (V,) of subsampling, as 32-bit integers.
        config: the resolved settings of the run.
        strength: how many steps one occurrence stands for.
    """

    def __init__(
        self,
        tables: dict[str, Floats],
        before: NDArray[np.int64],
        new: NDArray[np.int64],
        keep_probability: NDArray[np.uint32],
        config: TrainConfig,
        strength: float = STRENGTH,
    ) -> None:
        self._tables, self._config, self._strength = tables, config, strength
        known = WITNESSES * before
        self._share = known / np.maximum(known + new, 1)
        self._kept = (known + new) * (keep_probability / _PROBABILITY_ONE)
        self._unseen = new == 0

    def shares(self, epoch: int) -> NDArray[np.float64]:
        """The share (V,) of each word's old direction after the epoch of this number, counted from 0."""
        alpha = self._config.alpha * (1 - (epoch + 0.5) / self._config.epoch_count)
        shares: NDArray[np.float64] = self._share * -np.expm1(-self._strength * alpha * self._kept)
        shares[self._unseen] = 1.0
        return shares

    def pull(self, backend: Backend, epoch: int) -> None:
        """Move the words of a backend back by their shares."""
        shares = self.shares(epoch)
        for table, before in self._tables.items():
            for start in range(0, len(before), CHUNK_ROWS):
                old = before[start : start + CHUNK_ROWS]
                share = shares[start : start + len(old), None]
                mixed = share * old + (1 - share) * backend.read(table, start, start + len(old)).astype(np.float64)
                lost = np.linalg.norm(mixed, axis=1) < 1e-6  # opposite directions cancel out
                mixed[lost] = old[lost]
                rows = sphere.normalize(mixed).astype(np.float32)
                rows[share[:, 0] == 1.0] = old[share[:, 0] == 1.0]
                backend.load(table, start, rows)
