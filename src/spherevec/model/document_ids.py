"""Ids of documents that have none of their own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import overload

import numpy as np
from numpy.typing import NDArray

from spherevec.storage.text_column import TextColumn


class ImplicitIds(Sequence[str]):
    """Ids of documents that have none of their own: `name` of a source that is one document, `name:line` otherwise.

    Args:
        names: of the sources; none where a document's id is its position, counted from 0.
        first_rows: (sources,) the first document of each.
        whole: (sources,) whether a source is one document.
        n_rows: how many documents there are.
    """

    def __init__(self, names: TextColumn, first_rows: NDArray[np.int64], whole: NDArray[np.uint8], n_rows: int) -> None:
        self._names, self._first_rows, self._whole, self._n_rows = names, first_rows, whole, n_rows

    def __len__(self) -> int:
        return self._n_rows

    @overload
    def __getitem__(self, row: int) -> str: ...
    @overload
    def __getitem__(self, row: slice) -> list[str]: ...
    def __getitem__(self, row: int | slice) -> str | list[str]:
        if isinstance(row, slice):
            return [self[i] for i in range(*row.indices(len(self)))]
        row = int(row) + (len(self) if row < 0 else 0)
        if not 0 <= row < len(self):
            raise IndexError(row)
        if not len(self._names):
            return str(row)
        source = int(np.searchsorted(self._first_rows, row, "right")) - 1
        name = self._names[source]
        return name if self._whole[source] else f"{name}:{row - int(self._first_rows[source]) + 1}"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Sequence) or isinstance(other, str):
            return NotImplemented
        return len(self) == len(other) and all(mine == its for mine, its in zip(self, other, strict=True))

    __hash__ = None  # type: ignore[assignment]

    def __contains__(self, text: object) -> bool:
        return isinstance(text, str) and self.find(text) is not None

    def first_duplicate(self) -> tuple[int, int] | None:
        """None: sources have different names, and lines different numbers."""
        return None

    def find(self, text: str) -> int | None:
        """The row of an id."""
        if not len(self._names):
            return int(text) if text.isascii() and text.isdigit() and int(text) < len(self) else None
        source = self._names.find(text)
        if source is not None and self._whole[source]:
            return int(self._first_rows[source])
        name, _, line = text.rpartition(":")
        if not (line.isascii() and line.isdigit() and len(line) < 19):
            return None
        source = self._names.find(name)
        if source is None or self._whole[source]:
            return None
        row = int(self._first_rows[source]) + int(line) - 1
        last = int(self._first_rows[source + 1]) if source + 1 < len(self._names) else len(self)
        return row if int(self._first_rows[source]) <= row < last else None
