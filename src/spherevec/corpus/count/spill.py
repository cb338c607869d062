"""Files that hold numbered blocks of text until the final numbers are known, and the folder they are in."""

from __future__ import annotations

import errno
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from spherevec.errors import CorpusError

_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


class SpilledBlock(NamedTuple):
    """Where one block lies: `n_ids` int32 and then `n_ends` int64 at `position` of a worker's file."""

    worker: int
    position: int
    n_ids: int
    n_ends: int
    broken: bool  # whether punctuation stands behind the last word


class SpilledLines(NamedTuple):
    """Where the beginnings of some lines lie: `n_bytes` and then `n_ends` int64 at `position` of a worker's file."""

    worker: int
    position: int
    n_bytes: int
    n_ends: int


class Spill:
    """One worker's file: it alone writes, any thread may read; removed on leaving the context."""

    def __init__(self, folder: Path, worker: int) -> None:
        self._folder = folder
        self._path = folder / f"spill-{worker}.bin"
        self._worker = worker
        self._position = 0
        self._reading = threading.Lock()
        with writable(folder):
            self._file = self._path.open("wb", buffering=0)
            self._reader = self._path.open("rb", buffering=0)

    def append(self, ids: npt.NDArray[np.int32], ends: npt.NDArray[np.int64], broken: bool) -> SpilledBlock:
        return SpilledBlock(self._worker, self._written(ids, ends), len(ids), len(ends), broken)

    def append_lines(self, text: npt.NDArray[np.uint8], ends: npt.NDArray[np.int64]) -> SpilledLines:
        return SpilledLines(self._worker, self._written(text, ends), len(text), len(ends))

    def read(self, block: SpilledBlock) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int64]]:
        ids, ends = np.empty(block.n_ids, np.int32), np.empty(block.n_ends, np.int64)
        self._read(block.position, ids, ends)
        return ids, ends

    def read_lines(self, lines: SpilledLines) -> tuple[npt.NDArray[np.uint8], npt.NDArray[np.int64]]:
        text, ends = np.empty(lines.n_bytes, np.uint8), np.empty(lines.n_ends, np.int64)
        self._read(lines.position, text, ends)
        return text, ends

    def _written(self, *arrays: npt.NDArray[Any]) -> int:
        """Write arrays one after another; returns where they begin."""
        start = self._position
        with writable(self._folder):
            for array in arrays:
                left = array.data.cast("B") if len(array) else memoryview(b"")
                while left:
                    left = left[self._file.write(left) :]
                self._position += array.nbytes
        return start

    def _read(self, position: int, *arrays: npt.NDArray[Any]) -> None:
        with writable(self._folder):
            for array in arrays:
                left = array.data.cast("B") if len(array) else memoryview(b"")
                while left:
                    count = self._some(position, left)
                    if not count:
                        raise CorpusError(f"{self._path}: was cut short by somebody else; choose another folder")
                    position, left = position + count, left[count:]

    def _some(self, position: int, room: memoryview) -> int:
        """Fill some of the room from `position` on; threads that can do so do not wait for each other."""
        if hasattr(os, "preadv"):
            return os.preadv(self._reader.fileno(), [room], position)
        with self._reading:
            self._reader.seek(position)
            return self._reader.readinto(room) or 0

    def __enter__(self) -> Spill:
        return self

    def __exit__(self, *error: object) -> None:
        for file in (self._file, self._reader):
            with suppress(OSError):
                file.close()
        with suppress(OSError):  # the folder goes with all that is in it
            self._path.unlink(missing_ok=True)


@contextmanager
def writable(folder: Path) -> Iterator[None]:
    """Turn whatever goes wrong while writing to `folder` into one line that names it."""
    try:
        yield
    except OSError as error:
        if error.errno in _FULL:
            raise CorpusError(
                f"{folder}: no space left on the disk; encoding takes about 8 bytes a word: "
                "free some space or choose another folder"
            ) from None
        reason = error.strerror or error
        raise CorpusError(f"{folder}: cannot be written ({reason}); choose another folder") from None


@contextmanager
def new_folder(folder: Path) -> Iterator[None]:
    """Create `folder`, or take it if it is empty; should the block fail, leave things as they were."""
    with writable(folder):
        existed = folder.exists()
        folder.mkdir(parents=True, exist_ok=True)
        if any(folder.iterdir()):
            raise CorpusError(f"{folder}: is not empty; choose a new folder for the encoded corpus")
        if not os.access(folder, os.W_OK | os.X_OK):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
    try:
        yield
    except BaseException:
        with suppress(OSError):  # the folder may be gone, and that is what went wrong
            for path in folder.iterdir():
                path.unlink()
            if not existed:
                folder.rmdir()
        raise
