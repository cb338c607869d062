"""Documents into tables of words on one or more threads. What they make of the text is kept in files until the final
numbers are known, and then renumbered in the order of the text.
"""

from __future__ import annotations

import errno
import os
import threading
from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from spherevec.corpus.count.vocabulary import CountedWords, RareWords
from spherevec.corpus.count.word_table import TokenizedBlock
from spherevec.corpus.read.readers import Source
from spherevec.corpus.read.streams import utf8
from spherevec.corpus.tokenize.characters import BREAK_BIT, ID_MASK
from spherevec.corpus.tokenize.tokenizer import Tokenizer
from spherevec.errors import CorpusError
from spherevec.storage.os_errors import explain_os_errors
from spherevec.storage.text_column import TextColumn
from spherevec.threads import in_order

Ids = npt.NDArray[np.int32]
Ends = npt.NDArray[np.int64]
NumberedBlock = tuple[Ids, Ends]  # ids, and how many came before the end of each document


class SpilledBlock(NamedTuple):
    """Where one block lies: `n_ids` int32 and then `n_ends` int64 at `position` of a worker's file."""

    worker: int
    position: int
    n_ids: int
    n_ends: int
    broken: bool  # whether punctuation stands behind the last word


class Spill:
    """One worker's file: it alone writes, any thread may read; removed on leaving the context."""

    def __init__(self, folder: Path, worker: int) -> None:
        self._folder = folder
        self._path = folder / f"spill-{worker}.bin"
        self._worker = worker
        self._position = 0
        self._reading = threading.Lock()
        with explain_os_errors(writing=folder, kind=CorpusError):
            self._file = self._path.open("wb", buffering=0)
            self._reader = self._path.open("rb", buffering=0)

    def append(self, ids: npt.NDArray[np.int32], ends: npt.NDArray[np.int64], broken: bool) -> SpilledBlock:
        return SpilledBlock(self._worker, self._written(ids, ends), len(ids), len(ends), broken)

    def read(self, block: SpilledBlock) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int64]]:
        ids, ends = np.empty(block.n_ids, np.int32), np.empty(block.n_ends, np.int64)
        self._read(block.position, ids, ends)
        return ids, ends

    def _written(self, *arrays: npt.NDArray[Any]) -> int:
        """Write arrays one after another; returns where they begin."""
        start = self._position
        with explain_os_errors(writing=self._folder, kind=CorpusError):
            for array in arrays:
                left = array.data.cast("B") if len(array) else memoryview(b"")
                while left:
                    left = left[self._file.write(left) :]
                self._position += array.nbytes
        return start

    def _read(self, position: int, *arrays: npt.NDArray[Any]) -> None:
        with explain_os_errors(writing=self._folder, kind=CorpusError):
            for array in arrays:
                left = array.data.cast("B") if len(array) else memoryview(b"")
                while left:
                    count = self._some(position, left)
                    if not count:
                        raise CorpusError(f"{self._path}: was cut short by somebody else; choose another folder")
                    position, left = position + count, left[count:]

    def _some(self, position: int, room: memoryview) -> int:
        """Fill some of the room from `position` on; threads that can do so do not wait for each other."""
        if hasattr(os, "preadv"):
            return os.preadv(self._reader.fileno(), [room], position)
        with self._reading:
            self._reader.seek(position)
            return self._reader.readinto(room) or 0

    def __enter__(self) -> Spill:
        return self

    def __exit__(self, *error: object) -> None:
        for file in (self._file, self._reader):
            with suppress(OSError):
                file.close()
        with suppress(OSError):  # the folder goes with all that is in it
            self._path.unlink(missing_ok=True)


@contextmanager
def new_folder(folder: Path) -> Iterator[None]:
    """Create `folder`, or take it if it is empty; should the block fail, leave things as they were."""
    with explain_os_errors(writing=folder, kind=CorpusError):
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


def renumbered(ids: Ids, ends: Ends, numbers: Ids, marks: bool) -> NumberedBlock:
    """Ids as their numbers, without those that have none; see the kernel."""
    from spherevec.corpus.tokenize import scanner_kernel as kernel

    new_ids = np.empty(len(ids) + 1, np.int32)  # one more, where the kernel puts a dropped last word
    new_ends = np.empty_like(ends)
    return new_ids[: kernel.renumber(ids, ends, numbers, marks, new_ids, new_ends)], new_ends


class _Block(NamedTuple):
    """A renumbered block, apart from what the block before it decides."""

    ids: Ids
    ends: Ends
    n_raw: int
    raw_ends: Ends
    last_is_dropped: bool
    rare: npt.NDArray[np.uint64]  # hashes of its dropped words
    rare_rows: npt.NDArray[np.int64]  # the documents that these stand in, counted from the first of the block
    n_empty: int  # documents without words, the first left out
    n_unknown: int  # documents without words that are kept, the first left out


