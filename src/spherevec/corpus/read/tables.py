"""The rows of CSV, JSON and Parquet files: a text, and whatever is kept beside it. A missing cell is an empty text."""

from __future__ import annotations

import csv
import json
import re
from codecs import iterdecode
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

from spherevec.corpus.read.guard import guarded
from spherevec.corpus.read.options import Fields, ReadOptions, listed, no_text_field
from spherevec.corpus.read.streams import Meter, lines, unchanged
from spherevec.corpus.table.field_types import is_missing
from spherevec.corpus.table.records import Row
from spherevec.errors import CorpusError, MissingExtraError, SpherevecError
from spherevec.process import LONGEST_CELL, long_csv_cells

LONGEST_RECORD = LONGEST_CELL  # bytes; what a record becomes in memory may be many times as large
DELIMITERS = {",": "comma", ";": "semicolon", "\t": "tab", "|": "bar"}
_NOT_SPACE = re.compile(r"[^ \t\n\r]")
_ROWS = 32  # of Parquet at a time: a few bytes of a file can stand for a long text in each


def jsonl_rows(json_lines: Iterable[bytes], path: Path, options: ReadOptions) -> Iterator[Row]:
    """Args: json_lines: UTF-8, each one JSON object or blank."""

    def records() -> Iterator[tuple[int, Any]]:
        for number, line in enumerate(json_lines, 1):
            if line.strip():
                yield number, _parsed(line, f"{path}, line {number}")

    return record_rows(records(), options, f"{path}, line ", str(path))


def json_rows(pieces: Iterable[bytes], path: Path, options: ReadOptions, notes: list[str]) -> Iterator[Row]:
    """A .json file: an array of objects or of texts, or JSON lines under another name.

    Args:
        pieces: UTF-8, which may end inside a character; the last ends with a newline.
    """
    source = iter(pieces)
    begun = b""
    while not begun.strip():
        piece = next(source, None)
        if piece is None:
            return iter(())
        begun += piece
    whole = chain([begun], source)
    if begun.lstrip().startswith(b"["):
        return _array_rows(iterdecode(whole, "utf-8"), path, options)
    first, *_ = begun.lstrip().split(b"\n")
    if len(first) < len(begun.lstrip()):
        try:
            json.loads(first)
        except (ValueError, RecursionError):
            raise CorpusError(
                f"{path}: neither an array of records [{{…}}, …] nor one record a line; write one of the two"
            ) from None
    notes.append(f"{path}: read as JSON lines, one record a line")
    return jsonl_rows(lines(whole, str(path), LONGEST_RECORD), path, options)


def _array_rows(chunks: Iterable[str], path: Path, options: ReadOptions) -> Iterator[Row]:
    items = enumerate(_array_items(chunks, path), 1)
    first = next(items, None)
    if first is None:
        return iter(())
    both = chain([first], items)
    if isinstance(first[1], str):
        if options.wants_fields:
            raise CorpusError(f"{path}: holds texts without fields; leave out {options.wants_fields}")
        return _plain_texts(both, path)
    return record_rows(both, options, f"{path}, record ", str(path))


def _plain_texts(items: Iterable[tuple[int, Any]], path: Path) -> Iterator[Row]:
    for number, item in items:
        yield Row(as_text(item, f"{path}, item {number}"), number=number)


def _array_items(chunks: Iterable[str], path: Path) -> Iterator[Any]:
    """The elements of a JSON array, one at a time; memory holds one of them, and what was read with it."""
    decoder = json.JSONDecoder()
    source = iter(chunks)
    held, at, ended = "", 0, False

    def skip_space() -> str:
        """Go to the next character that is no white space, and return it; '' at the end."""
        nonlocal held, at
        while True:
            match = _NOT_SPACE.search(held, at)
            if match:
                at = match.start()
                return held[at]
            held, at = "", 0
            if not more():
                return ""

    def more() -> bool:
        """Double what is held, so that a long element is parsed a few times only."""
        nonlocal held, at, ended
        parts, size = [held[at:]], 0
        while not ended and size <= len(parts[0]):
            chunk = next(source, None)
            ended = chunk is None
            parts.append(chunk or "")
            size += len(parts[-1])
        held, at = "".join(parts), 0
        if len(held) - size > LONGEST_RECORD:
            raise CorpusError(f"{path}: a record of over {LONGEST_RECORD >> 20} MB; split it")
        return size > 0

    skip_space()
    at += 1  # the opening bracket
    number = 0
    while skip_space() != "]":
        if number:
            if held[at : at + 1] != ",":
                raise CorpusError(f"{path}, record {number}: not followed by a comma or ]; the file may be cut short")
            at += 1
            skip_space()
        while True:
            try:
                item, at = decoder.raw_decode(held, at)
                break
            except (ValueError, RecursionError) as error:
                if not more():
                    reason = error.msg if isinstance(error, json.JSONDecodeError) else str(error)
                    raise CorpusError(f"{path}, record {number + 1}: not JSON ({reason}); correct it") from None
        number += 1
        yield item
    at += 1
    rest = skip_space()
    if rest:
        raise CorpusError(f"{path}: {rest!r} after the end of the array; write one array of records")


