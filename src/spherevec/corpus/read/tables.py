"""The rows of tables (CSV, JSON, Parquet, spreadsheets): a text, and what is kept beside it.

A missing cell is an empty text.
"""

from __future__ import annotations

import csv
import json
import os
import re
import subprocess
import sys
import tempfile
from codecs import iterdecode
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import replace
from datetime import datetime
from importlib.util import find_spec
from inspect import getsource
from itertools import chain, repeat
from pathlib import Path
from typing import Any

from spherevec.corpus.read.options import ReadOptions, listed, no_text_field
from spherevec.corpus.read.streams import DecompressionLimit, InputFile, UnreadableError, newlines_in, unchanged
from spherevec.corpus.table.field_types import NO_CELL, is_missing, python_value, written
from spherevec.corpus.table.records import Row
from spherevec.errors import CorpusError, MissingExtraError, import_extra
from spherevec.process import LONGEST_CELL, long_csv_cells
from spherevec.terminal import number_of

LONGEST_RECORD = LONGEST_CELL  # bytes; what a record becomes in memory may be many times as large
DELIMITERS = {",": "comma", ";": "semicolon", "\t": "tab", "|": "bar"}
_SEPARATOR_LINE = re.compile(rb'"?sep=([^\r\n])"?\r?\n')  # what Excel may write before the header
_SPACE = re.compile(r"[ \t\n\r]*")
# Of Parquet, where a few bytes of a file can stand for a long value in each row: rows at a time, how often a batch of
# them may hold the bytes of the file, and what a batch of a small file may hold.
_ROWS, _MOST_UNPACKED, _SMALL_BATCH = 32, 512, 1 << 25
# Bytes of memory and seconds of processor time that reading the smallest spreadsheet may take.
_SHEET_MEMORY, _SHEET_SECONDS = 2 << 30, 5


def jsonl_rows(file: InputFile, first: int = 1) -> Iterator[Row]:
    """JSON lines: one object a line; blank lines are left out. `first` is the number of the first line."""

    def records() -> Iterator[tuple[int, Any]]:
        for number, line in enumerate(file.lines(LONGEST_RECORD), first):
            if line.strip():
                try:
                    yield number, json.loads(line)
                except (ValueError, RecursionError) as error:
                    place = f"{file.path}, line {number}"
                    raise CorpusError(f"{place}: not JSON ({_reason(error)}); correct or remove the line") from None

    return record_rows(records(), file.options, f"{file.path}, line ", str(file.path))


def _reason(error: Exception) -> str:
    return error.msg if isinstance(error, json.JSONDecodeError) else str(error)


def json_rows(file: InputFile) -> Iterator[Row]:
    """A .json file: an array of objects or of texts, or JSON lines under another name."""
    path, source = file.path, file.text()
    line = 1
    for begun in source:
        if begun.strip():
            break
        line += newlines_in(begun)
    else:
        return iter(())
    whole = chain([begun], source)
    if begun.lstrip().startswith(b"["):
        return _array_rows(iterdecode(whole, "utf-8"), path, file.options)
    first, *_ = begun.lstrip().split(b"\n")
    if len(first) < len(begun.lstrip()):
        try:
            json.loads(first)
        except (ValueError, RecursionError):
            raise CorpusError(
                f"{path}: neither an array of records [{{…}}, …] nor one record a line; write one of the two"
            ) from None
    file.notes.append(f"{path}: read as JSON lines, one record a line")
    return jsonl_rows(replace(file, begun=whole), line)


def _array_rows(chunks: Iterable[str], path: Path, options: ReadOptions) -> Iterator[Row]:
    items = enumerate(_array_items(chunks, path), 1)
    first = next(items, None)
    if first is None:
        return iter(())
    both = chain([first], items)
    if isinstance(first[1], str):
        if options.wants_fields:
            raise CorpusError(f"{path}: holds texts without fields; leave out {options.wants_fields}")
        text = ReadOptions(text_field="text")
        return (make_row(text, {"text": item}, f"{path}, item ", number) for number, item in both)
    return record_rows(both, options, f"{path}, record ", str(path))


