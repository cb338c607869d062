"""NumPy `.npy`, written as its rows come: how many there are is known only at the end."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import BinaryIO

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from spherevec.storage.files import atomic_file


def write_rows(path: Path, blocks: Iterable[NDArray[np.float32]], dim: int, *, overwrite: bool = False) -> int:
    """Write blocks of rows (n, dim) below one another, completely or not at all; returns how many rows there were."""
    rows = 0
    with atomic_file(path, overwrite=overwrite) as temporary, temporary.open("wb") as file:
        _write_header(file, 0, dim)
        for block in blocks:
            file.write(np.ascontiguousarray(block, "<f4").data)
            rows += len(block)
        file.seek(0)
        _write_header(file, rows, dim)
    return rows


def _write_header(file: BinaryIO, rows: int, dim: int) -> None:
    """NumPy leaves room in a header for the first axis to grow, so a second one has the length of the first."""
    npy.write_array_header_1_0(file, {"descr": "<f4", "fortran_order": False, "shape": (rows, dim)})
