"""A table of documents made in memory, for tests and fuzzing."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from spherevec.corpus.read.options import ReadOptions
from spherevec.corpus.table.records import RecordBuilder, Row
from spherevec.model.documents import DocumentTable


def made_table(
    n_rows: int,
    *,
    ids: Sequence[Any] | None = None,
    titles: Sequence[str] | None = None,
    texts: Sequence[str] | None = None,
    fields: Mapping[str, Sequence[Any]] | None = None,
) -> DocumentTable:
    """The table that `train` would keep of such documents."""
    fields = fields or {}
    roles = {role: values for role, values in {"id": ids, "title": titles}.items() if values is not None}
    options = ReadOptions(keep=dict.fromkeys(fields), ids="id" in roles, keep_text=200 if texts is not None else 0)
    with tempfile.TemporaryDirectory() as folder, RecordBuilder(Path(folder), options) as builder:
        for row in range(n_rows):
            text = "" if texts is None else texts[row]
            own_roles = {role: values[row] for role, values in roles.items()}
            cells = [values[row] for values in fields.values()]
            builder.add(Row(text, own_roles, cells), f"document {row} (counted from 0)")
        builder.write(Path(folder) / "table")
        return DocumentTable.open(Path(folder) / "table", memory_map=False)
