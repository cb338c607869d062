"""A folder that is opened once and read from then on, whatever takes its name meanwhile."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path
from typing import BinaryIO, Self

_NOT_PLAIN = {errno.ELOOP, errno.ENXIO, errno.EMLINK}


class OpenFolder:
    """The files of a folder, opened by name.

    Where the system can, the folder itself is held open: should another folder take its place, files still come from
    this one, as long as they are there. Links, pipes and devices are never opened.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._descriptor: int | None = None
        if os.open in os.supports_dir_fd:
            self._descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY)

    def open(self, name: str) -> BinaryIO:
        """A regular file of the folder; FileNotFoundError where there is none of that name."""
        flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
        place = name if self._descriptor is not None else self.path / name
        try:
            descriptor = os.open(place, flags, dir_fd=self._descriptor)
            if stat.S_ISREG(os.fstat(descriptor).st_mode):
                return os.fdopen(descriptor, "rb")
            os.close(descriptor)
        except OSError as error:
            if error.errno not in _NOT_PLAIN:
                raise
        raise FileNotFoundError(errno.ENOENT, "not a plain file", str(self.path / name))

    def read(self, name: str, longest: int) -> bytes:
        """What a regular file of the folder holds; ValueError for over `longest` bytes, before memory is taken."""
        with self.open(name) as file:
            if os.fstat(file.fileno()).st_size > longest:
                raise ValueError(f"{name} is over {longest >> 20} MB")
            return file.read()

    def replaced(self) -> bool:
        """Whether the path leads to another folder by now, or nowhere."""
        if self._descriptor is None:
            return not self.path.is_dir()
        try:
            return not os.path.samestat(os.fstat(self._descriptor), self.path.stat())
        except OSError:
            return True

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        if self._descriptor is not None:
            os.close(self._descriptor)
