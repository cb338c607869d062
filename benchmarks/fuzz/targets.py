"""All targets by name, and how one input is fed.

A file either reads well, and then what it gave is checked, or ends in one of the package's own errors, in one line.
`python -m benchmarks.fuzz` feeds the targets with 100,000 inputs each, tests/system/test_fuzz.py with 120.
"""

from __future__ import annotations

from pathlib import Path

from benchmarks.fuzz.base import Target
from benchmarks.fuzz.corpora import CORPORA
from benchmarks.fuzz.models import MODELS
from benchmarks.fuzz.rooms import ROOMS
from benchmarks.fuzz.sheets import SHEETS
from benchmarks.fuzz.vectors import VECTORS
from spherevec.errors import SpherevecError

TARGETS: dict[str, Target] = {**ROOMS, **MODELS, **CORPORA, **SHEETS, **VECTORS}


def feed(name: str, data: bytes, folder: Path) -> bool:
    """Whether the reader took the input; anything but a result or our own one-line error is an exception."""
    try:
        TARGETS[name].feed(data, folder)
    except SpherevecError as error:
        message = str(error)
        assert message and "\n" not in message and len(message) < 2000, f"not one clear line: {message[:300]!r}"
        return False
    return True