def record_rows(records: Iterable[tuple[int, Any]], options: ReadOptions, place: str, source: str) -> Iterator[Row]:
    """Rows of numbered mappings. A field that only some of them have is missing in the others.

    Args:
        place: what stands before a record's number in a message.
        source: where they come from, for messages about all of them.
    """
    unseen = {name for name in (options.title_field, *(kept.name for kept in options.kept)) if name is not None}
    keep = tuple(kept.name for kept in options.kept)
    keys: list[str] = []
    for number, record in records:
        if not isinstance(record, Mapping):
            raise CorpusError(f"{place}{number}: not a record with fields; write one {{...}} each")
        if not keys:
            keys = list(map(str, record))
            options.columns_seen.update(keys)
        name = options.text_field
        if name is None or name not in record:
            raise no_text_field(name, list(record), f"{place}{number}")
        if options.id_field is not None and options.id_field not in record:
            raise CorpusError(f"{place}{number}: no field {options.id_field!r:.60}; every document needs an id")
        if unseen:
            unseen.difference_update(record)
        text = as_text(record[name], f"{place}{number}, field {name!r}")
        id = record[options.id_field] if options.id_field is not None else None
        title = record.get(options.title_field) if options.title_field is not None else None
        yield Row(text, id, title, [record.get(one) for one in keep], number)
    if unseen and keys:
        raise CorpusError(f"{source}: no record has a field {min(unseen)!r:.60}; the first has {listed(keys)}")


def csv_rows(csv_lines: Iterable[bytes], path: Path, options: ReadOptions, notes: list[str]) -> Iterator[Row]:
    """Args: csv_lines: UTF-8 with their newlines, the first of them the header."""
    source = iter(csv_lines)
    first = next(source, None)
    if first is None:
        return
    delimiter = options.delimiter or _found_delimiter(first.decode(), path, options, notes)
    held = 0  # bytes since the last complete row: a quoted cell goes on over lines

    def decoded() -> Iterator[str]:
        nonlocal held
        for line in chain([first], source):
            held += len(line)
            if held > LONGEST_RECORD:
                raise CorpusError(f"{path}, line {rows.line_num}: a row of over {LONGEST_RECORD >> 20} MB; split it")
            yield line.decode()

    with long_csv_cells():
        rows = csv.reader(decoded(), strict=True, delimiter=delimiter)
        try:
            header = next(rows, [])
            fields = options.fields(header, str(path))
            places = [header.index(name) for name in fields.all]
            at = dict(zip(fields.all, places, strict=True))
            blank = 0  # lines since the last row: they are rows only where others follow
            for row in rows:
                held = 0
                if not row:
                    if len(header) > 1:
                        blank += 1
                        continue
                    row = [""]
                for _ in range(blank):
                    yield _csv_row([""] * len(header), fields, at, rows.line_num)
                blank = 0
                if len(row) <= max(places):
                    short = next(name for name, place in at.items() if place >= len(row))
                    raise CorpusError(
                        f"{path}, line {rows.line_num}: {len(row)} cells between {_spoken(delimiter)}, but column "
                        f"{short!r} is number {at[short] + 1}; correct the line, or say what separates cells "
                        "(delimiter=X)"
                    )
                yield _csv_row(row, fields, at, rows.line_num)
        except csv.Error as error:
            raise CorpusError(f"{path}, line {rows.line_num}: not CSV ({error}); correct the line") from None


