"""Plain text in portions that workers read by themselves: byte ranges of large files, small files in groups.

A range owns the lines that begin in it, so any number of workers can read one file without asking each other where to
cut. What comes from a pipe or through a decompressor is read by the calling thread, and workers do the rest.
"""

from __future__ import annotations

import codecs
import os
import threading
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from spherevec.corpus.read.formats import Item
from spherevec.corpus.read.guard import bounded, guarded, newlines_in
from spherevec.corpus.read.options import AUTO, ReadOptions
from spherevec.corpus.read.streams import (
    COMPRESSED,
    STDIN,
    InputFile,
    Meter,
    blocks,
    check_beginning,
    check_unchanged,
    ends_lines_with_returns,
    found_encoding,
    utf8_pieces,
)
from spherevec.errors import CorpusError

_LOOKED_AT = 1 << 14  # bytes that are read at a time to find the end of a line
_SMALLEST = 8  # ranges at the end of a file that make one of the usual size
# Decompressing takes about a fifth of the time of reading compressed text: with fewer files, one thread that
# decompresses for all workers is faster than workers that each read a file.
_FILES_FOR_WORKERS = 6


@dataclass
class SourceRead:
    """What was read of one file: a part of it, or all."""

    item: Item
    begins: bool = True  # nothing was read of it before
    ends: bool = True  # nothing is left
    documents: int = 0
    size: int = 0  # bytes of text


@dataclass
class ReadStatistics:
    """What is found out while a portion is read."""

    sources: list[SourceRead] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    meter: Meter = field(default_factory=Meter)


class SharedFile:
    """A file that several threads read parts of; opened once, so that another of its name changes nothing."""

    def __init__(self, path: Path) -> None:
        self._file = path.open("rb", buffering=0)
        self._turn = threading.Lock()

    def read(self, start: int, size: int) -> bytes:
        """Up to `size` bytes from byte `start` on; fewer only where the file ends."""
        read = b""
        while len(read) < size and (more := self._some(start + len(read), size - len(read))):
            read = read + more if read else more
        return read

    def _some(self, start: int, size: int) -> bytes:
        if hasattr(os, "pread"):
            return os.pread(self._file.fileno(), size, start)
        with self._turn:
            self._file.seek(start)
            return self._file.read(size)

    def stat(self) -> os.stat_result:
        return os.fstat(self._file.fileno())

    def __del__(self) -> None:
        if hasattr(self, "_file"):
            self._file.close()


@dataclass(frozen=True)
class Range:
    """The lines of a file in UTF-8 that begin at the bytes [start, stop)."""

    item: Item
    file: SharedFile
    start: int
    stop: int
    before: os.stat_result
    checked, taken, fresh = False, 0, True

    def blocks(self, size: int, found: ReadStatistics) -> Iterator[bytes]:
        ends = self.stop >= self.before.st_size
        found.sources.append(SourceRead(self.item, self.start == 0, ends))
        found.meter.done += self.stop - self.start
        return blocks(self._pieces(size), size, str(self.item.path))

    def _pieces(self, size: int) -> Iterator[bytes]:
        """Usually one: a byte before the range tells whether a line begins with it, some behind it end the last."""
        with guarded(self.item.path):
            before = 1 if self.start else 0
            length = self.stop - self.start + before
            piece = self.file.read(self.start - before, length + _LOOKED_AT)
            begin = 0
            if self.start == 0:
                check_beginning(self.item.path, piece[:size], "utf-8")
                begin = len(codecs.BOM_UTF8) if piece.startswith(codecs.BOM_UTF8) else 0
            else:
                begin = piece.find(b"\n", 0, length - 1) + 1
                if not begin:
                    return
            end = piece.find(b"\n", max(begin, length - 1)) + 1 or len(piece)
            place = self.start - before + len(piece)
            piece = piece[begin:end]
            while piece and not piece.endswith(b"\n"):
                yield piece
                piece = self.file.read(place, _LOOKED_AT)
                piece = piece[: piece.find(b"\n") + 1 or len(piece)]
                place += len(piece)
                piece = piece or b"\n"
            if piece:
                yield piece


@dataclass(frozen=True)
class Files:
    """Several files, one after another, each with all its documents."""

    items: Sequence[Item]
    options: ReadOptions
    checked, taken, fresh = True, 0, True

    def blocks(self, size: int, found: ReadStatistics) -> Iterator[bytes]:
        return blocks(self._pieces(size, found), size)

    def _pieces(self, size: int, found: ReadStatistics) -> Iterator[bytes]:
        for item in self.items:
            source = SourceRead(item)
            found.sources.append(source)
            file = InputFile(item.path, item.name, self.options, found.meter, found.notes, size)
            text = text_of(item, file.text())
            for piece in bounded(text, item.path):
                source.documents += newlines_in(piece)
                source.size += len(piece)
                yield piece


