"""Files that hold numbered blocks of text until the final numbers are known, and the folder they are in."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

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


class Spill:
    """One worker's file of blocks: written first, then read, and removed on leaving the context."""

    def __init__(self, folder: Path, worker: int) -> None:
        self._folder = folder
        self._path = folder / f"spill-{worker}.bin"
        self._worker = worker
        self._position = 0
        with writable(folder):
            self._file = self._path.open("w+b")

    def append(self, ids: npt.NDArray[np.int32], ends: npt.NDArray[np.int64], broken: bool) -> SpilledBlock:
        block = SpilledBlock(self._worker, self._position, len(ids), len(ends), broken)
        with writable(self._folder):
            self._file.write(ids.data)
            self._file.write(ends.data)
        self._position += ids.nbytes + ends.nbytes
        return block

    def read(self, block: SpilledBlock) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int64]]:
        with writable(self._folder):
            self._file.seek(block.position)  # flushes what is left to write
            ids, ends = np.fromfile(self._file, np.int32, block.n_ids), np.fromfile(self._file, np.int64, block.n_ends)
        if (len(ids), len(ends)) != (block.n_ids, block.n_ends):
            raise CorpusError(f"{self._path}: was cut short by somebody else; choose another folder")
        return ids, ends

    def __enter__(self) -> Spill:
        return self

    def __exit__(self, *error: object) -> None:
        with suppress(OSError):  # on a full disk, closing tries to write once more
            self._file.close()
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
