"""The tables of documents of several parts of a text as one table; arrays as in `records`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from spherevec.corpus.read.parts import Piece
from spherevec.corpus.table.field_types import MISSING_DATE, KindFinder
from spherevec.corpus.table.records import KeptField, schema_array, schema_of, text_arrays
from spherevec.errors import CorpusError
from spherevec.storage.text_column import TextColumn

Columns = Mapping[str, NDArray[Any]]


def columns_role(columns: Columns, number: int) -> str:
    described = schema_of(columns)["columns"]
    return str(described[number]["role"]) if number < len(described) else ""


def joined_columns(tables: Sequence[tuple[int, Columns]], keep: Sequence[KeptField] = ()) -> dict[str, NDArray[Any]]:
    """The tables of documents of several parts as one; `spherevec.corpus.table.records` describes the arrays.

    A title or a kept field that some parts do not have is missing there.
    """
    said = {("field", kept.name): kept.kind for kept in keep}
    known = [(rows, table, schema_of(table)["columns"]) for rows, table in tables if rows]
    names = dict.fromkeys((one["role"], one["name"]) for _, _, described in known for one in described)
    schema: list[dict[str, str]] = []
    joined: dict[str, NDArray[Any]] = {}
    for role, name in sorted(names, key=lambda one: ("id", "title", "text", "field").index(one[0])):
        parts: list[tuple[int, str, Columns]] = []
        for rows, table, described in known:
            at = [number for number, one in enumerate(described) if (one["role"], one["name"]) == (role, name)]
            prefix, kind = (f"{at[0]}.", described[at[0]]["kind"]) if at else ("", "missing")
            own = {key.removeprefix(prefix): array for key, array in table.items() if at and key.startswith(prefix)}
            parts.append((rows, "missing" if kind == "text" and not len(own["bytes"]) else kind, own))
        kind, arrays = _joined(name, said.get((role, name), "text") if role == "field" else "text", parts)
        joined.update({f"{len(schema)}.{key}": array for key, array in arrays.items()})
        schema.append({"role": role, "name": name, "kind": kind})
        if role == "id" and (twins := TextColumn(arrays["offsets"], arrays["bytes"]).first_duplicate()):
            raise CorpusError(
                f"field {name!r}: documents {twins[0]} and {twins[1]} (counted from 0) have the same id; "
                "ids must be unique: choose another field, or remove one of the two"
            )
    return {"schema": schema_array(sum(rows for rows, _ in tables), schema), **joined}


def _joined(
    name: str, said: str | None, parts: Sequence[tuple[int, str, Columns]]
) -> tuple[str, dict[str, NDArray[Any]]]:
    """One column: its kind, as one machine would find it, and its arrays.

    Args:
        said: the kind, where the user says it.
        parts: rows, kind and arrays of each part.
    """
    kinds = {kind for _, kind, _ in parts} - {"missing"}
    if kinds <= {"text", "category"}:
        texts = [_texts(rows, kind, arrays) for rows, kind, arrays in parts]
        finder = KindFinder(said)
        cells = [finder.text_of(text, False) for column in texts for text in column] if said != "text" else []
        if finder.kind == "category":
            found = sorted({cell for cell in cells if cell})
            number = {cell: place for place, cell in enumerate(found)} | {"": -1}
            codes = np.array([number[cell] for cell in cells], np.int32)
            return "category", {"codes": codes, **text_arrays(TextColumn.of(found))}
        starts = np.cumsum([0, *(len(text.arena) for text in texts)])
        offsets = [text.offsets[1:] + start for text, start in zip(texts, starts.tolist(), strict=False)]
        arena = np.concatenate([np.zeros(0, np.uint8), *(np.asarray(text.arena) for text in texts)])
        return "text", {"offsets": np.concatenate([np.zeros(1, np.int64), *offsets]), "bytes": arena}
    if len(kinds) > 1:
        found_kinds = " and ".join(sorted(kinds))
        raise CorpusError(
            f"field {name!r}: looks like {found_kinds} in different files; say its kind: keep {name}:text"
        )
    kind = kinds.pop()
    missing: Any = MISSING_DATE if kind == "date" else np.nan
    values = [np.full(rows, missing) if own_kind != kind else arrays["values"] for rows, own_kind, arrays in parts]
    return kind, {"values": np.concatenate(values)}


def _texts(rows: int, kind: str, arrays: Columns) -> TextColumn:
    if kind == "missing":
        return TextColumn(np.zeros(rows + 1, np.int64), np.zeros(0, np.uint8))
    column = TextColumn(arrays["offsets"], arrays["bytes"])
    if kind == "category":
        names = [*column, ""]
        return TextColumn.of(names[code] for code in arrays["codes"].tolist())
    return column


def source_columns(pieces: Sequence[Sequence[Piece]], rows: Sequence[Sequence[int]]) -> dict[str, NDArray[Any]]:
    """Where documents come from, by which they are told apart where they have no ids; none of a single file.

    Args:
        pieces: of each part.
        rows: how many documents each piece has.
    """
    sources: list[tuple[str, int, bool]] = []
    row = 0
    for part, counts in zip(pieces, rows, strict=True):
        for piece, count in zip(part, counts, strict=True):
            if not sources or sources[-1][0] != piece.name:
                sources.append((piece.name, row, piece.whole))
            row += count
    if len(sources) == 1 and not sources[0][2]:
        return {}
    names = text_arrays(TextColumn.of(name for name, _, _ in sources))
    return {
        **{f"sources.{part}": array for part, array in names.items()},
        "sources.rows": np.array([first for _, first, _ in sources], np.int64),
        "sources.whole": np.array([whole for _, _, whole in sources], np.uint8),
    }
