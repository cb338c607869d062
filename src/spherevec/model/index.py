"""An approximate index that grows and shrinks with its vectors (extra `ann`).

A vector has the same key in the index for as long as it lives, while its row moves up when rows before it are removed:
`slots` says which key each row has. Both are saved, and mapped from disk when they are opened.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from spherevec.errors import ConfigError, FormatError
from spherevec.model.neighbors import AnnIndex

Float32 = NDArray[np.float32]
Int64 = NDArray[np.int64]

_UNKNOWN = -1


class GrowingIndex:
    """An `AnnIndex` and the key of each row.

    Args:
        index: holds one vector for each slot.
        slots: (n,) the key of each row in the index; all differ.
    """

    def __init__(self, index: AnnIndex, slots: Int64) -> None:
        if len(index) != len(slots):
            raise FormatError(f"an index of {len(index)} vectors does not fit {len(slots)} rows; build it again")
        self._index, self.slots = index, slots
        self._rows: Int64 | None = None

    @classmethod
    def build(cls, vectors: Float32, threads: int = 0) -> GrowingIndex:
        """Index the unit rows (n, d); `threads` = 0 means all cores."""
        return cls(AnnIndex.build(vectors, threads), np.arange(len(vectors), dtype=np.int64))

    @classmethod
    def load(cls, path: str | Path, slots: Int64) -> GrowingIndex:
        """Open a saved index without reading it into memory."""
        return cls(AnnIndex.load(path), slots)

    def save(self, path: str | Path) -> None:
        """Write the index; the slots are the caller's to keep beside it."""
        self._index.save(path)

    def __len__(self) -> int:
        return len(self.slots)

    @property
    def vector_size(self) -> int:
        return self._index.vector_size

    def moved(self, vectors: Float32, origin: Int64, threads: int = 0) -> GrowingIndex:
        """The index of `vectors` (n, d), made from this one: only what is new is added, only what is gone removed.

        Args:
            vectors: the rows after the change.
            origin: (n,) the row here that holds the same vector, -1 where the vector is new.

        The index that was opened from disk stays as it is.
        """
        if len(origin) != len(vectors):
            raise ConfigError(f"{len(origin)} origins do not fit {len(vectors)} vectors")
        kept = origin >= 0
        gone = np.ones(len(self), np.bool_)
        gone[origin[kept]] = False
        slots = np.full(len(vectors), _UNKNOWN, np.int64)
        slots[kept] = self.slots[origin[kept]]
        first = int(self.slots.max()) + 1 if len(self) else 0
        slots[~kept] = np.arange(first, first + np.count_nonzero(~kept))
        changed = self._index.copy()
        changed.remove(self.slots[gone])
        changed.add(slots[~kept], np.ascontiguousarray(vectors[~kept]), threads)
        return GrowingIndex(changed, slots)

    def fits(self, vectors: Float32) -> bool:
        """Whether this is an index of these vectors, as far as their number and a few of them tell."""
        if (len(self), self.vector_size) != vectors.shape:
            return False
        some = sorted({0, len(vectors) // 2, len(vectors) - 1}) if len(vectors) else []
        return self._index.holds(self.slots[some], vectors[some])

    def search(self, queries: Float32, k: int, threads: int = 0) -> tuple[Int64, Float32]:
        """As `AnnIndex.search`: row numbers (q, k) and cosines (q, k)."""
        found, cosines = self._index.search(queries, k, threads)
        if self._rows is None:
            self._rows = np.full(int(self.slots.max()) + 2 if len(self) else 1, _UNKNOWN, np.int64)
            self._rows[self.slots] = np.arange(len(self))
        return self._rows[found], cosines  # -1, for nothing found, is the last entry, which is -1
