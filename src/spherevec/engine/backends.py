"""From the name of a device to its backend."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Any

from spherevec.config import TrainConfig
from spherevec.devices import DEVICES
from spherevec.engine.base import DocumentFit, LocalBackend, Sampling, TrainingData
from spherevec.engine.base import Floats as Floats
from spherevec.errors import TrainingError


def check_device(config: TrainConfig) -> None:
    """Refuse, before any text is read, a device that is missing or does not take such vectors."""
    _module(config.device).check(config)


def make_backend(data: TrainingData, config: TrainConfig, workdir: str | Path | None = None) -> LocalBackend:
    """The backend of `config.device`, with all vectors zero; `workdir` takes those that would not fit into memory."""
    try:
        backend: LocalBackend = _module(config.device).make_backend(data, config, workdir)
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


def _module(device: str) -> Any:
    return import_module(DEVICES[device].module)
