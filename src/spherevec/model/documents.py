"""The table of documents: ids, titles, the beginning of each text and kept fields, typed and memory-mapped."""

from __future__ import annotations

import json
import math
import operator
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property, reduce
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from spherevec.corpus.read.options import KINDS, ROLES, KeptField, listed
from spherevec.corpus.table.field_types import MISSING_DATE, as_microseconds, as_number, iso_date
from spherevec.corpus.table.records import (
    TABLE_ROLES,
    column_arrays,
    joined_columns,
    plain_cell,
    table_of,
    take_rows,
    text_arrays,
)
from spherevec.errors import ConfigError, FormatError, SpherevecError, import_extra
from spherevec.storage.tensors import read_tensors, write_tensors
from spherevec.storage.text_column import TextColumn, Texts
from spherevec.terminal import number_of

Rows = NDArray[np.int64]

TITLE_LENGTH = 80
_MANY_ROWS = 1000
_TOO_LONG = 10**1000  # Python itself writes no number of over 4,300 digits
_PERIODS = {4: "Y", 6: "Y", 7: "M", 10: "D"}  # by the length of a date: 2024, 2024.0, 2024-11, 2024-11-30
# The arrays of each kind of column, and their types; the first has the rows.
_ARRAYS: Mapping[str, Mapping[str, tuple[str, ...]]] = {
    "text": {"offsets": ("<i8",), "bytes": ("u1",)},
    "number": {"values": ("<i8", "<f8")},
    "date": {"values": ("<i8",)},
    "category": {"codes": ("<i4",), "offsets": ("<i8",), "bytes": ("u1",)},
}
_COMPARISONS: Mapping[str, Callable[[Any, Any], Any]] = {
    "<=": operator.le,
    ">=": operator.ge,
    "!=": operator.ne,
    "<": operator.lt,
    ">": operator.gt,
}


class UnknownDocumentError(SpherevecError, KeyError):
    """An id that no document has."""

    def __str__(self) -> str:
        return str(self.args[0])


class ImplicitIds(Texts):
    """Ids of documents that have none of their own.

    They are `name` of a source that is one document (`whole`), `name:number` of others, which counts the documents of
    the source from 1, and without sources positions.
    """

    def __init__(self, tensors: Mapping[str, NDArray[Any]], n_rows: int) -> None:
        self._n_rows, self._names = n_rows, TextColumn.of([])
        if "sources.rows" in tensors:
            self._names = TextColumn(tensors["sources.offsets"], tensors["sources.bytes"])
            self._first_rows, self._whole = tensors["sources.rows"], tensors["sources.whole"]
            rows = self._first_rows
            if not len(self._names) == len(rows) == len(self._whole) or (len(rows) and rows[0] != 0):
                raise FormatError("its sources do not fit each other; copy it again")

    def __len__(self) -> int:
        return self._n_rows

    def _text(self, row: int) -> str:
        if not len(self._names):
            return str(row)
        source = int(np.searchsorted(self._first_rows, row, "right")) - 1
        name = self._names[source]
        return name if self._whole[source] else f"{name}:{row - int(self._first_rows[source]) + 1}"

    def first_duplicate(self) -> tuple[int, int] | None:
        return None  # sources have different names, and their documents different numbers

    def find(self, text: str) -> int | None:
        if not len(self._names):
            return int(text) if text.isascii() and text.isdigit() and len(text) < 19 and int(text) < len(self) else None
        source = self._names.find(text)
        if source is not None and self._whole[source]:
            return int(self._first_rows[source])
        name, _, number = text.rpartition(":")
        if not (number.isascii() and number.isdigit() and len(number) < 19):
            return None
        source = self._names.find(name)
        if source is None or self._whole[source]:
            return None
        row = int(self._first_rows[source]) + int(number) - 1
        last = int(self._first_rows[source + 1]) if source + 1 < len(self._names) else len(self)
        return row if int(self._first_rows[source]) <= row < last else None