@dataclass(frozen=True)
class Text:
    """A block that was read already.

    Args:
        taken: how many characters of the document that it goes on with were kept before; see `line_beginnings`.
        fresh: it begins with a document.
    """

    block: bytes
    source: SourceRead
    taken: int = 0
    fresh: bool = True
    checked = False

    def blocks(self, size: int, found: ReadStatistics) -> Iterator[bytes]:
        found.sources.append(self.source)
        return iter([self.block] if self.block else [])


# Some text that one worker reads. `blocks` gives it in blocks of about `size` bytes that end at white space; a newline
# ends a document. Where it is not `checked`, the reader must see that it is UTF-8, and count its documents.
Portion = Range | Files | Text


def text_of(item: Item, pieces: Iterable[bytes]) -> Iterator[bytes]:
    """Pieces of a file of text in which a newline ends a document."""
    if not item.whole:
        yield from pieces
        return
    for piece in pieces:
        yield piece.replace(b"\n", b" ")
    yield b"\n"


def portions_of(
    items: Sequence[Item], options: ReadOptions, size: int, workers: int, meter: Meter, notes: list[str]
) -> Iterator[Portion]:
    """Files of plain text as portions of about `size` bytes, in their order.

    Args:
        meter, notes: told what the calling thread reads itself.
    """
    compressed = sum(_is_compressed(item) for item in items)
    alone = min(compressed, workers) >= _FILES_FOR_WORKERS
    group: list[Item] = []
    held = 0
    for item in items:
        large = item.size is None or (item.size > size and not item.whole)
        if large and not (_is_compressed(item) and alone):
            if group:
                yield Files(group, options)
                group, held = [], 0
            file = InputFile(item.path, item.name, options, meter, notes, size)
            yield from _ranges(item, size, workers) if _can_be_cut(item, options, size) else _streamed(item, file)
            continue
        group.append(item)
        held += item.size or 0
        if held >= size:
            yield Files(group, options)
            group, held = [], 0
    if group:
        yield Files(group, options)


def _is_compressed(item: Item) -> bool:
    return item.path.suffix.lower() in COMPRESSED


def _can_be_cut(item: Item, options: ReadOptions, size: int) -> bool:
    """Whether the file can be read from any byte on: it is stored as UTF-8, and newlines end its lines."""
    if item.size is None or _is_compressed(item) or options.encoding_errors != "strict":
        return False
    with guarded(item.path), item.path.open("rb") as file:
        beginning = file.read(size)
    encoding = found_encoding(beginning) if options.encoding == AUTO else codecs.lookup(options.encoding).name
    return encoding == "utf-8" and not ends_lines_with_returns(beginning.removeprefix(codecs.BOM_UTF8))


def _ranges(item: Item, size: int, workers: int) -> Iterator[Range]:
    """A file from its beginning to its end, in smaller ranges towards it: all workers are to end at the same time."""
    with guarded(item.path):
        file = SharedFile(item.path)
        before = file.stat()
    start, end = 0, before.st_size
    while start < max(end, 1):
        step = size if workers == 1 else min(size, max((end - start) // (2 * workers), size // _SMALLEST, 1))
        yield Range(item, file, start, min(start + step, end), before)
        start += step


def _streamed(item: Item, file: InputFile) -> Iterator[Text]:
    """A file that must be read from its beginning: decompressed or decoded here, in blocks for the workers."""
    begins, taken, fresh = True, 0, True
    for block in blocks(text_of(item, utf8_pieces(file, check=False)), file.size, str(item.path)):
        yield Text(block, SourceRead(item, begins, False), taken, fresh)
        begins, fresh = False, block.endswith(b"\n")
        taken = 0 if fresh else _taken(block, file.options.keep_text, taken)
    yield Text(b"", SourceRead(item, begins, True))


def _taken(block: bytes, characters: int, taken: int) -> int:
    """Characters kept of the document that a block ends in."""
    from spherevec.storage.text_kernel import line_beginnings

    data = np.frombuffer(block, np.uint8)
    return int(line_beginnings(data, characters, taken, np.empty_like(data), np.empty(block.count(b"\n"), np.int64))[1])


def check_end(source: SourceRead, total: int, only: bool, portion: Portion) -> str | None:
    """What to say of a file of which all is read; refuses one that was written to meanwhile, or that alone is empty.

    Args:
        total: bytes of its text.
        only: there is no other file.
    """
    path = source.item.path
    if isinstance(portion, Range) and path != STDIN:
        with guarded(path):
            check_unchanged(path, portion.before, portion.file.stat())
    if total:
        return None
    if only:
        raise CorpusError(f"{path}: is empty; give a file with at least one document")
    return f"{path}: is empty"
