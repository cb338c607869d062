"""Parquet: the columns `key`, `vector` (a list of dim float32 numbers) and, if known, `count` and `title`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np

from spherevec.errors import MissingExtraError
from spherevec.io.text_rows import plain_names
from spherevec.model.keyed_vectors import KeyedVectors
from spherevec.storage.files import atomic_file

_ROWS_PER_GROUP = 1 << 16


def write(
    vectors: KeyedVectors, path: Path, *, overwrite: bool = False, title: Callable[[int], str] | None = None
) -> None:
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError:
        raise MissingExtraError("writing Parquet", "parquet") from None
    names = plain_names(vectors, "Parquet", forbidden="", empty=True) if vectors.named else None
    schema = [
        ("key", pyarrow.string() if names else pyarrow.int64()),
        ("vector", pyarrow.list_(pyarrow.float32(), vectors.vector_size)),
    ]
    if vectors.counts is not None:
        schema.append(("count", pyarrow.int64()))
    if title is not None:
        schema.append(("title", pyarrow.string()))
    with (
        atomic_file(path, overwrite=overwrite) as temporary,
        pyarrow.parquet.ParquetWriter(temporary, pyarrow.schema(schema)) as writer,
    ):
        for start in range(0, len(vectors), _ROWS_PER_GROUP):
            block = vectors.vectors[start : start + _ROWS_PER_GROUP]
            end = start + len(block)
            columns = [
                names[start:end] if names else np.arange(start, end),
                pyarrow.FixedSizeListArray.from_arrays(pyarrow.array(block.reshape(-1)), vectors.vector_size),
            ]
            if vectors.counts is not None:
                columns.append(vectors.counts[start:end])
            if title is not None:
                columns.append([title(row) for row in range(start, end)])
            writer.write_table(pyarrow.table(columns, schema=pyarrow.schema(schema)))