class _Column:
    """One kept field."""

    def __init__(self, name: str, kind: str, arrays: Mapping[str, NDArray[Any]]) -> None:
        self.name, self.kind, self.arrays = name, kind, dict(arrays)
        self.texts = TextColumn(arrays["offsets"], arrays["bytes"]) if "offsets" in arrays else TextColumn.of([])

    @cached_property
    def categories(self) -> list[str]:
        return list(self.texts)

    def values(self, rows: Any = slice(None)) -> NDArray[Any]:
        """The cells as a NumPy array: objects (str), float64, int64 or datetime64[us]."""
        if self.kind == "category":
            names = np.array([*self.categories, ""], object)
            codes = self.arrays["codes"][rows]
            if len(codes) and not -1 <= int(codes.min()) <= int(codes.max()) < len(names) - 1:
                raise FormatError("a column has a category that it does not name; copy the model again")
            return np.asarray(names[codes])
        if self.kind == "text":
            numbers = np.arange(len(self.texts))[rows]
            if len(numbers) > _MANY_ROWS:
                self.texts.check()
            return np.array([self.texts[int(row)] for row in numbers], object)
        values: NDArray[Any] = self.arrays["values"][rows]
        return values.view("datetime64[us]") if self.kind == "date" else values

    def matches(self, sign: str, value: Any) -> NDArray[np.bool_]:
        """Where the cells compare with a value, or with one of a list, as the sign says."""
        if sign in ("", "!="):
            found = reduce(np.logical_or, (self._equal(one) for one in _as_list(value)), np.zeros(1, np.bool_))
            return ~found if sign == "!=" else found
        if self.kind not in ("number", "date"):
            raise ConfigError(f"field {self.name!r} is a {self.kind}, which {sign} cannot compare; use = or !=")
        cells = self.arrays["values"]
        if self.kind == "number":
            return np.asarray(_COMPARISONS[sign](cells, self._number(value)))
        first, end = self._period(value)
        if sign in ("<=", ">"):  # 2024 ends with its last moment
            first, sign = end, "<" if sign == "<=" else ">="
        return np.asarray(_COMPARISONS[sign](cells, first) & (cells != MISSING_DATE))

    def _equal(self, value: Any) -> NDArray[np.bool_]:
        """Where the field holds a value; None and '' stand for a missing cell."""
        missing = value is None or value == ""
        if self.kind == "category":
            text = "true" if value is True else "false" if value is False else str(value)
            code = -1 if missing else self.categories.index(text) if text in self.categories else -2
            return np.asarray(self.arrays["codes"] == code)
        if self.kind == "text":
            wanted = TextColumn.of(["" if missing else str(value)])
            alike: NDArray[np.bool_] = np.asarray(self.texts.hashes() == wanted.hashes()[0])
            rows = np.flatnonzero(alike)
            alike[rows] = [self.texts[int(row)] == wanted[0] for row in rows]
            return alike
        cells = self.arrays["values"]
        if missing:
            return np.asarray(cells == MISSING_DATE if self.kind == "date" else np.isnan(cells.astype(np.float64)))
        if self.kind == "number":
            ends = str(value).split("..", 1)
            if len(ends) == 1:
                return np.asarray(cells == self._number(value))
            low = self._number(ends[0]) if ends[0].strip() or not ends[1].strip() else -math.inf
            high = self._number(ends[1]) if ends[1].strip() else math.inf
            self._check_order(value, low <= high)
            return np.asarray((cells >= low) & (cells <= high))
        first, end = self._period(value)
        return np.asarray((cells >= first) & (cells < end))

    def _check_order(self, value: str, ascending: bool) -> None:
        if not ascending:
            raise ConfigError(f"the range {value!r:.40} of field {self.name!r} is reversed; write the lower end first")

    def _number(self, value: Any) -> Any:
        """What the cells of a number are compared with."""
        value = value.item() if isinstance(value, np.generic) else value
        number = as_number(value.strip()) if isinstance(value, str) else value
        if isinstance(number, bool) or not isinstance(number, int | float):
            raise ConfigError(f"field {self.name!r} holds numbers, and {value!r:.40} is not one: write 10.5 or 10..20")
        if abs(number) > sys.float_info.max:  # a whole number that no cell reaches
            return math.inf if number > 0 else -math.inf
        return number

    def _period(self, value: Any) -> tuple[int, int]:
        """The first microsecond of a year, a month, a day, a moment or a range, and the first one after it."""
        value = value.item() if isinstance(value, np.generic) else value
        if isinstance(value, str) and value.count("..") == 1:
            first, _, last = (end.strip() for end in value.partition(".."))
            begin = self._period(first)[0] if first or not last else MISSING_DATE + 1
            end = self._period(last)[1] if last else sys.maxsize
            self._check_order(value, begin < end)
            return begin, end
        value = str(value) if type(value) is int and 1000 <= value <= 9999 else value  # a year
        moment = as_microseconds(value, months=True)
        if moment is None and isinstance(value, str) and (value := iso_date(value) or value):
            moment = as_microseconds(value)
        if moment is None:
            raise ConfigError(
                f"field {self.name!r} holds dates, and {value!r:.40} is not one, or may be read in two ways: "
                "write 2024-11-30, or 2024-11 for a month"
            )
        unit = _PERIODS.get(len(value.strip())) if isinstance(value, str) else None
        if unit is None:
            return moment, moment + 1
        after = np.datetime64(moment, "us").astype(f"datetime64[{unit}]") + 1
        return moment, int(after.astype("datetime64[us]").astype(np.int64))


