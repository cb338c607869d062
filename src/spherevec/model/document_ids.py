"""Ids of documents that have none of their own."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from spherevec.storage.text_column import TextColumn, Texts


class ImplicitIds(Texts):
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

    def _text(self, row: int) -> str:
        if not len(self._names):
            return str(row)
        source = int(np.searchsorted(self._first_rows, row, "right")) - 1
        name = self._names[source]
        return name if self._whole[source] else f"{name}:{row - int(self._first_rows[source]) + 1}"

    def first_duplicate(self) -> tuple[int, int] | None:
        return None  # sources have different names, and lines different numbers

    def find(self, text: str) -> int | None:
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
