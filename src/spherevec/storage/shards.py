"""One large table in several safetensors files, opened as one array: their pages are mapped behind one another.

That takes rows and headers that end at the edge of a page, which is how `sharded` cuts. Files that are cut in
another way, and systems that cannot map so, cost a copy in memory.
"""

from __future__ import annotations

import ctypes
import math
import mmap
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from spherevec.errors import FormatError
from spherevec.storage.tensors import Rows, read_tensors, tensor_place

MOST_SHARDS = 1000
SHARD_EDGE = 1 << 16  # bytes: the largest page of common systems


def shard_names(name: str) -> list[str]:
    """The names that the files of a table may have."""
    return [f"{name}-{number:03}.safetensors" for number in range(MOST_SHARDS)]


def sharded(name: str, rows: Rows, shards: int) -> dict[str, dict[str, Rows]]:
    """What to write of a table (n, width) in at most so many files, named by `shard_names`, at `SHARD_EDGE`."""
    width = int(rows.shape[1]) * rows.dtype.itemsize
    step = math.lcm(width, SHARD_EDGE) // width
    size = max(step, -(-len(rows) // min(shards, MOST_SHARDS)) // step * step)
    if -(-len(rows) // size) > MOST_SHARDS:
        size += step
    starts = range(0, len(rows), size)
    files = zip(shard_names(name), starts, strict=False)
    return {file: {"vectors": _Part(rows, start, min(start + size, len(rows)))} for file, start in files}


class _Part:
    """Some rows of a table in the shape of an array."""

    def __init__(self, rows: Rows, start: int, stop: int) -> None:
        self._rows, self._start = rows, start
        self.shape = (stop - start, int(rows.shape[1]))
        self.dtype = rows.dtype
        self.nbytes = self.shape[0] * self.shape[1] * rows.dtype.itemsize

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, rows: slice) -> NDArray[Any]:
        start, stop, _ = rows.indices(len(self))
        return np.asarray(self._rows[self._start + start : self._start + stop])


def read_shards(files: Sequence[tuple[Path, BinaryIO]], *, memory_map: bool = True) -> NDArray[np.float32]:
    """The table in some files, in their order, as one read-only array.

    Args:
        files: names, for messages, and the open files.
    """
    places = [tensor_place(path, file, "vectors") for path, file in files]
    widths = {shape[1] if len(shape) == 2 else 0 for shape, _, _ in places}
    if len(widths) != 1 or 0 in widths or any(dtype != np.float32 for _, dtype, _ in places):
        raise FormatError(f"{files[0][0]}: its shards do not fit each other; copy the whole folder again")
    shapes = [(int(shape[0]), int(shape[1])) for shape, _, _ in places]
    spans = [(file.fileno(), start, shape[0] * shape[1] * 4) for (_, file), shape, (_, _, start) in
             zip(files, shapes, places, strict=True)]  # fmt: skip
    shape = (sum(rows for rows, _ in shapes), widths.pop())
    if memory_map and _can_map(spans):
        return np.asarray(_Joined(spans, shape))
    parts = [read_tensors(path, memory_map=False, opened=_again(file))["vectors"] for path, file in files]
    table: NDArray[np.float32] = np.concatenate(parts)
    table.flags.writeable = False
    return table


def _again(file: BinaryIO) -> BinaryIO:
    """The same open file, since a reader closes what it is given."""
    return os.fdopen(os.dup(file.fileno()), "rb")


def _can_map(spans: Sequence[tuple[int, int, int]]) -> bool:
    even = all(start % mmap.PAGESIZE == 0 for _, start, _ in spans)
    even = even and all(size % mmap.PAGESIZE == 0 for _, _, size in spans[:-1])
    return even and sys.platform.startswith("linux") and all(size for _, _, size in spans)


class _Joined:
    """Files mapped behind one another; an array made of it holds it, and the last one lets go of the pages."""

    def __init__(self, spans: Sequence[tuple[int, int, int]], shape: tuple[int, int]) -> None:
        self._size = sum(size for _, _, size in spans)
        self._address: int | None = None
        private, fixed = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, mmap.MAP_SHARED | 0x10  # MAP_FIXED
        self._address = address = _mapped(None, self._size, 0, private, -1, 0)  # addresses alone, no pages
        done = 0
        for descriptor, start, size in spans:
            _mapped(address + done, size, mmap.PROT_READ, fixed, descriptor, start)
            done += size
        self.__array_interface__ = {"shape": shape, "typestr": "<f4", "data": (address, True), "version": 3}

    def __del__(self) -> None:
        if self._address is not None and ctypes is not None:
            _libc().munmap(ctypes.c_void_p(self._address), ctypes.c_size_t(self._size))


def _libc() -> Any:
    return ctypes.CDLL(None, use_errno=True)


def _mapped(address: int | None, size: int, protection: int, flags: int, descriptor: int, offset: int) -> int:
    call = _libc().mmap
    call.restype = ctypes.c_void_p
    call.argtypes = [ctypes.c_void_p, ctypes.c_size_t, *[ctypes.c_int] * 3, ctypes.c_long]
    found = call(address, size, protection, flags, descriptor, offset)
    if found is None or found == ctypes.c_void_p(-1).value:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return int(found)