class DocumentTable:
    """What is known of each document besides its vector, row by row.

    Args:
        tensors: the arrays of the file; `spherevec.corpus.table.records` describes them.

    >>> table = DocumentTable.of_ids(["a", "b", "c"], 3)
    >>> table.rows_where({"id!=": "a"}).tolist(), table.row_of("b"), table.fields
    ([1, 2], 1, {})
    """

    def __init__(self, tensors: Mapping[str, NDArray[Any]]) -> None:
        self.tensors = dict(tensors)
        schema = _schema(tensors)
        self._n_rows: int = schema["rows"]
        self._fields: dict[str, _Column] = {}
        self._roles: dict[str, TextColumn] = {}
        for number, column in enumerate(schema["columns"]):
            arrays = column_arrays(tensors, number)
            self._check_column(column, arrays)
            if column["role"] == "field":
                self._fields[column["name"]] = _Column(column["name"], column["kind"], arrays)
            else:
                self._roles[column["role"]] = TextColumn(arrays["offsets"], arrays["bytes"])
        self.ids: Sequence[str] = self._roles["id"] if "id" in self._roles else ImplicitIds(tensors, self._n_rows)

    @classmethod
    def open(cls, path: str | Path, *, memory_map: bool = True) -> DocumentTable:
        """Open the table in a file, without reading its rows where `memory_map` is True."""
        return cls.of_columns(read_tensors(Path(path), memory_map=memory_map), path)

    @classmethod
    def of_columns(cls, columns: Mapping[str, NDArray[Any]], path: str | Path) -> DocumentTable:
        """The table of arrays that were read from `path`, which messages name."""
        try:
            return cls(columns)
        except (KeyError, TypeError, ValueError) as error:
            if isinstance(error, FormatError):
                raise FormatError(f"{path}: {error}") from None
            raise FormatError(f"{path}: corrupt table of documents ({error}); copy it again") from None

    @classmethod
    def of_ids(cls, ids: Sequence[str] | None, n_rows: int) -> DocumentTable:
        """A table of ids alone; None where documents are known by their positions."""
        columns = [] if ids is None else [("id", "id", "text", text_arrays(TextColumn.of(ids)))]
        return cls(table_of(n_rows, columns))

    def save(self, path: str | Path) -> None:
        """Write the table as one safetensors file."""
        write_tensors(Path(path), self.tensors)

    def __len__(self) -> int:
        return self._n_rows

    def __repr__(self) -> str:
        kept = ", ".join(f"{name} ({kind})" for name, kind in self.fields.items()) or "none"
        return f"DocumentTable({number_of(len(self), 'document')}, fields: {kept})"

    def _repr_html_(self) -> str:
        from spherevec.html import table_html

        records = [self.record(row) for row in range(min(len(self), 10))]
        header = list(records[0] if records else ["id", "title", *self.fields])
        return table_html(header, [[*record.values()] for record in records], number_of(len(self), "document"))

    @property
    def named(self) -> bool:
        """Whether documents have ids other than their positions."""
        return "id" in self._roles or "sources.rows" in self.tensors

    @property
    def titled(self) -> bool:
        """Whether documents have titles of their own."""
        return "title" in self._roles

    @property
    def fields(self) -> dict[str, str]:
        """The kept fields and their kinds: "text", "number", "date" or "category"."""
        return {name: column.kind for name, column in self._fields.items()}

    def title(self, row: int) -> str:
        """The title of a document or, where it has none, the beginning of its text; '' if neither was kept."""
        own = self._roles["title"][row] if "title" in self._roles else ""
        return own or self.snippet(row, TITLE_LENGTH)

    def snippet(self, row: int, length: int | None = None) -> str:
        """The beginning of a document's text, as much as was kept or `length` characters of it."""
        if "text" not in self._roles:
            return ""
        text = " ".join(self._roles["text"][row].split())
        if length is None or len(text) <= length:
            return text
        cut = text[:length].rpartition(" ")[0] or text[:length]
        return f"{cut} …"

    def record(self, row: int) -> dict[str, Any]:
        """One document: its id, its title, what else has a role, and its fields, ready for JSON."""
        if not 0 <= row < len(self):
            raise UnknownDocumentError(f"no document has the row {row}; there are {len(self):,}, counted from 0")
        others = {role: self._roles[role][row] for role in ROLES if role in self._roles}
        cells = {name: plain_cell(column.values(slice(row, row + 1))[0]) for name, column in self._fields.items()}
        return {**others, "id": self.ids[row], "title": self.title(row), **cells}

    def column(self, name: str) -> NDArray[Any]:
        """All cells of a field: objects (str) for text and category, numbers, or datetime64[us]."""
        return self._field(name).values()

    def codes(self, name: str) -> tuple[NDArray[np.int32], list[str]]:
        """A category as numbers (n,), -1 where missing, and the names behind them."""
        column = self._field(name)
        if column.kind != "category":
            raise ConfigError(f"field {name!r} holds {column.kind}, not categories; keep it as {name}:category")
        return column.arrays["codes"], column.categories

    def row_of(self, id: str) -> int:
        """The row of the document with this id. The first call sorts the hashes of all ids (16 bytes each)."""
        row = self.ids.find(str(id))  # type: ignore[attr-defined]
        if row is None:
            shown = ", ".join(repr(one)[:40] for one in self.ids[:3])
            kind = f"such as {shown}" if self.named else f"from 0 to {len(self) - 1}"
            raise UnknownDocumentError(f"no document has the id {str(id)!r:.60}; ids are {kind}")
        return int(row)

    def rows_where(self, conditions: Mapping[str, Any]) -> Rows:
        """The rows for which every condition holds, in ascending order.

        Args:
            conditions: a value for each field; a list stands for any of its values. A field's name may end with a
                comparison: `{"created>=": "2024-01-01", "length<": 100, "team!=": "sales"}`. `id` is a field as well.
                A date without a day or a month is that whole year or month; `2024-01..2024-03` and `10..20` are ranges.
        """
        if not isinstance(conditions, Mapping):
            raise ConfigError(
                "conditions come as a dict such as {'team': 'billing'}, not " + " ".join(repr(conditions).split())[:60]
            )
        chosen = np.ones(len(self), np.bool_)
        for key, value in conditions.items():
            if not isinstance(key, str):
                raise ConfigError(f"conditions name fields, such as {{'team': 'billing'}}, not {type(key).__name__}")
            if any(isinstance(one, int) and abs(one) >= _TOO_LONG for one in _as_list(value)):
                raise ConfigError(f"the number for field {key!r:.60} has over 1,000 digits; give another")
            sign = "" if key in self._fields else next((sign for sign in _COMPARISONS if key.endswith(sign)), "")
            name = key.removesuffix(sign).strip() if sign else key
            if name == "id" and name not in self._fields:
                if sign not in ("", "!="):
                    raise ConfigError(f"ids are compared with = and !=, not {sign}")
                mask = np.zeros(len(self), np.bool_)
                mask[[self.row_of(one) for one in _as_list(value)]] = True
                chosen &= ~mask if sign == "!=" else mask
            else:
                chosen &= self._field(name).matches(sign, value)
        return np.flatnonzero(chosen)

    def check(self) -> None:
        """Raise `FormatError` unless every cell can be read."""
        for texts in (*self._roles.values(), *(column.texts for column in self._fields.values())):
            texts.check()
        for column in self._fields.values():
            if column.kind == "category":
                column.values()

    def to_pandas(self) -> Any:
        """The table as a pandas DataFrame, one row per document: id, title, text and the kept fields."""
        pandas = import_extra("pandas", "to_pandas()", "pandas")
        data: dict[str, Any] = {"id": list(self.ids)}
        data |= {role: list(self._roles[role]) for role in (*ROLES, "text") if role in self._roles}
        for name, column in self._fields.items():
            if column.kind == "category":
                data[name] = pandas.Categorical.from_codes(column.arrays["codes"], column.categories)
            else:
                data[name] = column.values()
        return pandas.DataFrame(data)

    def take(self, rows: NDArray[np.integer[Any]]) -> DocumentTable:
        """The table of some documents, in the order given; ids become explicit."""
        return _joined([(self, np.asarray(rows, np.int64))])

    @classmethod
    def concatenate(cls, tables: Sequence[DocumentTable]) -> DocumentTable:
        """One table after another; a field that a table does not have is missing there. Ids become explicit."""
        return _joined([(table, np.arange(len(table))) for table in tables])

    def with_ids(self, ids: Sequence[str]) -> DocumentTable:
        """The same documents by other ids, one each; all must differ."""
        return _joined([(self, np.arange(len(self)))], ids)

    @property
    def has_own_ids(self) -> bool:
        """Whether ids were given, rather than made of the names of files and positions in them."""
        return "id" in self._roles

    def _field(self, name: str) -> _Column:
        if not isinstance(name, str) or name not in self._fields:
            there = listed([*self._fields]) if self._fields else "none: train with keep=NAMES"
            raise ConfigError(f"no field {name!r:.60} was kept; there are {there}")
        return self._fields[name]

    def _check_column(self, column: Mapping[str, str], arrays: Mapping[str, NDArray[Any]]) -> None:
        """Raise `FormatError` unless a column has the arrays of its kind, of the right types and lengths."""
        kind, role = column["kind"], column["role"]
        if kind not in KINDS or role not in TABLE_ROLES or (role != "field" and kind != "text"):
            raise FormatError(f"its column {column['name']!r:.40} is of no known kind; upgrade spherevec")
        for part, types in _ARRAYS[kind].items():
            array = arrays.get(part)
            if array is None or array.ndim != 1 or array.dtype not in map(np.dtype, types):
                raise FormatError(f"its column {column['name']!r:.40} has no valid {part}; copy it again")
        first = next(iter(_ARRAYS[kind]))
        rows = self._n_rows + (first == "offsets")
        if len(arrays[first]) != rows or not len(arrays.get("offsets", [0])):
            raise FormatError(f"its column {column['name']!r:.40} does not have {self._n_rows} rows; copy it again")