class NumberedBlocks:
    """The spilled blocks in the order of the text, with their final ids; to be gone through once.

    Args:
        numbers: for each worker, the id of each of its words, -1 for those that are dropped.
        places: for each worker, where its words are in `hashes`; None where they are in order.
        hashes: 64 bits for each word.
        marks: keep the marks of punctuation.
        threads: how many to use.

    Attributes:
        n_kept: how many words were kept; this and the others once all blocks were asked for.
        n_empty, n_unknown: how many documents have no words, and how many none that is kept.
    """

    def __init__(
        self,
        spilled: Sequence[SpilledBlock],
        spills: Sequence[Spill],
        numbers: Sequence[Ids],
        places: Sequence[Ids] | None,
        hashes: npt.NDArray[np.uint64],
        rare: RareWords,
        marks: bool,
        threads: int,
    ) -> None:
        self._spilled, self._spills, self._numbers, self._places = spilled, spills, numbers, places
        self._hashes, self._rare, self._marks, self._threads = hashes, rare, marks, threads
        self.n_kept = self.n_empty = self.n_unknown = 0

    def __iter__(self) -> Iterator[NumberedBlock]:
        n_documents = raw_length = length = 0  # the latter two of the document that the last block ended in
        broken = True  # punctuation or a dropped word stands at the end of the last block
        for spilled, block in zip(self._spilled, in_order(self._spilled, self._work, self._threads), strict=True):
            ids, ends, raw_ends = block.ids, block.ends, block.raw_ends
            if self._marks and broken and len(ids):
                ids[0] |= BREAK_BIT
            broken = spilled.broken or block.last_is_dropped or (broken and not block.n_raw)
            if len(ends):
                raw_length, length = raw_length + int(raw_ends[0]), length + int(ends[0])
                self.n_empty += block.n_empty + (raw_length == 0)
                self.n_unknown += block.n_unknown + (raw_length > 0 and length == 0)
                raw_length, length = block.n_raw - int(raw_ends[-1]), len(ids) - int(ends[-1])
            else:
                raw_length, length = raw_length + block.n_raw, length + len(ids)
            self.n_kept += len(ids)
            self._rare.add(block.rare, (n_documents + block.rare_rows).astype(np.int32))
            n_documents += len(ends)
            yield ids, ends

    def _work(self, _: int, spilled: SpilledBlock) -> _Block:
        raw_ids, raw_ends = self._spills[spilled.worker].read(spilled)
        numbers = self._numbers[spilled.worker]
        ids, ends = renumbered(raw_ids, raw_ends, numbers, self._marks)
        raw_ids &= ID_MASK
        dropped = np.flatnonzero(numbers[raw_ids] < 0)
        words = raw_ids[dropped]
        raw_lengths, lengths = np.diff(raw_ends), np.diff(ends)
        return _Block(
            ids,
            ends,
            len(raw_ids),
            raw_ends,
            bool(len(raw_ids)) and bool(numbers[raw_ids[-1]] < 0),
            self._hashes[words if self._places is None else self._places[spilled.worker][words]],
            np.searchsorted(raw_ends, dropped, "right"),
            int(np.count_nonzero(raw_lengths == 0)),
            int(np.count_nonzero((raw_lengths > 0) & (lengths == 0))),
        )


_BYTES_A_WORD = 6  # roughly, to make batches of words about as large as blocks of text


class Table(Protocol):
    """Distinct words, numbered as they come: `WordTable` is fed blocks of text, `WordLists` lists of words."""

    @property
    def counts(self) -> npt.NDArray[np.int64]: ...

    def counted(self) -> CountedWords: ...

    def feed(self, batch: Any) -> TokenizedBlock: ...


class _Numbers(dict[str, int]):
    """The number of each word, given to it when it is first asked for."""

    def __missing__(self, word: object) -> int:
        if not isinstance(word, str):
            raise TypeError
        whole = utf8(word).decode()
        number = self[word] = len(self) if whole == word else self[whole]
        return number


class WordLists:
    """Distinct words of documents that are lists of words; empty strings are no words."""

    def __init__(self) -> None:
        self._numbers = _Numbers()
        self._n_documents = 0
        self.counts = np.zeros(0, np.int64)

    def counted(self) -> CountedWords:
        """All words, with their counts."""
        return CountedWords(TextColumn.of(self._numbers), self.counts)

    def feed(self, batch: Sequence[Iterable[str]]) -> TokenizedBlock:
        ids, ends = array("i"), array("q")
        for document in batch:
            self._n_documents += 1
            try:
                ids.extend(map(self._numbers.__getitem__, filter(None, document)))
            except TypeError:
                strange = next(repr(word) for word in document if not isinstance(word, str))
                place = f"document {self._n_documents - 1} (counted from 0)"
                raise CorpusError(f"{place}: {strange[:60]} is not a word; words are strings") from None
            ends.append(len(ids))
        numbers = np.frombuffer(ids, np.int32)
        counts = np.bincount(numbers, minlength=len(self._numbers))
        counts[: len(self.counts)] += self.counts
        self.counts = counts
        return TokenizedBlock(numbers, np.frombuffer(ends, np.int64), True)


def tables_and_batches(
    source: Source, tokenizer: Tokenizer, threads: int, size: int
) -> tuple[list[Table], Iterator[Any]]:
    """A table for each thread that can be of use, and what to feed them with."""
    if source.documents is not None:
        return [WordLists()], _batches(source.documents, size)
    if not tokenizer.compiled:
        function = tokenizer.needed_function()
        return [WordLists()], _batches((list(function(text)) for text in source.texts()), size)
    from spherevec.corpus.count.word_table import WordTable

    return [WordTable(tokenizer) for _ in range(threads)], source.blocks(size)


def _batches(documents: Iterable[Sequence[str]], size: int) -> Iterator[list[Sequence[str]]]:
    batch: list[Sequence[str]] = []
    n_words = 0
    for document in documents:
        batch.append(document)
        n_words += 1 + len(document)
        if n_words * _BYTES_A_WORD >= size:
            yield batch
            batch, n_words = [], 0
    if batch:
        yield batch


def count(
    batches: Iterable[Any], tables: Sequence[Table], spills: Sequence[Spill], report: Callable[[], object]
) -> list[SpilledBlock]:
    """Feed the tables, one thread and one spill each; returns the blocks in the order of the text."""

    def work(worker: int, batch: Any) -> SpilledBlock:
        return spills[worker].append(*tables[worker].feed(batch))

    counted = []
    for block in in_order(batches, work, len(tables)):
        counted.append(block)
        report()
    return counted
