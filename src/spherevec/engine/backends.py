"""From the name of a device to its backend."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from spherevec.config import TrainConfig
from spherevec.devices import DEVICES
from spherevec.engine.base import Backend, DocumentFit, Sampling, TrainingData
from spherevec.engine.base import Floats as Floats
from spherevec.engine.fit import FitTables, negative_moments
from spherevec.errors import TrainingError


def check_device(config: TrainConfig) -> None:
    """Refuse, before any text is read, a device that is missing or does not take such vectors."""
    _module(config.device).check(config)


def make_backend(data: TrainingData, config: TrainConfig, workdir: str | Path | None = None) -> Backend:
    """The backend of `config.device`, with all vectors zero.

    Args:
        workdir: where document vectors are kept that would not fit into memory.
    """
    try:
        backend: Backend = _module(config.device).make_backend(data, config, workdir)
    except MemoryError:
        rows = sum(data.table_rows(config).values())
        need = rows * config.vector_size * 4 / 2**30
        raise TrainingError(
            f"not enough memory for {rows:,} vectors of dimension {config.vector_size} ({need:.1f} GiB); "
            "lower vector_size, raise min_count, or train with documents=False"
        ) from None
    return backend


def make_document_fit(inputs: Floats, sampling: Sampling, config: TrainConfig) -> DocumentFit:
    """What fits new documents to the input vectors (V, dim) on `config.device`."""
    check_device(config)
    fit: DocumentFit = _module(config.device).DocumentFit(inputs, sampling, config)
    return fit


def make_fit_tables(
    backend: Backend, data: TrainingData, counts: NDArray[np.int64], config: TrainConfig
) -> FitTables | None:
    """What documents are fitted with to the words of a backend as they are now; None where the objective has no use.

    The processor does it for every device: it takes two looks at a part of the text.
    """
    if not config.objective_info.likelihood:
        return None
    from spherevec.engine.cpu.word_weights import word_weights

    inputs = backend.host_inputs()
    weights = word_weights(data.ids, data.offsets, counts, inputs, config.thread_count)
    return FitTables(weights, *negative_moments(inputs[:, : config.vector_size], counts, config.thread_count))


def _module(device: str) -> Any:
    return import_module(DEVICES[device].module)
