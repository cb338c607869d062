"""Many texts as two arrays, UTF-8 bytes and offsets, so that ten million of them can be mapped instead of read."""

from __future__ import annotations

from abc import ABC, abstractmethod
from array import array
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from itertools import pairwise
from pathlib import Path
from typing import overload

import numpy as np
from numpy.typing import NDArray

from spherevec.errors import FormatError
from spherevec.storage.files import SpillFile
from spherevec.storage.tensors import goes_back

Int64 = NDArray[np.int64]
Bytes = NDArray[np.uint8]

_ROWS_READ = 1 << 12
_FLUSH = 1 << 20
_OFFSETS_CHECKED = 1 << 20
_FEW_BYTES, _SHORT = 1 << 23, 1 << 8  # of all texts, and of the longest, that NumPy hashes


class Texts(Sequence[str], ABC):
    """A read-only sequence of strings that finds them without a dictionary."""

    @abstractmethod
    def _text(self, row: int) -> str:
        """The text of a row from 0 to n - 1."""

    @abstractmethod
    def find(self, text: str) -> int | None:
        """The first row that holds exactly this text."""

    @abstractmethod
    def first_duplicate(self) -> tuple[int, int] | None:
        """Two rows with the same text, of all such pairs the one whose second row comes first; None if all differ."""

    @overload
    def __getitem__(self, row: int) -> str: ...
    @overload
    def __getitem__(self, row: slice) -> list[str]: ...
    def __getitem__(self, row: int | slice) -> str | list[str]:
        rows = range(len(self))[row]  # raises IndexError
        return self._text(rows) if isinstance(rows, int) else [self._text(one) for one in rows]

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Sequence) or isinstance(other, str):
            return NotImplemented
        return len(self) == len(other) and all(mine == its for mine, its in zip(self, other, strict=True))

    __hash__ = None  # type: ignore[assignment]

    def __contains__(self, text: object) -> bool:
        return isinstance(text, str) and self.find(text) is not None


class TextColumn(Texts):
    """A read-only sequence of strings behind two arrays.

    Args:
        offsets: (n + 1,) where each text begins in `arena`, and where the last one ends.
        arena: the texts in UTF-8, back to back; may be a memory map.

    >>> column = TextColumn.of(["north", "south"])
    >>> column[1], column.find("north"), column.find("west")
    ('south', 0, None)
    """

    def __init__(self, offsets: Int64, arena: Bytes) -> None:
        self.offsets = offsets
        self.arena = arena
        self._sorted: tuple[NDArray[np.uint64], Int64] | None = None
        self._checked = False

    def check(self) -> None:
        """Raise `FormatError` unless texts follow each other: a few crafted bytes could stand for terabytes otherwise.

        All offsets are looked at once, when all texts are first needed.
        """
        if self._checked:
            return
        for low in range(0, len(self), _OFFSETS_CHECKED):
            some = self.offsets[low : low + _OFFSETS_CHECKED + 1]
            if some[0] < 0 or some[-1] > len(self.arena) or goes_back(some):
                raise FormatError("a column of texts does not fit its bytes; copy the file again")
        self._checked = True

    @classmethod
    def of(cls, texts: Iterable[str]) -> TextColumn:
        """A column in memory."""
        encoded = [text.encode("utf-8", "surrogatepass") for text in texts]
        offsets = np.zeros(len(encoded) + 1, np.int64)
        np.cumsum([len(text) for text in encoded], out=offsets[1:])
        return cls(offsets, np.frombuffer(b"".join(encoded), np.uint8))

    @classmethod
    def joined(cls, columns: Sequence[TextColumn]) -> TextColumn:
        """Several columns as one."""
        starts = np.cumsum([0, *(len(column.arena) for column in columns)])
        offsets = [column.offsets[1:] + start for column, start in zip(columns, starts.tolist(), strict=False)]
        arena = np.concatenate([np.zeros(0, np.uint8), *(np.asarray(column.arena) for column in columns)])
        return cls(np.concatenate([np.zeros(1, np.int64), *offsets]), arena)

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def _text(self, row: int) -> str:
        return _decoded(self.arena[self.offsets[row] : self.offsets[row + 1]].tobytes())

    def __iter__(self) -> Iterator[str]:
        self.check()
        for start in range(0, len(self), _ROWS_READ):
            bounds = self.offsets[start : start + _ROWS_READ + 1].tolist()
            data = self.arena[bounds[0] : bounds[-1]].tobytes()
            for begin, end in pairwise(bounds):
                yield _decoded(data[begin - bounds[0] : end - bounds[0]])

    def __repr__(self) -> str:
        shown = ", ".join(map(repr, self[:3]))
        return f"TextColumn({len(self):,}: {shown}{', …' if len(self) > 3 else ''})"

    def index(self, text: str, start: int = 0, stop: int | None = None) -> int:
        """As `list.index`, through the sorted hashes."""
        row = self.find(text)
        if row is None or not start <= row < (len(self) if stop is None else stop):
            raise ValueError(f"{text!r:.60} is not there")
        return row

    def hashes(self) -> NDArray[np.uint64]:
        """64 bits for each text, (n,)."""
        self.check()
        if len(self.arena) <= _FEW_BYTES and int(np.diff(self.offsets).max(initial=0)) <= _SHORT:
            return _hash_short(self.offsets, self.arena)
        from spherevec.storage.text_kernel import hash_texts

        hashes = np.empty(len(self), np.uint64)
        hash_texts(self.offsets, self.arena, hashes)
        return hashes

    def find(self, text: str) -> int | None:
        """The first row that holds exactly this text. The first call sorts a hash of every row (16 bytes each)."""
        if self._sorted is None:
            hashes = self.hashes()
            order = np.argsort(hashes, kind="stable")
            self._sorted = hashes[order], order
        hashes, order = self._sorted
        wanted = TextColumn.of([text]).hashes()[0]
        place = int(np.searchsorted(hashes, wanted))
        while place < len(hashes) and hashes[place] == wanted:
            row = int(order[place])
            if self[row] == text:
                return row
            place += 1
        return None

    def first_duplicate(self) -> tuple[int, int] | None:
        hashes = self.hashes()
        order = np.argsort(hashes, kind="stable")
        ranked = hashes[order]
        twins = order[1:][ranked[1:] == ranked[:-1]]
        for row in np.sort(twins).tolist():
            for earlier in np.flatnonzero(hashes[:row] == hashes[row]).tolist():
                if self[earlier] == self[row]:
                    return earlier, row
        return None


