"""An approximate index that grows and shrinks with its vectors (extra `ann`).

A vector has the same key in the index for as long as it lives, while its row moves up when rows before it are removed:
`slots` says which key each row has. Both are saved, and mapped from disk when they are opened.
"""

from __future__ import annotations

import mmap
import os
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from spherevec.errors import ConfigError, FormatError, MissingExtraError
from spherevec.model.index_file import check_index_file

if TYPE_CHECKING:
    from spherevec.model.keyed_vectors import KeyedVectors

Float32 = NDArray[np.float32]
Int64 = NDArray[np.int64]

# The approximate index: links of each vector, and candidates kept while searching. On touching clusters of 100,000
# vectors these found 99 % of the neighbours in a millisecond; half of each found 93 % in half the time.
_LINKS = 32
_CANDIDATES = 256
_UNKNOWN = -1
_ROWS_COMPARED = 1 << 14
# The index keeps 11 bits of each number.
_ROUNDING = 1e-3


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


@dataclass(frozen=True)
class StoredIndex:
    """An index in the folder of a model that nobody has asked for yet.

    Attributes:
        buffer: the whole file, mapped or read.
        slots: (n,) the key of each row.
        what: names the file in messages.
    """

    buffer: Any
    slots: Int64
    what: str

    def check(self, vectors: Float32) -> None:
        """Raise `FormatError` unless this is, number by number, an index of these vectors (n, d)."""
        keys, stored = check_index_file(self.buffer, self.what)
        order = np.argsort(keys, kind="stable")[: len(self.slots)]
        if len(self.slots) != len(vectors) or stored.shape[1:] != vectors.shape[1:]:
            raise FormatError(f"{self.what}: is no index of {len(vectors)} vectors; build it again")
        if not np.array_equal(np.sort(self.slots).astype(np.uint64), keys[order]) or np.any(self.slots < 0):
            raise FormatError(f"{self.what}: its keys are not those of the documents; build it again")
        places = order[np.searchsorted(keys[order], self.slots.astype(np.uint64))]
        for start in range(0, len(vectors), _ROWS_COMPARED):
            here = slice(start, start + _ROWS_COMPARED)
            # The comparison is false for NaN, so that NaN counts as wrong.
            if not np.all(np.abs(stored[places[here]] - vectors[here]) <= _ROUNDING):
                raise FormatError(f"{self.what}: was built from other vectors; build it again")

    def open(self, vectors: Float32) -> GrowingIndex:
        """The index, after it was checked; it stays on disk if it was mapped."""
        self.check(vectors)
        return GrowingIndex(AnnIndex.of_buffer(self.buffer, self.what), self.slots)

    def save(self, path: str | Path) -> None:
        """Write the file as it is."""
        Path(path).write_bytes(self.buffer)


def carry_index(before: KeyedVectors, after: KeyedVectors, origin: Int64, threads: int = 0) -> None:
    """Give `after` the index of `before`, where that has one: what is new is added, what is gone is removed.

    Args:
        origin: (n,) for each row of `after` the row of `before` that it was, -1 for a new one.
    """
    index = before.index
    if index is None:
        return
    same = origin.copy()
    for start in range(0, len(origin), _ROWS_COMPARED):
        here = origin[start : start + _ROWS_COMPARED]
        known = np.flatnonzero(here >= 0)
        old, new = before.vectors[here[known]], after.vectors[start + known]
        same[start + known[np.any(old != new, axis=1)]] = _UNKNOWN
    if not np.any(same >= 0):
        after.use_index(GrowingIndex.build(after.vectors, threads))
    else:
        after.use_index(index.moved(after.vectors, same, threads))


