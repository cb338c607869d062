"""Whatever a corpus may come from, as one stream of UTF-8 in which a newline ends a document.

Beside the text, a `RecordBuilder` gets the id, the title and the kept fields of each document, in step with it.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, islice
from pathlib import Path
from typing import Any

from spherevec.corpus.read.formats import endings_with_fields, format_of_stream
from spherevec.corpus.read.guard import UnreadableError, bounded, guarded
from spherevec.corpus.read.objects import documents_of, frame_rows, is_frame, paths_of
from spherevec.corpus.read.options import ReadOptions
from spherevec.corpus.read.portions import Portion, portions_of, text_of
from spherevec.corpus.read.sources import Item, items_of
from spherevec.corpus.read.streams import BLOCK_SIZE, STDIN, InputFile, Meter, blocks, check_encoding, lines, utf8
from spherevec.corpus.table.records import RecordBuilder, Row
from spherevec.errors import CorpusError

Document = str | Sequence[str]


@dataclass
class Source:
    """A corpus to be read once: either `pieces` of UTF-8 text, or `documents` that are already lists of words.

    Attributes:
        records: gets what is kept of each document while it is read; None where nothing is.
        notes: what was found out about the source and the user should know, complete when all is read.
    """

    pieces: Iterator[bytes] | None = None
    documents: Iterator[Sequence[str]] | None = None
    records: RecordBuilder | None = None
    meter: Meter = field(default_factory=Meter)
    name: str = "the corpus"
    notes: list[str] = field(default_factory=list)
    plain: tuple[Sequence[Item], ReadOptions] | None = None  # the files, where all of them are plain text

    def portions(self, size: int, workers: int) -> Iterator[Portion]:
        """The text of plain files in portions, for workers to read instead of `pieces`."""
        assert self.plain is not None
        return portions_of(*self.plain, size, workers, self.meter, self.notes)

    def texts(self) -> Iterator[str]:
        """The documents of a text source, one string each."""
        assert self.pieces is not None
        return (line[:-1].decode() for line in lines(self.pieces, self.name))

    def blocks(self, size: int) -> Iterator[bytes]:
        """The text in blocks of about `size` bytes that never end inside a word."""
        assert self.pieces is not None
        return blocks(self.pieces, size, self.name)

    def all(self) -> Iterator[Document]:
        """The documents, texts or lists of words."""
        return self.texts() if self.documents is None else self.documents


def read_documents(source: Any, reading: ReadOptions | None = None, **options: Any) -> Iterator[Document]:
    """The documents of any source that `encode` takes, in the same order; newlines inside a text become spaces.

    Args:
        source: see `encode`.
        reading: how to read it.
        **options: some fields of `reading`, such as `text_field` and `encoding`.
    """
    return open_source(source, replace(reading or ReadOptions(), **options)).all()


def open_source(
    source: Any,
    options: ReadOptions | None = None,
    size: int = BLOCK_SIZE,
    records_in: Path | None = None,
) -> Source:
    """Find out what `source` is, and get ready to read it `size` bytes at a time.

    Args:
        records_in: a folder for the columns that are kept of each document; None keeps nothing.
    """
    options = options or ReadOptions()
    check_encoding(options.encoding)
    paths = paths_of(source)
    if options.if_there:
        source, options = _with_fields_if_there(source, paths, options)
    builder = None if records_in is None else RecordBuilder(records_in, options)
    if paths is not None:
        return _open_files(paths, options, size, builder)
    meter = Meter()
    if is_frame(source):
        if options.has_ids:
            raise CorpusError("ids of a data frame are one of its columns; name it: id_field=")
        rows, in_words = frame_rows(source, options), False
    else:
        rows, in_words = documents_of(source, options)
    rows = _recorded(rows, builder, "document ", False)
    if in_words:
        return Source(documents=(row.text for row in rows), records=builder, meter=meter)
    return Source(pieces=_metered(map(_piece_of, rows), meter), records=builder, meter=meter)


def _with_fields_if_there(
    source: Any, paths: Sequence[str | os.PathLike[str]] | None, options: ReadOptions
) -> tuple[Any, ReadOptions]:
    """The source, and options without fields where it has none: plain text files, or documents that are no records."""
    if paths is not None:
        plain = all(not item.format.fields and item.path != STDIN for item in items_of(paths, []))
        return source, options.without_fields() if plain else options
    if is_frame(source) or not isinstance(source, Iterable):
        return source, options
    items = iter(source)
    first = list(islice(items, 1))
    if first and not isinstance(first[0], Mapping):
        pairs = isinstance(first[0], tuple) and options.id_field is not None
        options = replace(options.without_fields(), ids=True) if pairs else options.without_fields()
    return chain(first, items), options


def open_documents(documents: Iterable[Document]) -> Source:
    """Documents that are known to be texts, or lists of words."""
    rows, in_words = documents_of(documents, ReadOptions(), paths=True)
    if in_words:
        return Source(documents=(row.text for row in rows))
    return Source(pieces=map(_piece_of, rows))


def _open_files(
    paths: Sequence[str | os.PathLike[str]], options: ReadOptions, size: int, builder: RecordBuilder | None
) -> Source:
    notes: list[str] = []
    items = items_of(paths, notes)
    if options.has_ids:
        raise CorpusError("ids= is for Python objects; files have fields: name one (id_field=NAME)")
    if options.wants_fields:
        plain = next((item for item in items if not item.format.fields and item.path != STDIN), None)
        if plain:
            raise CorpusError(
                f"{plain.path}: {options.wants_fields} needs a table such as {endings_with_fields()}; leave it out"
            )
    sizes = [item.size for item in items]
    meter = Meter(total=None if None in sizes else sum(one for one in sizes if one is not None))
    name = str(items[0].path) if len(items) == 1 else "the corpus"
    files = [InputFile(item.path, item.name, options, meter, notes, size) for item in items]
    all_plain = all(_is_plain(item, options) for item in items)
    return Source(
        pieces=bounded(_file_pieces(list(zip(items, files, strict=True)), builder), name),
        records=builder,
        meter=meter,
        name=name,
        notes=notes,
        plain=(items, options) if all_plain else None,
    )


def _is_plain(item: Item, options: ReadOptions) -> bool:
    return item.format.read is None and not (item.path == STDIN and options.wants_fields)


def _file_pieces(files: Sequence[tuple[Item, InputFile]], builder: RecordBuilder | None) -> Iterator[bytes]:
    skipped: list[str] = []
    for item, file in files:
        if builder:
            builder.begin_source(item.name, item.whole)
        pieces = _item_pieces(item, file, builder)
        try:
            first = next(pieces, None)
        except UnreadableError as error:
            # A file that is one document among others; nothing of it has been used yet.
            if file.options.strict or len(files) == 1 or not item.format.one_document:
                raise
            skipped.append(str(error))
            continue
        if first is None:
            if len(files) == 1:
                raise CorpusError(f"{item.path}: is empty; give a file with at least one document")
            file.notes.append(f"{item.path}: is empty")
            continue
        yield first
        yield from pieces
    if skipped and len(skipped) == len(files):
        raise CorpusError(f"none of {len(files):,} files can be read; the first: {skipped[0]}")
    if skipped:
        files[0][1].notes.append(f"{len(skipped):,} files were skipped; the first: {skipped[0]}")


def _item_pieces(item: Item, file: InputFile, builder: RecordBuilder | None) -> Iterator[bytes]:
    format = item.format
    if file.path == STDIN and file.options.wants_fields:
        text = file.text()
        beginning = next(text, b"")
        file.begun = chain([beginning] if beginning else [], text)
        format = format_of_stream(beginning)
        file.notes.append(f"standard input: read as {format.name}")
    if format.read is not None:
        rows = _guarded_rows(format.read, file)
        return map(_piece_of, _recorded(rows, builder, f"{file.path}, {format.row} ", format.spelled))
    pieces = text_of(item, file.text())
    return pieces if builder is None else _watched(pieces, builder)


def _guarded_rows(read: Callable[[InputFile], Iterator[Row]], file: InputFile) -> Iterator[Row]:
    with guarded(file.path):
        yield from read(file)


def _watched(pieces: Iterable[bytes], builder: RecordBuilder) -> Iterator[bytes]:
    for piece in pieces:
        builder.add_lines(piece)
        yield piece


def _recorded(rows: Iterable[Row], builder: RecordBuilder | None, place: str, spelled: bool) -> Iterator[Row]:
    for row in rows:
        if builder is not None:
            builder.add(row, f"{place}{row.number}", spelled)
        yield row


def _piece_of(row: Row) -> bytes:
    assert isinstance(row.text, str)
    return utf8(row.text).replace(b"\n", b" ") + b"\n"


def _metered(pieces: Iterable[bytes], meter: Meter) -> Iterator[bytes]:
    for piece in pieces:
        meter.done += len(piece)
        yield piece