def _hash_short(offsets: Int64, arena: Bytes) -> NDArray[np.uint64]:
    """As `hash_texts`, one byte of all texts at a time: NumPy has hashed short names before compiled code is loaded."""
    starts, lengths = offsets[:-1], np.diff(offsets)
    hashes = np.full(len(starts), 14695981039346656037, np.uint64)
    for place in range(int(lengths.max(initial=0))):
        rows = np.flatnonzero(lengths > place)
        hashes[rows] = (hashes[rows] ^ arena[starts[rows] + place]) * np.uint64(1099511628211)
    hashes = (hashes ^ (hashes >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    hashes = (hashes ^ (hashes >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return hashes ^ (hashes >> np.uint64(31))


def _decoded(data: bytes) -> str:
    """Names of files may hold lone surrogates; a damaged file may hold anything."""
    try:
        return data.decode("utf-8", "surrogatepass")
    except UnicodeDecodeError:
        return data.decode("utf-8", "replace")


class TextWriter(ExitStack):
    """Collects texts in memory, and in two files once there are many; `column` then maps them."""

    def __init__(self, folder: Path, name: str) -> None:
        super().__init__()
        self._paths = folder / f"{name}.text", folder / f"{name}.ends"
        self._files: list[SpillFile] = []
        self._held, self._held_ends = bytearray(), array("q")
        self.n_bytes = 0

    def append(self, text: str) -> None:
        encoded = text.encode("utf-8", "surrogatepass")
        self._held += encoded
        self.n_bytes += len(encoded)
        self._held_ends.append(self.n_bytes)
        if len(self._held) > _FLUSH or len(self._held_ends) > _FLUSH:
            self._flush()

    def extend(self, arena: Bytes, ends: Int64) -> None:
        """Texts back to back, and where each ends; what follows the last end belongs to a text still to be ended."""
        self._flush(arena.data, (ends + self.n_bytes).data)
        self.n_bytes += len(arena)

    def _flush(self, arena: bytes | memoryview = b"", ends: bytes | memoryview = b"") -> None:
        """Write what is held, and more of both."""
        if not self._files:
            self._files = [self.enter_context(SpillFile(path)) for path in self._paths]
        self._files[0].append(self._held, arena)
        self._files[1].append(memoryview(self._held_ends), ends)
        self._held, self._held_ends = bytearray(), array("q")

    def column(self) -> TextColumn:
        """What was written; the files must stay until it has been used."""
        if self._files:
            self._flush()
            arena = np.memmap(self._paths[0], np.uint8, "r") if self.n_bytes else np.zeros(0, np.uint8)
            ends = np.fromfile(self._paths[1], np.int64)
        else:
            arena, ends = np.frombuffer(bytes(self._held), np.uint8), np.array(self._held_ends, np.int64)
        return TextColumn(np.concatenate([np.zeros(1, np.int64), ends]), arena)