class AnnIndex:
    """An approximate index over unit vectors: built once, then searched from disk through a memory map.

    Needs the extra `ann`. An index file holds no pickle. It is read by native code, after every number in it that leads
    anywhere was checked.
    """

    def __init__(self, index: Any, buffer: Any = None) -> None:
        self._index, self._buffer = index, buffer  # the buffer lives as long as the index that looks into it
        self._index.expansion_search = _CANDIDATES

    @classmethod
    def build(cls, vectors: Float32, threads: int = 0) -> AnnIndex:
        """Index the unit rows (n, d); `threads` = 0 means all cores."""
        usearch = _usearch()
        index = usearch.Index(ndim=vectors.shape[1], metric="ip", dtype="f16", connectivity=_LINKS)
        index.add(np.arange(len(vectors), dtype=np.uint64), vectors, threads=threads)
        return cls(index)

    def save(self, path: str | Path) -> None:
        from spherevec.storage.files import atomic_file

        with atomic_file(path, overwrite=True) as temporary:
            self._index.save(str(temporary))

    @classmethod
    def load(cls, path: str | Path) -> AnnIndex:
        """Open a saved index without reading it into memory."""
        _usearch()
        if not Path(path).is_file():
            raise FormatError(f"{path}: no such index file; build one with AnnIndex.build(vectors).save(path)")
        with Path(path).open("rb") as file:
            size = os.fstat(file.fileno()).st_size
            buffer: Any = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) if size else b""
        check_index_file(buffer, str(path))
        return cls.of_buffer(buffer, str(path))

    @classmethod
    def of_buffer(cls, buffer: Any, what: str) -> AnnIndex:
        """The index in a buffer that `check_index_file` has passed; it is not copied. `what` names it in messages."""
        try:
            index = _usearch().Index.restore(buffer, view=True)
        except (RuntimeError, ValueError, KeyError) as error:
            raise FormatError(f"{what}: not an index file ({error}); build it again") from None
        if index is None:
            raise FormatError(f"{what}: not an index file; build it again")
        return cls(index, buffer)

    def __len__(self) -> int:
        return len(self._index)

    @property
    def vector_size(self) -> int:
        return int(self._index.ndim)

    def copy(self) -> AnnIndex:
        """An index in memory that can be changed; one opened from disk cannot."""
        return AnnIndex(self._index.copy())

    def add(self, keys: Int64, vectors: Float32, threads: int = 0) -> None:
        """Add vectors (n, d) under keys (n,) that are not in use."""
        if len(keys):
            self._index.add(keys.astype(np.uint64), vectors, threads=threads)

    def remove(self, keys: Int64) -> None:
        """Remove the vectors of some keys (n,)."""
        if len(keys):
            self._index.remove(keys.astype(np.uint64), compact=False)

    def holds(self, keys: Int64, vectors: Float32) -> bool:
        """Whether these vectors (n, d) are stored under these keys (n,)."""
        # The index keeps 11 bits of each number, which is enough to know a vector again.
        return all(
            key in self._index and np.allclose(np.ravel(self._index.get(key)), vector, atol=1e-3)
            for key, vector in zip(keys.tolist(), vectors, strict=True)
        )

    def fits(self, vectors: Float32) -> bool:
        """Whether this is an index of these vectors, as far as their number and a few of them tell."""
        if (len(self), self.vector_size) != vectors.shape:
            return False
        some = np.array(sorted({0, len(vectors) // 2, len(vectors) - 1}) if len(vectors) else [], np.int64)
        return self.holds(some, vectors[some])

    def search(self, queries: Float32, k: int, threads: int = 0) -> tuple[Int64, Float32]:
        """Like `nearest_neighbors`, without the promise that every neighbour is found.

        Returns:
            Row numbers (q, k) and cosines (q, k), filled up with -1 and -inf where fewer were found.
        """
        queries = np.ascontiguousarray(queries, np.float32)
        if queries.ndim != 2 or queries.shape[1] != self.vector_size:
            raise ConfigError(f"queries of shape {queries.shape} do not fit an index of dimension {self.vector_size}")
        if k < 1:
            raise ConfigError(f"the number of neighbours must be at least 1, not {k}")
        k = min(k, len(self))
        rows = np.full((len(queries), k), -1, np.int64)
        cosines = np.full((len(queries), k), -np.inf, np.float32)
        if len(queries) == 1:
            matches = self._index.search(queries[0], k)
            rows[0, : len(matches)] = matches.keys
            cosines[0, : len(matches)] = 1 - matches.distances
            return rows, cosines
        matches = self._index.search(queries, k, threads=threads)
        found = np.arange(k)[None, :] < np.asarray(matches.counts)[:, None]
        rows[found] = matches.keys[found]
        cosines[found] = 1 - matches.distances[found]
        return rows, cosines


def has_extra() -> bool:
    """Whether the approximate index can be used here; without it, search is exact."""
    return find_spec("usearch") is not None


def _usearch() -> Any:
    try:
        import usearch.index
    except ImportError:
        raise MissingExtraError("the approximate index", "ann") from None
    return usearch.index