def _array_items(chunks: Iterable[str], path: Path) -> Iterator[Any]:
    """The elements of a JSON array, one at a time; memory holds one of them, and what was read with it."""
    decoder = json.JSONDecoder()
    source = iter(chunks)
    held, at, ended = "", 0, False

    def skip_space() -> str:
        """Go to the next character that is no white space, and return it; '' at the end."""
        nonlocal at
        while (space := _SPACE.match(held, at)) and (at := space.end()) == len(held) and more():
            pass
        return held[at : at + 1]

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
                    raise CorpusError(f"{path}, record {number + 1}: not JSON ({_reason(error)}); correct it") from None
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
    text, id_field = options.text_fields[:1], options.id_field
    unseen = set(options.names) - {*text, id_field}
    keys: list[str] = []
    for number, record in records:
        if not isinstance(record, Mapping):
            raise CorpusError(f"{place}{number}: not a record with fields; write one {{...}} each")
        if not keys:
            keys = list(map(str, record))
            options.columns_seen.update(keys)
        if not text or text[0] not in record:
            raise no_text_field(text[0] if text else None, list(record), f"{place}{number}")
        if id_field is not None and id_field not in record:
            raise CorpusError(f"{place}{number}: no field {id_field!r:.60}; every document needs an id")
        if unseen:
            unseen.difference_update(record)
        yield make_row(options, record, place, number)
    if unseen and keys:
        raise CorpusError(f"{source}: no record has a field {min(unseen)!r:.60}; the first has {listed(keys)}")


def make_row(options: ReadOptions, cells: Mapping[str, Any], where: str, number: int, text: str | None = None) -> Row:
    """A document from its cells by their names; those that are not there are missing.

    A title is part of the text, so that it is searched and learned from.

    Args:
        where: the source of the cells, for messages.
        text: where it is known without a field.
    """
    roles = {role: python_value(cells.get(name)) for role, name in options.roles.items()}
    if text is None:
        parts = [_text_cell(cells.get(name), where, number, name) for name in options.text_fields]
        title, name = roles.get("title"), options.title_field
        if name not in options.text_fields and not is_missing(title):
            if isinstance(title, NO_CELL):
                raise _no_text(title, where, number, name)
            parts.insert(0, str(title))
        text = "\n".join(filter(None, parts))
    return Row(text, roles, [cells.get(kept.name) for kept in options.kept], number)


def _text_cell(value: Any, where: str, number: int, name: str) -> str:
    """A cell as text; nothing is an empty text, and a number is none."""
    if isinstance(value, str):
        return value
    if is_missing(python_value(value)):
        return ""
    raise _no_text(value, where, number, name)


def _no_text(value: Any, where: str, number: int, name: str | None) -> CorpusError:
    return CorpusError(
        f"{where}{number}, field {name!r:.60}: holds {type(value).__name__} {str(value)[:40]!r}, not text; choose "
        "another field"
    )


def csv_rows(file: InputFile) -> Iterator[Row]:
    """A table of cells, the first line of which names its columns; Excel may write what separates them before it."""
    path, options = file.path, file.options
    source = file.lines(LONGEST_RECORD)
    first, before = next(source, None), 0
    told = None if first is None else _SEPARATOR_LINE.match(first)
    if told:
        first, before = next(source, None), 1
    if first is None:
        return
    delimiter = options.delimiter or (told[1].decode() if told else _found_delimiter(first.decode(), file))
    held, begun = 0, 1 + before  # bytes since the last complete row, and its line: a quoted cell goes on over lines

    def decoded() -> Iterator[str]:
        nonlocal held
        for line in chain([first], source):
            held += len(line)
            if held > LONGEST_RECORD:
                raise CorpusError(f"{path}, line {begun}: a row of over {LONGEST_RECORD >> 20} MB; split it")
            if held > csv.field_size_limit():
                long_cells.enter_context(long_csv_cells())
            yield line.decode()

    def number() -> int:
        return rows.line_num + before

    with ExitStack() as long_cells:  # empty whenever a row is given away: nobody else reads by our limit
        rows = csv.reader(decoded(), strict=True, delimiter=delimiter)
        try:
            header = next(rows, [])
            options.check_fields(header, str(path))
            places, begun = [(name, header.index(name)) for name in options.names], number() + 1
            empty = dict.fromkeys(options.names, "")
            blank = odd = 0  # lines since the last row, which are rows only where others follow; rows of another length
            for row in rows:
                held, begun = 0, number() + 1
                if not row and len(header) > 1:
                    blank += 1
                    continue
                long_cells.close()
                if blank:
                    yield from repeat(make_row(options, empty, f"{path}, line ", number()), blank)
                    blank = 0
                if len(row) != len(header) and (row or len(header) > 1) and any(row[len(header) :] or [True]):
                    odd += 1
                    if options.ragged == "error":
                        begins = ", ".join(f"{cell!r:.30}" for cell in row[:3])
                        raise CorpusError(
                            f"{path}, line {number()}: {len(row)} cells, but the header has {len(header)}; it begins "
                            f"with {begins}. Quote cells that hold what separates them (delimiter=X), or choose "
                            "ragged='skip' or ragged='pad'"
                        )
                    if options.ragged == "skip":
                        continue
                cells = {name: row[place] if place < len(row) else "" for name, place in places}
                yield make_row(options, cells, f"{path}, line ", number())
            if odd:
                done = "skipped" if options.ragged == "skip" else "padded or cut"
                file.notes.append(f"{path}: {done} {number_of(odd, 'row')} with more or fewer cells than the header")
        except csv.Error as error:
            hint = "is a quote never closed?" if "end of data" in str(error) else "correct the line"
            raise CorpusError(f"{path}, line {begun}: not CSV ({error}); {hint}") from None


