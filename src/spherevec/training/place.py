"""Where a run takes place: what holds the vectors, its steps, and what documents are fitted with at its end."""

from __future__ import annotations

from pathlib import Path
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from spherevec.config import TrainConfig
from spherevec.engine.backends import make_backend, make_fit_tables
from spherevec.engine.base import Backend, TrainingData
from spherevec.engine.fit import FitTables
from spherevec.engine.schedule import Schedule


class Place(Protocol):
    """One machine, or several; the loop over epochs is the same."""

    def schedule(self) -> Schedule:
        """The steps of the run."""

    def backend(self) -> Backend:
        """What holds the vectors, all zero."""

    def fit_tables(self, backend: Backend) -> FitTables | None:
        """What documents are fitted with to the words of the backend as they are now."""


class ThisMachine:
    """The text and the vectors are in this process.

    Args:
        counts: (V,) of the words.
        config: settled.
        workdir: where document vectors are kept that would not fit into memory.
    """

    def __init__(
        self, data: TrainingData, counts: NDArray[np.int64], config: TrainConfig, workdir: str | Path | None
    ) -> None:
        self._data, self._counts, self._config, self._workdir = data, counts, config, workdir

    def schedule(self) -> Schedule:
        return Schedule(self._data, self._config)

    def backend(self) -> Backend:
        return make_backend(self._data, self._config, self._workdir)

    def fit_tables(self, backend: Backend) -> FitTables | None:
        return make_fit_tables(backend, self._data, self._counts, self._config)
