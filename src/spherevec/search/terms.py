"""Which words each document holds, and how often: counts by document, and postings by word, memory-mapped.

The arrays of the file, for n documents and v words:

    starts, words, counts     by document: (n + 1,) int64, and int32 word ids in ascending order with their counts
    places, rows, often       by word: (v + 1,) int64, and int32 rows in ascending order with their counts up to 255
    lengths                   (n,) int32: how many words a document has, the dropped ones included
    rare_hashes, rare_rows    words too rare for a vector: a 64-bit hash of each, sorted, and a row that holds it
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from spherevec.errors import FormatError
from spherevec.storage.memory import drop_pages
from spherevec.storage.tensors import goes_back, read_tensors, write_tensors
from spherevec.threads import in_order

_TOKENS_COUNTED = 1 << 19  # at a time
_CHECKED_AT_ONCE = 1 << 22
_LEAST_COUNTED = 1 << 17
_POSTINGS_HELD = 1 << 23  # at a time, of 5 bytes each
_READ_INTO_MEMORY = 1 << 22  # bytes: a smaller file is no burden
_TYPES = {
    "starts": "<i8", "words": "<i4", "counts": "<i4", "places": "<i8", "rows": "<i4", "often": "u1", "lengths": "<i4",
    "rare_hashes": "<u8", "rare_rows": "<i4",
}  # fmt: skip


class DocumentTerms:
    """The words of documents, from both sides.

    Args:
        tensors: the arrays of the file, described above.
    """

    def __init__(self, tensors: Mapping[str, NDArray[Any]]) -> None:
        for name, kind in _TYPES.items():
            if name not in tensors or tensors[name].dtype != np.dtype(kind) or tensors[name].ndim != 1:
                raise FormatError(f"it holds no valid array {name!r}; copy it again")
        self.tensors = {name: tensors[name] for name in _TYPES}
        self.starts: NDArray[np.int64] = tensors["starts"]
        self.places: NDArray[np.int64] = tensors["places"]
        self.rows: NDArray[np.int32] = tensors["rows"]
        self.often: NDArray[np.uint8] = tensors["often"]
        self.lengths: NDArray[np.int32] = tensors["lengths"]
        pairs = len(tensors["words"])
        sound = len(tensors["counts"]) == len(self.rows) == len(self.often) == pairs
        sound = sound and len(self.starts) == len(self.lengths) + 1 and len(self.places) > 0
        sound = sound and len(tensors["rare_hashes"]) == len(tensors["rare_rows"])
        if not sound or self.starts[0] != 0 or self.starts[-1] != pairs or self.places[-1] != pairs:
            raise FormatError("its arrays do not fit each other; copy it again")
        self._counts: Any = None
        self._checked = False

    @classmethod
    def open(cls, path: str | Path, *, memory_map: bool = True, opened: BinaryIO | None = None) -> DocumentTerms:
        """Open the file, without reading it where `memory_map` is True.

        Args:
            opened: the file itself, where it is open already.
        """
        try:
            return cls(read_tensors(Path(path), memory_map=memory_map, opened=opened))
        except FormatError as error:
            raise FormatError(f"{path}: {error}") from None

    def save(self, path: str | Path) -> None:
        """Write all arrays as one safetensors file."""
        write_tensors(Path(path), self.tensors)

    @property
    def n_documents(self) -> int:
        return len(self.lengths)

    @property
    def n_words(self) -> int:
        return len(self.places) - 1

    def check(self) -> None:
        """Raise `FormatError` unless every number is that of a word or of a document, and they ascend as they should.

        Compiled code of scipy trusts these numbers blindly. All of them are looked at once, when first needed.
        """
        if self._checked:
            return
        for starts in (self.starts, self.places):
            for low in range(0, len(starts) - 1, _CHECKED_AT_ONCE):
                if starts[0] != 0 or goes_back(starts[low : low + _CHECKED_AT_ONCE + 1]):
                    raise FormatError("the words of documents: where they begin goes back; copy the model again")
        lists = {"words": (self.n_words, self.starts), "rows": (self.n_documents, self.places)}
        for name, (bound, begin) in {**lists, "rare_rows": (self.n_documents, None)}.items():
            numbers = self.tensors[name]
            for low in range(0, len(numbers), _CHECKED_AT_ONCE):
                some = numbers[low : low + _CHECKED_AT_ONCE]
                if some.min() < 0 or some.max() >= bound:
                    raise FormatError(
                        f"the words of documents: {name!r} has a number beyond {bound}; copy the model again"
                    )
                if begin is not None:
                    falls = low + 1 + np.flatnonzero(np.diff(numbers[low : low + _CHECKED_AT_ONCE + 1]) <= 0)
                    if not np.array_equal(begin[np.searchsorted(begin, falls)], falls):
                        raise FormatError(f"the words of documents: {name!r} do not ascend; copy the model again")
        self._checked = True

    @property
    def counts(self) -> Any:
        """The counts as a scipy.sparse.csr_array (documents, words) of int32, over the mapped arrays."""
        if self._counts is None:
            from scipy.sparse import csr_array

            self.check()
            parts = (self.tensors["counts"], self.tensors["words"], self.starts)
            self._counts = csr_array(parts, shape=(self.n_documents, self.n_words), copy=False)
        return self._counts

    def postings(self, word: int) -> tuple[NDArray[np.int32], NDArray[np.uint8]]:
        """The rows that hold a word, and how often, up to 255."""
        here = slice(int(self.places[word]), int(self.places[word + 1]))
        return self.rows[here], self.often[here]

    @property
    def rare(self) -> tuple[NDArray[np.uint64], NDArray[np.int32]]:
        """Hashes of words too rare for a vector, ascending, and a row that holds each."""
        return self.tensors["rare_hashes"], self.tensors["rare_rows"]

    def rare_postings(self, word: str) -> NDArray[np.int32]:
        """The rows that hold a word which was too rare for a vector, each as often as it occurs there."""
        from spherevec.storage.text_column import TextColumn

        wanted = TextColumn.of([word]).hashes()[0]
        hashes = self.tensors["rare_hashes"]
        low, high = np.searchsorted(hashes, wanted, "left"), np.searchsorted(hashes, wanted, "right")
        rows: NDArray[np.int32] = self.tensors["rare_rows"][low:high]
        return rows


def count_terms(
    ids: NDArray[np.int32],
    offsets: NDArray[np.int64],
    n_words: int,
    folder: Path,
    rare: tuple[NDArray[np.uint64], NDArray[np.int32]] | None = None,
    threads: int = 1,
) -> DocumentTerms:
    """Count the words of an encoded corpus in bounded memory.

    Args:
        ids, offsets: document d has the words ids[offsets[d]:offsets[d + 1]].
        folder: where the arrays are collected; what is large stays there, mapped.
        rare: hashes of dropped words, sorted, and the rows they are in.
        threads: how many to use; the result is the same for any number.
    """
    from scipy.sparse import csr_array

    n = len(offsets) - 1
    starts, pairs_of_word = np.zeros(n + 1, np.int64), np.zeros(n_words, np.int64)
    # All threads together hold about as many words as one would.
    chunks = _ranges(offsets, max(_LEAST_COUNTED, _TOKENS_COUNTED // threads))

    def count(_: int, chunk: tuple[int, int]) -> Any:
        first, last = chunk
        own = ids[offsets[first] : offsets[last]]
        parts = (np.ones(len(own), np.int32), np.array(own), offsets[first : last + 1] - offsets[first])
        counted = csr_array(parts, shape=(last - first, n_words))
        counted.sum_duplicates()
        drop_pages(own)
        return counted

    words_file, counts_file = folder / "terms-words.bin", folder / "terms-counts.bin"
    with words_file.open("wb") as words_out, counts_file.open("wb") as counts_out:
        for (first, last), counted in zip(chunks, in_order(chunks, count, threads), strict=True):
            pairs_of_word += np.bincount(counted.indices, minlength=n_words)
            starts[first + 1 : last + 1] = starts[first] + counted.indptr[1:]
            words_out.write(counted.indices.astype(np.int32, copy=False).data)
            counts_out.write(counted.data.data)
    words, counts = _stored(words_file, np.int32), _stored(counts_file, np.int32)
    places = np.concatenate([np.zeros(1, np.int64), np.cumsum(pairs_of_word)])

    def sort_by_word(_: int, span: tuple[int, int]) -> tuple[NDArray[np.int32], NDArray[np.uint8]]:
        low, high = span
        cursors = places[low:high] - places[low]
        rows = np.empty(int(places[high] - places[low]), np.int32)
        often = np.empty(len(rows), np.uint8)
        for first, last in chunks:
            here = slice(int(starts[first]), int(starts[last]))
            parts = (counts[here], words[here], starts[first : last + 1] - starts[first])
            own = csr_array(parts, shape=(last - first, n_words))[:, low:high].tocsc()
            each = np.diff(own.indptr)
            at = np.arange(own.nnz) + np.repeat(cursors - own.indptr[:-1], each)
            rows[at], often[at] = first + own.indices, np.minimum(own.data, 255)
            cursors += each
            for array in parts[:2]:
                drop_pages(array)
        return rows, often

    rows_file, often_file = folder / "terms-rows.bin", folder / "terms-often.bin"
    with rows_file.open("wb") as rows_out, often_file.open("wb") as often_out:
        spans = _ranges(places, max(1, _POSTINGS_HELD // threads))
        for own_rows, own_often in in_order(spans, sort_by_word, threads):
            rows_out.write(own_rows.data)
            often_out.write(own_often.data)
    rows, often = _stored(rows_file, np.int32), _stored(often_file, np.uint8)
    lengths = np.diff(offsets).astype(np.int32)
    hashes, rare_rows = rare if rare is not None else (np.zeros(0, np.uint64), np.zeros(0, np.int32))
    lengths += np.bincount(rare_rows, minlength=n).astype(np.int32)
    return DocumentTerms(
        {
            "starts": starts, "words": words, "counts": counts, "places": places, "rows": rows, "often": often,
            "lengths": lengths, "rare_hashes": hashes, "rare_rows": rare_rows,
        }
    )  # fmt: skip


def _ranges(offsets: NDArray[np.int64], size: int) -> list[tuple[int, int]]:
    """Ranges of documents, or words, that have about so many entries together; none is cut."""
    n = len(offsets) - 1
    marks = np.searchsorted(offsets, np.arange(0, int(offsets[-1]) + size, size), "right") - 1
    return list(pairwise(sorted({0, n, *(int(mark) for mark in marks if 0 < mark < n)})))


def _stored(path: Path, kind: Any) -> Any:
    """A file as an array: mapped, or read where it is small or a mapped file could not be removed."""
    if path.stat().st_size < _READ_INTO_MEMORY or os.name != "posix":
        array = np.fromfile(path, kind)
        path.unlink()
        return array
    return np.asarray(np.memmap(path, kind, "r"))
