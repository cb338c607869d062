"""The table of documents while it is being read: ids, titles, the beginning of the text, and kept fields.

Columns are spilled to files as documents come, and written as one safetensors file at the end. Its layout:

    schema              JSON in UTF-8: {"rows": n, "columns": [{"role", "name", "kind"}, …]}; roles are those of
                        `spherevec.corpus.read.options`, text and field; column i of this list has the arrays `i.…`
    i.offsets, i.bytes  kind "text": where each text begins (n + 1), and all of them in UTF-8
    i.values            kind "number": float64 or int64 (n,); kind "date": int64 microseconds since 1970 (n,)
    i.codes             kind "category": int32 (n,), -1 where missing; with i.offsets, i.bytes for the categories
    sources.offsets, sources.bytes, sources.rows, sources.whole
                        where documents have no id of their own: the name of each source, the first row that came from
                        it, and whether it is one document (its name is the id) or many (the id is name:number,
                        which counts its documents from 1)
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from spherevec.corpus.read.options import ROLES, KeptField, ReadOptions
from spherevec.corpus.table.field_types import MISSING_DATE, NO_CELL, KindFinder, is_missing, python_value
from spherevec.errors import CorpusError
from spherevec.storage.text_column import TextColumn, TextWriter

TABLE_ROLES = (*ROLES, "text", "field")  # of the columns of a table, in their order
_NEWLINE = 0x0A

Arrays = Mapping[str, NDArray[Any]]
Column = tuple[str, str, str, Arrays]  # its role, its name, its kind, and its arrays


class Row(NamedTuple):
    """One document of a source: its text, or its list of words, and what is kept beside it."""

    text: str | Sequence[str]
    roles: Mapping[str, Any] = MappingProxyType({})  # its id, its title, …, where it has them
    values: Sequence[Any] = ()  # of the kept fields
    number: int = 0  # of the line or row in its source, for messages


class RecordBuilder(ExitStack):
    """Takes documents one by one, or lines of text by the block, spills columns to a folder, and writes their table."""

    def __init__(self, folder: Path, options: ReadOptions) -> None:
        super().__init__()
        self.options = options
        self._n_rows = 0
        self._taken = 0  # characters of the line that the last block of text ended in
        self._sources: list[tuple[str, int, bool]] = []

        def writer(name: str) -> TextWriter:
            return self.enter_context(TextWriter(folder, f"record-{name}"))

        self._ids = writer("id") if options.id_field is not None or options.has_ids else None
        self._roles = {role: writer(role) for role in ROLES if role != "id"}
        self._texts = writer("text") if options.keep_text else None
        self._fields = [
            (kept, writer(f"field-{i}"), KindFinder(kept.kind, options.date_format, options.decimal))
            for i, kept in enumerate(options.kept)
        ]
        # Takes a block of lines while the next one is read; ends before the columns are closed.
        self._thread = self.enter_context(ThreadPoolExecutor(1, thread_name_prefix="spherevec"))
        self._adding: Future[None] | None = None

    def begin_source(self, name: str, whole: bool = False) -> None:
        """What comes next is from this source, which is one document or many."""
        self._finish_adding()
        self._sources.append((name, self._n_rows, whole))

    def add(self, row: Row, place: str, untyped: bool = False) -> None:
        """Args: place: where the row is, for messages; untyped: its source knows no types, as CSV."""
        if self._ids is not None:
            self._ids.append(_id_text(row.roles.get("id"), self.options.id_field, place))
        for role, column in self._roles.items():
            value = row.roles.get(role)
            column.append("" if is_missing(value) else " ".join(str(value).split()))
        if self._texts is not None:
            text, title, length = row.text, row.roles.get("title"), self.options.keep_text
            if not isinstance(text, str):
                text = " ".join(text[:length])
            elif isinstance(title, str):
                text = f"{text}\n".removeprefix(f"{title}\n").lstrip()  # the title has a column of its own
            self._texts.append(" ".join(text[: 4 * length].split())[:length])
        for (kept, writer, finder), value in zip(self._fields, row.values, strict=True):
            try:
                writer.append(finder.text_of(value, untyped, f"{place}, "))
            except ValueError as error:
                raise CorpusError(f"{place}, field {kept.name!r}: {error}") from None
        self._n_rows += 1

    def add_lines(self, block: bytes) -> None:
        """Text in which a newline ends a document; a block may end anywhere."""
        self._finish_adding()
        self._adding = self._thread.submit(self._add_lines, block)

    def _finish_adding(self) -> None:
        adding, self._adding = self._adding, None
        if adding is not None:
            adding.result()

    def _add_lines(self, block: bytes) -> None:
        data = np.frombuffer(block, np.uint8)
        newlines = np.flatnonzero(data == _NEWLINE)
        ends = np.empty(len(newlines), np.int64)
        if self._texts is not None:
            from spherevec.storage.text_kernel import line_beginnings

            out = np.empty(len(data), np.uint8)
            filled, self._taken = line_beginnings(data, newlines, self.options.keep_text, self._taken, out, ends)
            self._texts.extend(out[:filled], ends)
        for column in self._roles.values():
            column.extend(np.zeros(0, np.uint8), np.zeros(len(ends), np.int64))
        self._n_rows += len(ends)

    def write(self, path: Path) -> tuple[list[str], list[str]]:
        """Write the table; returns the kept fields with their kinds, and what looks wrong with them."""
        from spherevec.storage.tensors import write_tensors

        self._finish_adding()
        columns: list[Column] = []
        if self._ids is not None:
            ids = self._ids.column()
            _check_unique(ids, f"field {self.options.id_field!r}" if self.options.id_field else "ids")
            columns.append(("id", self.options.id_field or "id", "text", text_arrays(ids)))
        for role, column in self._roles.items():
            if column.n_bytes:
                columns.append((role, self.options.roles.get(role, role), "text", text_arrays(column.column())))
        if self._texts is not None:
            columns.append(("text", "text", "text", text_arrays(self._texts.column())))
        fields, warnings = [], []
        for kept, writer, finder in self._fields:
            cells = writer.column()
            try:
                columns.append(("field", kept.name, finder.kind, _typed(cells, finder)))
            except ValueError as error:
                raise CorpusError(f"{finder.example_at}field {kept.name!r}: {error}") from None
            fields.append(f"{kept.name} ({finder})")
            doubt = finder.doubt(cells)
            warnings += [f"field {kept.name!r} {doubt} (keep {kept.name}:text)"] if doubt else []
        kinds = [kind for role, _, kind, _ in columns if role == "field"]
        form = self.options.date_format
        if form is not None and kinds and "date" not in kinds and all(finder.n_filled for *_, finder in self._fields):
            names = ", ".join(kept.name for kept in self.options.kept)
            raise CorpusError(
                f"date_format '{form:.40}' fits no field that is kept ({names}); correct it, leave it out, or say "
                f"which field holds dates (keep='{self.options.kept[0].name}:date')"
            )
        sources = {} if self._ids is not None else source_arrays(self._sources)
        write_tensors(path, table_of(self._n_rows, columns, sources))
        return fields, warnings


def table_of(n_rows: int, columns: Sequence[Column], sources: Arrays = MappingProxyType({})) -> dict[str, NDArray[Any]]:
    """The arrays of a table, with those that say where documents without ids come from."""
    schema = [{"role": role, "name": name, "kind": kind} for role, name, kind, _ in columns]
    arrays = {f"{at}.{part}": array for at, (*_, own) in enumerate(columns) for part, array in own.items()}
    return {"schema": schema_array(n_rows, schema), **sources, **arrays}


def schema_array(n_rows: int, columns: Sequence[dict[str, str]]) -> NDArray[np.uint8]:
    """The description of a table as an array of bytes."""
    return np.frombuffer(json.dumps({"rows": n_rows, "columns": list(columns)}).encode(), np.uint8)


def schema_of(columns: Mapping[str, NDArray[Any]]) -> dict[str, Any]:
    """What `schema_array` wrote."""
    return dict(json.loads(columns["schema"].tobytes()))


def text_arrays(column: TextColumn) -> dict[str, NDArray[Any]]:
    return {"offsets": column.offsets, "bytes": column.arena}


def source_arrays(sources: Sequence[tuple[str, int, bool]]) -> dict[str, NDArray[Any]]:
    """The names of sources, their first rows and whether each is one document; none of a single file of many."""
    if not sources or (len(sources) == 1 and not sources[0][2]):
        return {}
    names, rows, whole = zip(*sources, strict=True)
    return {
        **{f"sources.{part}": array for part, array in text_arrays(TextColumn.of(names)).items()},
        "sources.rows": np.array(rows, np.int64),
        "sources.whole": np.array(whole, np.uint8),
    }


def _check_unique(ids: TextColumn, source: str) -> None:
    twins = ids.first_duplicate()
    if twins:
        first, second = twins
        raise CorpusError(
            f"{source}: {ids[second]!r:.60} is the id of two documents, {first} and {second} (counted from 0); "
            "ids must be unique: choose another field, or remove one of the two"
        )


def category_arrays(cells: Iterable[str]) -> dict[str, NDArray[Any]]:
    """Cells as numbers of their sorted names, -1 for an empty one, and these names."""
    met: dict[str, int] = {}
    numbers = np.fromiter((met.setdefault(cell, len(met)) for cell in cells), np.int32)
    names = sorted(name for name in met if name)
    codes = np.full(len(met), -1, np.int32)
    codes[[met[name] for name in names]] = np.arange(len(names), dtype=np.int32)
    return {"codes": codes[numbers], **text_arrays(TextColumn.of(names))}


def _id_text(value: Any, name: str | None, place: str) -> str:
    value = python_value(value)
    if is_missing(value) or (isinstance(value, str) and not value):
        what = f"field {name!r} is empty" if name else "it has no id"
        raise CorpusError(f"{place}: {what}; every document needs an id: fill it in, or leave out the ids")
    if isinstance(value, float) and value.is_integer():  # what pandas makes of whole numbers beside missing ones
        return str(int(value))
    if isinstance(value, (bool, float, *NO_CELL)):
        shown = " ".join(repr(value).split())
        raise CorpusError(f"{place}: {shown:.40} is not a valid id; ids are texts or whole numbers")
    return str(value)


def _typed(raw: TextColumn, finder: KindFinder) -> dict[str, NDArray[Any]]:
    """A column of text as the arrays of its kind."""
    kind = finder.kind
    if kind == "text":
        return text_arrays(raw)
    if kind == "category":
        return category_arrays(raw)
    if kind == "date":
        dates: Iterator[Any] = (finder.date(cell) if cell else MISSING_DATE for cell in raw)
        return {"values": np.fromiter(dates, np.int64, len(raw))}
    whole = finder.whole and finder.n_filled == len(raw)
    numbers: Iterator[Any] = (finder.number(cell) if cell else np.nan for cell in raw)
    return {"values": np.fromiter(numbers, np.int64 if whole else np.float64, len(raw))}


def column_arrays(table: Arrays, number: int) -> dict[str, NDArray[Any]]:
    """The arrays of one column."""
    return {key.partition(".")[2]: array for key, array in table.items() if key.startswith(f"{number}.")}


def take_rows(table: Arrays, rows: NDArray[np.int64]) -> dict[str, NDArray[Any]]:
    """Some rows of a table, in the order given, without their ids."""
    taken: list[Column] = []
    for number, one in enumerate(schema_of(table)["columns"]):
        if one["role"] == "id":
            continue
        arrays = column_arrays(table, number)
        if one["kind"] == "text":
            texts = TextColumn(arrays["offsets"], arrays["bytes"])
            arrays = text_arrays(TextColumn.of(texts[int(row)] for row in rows))
        else:
            arrays |= {part: array[rows] for part, array in arrays.items() if part in ("codes", "values")}
        taken.append((one["role"], one["name"], one["kind"], arrays))
    return table_of(len(rows), taken)


def joined_columns(
    tables: Sequence[tuple[int, Arrays]], keep: Sequence[KeptField] = (), ids: TextColumn | None = None
) -> dict[str, NDArray[Any]]:
    """Several tables of documents, each with its number of rows, as one.

    A column that some tables do not have is missing there.

    Args:
        keep: the kinds of kept fields, where they are known; one of no kind is found out again.
        ids: of all documents, where the tables have none.
    """
    declared = {kept.name: kept.kind for kept in keep}
    known = [(rows, table, schema_of(table)["columns"]) for rows, table in tables if "schema" in table]
    names: dict[tuple[str, str], str] = {}
    for one in (one for _, _, described in known for one in described):
        names.setdefault(_column_key(one), one["name"])
    joined: list[Column] = []
    for role, key in sorted(names, key=lambda one: TABLE_ROLES.index(one[0])):
        parts: list[tuple[int, str, Arrays]] = []
        for rows, table, described in known:
            at = next((number for number, one in enumerate(described) if _column_key(one) == (role, key)), None)
            own, kind = ({}, "missing") if at is None else (column_arrays(table, at), described[at]["kind"])
            parts.append((rows, "missing" if kind == "text" and not len(own["bytes"]) else kind, own))
        name = names[role, key]
        kind, arrays = _joined(name, declared.get(name, "text") if role == "field" else "text", parts)
        joined.append((role, name, kind, arrays))
        if role == "id":
            _check_unique(TextColumn(arrays["offsets"], arrays["bytes"]), f"field {name!r}")
    if ids is not None:
        joined.append(("id", "id", "text", text_arrays(ids)))
    return table_of(sum(rows for rows, _ in tables), joined)


def _column_key(column: Mapping[str, str]) -> tuple[str, str]:
    """What columns of several tables are matched by: fields by their names, others by their roles alone."""
    return column["role"], column["name"] if column["role"] == "field" else ""


def _joined(
    name: str, declared: str | None, parts: Sequence[tuple[int, str, Arrays]]
) -> tuple[str, dict[str, NDArray[Any]]]:
    """One column: its kind, as if it had been read at once, and its arrays.

    Args:
        declared: the kind, where it is known.
        parts: rows, kind and arrays of each part.
    """
    kinds = {kind for _, kind, _ in parts} - {"missing"}
    if declared == "text" or kinds <= {"text", "category"}:
        texts = [_texts(rows, kind, arrays) for rows, kind, arrays in parts]
        finder = KindFinder(declared)
        cells = [finder.text_of(text, False) for column in texts for text in column] if declared != "text" else []
        if finder.kind == "category":
            return "category", category_arrays(cells)
        return "text", text_arrays(TextColumn.joined(texts))
    if len(kinds) > 1:
        found_kinds = " and ".join(sorted(kinds))
        raise CorpusError(
            f"field {name!r}: looks like {found_kinds} in different files; say its kind: keep {name}:text"
        )
    kind = kinds.pop()
    missing: Any = MISSING_DATE if kind == "date" else np.nan
    values = [np.full(rows, missing) if own_kind != kind else arrays["values"] for rows, own_kind, arrays in parts]
    return kind, {"values": np.concatenate(values)}


def _texts(rows: int, kind: str, arrays: Arrays) -> TextColumn:
    """The cells of a column as text, empty where they are missing."""
    if kind == "missing":
        return TextColumn(np.zeros(rows + 1, np.int64), np.zeros(0, np.uint8))
    if kind in ("number", "date"):
        values = arrays["values"].view("datetime64[us]") if kind == "date" else arrays["values"]
        return TextColumn.of("" if cell is None else str(cell) for cell in map(plain_cell, values))
    column = TextColumn(arrays["offsets"], arrays["bytes"])
    if kind == "category":
        names = [*column, ""]
        return TextColumn.of(names[code] for code in arrays["codes"].tolist())
    return column


def plain_cell(cell: Any) -> Any:
    """A cell for JSON: dates in ISO 8601, missing ones as None."""
    if isinstance(cell, np.datetime64):
        if np.isnat(cell):
            return None
        text = str(cell.astype("datetime64[s]") if cell == cell.astype("datetime64[s]") else cell)
        return text.removesuffix("T00:00:00")
    if isinstance(cell, np.generic):
        cell = cell.item()
    if isinstance(cell, float) and cell != cell:
        return None
    return cell if cell != "" else None