def _found_delimiter(header: str, file: InputFile) -> str:
    """What stands between the cells: the usual thing for the ending, unless only another one gives the fields."""
    path = file.path
    endings = [ending.lower() for ending in path.suffixes]
    usual = "\t" if ".tsv" in endings or ".tab" in endings else ","
    wanted = set(file.options.names)
    try:
        with long_csv_cells():  # where another delimiter is meant, the line is one cell
            headers = {one: next(csv.reader([header], delimiter=one), []) for one in DELIMITERS}
    except csv.Error as error:
        raise CorpusError(f"{path}, line 1: not CSV ({error}); correct the line") from None
    several = [one for one in DELIMITERS if len(headers[one]) > 1]
    fitting = [one for one in DELIMITERS if wanted <= set(headers[one])] if wanted else several
    if usual in fitting or not fitting:
        return several[0] if not fitting and len(headers[usual]) == 1 and len(several) == 1 else usual
    if len(fitting) > 1:
        found = ", ".join(DELIMITERS[one] for one in fitting)
        raise CorpusError(f"{path}: its cells may be separated by {found}; say which (delimiter=X)")
    file.notes.append(f"{path}: cells are separated by a {DELIMITERS[fitting[0]]}")
    return fitting[0]


def parquet_rows(file: InputFile) -> Iterator[Row]:
    """The rows of a Parquet file, a few at a time."""
    path, meter, options = file.path, file.meter, file.options
    parquet = import_extra("pyarrow.parquet", "reading Parquet files", "parquet")
    path.open("rb").close()  # a file that cannot be opened is no damaged one
    before, number = meter.done, 0
    try:
        with unchanged(path), parquet.ParquetFile(path) as table:
            options.check_fields(table.schema_arrow.names, str(path))
            _check_time_zones(table.schema_arrow, options.names, path)
            size, limit = path.stat().st_size, DecompressionLimit(path)
            groups = [table.metadata.row_group(i).total_byte_size for i in range(table.metadata.num_row_groups)]
            DecompressionLimit(path).add(sum(groups), size)
            # A value is no longer than its group.
            rows = min(_ROWS, max(1, max(_SMALL_BATCH, _MOST_UNPACKED * size) // max(1, *groups)))
            for batch in table.iter_batches(batch_size=rows, columns=options.names):
                # A column that is a dictionary holds each value once.
                full = (one.dictionary_decode() if hasattr(one, "dictionary_decode") else one for one in batch.columns)
                limit.add(sum(one.nbytes for one in full), size)
                for cells in batch.to_pylist():
                    number += 1
                    row = make_row(options, cells, f"{path}, row ", number)
                    if len(row.text) > LONGEST_RECORD:
                        raise CorpusError(f"{path}, row {number}: longer than {LONGEST_RECORD >> 20} MB; split it")
                    yield row
                meter.done = before + size * number // max(table.metadata.num_rows, 1)
    except OSError as error:  # what pyarrow raises of damaged files, too
        raise ValueError(error) from None


def _check_time_zones(schema: Any, names: Iterable[str], path: Path) -> None:
    """Refuse a column whose time zone is not known here: which zones are known depends on the machine."""
    import pyarrow

    for name, kind in ((name, schema.field(name).type) for name in names):
        if zone := getattr(kind, "tz", None):
            try:
                pyarrow.array([0], kind).to_pylist()
            except Exception:  # of several kinds, by what is installed
                raise CorpusError(
                    f"{path}, field {name!r:.60}: the time zone {zone!r:.60} is not known here; install tzdata (pip "
                    "install tzdata), or convert the column to UTC"
                ) from None


def sheet_rows(file: InputFile) -> Iterator[Row]:
    """The rows of one sheet, the first of which names its columns; empty rows are left out.

    They are read by a process of their own: the native reader may ask for any amount of memory.
    """
    path, options = file.path, file.options
    if find_spec("python_calamine") is None:
        raise MissingExtraError("reading spreadsheets", "sheets")
    path.open("rb").close()  # a file that cannot be opened is no damaged one
    with unchanged(path):
        rows = _sheet_cells(file)
        sheets: list[str] = next(rows, [])
        if not sheets:
            raise UnreadableError(f"{path}: holds no sheet; save it again with one")
        wanted = sheets[0] if options.sheet is None else options.sheet
        if wanted not in sheets:
            raise CorpusError(f"{path}: holds no sheet named {wanted!r:.60}; choose sheet=NAME among {listed(sheets)}")
        if options.sheet is None and len(sheets) > 1:
            others = listed(sheets[1:])
            file.notes.append(f"{path}: read its first sheet, {wanted!r:.60}, not {others}; name another to read it")
        header = [written(cell) for cell in next(rows, [])]
        if not header:
            return
        options.check_fields(header, str(path))
        places = [(name, header.index(name)) for name in options.names]
        for number, row in enumerate(rows, 2):
            if any(cell != "" for cell in row):
                cells = {name: row[place] for name, place in places}
                cells |= {name: written(cells[name]) for name in options.text_fields}
                yield make_row(options, cells, f"{path}, row ", number)


def _print_sheet(path: str, sheet: str, memory: int, seconds: int) -> None:
    """Print the names of the sheets, then the rows of the one that is wanted, the first for '', as JSON lines.

    The source of this function runs in a process of its own, within limits of memory and processor time: a spreadsheet
    of a few bytes can stand for billions of cells, and the native reader ends its process where memory does, and never
    where the cells of an .ods file break off.
    """
    import json
    import sys
    from datetime import date, timedelta

    try:
        import resource  # not on Windows
    except ImportError:
        pass
    else:
        resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
        resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
    import python_calamine

    def typed(value):  # type: ignore[no-untyped-def]
        """Dates are told from text; times of day and durations are text."""
        if isinstance(value, timedelta):
            return str(value)
        return {"date": value.isoformat()} if isinstance(value, date) else value.isoformat()

    book = python_calamine.load_workbook(path)
    sys.stdout.write(json.dumps(book.sheet_names) + "\n")
    if book.sheet_names and (not sheet or sheet in book.sheet_names):
        for row in book.get_sheet_by_name(sheet or book.sheet_names[0]).iter_rows():
            sys.stdout.write(json.dumps(row, default=typed) + "\n")


def _sheet_cells(file: InputFile) -> Iterator[Any]:
    """What the process prints: the names of the sheets, then lists of cells."""
    path, size = file.path, file.path.stat().st_size
    limit = DecompressionLimit(path)
    code = f"import sys\n{getsource(_print_sheet)}\n_print_sheet(*sys.argv[1:3], *map(int, sys.argv[3:]))"
    limits = (str(_SHEET_MEMORY + 100 * size), str(_SHEET_SECONDS + (size >> 18)))
    command = [sys.executable, "-P", "-c", code, str(path.absolute()), file.options.sheet or "", *limits]
    # Errors go to a file: they may quote long cells, and a pipe that nobody reads would stop the process.
    with (
        tempfile.TemporaryFile() as errors,
        subprocess.Popen(command, stdout=subprocess.PIPE, stderr=errors) as process,
    ):
        assert process.stdout is not None
        try:
            while line := process.stdout.readline(LONGEST_RECORD + 1):
                if len(line) > LONGEST_RECORD:
                    raise CorpusError(f"{path}: a row of over {LONGEST_RECORD >> 20} MB; split it")
                limit.add(len(line), size)
                yield json.loads(line, object_hook=lambda cell: datetime.fromisoformat(cell["date"]))
            status = process.wait()
            errors.seek(max(0, errors.seek(0, os.SEEK_END) - (1 << 20)))
            last = errors.read().decode(errors="replace").strip().rpartition("\n")[2]
            if status < 0 or "MemoryError" in last:  # a limit has ended it
                raise UnreadableError(
                    f"{path}: needs more memory or time than its size allows; remove cells that lie far from the "
                    "table, or save the sheet as .csv"
                )
            if status:
                raise UnreadableError(f"{path}: not a valid spreadsheet ({last[:200]}); copy it again")
        finally:
            process.kill()
    file.meter.done += size
