"""Data frames of pandas, polars, pyarrow and others as rows, through narwhals."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

from spherevec.corpus.read.options import ReadOptions
from spherevec.corpus.read.tables import as_text
from spherevec.corpus.table.records import Row
from spherevec.errors import CorpusError

# The packages whose frames narwhals knows; nothing is imported for objects of other ones.
_PACKAGES = {"pandas", "polars", "pyarrow", "modin", "cudf", "dask", "ibis", "duckdb", "pyspark", "narwhals"}


def is_frame(source: Any) -> bool:
    """Whether an object is a data frame, loaded or lazy, and no column of one."""
    package = type(source).__module__.partition(".")[0]
    if package not in _PACKAGES or package not in sys.modules:
        return False
    if hasattr(source, "to_frame") and not hasattr(source, "columns"):  # a Series
        return False
    return hasattr(source, "columns") or hasattr(source, "column_names") or hasattr(source, "collect")


def frame_rows(source: Any, options: ReadOptions) -> Iterator[Row]:
    """The rows of a data frame; a missing cell is an empty text."""
    import narwhals.stable.v1 as narwhals

    kind = f"the {type(source).__module__.partition('.')[0]} {type(source).__name__}"
    try:
        frame = narwhals.from_native(source, eager_only=True)
    except TypeError:
        raise CorpusError(f"{kind}: its rows are not loaded; call .collect() on it, or .to_pandas()") from None
    there = list(frame.columns)
    if not all(isinstance(name, str) for name in there):
        raise CorpusError(f"{kind}: its columns must be named by strings; rename them")
    fields = options.fields(there, kind)
    return _rows(frame.select(fields.all), fields, kind)


def _rows(frame: Any, fields: Any, kind: str) -> Iterator[Row]:
    at = {name: place for place, name in enumerate(fields.all)}
    for number, cells in enumerate(frame.iter_rows()):
        yield Row(
            as_text(cells[at[fields.text]], f"{kind}, row {number} (counted from 0), column {fields.text!r}"),
            None if fields.id is None else cells[at[fields.id]],
            None if fields.title is None else cells[at[fields.title]],
            [cells[at[name]] for name in fields.keep],
            number,
        )
