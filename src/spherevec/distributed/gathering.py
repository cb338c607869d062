"""What the workers have read, put together on the driver's machine: an encoded corpus as if one machine had read it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from spherevec.corpus import EncodedCorpus, Vocabulary, encoded
from spherevec.corpus.encoder import write_words
from spherevec.corpus.field_types import KindFinder
from spherevec.corpus.rare import RareWords
from spherevec.corpus.rare_counts import RareCounts
from spherevec.corpus.records import schema_array, schema_of, text_arrays
from spherevec.corpus.spill import writable
from spherevec.corpus.summary import CorpusSummary
from spherevec.corpus.tokenizer import Tokenizer
from spherevec.distributed.parts import Piece
from spherevec.distributed.reading import EncodedPart, PartAbout
from spherevec.errors import CorpusError
from spherevec.storage.tensors import write_tensors
from spherevec.storage.text_column import TextColumn

Columns = Mapping[str, NDArray[Any]]


def gather(
    folder: Path,
    parts: Iterable[EncodedPart],
    abouts: Sequence[PartAbout],
    pieces: Sequence[Sequence[Piece]],
    vocabulary: Vocabulary,
    rare_counts: RareCounts,
    tokenizer: Tokenizer,
    figures: Mapping[str, Any],
) -> EncodedCorpus:
    """Write an encoded corpus.

    Args:
        parts: in the order of the text.
        figures: `min_count`, `distinct_words` and `notes`.
    """
    folder.mkdir(parents=True, exist_ok=True)
    n_tokens = n_documents = unknown = 0
    tables: list[tuple[int, Columns]] = []
    with RareWords(folder) as rare:
        with (
            writable(folder),
            (folder / encoded.IDS).open("wb") as ids,
            (folder / encoded.OFFSETS).open("wb") as ends,
        ):
            ends.write(np.zeros(1, encoded.OFFSET_TYPE).data)
            for part in parts:
                ids.write(part.ids.astype(encoded.ID_TYPE, copy=False).data)
                ends.write((np.cumsum(part.lengths) + n_tokens).astype(encoded.OFFSET_TYPE).data)
                rare.add(np.ascontiguousarray(part.hashes), (part.rows + n_documents).astype(np.int32))
                tables.append((len(part.lengths), part.columns))
                n_tokens += len(part.ids)
                n_documents += len(part.lengths)
                unknown += part.unknown
        with writable(folder):
            rare.write(folder / encoded.RARE)
            rare_counts.save(folder / encoded.RARE_COUNTS)
            columns = joined_columns(tables)
            if not any(name.startswith("0.") and columns_role(columns, 0) == "id" for name in columns):
                columns |= source_columns(pieces, abouts)
            write_tensors(folder / encoded.DOCUMENTS, columns)
    raw_tokens = sum(about.raw_tokens for about in abouts)
    summary = CorpusSummary(
        n_documents,
        sum(about.empty for about in abouts),
        unknown,
        raw_tokens,
        raw_tokens - n_tokens,
        figures["distinct_words"],
        len(vocabulary),
        figures["min_count"],
        tuple(figures["notes"]),
    )
    about = {
        "format": encoded.FORMAT,
        "tokenizer": tokenizer.description(),
        "phrases": False,
        "raw_tokens": raw_tokens,
        "n_tokens": n_tokens,
        "n_documents": n_documents,
        "summary": summary.as_dict(),
    }
    write_words(folder, about, vocabulary)
    corpus = EncodedCorpus.open(folder)
    corpus.tokenizer = tokenizer
    return corpus


def columns_role(columns: Columns, number: int) -> str:
    described = schema_of(columns)["columns"]
    return str(described[number]["role"]) if number < len(described) else ""


def joined_columns(tables: Sequence[tuple[int, Columns]]) -> dict[str, NDArray[Any]]:
    """The tables of documents of several parts as one; `spherevec.corpus.records` describes the arrays.

    A title or a kept field that some parts do not have is empty there.
    """
    known = [(rows, table, schema_of(table)["columns"]) for rows, table in tables if rows]
    names: dict[tuple[str, str], None] = {}
    for _, _, described in known:
        names.update({(column["role"], column["name"]): None for column in described})
    order = sorted(names, key=lambda name: ("id", "title", "text", "field").index(name[0]))
    schema: list[dict[str, str]] = []
    joined: dict[str, NDArray[Any]] = {}
    for role, name in order:
        parts: list[tuple[int, str | None, Columns]] = []
        for rows, table, described in known:
            at = next((i for i, one in enumerate(described) if (one["role"], one["name"]) == (role, name)), None)
            prefix = f"{at}."
            own = {} if at is None else {key.removeprefix(prefix): value for key, value in table.items()
                                         if key.startswith(prefix)}  # fmt: skip
            parts.append((rows, None if at is None else described[at]["kind"], own))
        kind, arrays = _joined(name, parts)
        joined.update({f"{len(schema)}.{key}": array for key, array in arrays.items()})
        schema.append({"role": role, "name": name, "kind": kind})
        if role == "id":
            twins = TextColumn(arrays["offsets"], arrays["bytes"]).first_duplicate()
            if twins:
                raise CorpusError(
                    f"field {name!r}: documents {twins[0]} and {twins[1]} (counted from 0) have the same id; "
                    "ids must be unique: choose another field, or remove one of the two"
                )
    total = sum(rows for rows, _ in tables)
    return {"schema": schema_array(total, schema), **joined}


def _joined(name: str, parts: Sequence[tuple[int, str | None, Columns]]) -> tuple[str, dict[str, NDArray[Any]]]:
    kinds = {kind for _, kind, _ in parts if kind is not None}
    if kinds == {"category"}:
        return "category", _joined_categories(parts)
    if kinds == {"text", "category"} and _few_values(parts):
        return "category", _joined_categories(
            [(rows, kind, _as_categories(rows, kind, own)) for rows, kind, own in parts]
        )
    if kinds <= {"text", "category"}:
        texts = [_texts(rows, kind, arrays) for rows, kind, arrays in parts]
        starts = np.cumsum([0, *(len(text.arena) for text in texts)])
        offsets = [text.offsets[1:] + start for text, start in zip(texts, starts.tolist(), strict=False)]
        arena = np.concatenate([np.zeros(0, np.uint8), *(np.asarray(text.arena) for text in texts)])
        return "text", {"offsets": np.concatenate([np.zeros(1, np.int64), *offsets]), "bytes": arena}
    if len(kinds) > 1:
        found = " and ".join(sorted(kinds))
        raise CorpusError(f"field {name!r}: looks like {found} in different files; say its kind: keep {name}:text")
    values = [arrays["values"] for _, _, arrays in parts if arrays]
    if len(values) < len(parts):
        raise CorpusError(f"field {name!r}: is missing in some files; leave it out, or say its kind: keep {name}:text")
    return kinds.pop(), {"values": np.concatenate(values)}


def _texts(rows: int, kind: str | None, arrays: Columns) -> TextColumn:
    if kind is None:
        return TextColumn(np.zeros(rows + 1, np.int64), np.zeros(0, np.uint8))
    column = TextColumn(arrays["offsets"], arrays["bytes"])
    if kind == "category":
        names = [*column, ""]
        return TextColumn.of(names[code] for code in arrays["codes"].tolist())
    return column


def _few_values(parts: Sequence[tuple[int, str | None, Columns]]) -> bool:
    """Whether texts of all parts together are categories, as one machine would find them to be."""
    finder = KindFinder(None)
    for rows, kind, arrays in parts:
        for text in _texts(rows, kind, arrays):
            finder.text_of(text, False)
    return finder.kind == "category"


def _as_categories(rows: int, kind: str | None, arrays: Columns) -> Columns:
    if kind != "text":
        return arrays
    texts = list(_texts(rows, kind, arrays))
    names = sorted({text for text in texts if text})
    number = {name: place for place, name in enumerate(names)}
    return {"codes": np.array([number.get(text, -1) for text in texts], np.int32), **text_arrays(TextColumn.of(names))}


def _joined_categories(parts: Sequence[tuple[int, str | None, Columns]]) -> dict[str, NDArray[Any]]:
    own = [list(TextColumn(arrays["offsets"], arrays["bytes"])) if arrays else [] for _, _, arrays in parts]
    names = sorted({name for part in own for name in part})
    number = {name: place for place, name in enumerate(names)}
    codes = []
    for (rows, _, arrays), part in zip(parts, own, strict=True):
        table = np.array([*(number[name] for name in part), -1], np.int32)
        codes.append(table[arrays["codes"]] if arrays else np.full(rows, -1, np.int32))
    return {"codes": np.concatenate(codes), **text_arrays(TextColumn.of(names))}


def source_columns(pieces: Sequence[Sequence[Piece]], abouts: Sequence[PartAbout]) -> dict[str, NDArray[Any]]:
    """Where documents come from, by which they are told apart where they have no ids; none of a single file."""
    sources: list[tuple[str, int, bool]] = []
    row = 0
    for part, about in zip(pieces, abouts, strict=True):
        for piece, rows in zip(part, about.rows, strict=True):
            if not sources or sources[-1][0] != piece.name:
                sources.append((piece.name, row, piece.whole))
            row += rows
    if len(sources) == 1 and not sources[0][2]:
        return {}
    names = text_arrays(TextColumn.of(name for name, _, _ in sources))
    return {
        **{f"sources.{part}": array for part, array in names.items()},
        "sources.rows": np.array([first for _, first, _ in sources], np.int64),
        "sources.whole": np.array([whole for _, _, whole in sources], np.uint8),
    }
