"""What the workers have read, put together on the driver's machine: an encoded corpus as if one machine had read it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from spherevec.corpus import EncodedCorpus, Vocabulary, encoded
from spherevec.corpus.encoder import write_words
from spherevec.corpus.field_types import MISSING_DATE, KindFinder
from spherevec.corpus.rare import RareWords
from spherevec.corpus.rare_counts import RareCounts
from spherevec.corpus.records import KeptField, schema_array, schema_of, text_arrays
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
    keep: Sequence[KeptField],
) -> EncodedCorpus:
    """Write an encoded corpus.

    Args:
        parts: in the order of the text.
        figures: `min_count`, `distinct_words` and `notes`.
        keep: further fields of the documents.
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
            columns = joined_columns(tables, keep)
            if not any(name.startswith("0.") and columns_role(columns, 0) == "id" for name in columns):
                columns |= source_columns(pieces, abouts)
            write_tensors(folder / encoded.DOCUMENTS, columns)
    raw_tokens = sum(about.summary.tokens for about in abouts)
    summary = CorpusSummary(
        n_documents,
        sum(about.summary.empty for about in abouts),
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


def joined_columns(tables: Sequence[tuple[int, Columns]], keep: Sequence[KeptField] = ()) -> dict[str, NDArray[Any]]:
    """The tables of documents of several parts as one; `spherevec.corpus.records` describes the arrays.

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
