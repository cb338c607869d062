"""Whatever a corpus may come from, as one stream of UTF-8 in which a newline ends a document.

Beside the text, a `RecordBuilder` gets the id, the title and the kept fields of each document, in step with it.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from itertools import chain, islice
from pathlib import Path
from typing import Any

from spherevec.corpus.read import formats, streams
from spherevec.corpus.read.formats import CSV, REFUSED, Item, ending, format_by_ending, items_of
from spherevec.corpus.read.options import ReadOptions, listed
from spherevec.corpus.read.streams import STDIN, InputFile, Meter, UnreadableError, guarded
from spherevec.corpus.read.tables import make_row, record_rows
from spherevec.corpus.table.records import RecordBuilder, Row
from spherevec.errors import CorpusError
from spherevec.terminal import number_of

_LOOKED_AT = 10  # documents that are compared with file names
_LONGEST_PATH = 400
# The packages whose frames narwhals knows; nothing is imported for objects of other ones.
_PACKAGES = {"pandas", "polars", "pyarrow", "modin", "cudf", "dask", "ibis", "duckdb", "pyspark", "narwhals"}
# What can be iterated over, but holds no documents in order.
_NO_DOCUMENTS: dict[Any, str] = {
    Mapping: "a dict is not a list of documents; give list(d.items()) with ids=True where keys are ids, or "
    "list(d.values())",
    (bytes, bytearray): "bytes are no corpus; decode them, and give a list of texts: [data.decode()]",
    (set, frozenset): "a set has no order; give a list of documents: sorted(s)",
}

Document = str | Sequence[str]


def documents_of(source: Any, options: ReadOptions, *, paths: bool = False) -> tuple[Iterator[Row], bool]:
    """What a data frame or an iterable holds, and whether that is lists of words. The first decides; all must be alike.

    Args:
        paths: texts may look like paths: they are known to be none.
    """
    if is_frame(source):
        return _frame_rows(source, options), False
    for kinds, reason in _NO_DOCUMENTS.items():
        if isinstance(source, kinds):
            raise CorpusError(reason)
    try:
        items = iter(source)
    except TypeError:
        raise CorpusError(
            f"a corpus is a path, or an iterable of texts or of lists of words, not {_shown(source)}"
        ) from None
    if options.text_field is not None:
        return record_rows(enumerate(items), options, "record ", "the records"), False
    if options.id_field is not None:  # of pairs, it names the id
        ahead = list(islice(items, 1))
        items = chain(ahead, items)
        if ahead and isinstance(ahead[0], tuple) and len(ahead[0]) == 2:
            options = replace(options, id_field=None, ids=True)
    if options.wants_fields:
        raise CorpusError(
            f"{options.wants_fields} needs records with fields; name the field of the text (text_field=NAME), "
            "or give (id, text) pairs with ids=True"
        )
    pairs = _pairs(items, options)
    first = list(islice(pairs, _LOOKED_AT))
    if not first:
        raise CorpusError("the iterable holds no documents; a generator can be read only once")
    in_words = isinstance(first[0][1], list)
    if not in_words:
        _refuse_document(first[0][1])
    if not options.has_ids and not paths and all(_like_a_path(document) for _, document in first):
        raise CorpusError(
            f"the documents look like paths, such as {first[0][1]!r:.60}; to read these files give "
            "[pathlib.Path(p) for p in paths]"
        )
    return _alike(chain(first, pairs), in_words), in_words


def _pairs(items: Iterator[Any], options: ReadOptions) -> Iterator[tuple[Any, Any]]:
    """Each document with its id, None where it has none."""
    if not options.has_ids:
        for item in items:
            yield None, item
    elif options.ids is True:
        for number, item in enumerate(items):
            if not isinstance(item, tuple | list) or len(item) != 2:
                raise CorpusError(f"document {number} (counted from 0) must be a pair (id, text), not {_shown(item)}")
            yield item[0], item[1]
    else:
        count, ids = 0, _ids_in_order(options.ids)
        for item in items:
            id = next(ids, _pairs)
            if id is _pairs:
                raise CorpusError(f"there are {count} ids and more documents; give one id a document")
            count += 1
            yield id, item
        if next(ids, _pairs) is not _pairs:
            raise CorpusError(f"there are more ids than the {count} documents; give one id a document")


def _ids_in_order(ids: Any) -> Iterator[Any]:
    """The ids that are given beside the documents; those of a set would come in any order."""
    if isinstance(ids, str | bytes | bytearray | Set | Mapping) or is_frame(ids) or not isinstance(ids, Iterable):
        raise CorpusError(
            "ids must be a list of ids, one a document, or True where documents are pairs of an id and a text; not of "
            f"type {type(ids).__name__}"
        )
    return iter(ids)


def _alike(pairs: Iterable[tuple[Any, Any]], in_words: bool) -> Iterator[Row]:
    """Documents that must all be texts, or all lists of words."""
    for number, (id, document) in enumerate(pairs):
        if not isinstance(document, list if in_words else str):
            wanted = "a list of words like the first" if in_words else "a string like the first"
            hint = "" if in_words else "; make it '' if it is empty"
            raise CorpusError(f"document {number} (counted from 0) must be {wanted}, not {_shown(document)}{hint}")
        if in_words:
            streams.checked_words(document, number)
        yield Row(document, {} if id is None else {"id": id}, number=number)


def _refuse_document(document: Any) -> None:
    """Refuse a first document that is no text, and say how to say what may be meant."""
    place = "document 0 (counted from 0)"
    if isinstance(document, tuple):
        raise CorpusError(
            f"{place} is a tuple, {document!r:.40}; give (id, text) pairs with ids=True, or words as a list"
        )
    if isinstance(document, Mapping):
        fields = listed(list(document))
        raise CorpusError(f"{place} is a record; say which field holds its text (text_field=NAME), one of {fields}")
    if isinstance(document, os.PathLike):
        raise CorpusError("paths come as a list of them: give list(paths)")
    if not isinstance(document, str):
        raise CorpusError(
            f"{place} must be a text or a list of words, not {_shown(document)}; make it '' if it is empty"
        )


def _like_a_path(text: Any) -> bool:
    if not isinstance(text, str) or not text or len(text) > _LONGEST_PATH or "\n" in text or "\0" in text:
        return False
    path = Path(text)
    if not any(map(str.isspace, text)) and (format_by_ending(path) or ending(path) in REFUSED):
        return True
    try:
        return ("/" in text or "\\" in text or "." in text) and path.is_file()
    except OSError:
        return False


def paths_of(source: Any) -> Sequence[str | os.PathLike[str]] | None:
    """The paths that a source is: one, or a list of `Path` objects; None where it is something else."""
    if isinstance(source, str | os.PathLike):
        return [source]
    if isinstance(source, list | tuple) and source and isinstance(source[0], os.PathLike):
        for number, path in enumerate(source):
            if not isinstance(path, os.PathLike):
                raise CorpusError(f"item {number} (counted from 0) must be a path like the first, not {_shown(path)}")
        return source
    return None


def _shown(value: object) -> str:
    return f"{type(value).__name__} {repr(value)[:40]}"


def is_frame(source: Any) -> bool:
    """Whether an object is a data frame, loaded or lazy, and no column of one."""
    package = type(source).__module__.partition(".")[0]
    if package not in _PACKAGES or package not in sys.modules:
        return False
    if hasattr(source, "to_frame") and not hasattr(source, "columns"):  # a Series
        return False
    return hasattr(source, "columns") or hasattr(source, "column_names") or hasattr(source, "collect")


def _frame_rows(source: Any, options: ReadOptions) -> Iterator[Row]:
    """The rows of a data frame; a missing cell is an empty text."""
    import narwhals.stable.v1 as narwhals

    if options.has_ids:
        raise CorpusError("ids of a data frame are one of its columns; name it: id_field=")
    kind = f"the {type(source).__module__.partition('.')[0]} {type(source).__name__}"
    try:
        frame = narwhals.from_native(source, eager_only=True)
    except TypeError:
        raise CorpusError(f"{kind}: its rows are not loaded; call .collect() on it, or .to_pandas()") from None
    except ValueError as error:  # columns of one name
        raise CorpusError(f"{kind}: {' '.join(str(error).split())[:200]}; rename columns, or drop them") from None
    there = list(frame.columns)
    if not all(isinstance(name, str) for name in there):
        raise CorpusError(f"{kind}: its columns must be named by strings; rename them")
    options.check_fields(there, kind)
    rows = enumerate(_loaded(frame.select(options.names).iter_rows(named=True), kind))
    return (make_row(options, cells, f"{kind}, row (counted from 0) ", number) for number, cells in rows)


def _loaded(rows: Iterator[Any], kind: str) -> Iterator[Any]:
    """The rows of a data frame, which may hold dates that Python has no value for."""
    try:
        yield from rows
    except (OverflowError, ValueError) as error:
        raise CorpusError(
            f"{kind}: holds a value that Python cannot hold ({' '.join(str(error).split())[:100]}); dates must be "
            "between the years 1 and 9999: correct or empty the cell, or drop the column"
        ) from None


@dataclass
class Source:
    """A corpus to be read once."""

    pieces: Iterator[bytes]  # of text in which a newline ends a document
    records: RecordBuilder | None = None  # gets what is kept of each document while it is read; None where nothing is
    meter: Meter = field(default_factory=Meter)
    name: str = "the corpus"
    # What was found out about the source and the user should know, complete when all is read
    notes: list[str] = field(default_factory=list)
    in_words: bool = False  # documents are lists of words, see `streams.word_piece`

    def texts(self) -> Iterator[str]:
        """The documents of a text source, one string each."""
        return (line[:-1].decode() for line in streams.lines(self.pieces, self.name))

    def blocks(self, size: int) -> Iterator[bytes]:
        """The text in blocks of about `size` bytes that never end inside a word."""
        return streams.blocks(self.pieces, size, self.name)

    def all(self) -> Iterator[Document]:
        """The documents, texts or lists of words."""
        return map(streams.words_of, streams.lines(self.pieces, self.name)) if self.in_words else self.texts()


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
    size: int = streams.BLOCK_SIZE,
    records_in: Path | None = None,
) -> Source:
    """Find out what `source` is, and get ready to read it `size` bytes at a time.

    Args:
        records_in: a folder for the columns that are kept of each document; None keeps nothing.
    """
    options = options or ReadOptions()
    streams.check_encoding(options.encoding)
    paths = paths_of(source)
    if options.fields_optional:
        source, options = with_optional_fields(source, paths, options)
    builder = None if records_in is None else RecordBuilder(records_in, options)
    if paths is not None:
        return _open_files(paths, options, size, builder)
    return open_documents(source, options, builder)


def open_documents(documents: Any, options: ReadOptions | None = None, records: RecordBuilder | None = None) -> Source:
    """A data frame or an iterable; without options, documents that are known to be texts, or lists of words."""
    rows, in_words = documents_of(documents, options or ReadOptions(), paths=options is None)
    meter = Meter()
    return Source(_metered(_pieces(rows, records, "document "), meter), records, meter, in_words=in_words)


def with_optional_fields(
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


def _open_files(
    paths: Sequence[str | os.PathLike[str]], options: ReadOptions, size: int, builder: RecordBuilder | None
) -> Source:
    notes: list[str] = []
    items = items_of(paths, notes)
    if options.has_ids:
        raise CorpusError("ids= is for Python objects; files have fields: name one (id_field=NAME)")
    plain = next((item for item in items if not item.format.fields and item.path != STDIN), None)
    if plain and options.wants_fields:
        tables = ", ".join(one.endings[0] for one in formats.FORMATS if one.fields and not one.one_document)
        raise CorpusError(f"{plain.path}: {options.wants_fields} needs a table such as {tables}; leave it out")
    for name, value in options.given.items():
        of = next((one for one in formats.FORMATS if name in one.options), None)
        if of is not None and all(item.format is not of and item.path != STDIN for item in items):
            notes.append(f"{items[0].path}: {name}={value!r} is for {', '.join(of.endings)} files: it has no effect")
    sizes = [item.size for item in items]
    meter = Meter(total=None if None in sizes else sum(one for one in sizes if one is not None))
    name = str(items[0].path) if len(items) == 1 else "the corpus"
    files = [(item, InputFile(item.path, item.name, options, meter, notes, size)) for item in items]
    return Source(streams.bounded(_file_pieces(files, builder), name), builder, meter, name, notes)


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
        files[0][1].notes.append(f"skipped {number_of(len(skipped), 'file')}; the first: {skipped[0]}")


def _item_pieces(item: Item, file: InputFile, builder: RecordBuilder | None) -> Iterator[bytes]:
    format = item.format
    if file.path == STDIN and file.options.wants_fields:
        text = file.text()
        beginning = next(text, b"")
        file.begun = chain([beginning] if beginning else [], text)
        sign = beginning.lstrip()[:1]
        format = next((one for one in formats.FORMATS if one.begins and sign == one.begins), CSV)
        file.notes.append(f"standard input: read as {format.name}")
    if format.read is not None:
        with guarded(file.path, format.name):
            yield from _pieces(format.read(file), builder, f"{file.path}, {format.row} ", format.untyped)
        return
    for piece in _one_line(file.text()) if item.whole else file.text():
        if builder:
            builder.add_lines(piece)
        yield piece


def _one_line(pieces: Iterable[bytes]) -> Iterator[bytes]:
    """A text that is one document, even where it is empty."""
    held = b""
    for piece in pieces:
        if held:
            yield held
        held = piece.replace(b"\n", b" ")
    yield held + b"\n"


def _pieces(rows: Iterable[Row], builder: RecordBuilder | None, place: str, untyped: bool = False) -> Iterator[bytes]:
    for row in rows:
        text = row.text
        piece = streams.text_piece(text) if isinstance(text, str) else streams.word_piece(text)
        if builder is not None:
            builder.add(row, f"{place}{row.number}", untyped)
        yield piece


def _metered(pieces: Iterable[bytes], meter: Meter) -> Iterator[bytes]:
    for piece in pieces:
        meter.done += len(piece)
        yield piece
