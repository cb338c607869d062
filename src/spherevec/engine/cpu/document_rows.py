"""Where document vectors are kept while they are trained: in memory or, where they would crowd it, in a file."""

from __future__ import annotations

import errno
import mmap
from pathlib import Path

import numpy as np

from spherevec.engine.base import Floats
from spherevec.engine.cpu.vector_ops import padded_rows, padded_width
from spherevec.errors import TrainingError
from spherevec.storage.files import lies_in_memory, temporary_place, unnamed_file

SHARE_OF_MEMORY = 0.5  # that document vectors may take of what is available


def document_rows(rows: int, width: int, room: float, place: str | Path | None) -> Floats:
    """Zero rows as `padded_rows` makes them, (rows, stride): here it is decided whether a file holds them.

    A file does if they take more than `SHARE_OF_MEMORY` of `room`. It is mapped: the system keeps in memory what it
    has room for and writes the rest to disk. It has no name, so that a process that is killed leaves nothing and
    nobody can cut it short, and it has all its blocks from the start, so that a disk that fills up later does no harm.
    Where there is no such file to be had, all of `room` is used.

    Args:
        room: bytes of memory that are available.
        place: folder for the file; None for the system's folder for temporary files. One that lies in memory itself
            would gain nothing, and is not used.
    """
    size = rows * padded_width(width) * 4
    if size <= SHARE_OF_MEMORY * room:
        return padded_rows(rows, width)
    try:
        folder = temporary_place(place)
        if lies_in_memory(folder):
            reason = f"{folder} lies in memory itself"
        else:
            with unnamed_file(folder, size) as file:
                # The array holds the map, and the map the file.
                return np.frombuffer(mmap.mmap(file.fileno(), size), np.float32).reshape(rows, -1)
    except OSError as error:
        if error.errno == errno.ENOMEM:  # addresses have run out, of which memory would take as many
            raise MemoryError from None
        reason = f"{place or 'the folder for temporary files'}: {error.strerror or error}"
    if size <= room:
        return padded_rows(rows, width)
    raise TrainingError(
        f"not enough memory for {rows:,} document vectors of dimension {width} ({size / 2**30:.1f} GiB), and no room "
        f"on disk ({reason}); free some space there or choose another folder (TMPDIR, or workdir), lower vector_size, "
        "or train with documents=False"
    )