def _csv_row(row: Sequence[str], fields: Fields, at: Mapping[str, int], line: int) -> Row:
    id = None if fields.id is None else row[at[fields.id]]
    title = None if fields.title is None else row[at[fields.title]]
    return Row(row[at[fields.text]], id, title, [row[at[name]] for name in fields.keep], line)


def _found_delimiter(header: str, path: Path, options: ReadOptions, notes: list[str]) -> str:
    """What stands between the cells: the usual thing for the ending, unless only another one gives the fields."""
    endings = [ending.lower() for ending in path.suffixes]
    usual = "\t" if ".tsv" in endings or ".tab" in endings else ","
    names = [options.text_field, options.id_field, options.title_field, *(kept.name for kept in options.kept)]
    wanted = {name for name in names if name is not None}
    try:
        headers = {one: next(csv.reader([header], delimiter=one), []) for one in DELIMITERS}
    except csv.Error as error:
        raise CorpusError(f"{path}, line 1: not CSV ({error}); correct the line") from None
    if wanted:
        fitting = [one for one in DELIMITERS if wanted <= set(headers[one])]
    else:
        fitting = [one for one in DELIMITERS if len(headers[one]) > 1]
    if usual in fitting or not fitting:
        several = [one for one in DELIMITERS if len(headers[one]) > 1]
        return several[0] if not fitting and len(headers[usual]) == 1 and len(several) == 1 else usual
    if len(fitting) > 1:
        found = ", ".join(DELIMITERS[one] for one in fitting)
        raise CorpusError(f"{path}: its cells may be separated by {found}; say which (delimiter=X)")
    notes.append(f"{path}: cells are separated by a {DELIMITERS[fitting[0]]}")
    return fitting[0]


def _spoken(delimiter: str) -> str:
    return f"{DELIMITERS[delimiter]}s" if delimiter in DELIMITERS else repr(delimiter)


def parquet_rows(path: Path, options: ReadOptions, meter: Meter) -> Iterator[Row]:
    """The rows of a Parquet file, a few at a time."""
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError:
        raise MissingExtraError("reading Parquet files", "parquet") from None
    with guarded(path):
        path.open("rb").close()  # a file that cannot be opened is no damaged one
    before = meter.done
    try:
        with unchanged(path), pyarrow.parquet.ParquetFile(path) as file:
            fields = options.fields(file.schema_arrow.names, str(path))
            rows_done = 0
            for batch in file.iter_batches(batch_size=_ROWS, columns=fields.all):
                cells = {name: batch.column(name).to_pylist() for name in fields.all}
                for i in range(len(batch)):
                    number = rows_done + i + 1
                    where = f"{path}, row {number}, column {fields.text!r}"
                    text = as_text(cells[fields.text][i], where)
                    if len(text) > LONGEST_RECORD:
                        raise CorpusError(f"{where}: longer than {LONGEST_RECORD >> 20} MB; split it into several")
                    yield Row(
                        text,
                        None if fields.id is None else cells[fields.id][i],
                        None if fields.title is None else cells[fields.title][i],
                        [cells[name][i] for name in fields.keep],
                        number,
                    )
                rows_done += len(batch)
                meter.done = before + path.stat().st_size * rows_done // max(file.metadata.num_rows, 1)
    except (SpherevecError, MemoryError, GeneratorExit):
        raise
    except Exception as error:  # of many kinds, depending on where the damage is
        reason = " ".join(str(error).split())[:200]
        raise CorpusError(f"{path}: not a valid Parquet file ({reason}); copy it again") from None


def as_text(value: Any, where: str) -> str:
    """A cell as text; nothing is an empty text, and a number is none."""
    if is_missing(value):
        return ""
    if not isinstance(value, str):
        raise CorpusError(f"{where}: holds {type(value).__name__} {str(value)[:40]!r}, not text; choose another field")
    return value


def _parsed(line: bytes, where: str) -> Any:
    try:
        return json.loads(line)
    except (ValueError, RecursionError) as error:
        reason = error.msg if isinstance(error, json.JSONDecodeError) else str(error)
        raise CorpusError(f"{where}: not JSON ({reason}); correct or remove the line") from None
