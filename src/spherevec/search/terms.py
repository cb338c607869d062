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
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from spherevec.errors import FormatError
from spherevec.storage.files import SpillFile
from spherevec.storage.memory import drop_pages
from spherevec.storage.tensors import goes_back
from spherevec.threads import in_order

_TOKENS_COUNTED = 1 << 19  # at a time
_CHECKED_AT_ONCE = 1 << 22
_LEAST_COUNTED = 1 << 17
_PAIRS_SORTED = 1 << 20  # at a time, a document and a word each
_LEAST_SORTED = 1 << 18
_READ_INTO_MEMORY = 1 << 22  # bytes: a smaller file is no burden
_TYPES = {
    "starts": "<i8", "words": "<i4", "counts": "<i4", "places": "<i8", "rows": "<i4", "often": "u1", "lengths": "<i4",
    "rare_hashes": "<u8", "rare_rows": "<i4",
}  # fmt: skip
_PAIR = np.dtype([("word", "<i4"), ("row", "<i4"), ("often", "u1")])


class DocumentTerms:
    """The words of documents, from both sides, made of the arrays of the file."""

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
        self._wordless: NDArray[np.int64] | None = None
        self._checked = False

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
                    raise FormatError("the words of documents: offsets decrease; copy the model again")
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
        if self.tensors["counts"].min(initial=1) < 1:
            raise FormatError("the words of documents: a count is below 1; copy the model again")
        self._checked = True

    def wordless(self) -> NDArray[np.int64]:
        """The rows of documents without a word that has a vector, ascending: their own vectors say nothing."""
        if self._wordless is None:
            self._wordless = np.flatnonzero(self.starts[1:] == self.starts[:-1])
        return self._wordless

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
    word_counts: NDArray[np.int64],
    folder: Path,
    rare: tuple[NDArray[np.uint64], NDArray[np.int32]] | None = None,
    threads: int = 1,
    counted: Mapping[str, NDArray[Any]] | None = None,
) -> DocumentTerms:
    """Count the words of an encoded corpus in bounded memory, and in time proportional to its length.

    Args:
        ids, offsets: document d has the words ids[offsets[d]:offsets[d + 1]].
        word_counts: (v,) about how often each word occurs, by which the work is divided.
        folder: where the arrays are collected; what is large stays there, mapped.
        rare: hashes of dropped words, sorted, and the rows they are in.
        threads: how many to use; the result is the same for any number.
        counted: the first six arrays, where a device has counted the words.
    """
    if counted is None:
        counted = _counted(ids, offsets, word_counts, folder, threads)
    lengths = np.diff(offsets).astype(np.int32)
    hashes, rare_rows = rare if rare is not None else (np.zeros(0, np.uint64), np.zeros(0, np.int32))
    lengths += np.bincount(rare_rows, minlength=len(lengths)).astype(np.int32)
    return DocumentTerms({**counted, "lengths": lengths, "rare_hashes": hashes, "rare_rows": rare_rows})


