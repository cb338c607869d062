"""Read and write one safetensors file, or one `.npy`: in bounded memory when writing, memory-mapped when reading.

The layout of safetensors: 8 bytes with the length of the header, the header in JSON, then the arrays back to back.
"""

from __future__ import annotations

import json
import math
import mmap
import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, BinaryIO, Protocol

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from spherevec.errors import FormatError
from spherevec.storage.files import atomic_file
from spherevec.storage.memory import drop_pages

_DTYPES: dict[str, np.dtype[Any]] = {
    "F64": np.dtype("<f8"),
    "I64": np.dtype("<i8"),
    "U64": np.dtype("<u8"),
    "F32": np.dtype("<f4"),
    "I32": np.dtype("<i4"),
    "U8": np.dtype("u1"),
}
_NAMES = {dtype: name for name, dtype in _DTYPES.items()}
_LONGEST_HEADER = 1 << 20
_BYTES_PER_WRITE = 1 << 24


class Rows(Protocol):
    """What is written: an array, or whatever gives some rows of one at a time."""

    @property
    def shape(self) -> tuple[int, ...]: ...
    @property
    def dtype(self) -> np.dtype[Any]: ...
    @property
    def nbytes(self) -> int: ...
    def __len__(self) -> int: ...
    def __getitem__(self, rows: slice, /) -> NDArray[Any]: ...


def write_tensors(path: Path, tensors: Mapping[str, Rows]) -> None:
    """Write arrays of any type in `_DTYPES` under their names, the widest first, so that each is aligned."""
    with path.open("wb") as file:
        for piece in tensor_bytes(path.name, tensors):
            file.write(piece)


def tensor_bytes(name: str, tensors: Mapping[str, Rows]) -> Iterator[memoryview]:
    """What `write_tensors` writes to a file of that name, some megabytes at a time.

    Pages of mapped files are let go of as soon as they were seen.
    """
    tensors = dict(sorted(tensors.items(), key=lambda named: -named[1].dtype.itemsize))
    header: dict[str, Any] = {}
    end = 0
    for key, array in tensors.items():
        begin, end = end, end + array.nbytes
        header[key] = {"dtype": _NAMES[array.dtype], "shape": list(array.shape), "data_offsets": [begin, end]}
    encoded = json.dumps(header).encode()
    encoded += b" " * (-(8 + len(encoded)) % 8)  # keeps the arrays aligned
    if len(encoded) > _LONGEST_HEADER:
        raise FormatError(f"{name}: {len(tensors):,} arrays are too many for one file; keep fewer fields")
    yield memoryview(len(encoded).to_bytes(8, "little") + encoded)
    for array in tensors.values():
        step = max(1, _BYTES_PER_WRITE * len(array) // max(array.nbytes, 1))
        for start in range(0, len(array), step):
            some = array[start : start + step]
            yield np.ascontiguousarray(some).reshape(-1).view(np.uint8).data
            drop_pages(some)


def read_tensors(path: Path, *, memory_map: bool = True, opened: BinaryIO | None = None) -> dict[str, NDArray[Any]]:
    """The arrays of a file, read-only views of it with `memory_map`, copies in memory otherwise.

    Sizes are compared with the file before anything is allocated.

    Args:
        opened: the file, where it is open already; `path` then only names it in messages.
    """
    with path.open("rb") if opened is None else opened as file:
        size = os.fstat(file.fileno()).st_size
        file.seek(0)
        length = int.from_bytes(file.read(8), "little")
        if size < 8 or length > min(size - 8, _LONGEST_HEADER):
            raise FormatError(f"{path}: truncated or not a safetensors file; copy it again")
        try:
            header = json.loads(file.read(length))
        except (ValueError, RecursionError):
            header = None
        if not isinstance(header, dict):
            raise FormatError(f"{path}: its header is not JSON; the file is corrupt")
        header.pop("__metadata__", None)
        buffer = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        views = {name: _view(path, name, entry, buffer, 8 + length) for name, entry in header.items()}
    return views if memory_map else {name: view.copy() for name, view in views.items()}


def _view(path: Path, name: str, entry: Any, buffer: mmap.mmap, start: int) -> NDArray[Any]:
    """One array of a file whose arrays begin at byte `start`; `FormatError` where its entry contradicts itself."""
    try:
        dtype, shape = _DTYPES[entry["dtype"]], entry["shape"]
        begin, end = entry["data_offsets"]
        numbers = [*shape, begin, end]
    except (KeyError, TypeError, ValueError):
        raise FormatError(f"{path}: {name!r} has no valid type, shape and place in the header") from None
    if any(type(number) is not int or not 0 <= number < 2**40 for number in numbers) or len(shape) > 2:
        raise FormatError(f"{path}: {name!r} has an impossible shape or place in the header")
    if end - begin != math.prod(shape) * dtype.itemsize:
        raise FormatError(f"{path}: {name!r} of shape {tuple(shape)} does not fit its {end - begin} bytes")
    if start + end > len(buffer):
        raise FormatError(f"{path}: truncated: {name!r} ends at byte {start + end}, the file at {len(buffer)}")
    if (start + begin) % dtype.itemsize:
        raise FormatError(f"{path}: {name!r} is not aligned; write the file again")
    return np.frombuffer(buffer, dtype, math.prod(shape), start + begin).reshape(shape)


def write_rows(path: Path, blocks: Iterable[NDArray[np.float32]], dim: int, *, overwrite: bool = False) -> int:
    """Write blocks of rows (n, dim) as one `.npy` file, completely or not at all; returns how many rows there were."""

    def write_header(file: BinaryIO, rows: int) -> None:
        # NumPy leaves room in a header for the first axis to grow, so a second one has the length of the first.
        npy.write_array_header_1_0(file, {"descr": "<f4", "fortran_order": False, "shape": (rows, dim)})

    rows = 0
    with atomic_file(path, overwrite=overwrite) as temporary, temporary.open("wb") as file:
        write_header(file, 0)
        for block in blocks:
            file.write(np.ascontiguousarray(block, "<f4").data)
            rows += len(block)
        file.seek(0)
        write_header(file, rows)
    return rows


def goes_back(numbers: NDArray[Any]) -> bool:
    """Whether a number is smaller than the one before it; their difference could overflow and seem to rise."""
    return bool((numbers[1:] < numbers[:-1]).any())
