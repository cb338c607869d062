"""The text column of JSONL, CSV and Parquet files, as one string a document; a missing cell is an empty document."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from spherevec.corpus.streams import Meter, readable, unchanged
from spherevec.errors import CorpusError, MissingExtraError, SpherevecError
from spherevec.process import LONGEST_CELL, long_csv_cells

ENDINGS = (".jsonl", ".csv", ".parquet")
LONGEST_RECORD = LONGEST_CELL  # bytes; what a record becomes in memory may be many times as large
_ROWS = 32  # of Parquet at a time: a few bytes of a file can stand for a long text in each
_NAMES_SHOWN = 20


def jsonl_documents(lines: Iterable[bytes], path: Path, field: str | None) -> Iterator[str]:
    """Args: lines: UTF-8, each one JSON object or blank; field: the key of the text."""
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        where = f"{path}, line {number}"
        try:
            record = json.loads(line)
        except (ValueError, RecursionError) as error:
            reason = error.msg if isinstance(error, json.JSONDecodeError) else str(error)
            raise CorpusError(f"{where}: not JSON ({reason}); correct or remove the line") from None
        if not isinstance(record, dict):
            raise CorpusError(f"{where}: not a JSON object with fields; write one {{...}} a line")
        name = _chosen(field, list(record), where)
        yield _as_text(record[name], f"{where}, field {name!r}")


def csv_documents(lines: Iterable[bytes], path: Path, field: str | None) -> Iterator[str]:
    """Args: lines: UTF-8 with their newlines, the first of them the header; field: the column of the text."""
    held = 0  # bytes since the last complete row: a quoted cell goes on over lines

    def decoded() -> Iterator[str]:
        nonlocal held
        for line in lines:
            held += len(line)
            if held > LONGEST_RECORD:
                raise CorpusError(f"{path}, line {rows.line_num}: a row of over {LONGEST_RECORD >> 20} MB; split it")
            yield line.decode()

    rows = csv.reader(decoded(), strict=True)
    try:
        with long_csv_cells():
            header = next(rows, [])
            column = header.index(_chosen(field, header, str(path)))
            for row in rows:
                if row and len(row) <= column:
                    raise CorpusError(
                        f"{path}, line {rows.line_num}: {len(row)} fields, but column {field!r} is number "
                        f"{column + 1}; correct the line"
                    )
                held = 0
                if row:
                    yield row[column]
    except csv.Error as error:
        raise CorpusError(f"{path}, line {rows.line_num}: not CSV ({error}); correct the line") from None


def parquet_documents(path: Path, field: str | None, meter: Meter) -> Iterator[str]:
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError:
        raise MissingExtraError("reading Parquet files", "parquet") from None
    with readable(path):
        path.open("rb").close()  # a file that cannot be opened is no damaged one
    try:
        with unchanged(path), pyarrow.parquet.ParquetFile(path) as file:
            name = _chosen(field, file.schema_arrow.names, str(path))
            rows_done = 0
            for batch in file.iter_batches(batch_size=_ROWS, columns=[name]):
                for row, value in enumerate(batch.column(0).to_pylist(), rows_done + 1):
                    where = f"{path}, row {row}, column {name!r}"
                    text = _as_text(value, where)
                    if len(text) > LONGEST_RECORD:
                        raise CorpusError(f"{where}: longer than {LONGEST_RECORD >> 20} MB; split it into several")
                    yield text
                rows_done += len(batch)
                meter.done = (meter.total or 0) * rows_done // max(file.metadata.num_rows, 1)
    except (SpherevecError, MemoryError, GeneratorExit):
        raise
    except Exception as error:  # of many kinds, depending on where the damage is
        reason = " ".join(str(error).split())[:200]
        raise CorpusError(f"{path}: not a valid Parquet file ({reason}); copy it again") from None


def _chosen(field: str | None, there: Sequence[str], where: str) -> str:
    if field is None:
        raise CorpusError(f"{where}: say which field holds the text (--text-field NAME); there are {_listed(there)}")
    if field not in there:
        raise CorpusError(f"{where}: no field {field!r}; choose --text-field NAME among {_listed(there)}")
    return field


def _listed(names: Sequence[str]) -> str:
    shown = ", ".join(f"{name!r:.60}" for name in names[:_NAMES_SHOWN]) or "none"
    return shown if len(names) <= _NAMES_SHOWN else f"{shown} and {len(names) - _NAMES_SHOWN} more"


def _as_text(value: Any, where: str) -> str:
    if value is None or value != value:  # NaN is what pandas writes for a missing text
        return ""
    if not isinstance(value, str):
        raise CorpusError(f"{where}: holds {type(value).__name__} {str(value)[:40]!r}, not text; choose another field")
    return value