def _counted(
    ids: NDArray[np.int32], offsets: NDArray[np.int64], word_counts: NDArray[np.int64], folder: Path, threads: int
) -> dict[str, NDArray[Any]]:
    """The first six arrays."""
    occurrences = np.concatenate([np.zeros(1, np.int64), np.cumsum(word_counts)])
    shares = _ranges(occurrences, max(_LEAST_SORTED, _PAIRS_SORTED // threads))
    # By document, in the order of the text; by word only within each chunk, until all chunks are counted.
    with SpillFile(folder / "terms-spill.bin") as spill:
        starts, spilled = _count_chunks(ids, offsets, len(word_counts), shares, folder, spill, threads)
        places = _sort_by_word(spilled, spill.path, shares, len(word_counts), folder, threads)
    large = ("words", "counts", "rows", "often")
    tensors: dict[str, NDArray[Any]] = {name: _stored(folder / f"terms-{name}.bin", _TYPES[name]) for name in large}
    return {**tensors, "starts": starts, "places": places}


class _SpilledChunk(NamedTuple):
    """The pairs of some documents, sorted by word."""

    position: int  # of the first pair in the file
    ends: NDArray[np.int64]  # (shares + 1,) where those of each share of the words begin, and the last end


def _count_chunks(
    ids: NDArray[np.int32],
    offsets: NDArray[np.int64],
    n_words: int,
    shares: list[tuple[int, int]],
    folder: Path,
    spill: SpillFile,
    threads: int,
) -> tuple[NDArray[np.int64], list[_SpilledChunk]]:
    """Count the words of each document into two files, and spill the pairs of both; returns `starts` and the chunks."""
    from scipy.sparse import csr_array

    # All threads together hold about as many words as one would, but each chunk also costs as much as the vocabulary.
    chunks = _ranges(offsets, max(_LEAST_COUNTED, n_words, _TOKENS_COUNTED // threads))
    edges = np.array([0, *(high for _, high in shares)])
    every_word = np.arange(n_words, dtype=np.int32)

    def count(_: int, chunk: tuple[int, int]) -> tuple[Any, _SpilledChunk]:
        first, last = chunk
        own = ids[offsets[first] : offsets[last]]
        parts = (np.ones(len(own), np.int32), np.array(own), offsets[first : last + 1] - offsets[first])
        by_document = csr_array(parts, shape=(last - first, n_words))
        by_document.sum_duplicates()
        drop_pages(own)
        by_word = by_document.tocsc()
        pairs = np.empty(by_word.nnz, _PAIR)
        pairs["word"] = np.repeat(every_word, np.diff(by_word.indptr))
        pairs["row"], pairs["often"] = first + by_word.indices, np.minimum(by_word.data, 255)
        position = spill.append(pairs.view(np.uint8).data)
        return by_document, _SpilledChunk(position, by_word.indptr[edges].astype(np.int64))

    starts, spilled = np.zeros(len(offsets), np.int64), []
    with (folder / "terms-words.bin").open("wb") as words_out, (folder / "terms-counts.bin").open("wb") as counts_out:
        for (first, last), (counted, chunk) in zip(chunks, in_order(chunks, count, threads), strict=True):
            starts[first + 1 : last + 1] = starts[first] + counted.indptr[1:]
            words_out.write(counted.indices.astype(np.int32, copy=False).data)
            counts_out.write(counted.data.data)
            spilled.append(chunk)
    return starts, spilled


def _sort_by_word(
    spilled: list[_SpilledChunk], path: Path, shares: list[tuple[int, int]], n_words: int, folder: Path, threads: int
) -> NDArray[np.int64]:
    """Write the rows of each word and how often they hold it into two files; returns `places`."""
    from scipy.sparse import coo_array

    size = _PAIR.itemsize

    def sort(_: int, share: int) -> Any:
        low, high = shares[share]
        found = b"".join(
            os.pread(file.fileno(), int(ends[share + 1] - ends[share]) * size, position + int(ends[share]) * size)
            for position, ends in spilled
        )
        pairs = np.frombuffer(found, _PAIR)
        rows = int(pairs["row"].max(initial=0)) + 1
        # Chunks come in the order of the text, so the rows of a word ascend.
        return coo_array((pairs["often"], (pairs["word"] - low, pairs["row"])), shape=(high - low, rows)).tocsr()

    documents_of_word = np.zeros(n_words + 1, np.int64)
    with (
        path.open("rb") as file,
        (folder / "terms-rows.bin").open("wb") as rows_out,
        (folder / "terms-often.bin").open("wb") as often_out,
    ):
        for (low, high), sorted_pairs in zip(shares, in_order(range(len(shares)), sort, threads), strict=True):
            documents_of_word[low + 1 : high + 1] = np.diff(sorted_pairs.indptr)
            rows_out.write(sorted_pairs.indices.astype(np.int32, copy=False).data)
            often_out.write(sorted_pairs.data.data)
    return np.cumsum(documents_of_word)


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
