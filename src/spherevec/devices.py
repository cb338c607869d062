"""The devices that can train: each is described here once; its module is imported when it is asked for.

A new backend is a row of this table and a module that offers what `spherevec.engine.backends` asks of it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType


@dataclass(frozen=True)
class Device:
    """What the rooms around a backend need to know of it."""

    name: str
    module: str  # offers `check(config)`, `make_backend(data, config, workdir)` and `DocumentFit`
    uses_processor: bool  # it trains on the processor and keeps all of its cores busy
    deterministic: bool  # it can give the same bits for any number of threads
    block_tokens: int  # trained between two looks at the stop flag and the learning rate
    refit_tokens: int  # of documents that are refitted between two reports
    gpus: int = 0  # that a process needs


DEVICES: Mapping[str, Device] = MappingProxyType(
    {
        device.name: device
        for device in (
            Device("cpu", "spherevec.engine.cpu.backend", True, True, block_tokens=12_500, refit_tokens=2_000_000),
            # Some 50 ms of training, next to which the start and the end of a launch are short.
            Device("cuda", "spherevec.engine.cuda.backend", False, False, 1 << 24, 1 << 24, gpus=1),
        )
    }
)