def _schema(tensors: Mapping[str, NDArray[Any]]) -> dict[str, Any]:
    try:
        schema = json.loads(tensors["schema"].tobytes())
        rows, columns = schema["rows"], schema["columns"]
        sound = type(rows) is int and 0 <= rows < 2**40
        sound = sound and all(type(column[key]) is str for column in columns for key in ("role", "name", "kind"))
    except (KeyError, TypeError, ValueError, RecursionError):
        sound = False
    if not sound:
        raise FormatError("holds no description of its columns; copy it again")
    return dict(schema)


def _as_list(value: Any) -> Sequence[Any]:
    return list(value) if isinstance(value, list | tuple | set | frozenset | np.ndarray) else [value]


def _joined(parts: Sequence[tuple[DocumentTable, Rows]], other_ids: Sequence[str] | None = None) -> DocumentTable:
    """Some rows of several tables as one table in memory, by their own ids or by others."""
    kinds: dict[str, set[str]] = {}
    for table, _ in parts:
        for name, kind in table.fields.items():
            kinds.setdefault(name, set()).add(kind)
    keep = [KeptField(name, kinds[name].pop() if len(kinds[name]) == 1 else "text") for name in kinds]
    ids: TextColumn | None = None
    if other_ids is not None or any(table.named for table, _ in parts):
        own = (table.ids[int(row)] for table, rows in parts for row in rows)
        ids = TextColumn.of(own if other_ids is None else other_ids)
        twins = ids.first_duplicate()
        if twins:
            raise ConfigError(f"{ids[twins[1]]!r:.60} is the id of two documents; ids must be unique")
    taken = [(len(rows), take_rows(table.tensors, rows)) for table, rows in parts]
    return DocumentTable(joined_columns(taken, keep, ids))
