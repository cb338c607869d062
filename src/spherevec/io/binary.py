"""Binary vector files: word2vec's and fastText's `.bin`, NumPy's `.npy`, Parquet."""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

import numpy as np
from numpy.lib import format as npy_format

from spherevec.errors import FormatError, import_extra
from spherevec.io.reading import Changes, Source, decoded, open_vectors, read_header, unit_vectors
from spherevec.io.text import LONGEST_WORD
from spherevec.model.keyed_vectors import KeyedVectors
from spherevec.storage.files import atomic_file
from spherevec.terminal import visible

_BYTES_PER_READ = 1 << 22
_ROWS_AT_ONCE = 1 << 14
_ROWS_PER_GROUP = 1 << 16  # of Parquet


def read_word2vec(path: Path) -> tuple[KeyedVectors, Changes]:
    """A header line, then for each word its bytes, a space, its float32 numbers and a line break."""
    with open_vectors(path) as source:
        count, dim = read_header(source, bytes_per_value=4)
        keys, rows = _read_rows(source, count, dim)
    return unit_vectors(path, keys, np.frombuffer(rows, "<f4").reshape(count, dim))


def _read_rows(source: Source, count: int, dim: int) -> tuple[list[str], bytearray]:
    """`count` words and vectors; the file must end with the last of them."""
    path = source.path
    keys: list[str] = []
    rows = bytearray()
    pending, position = b"", 0
    while len(keys) < count:
        space = pending.find(b" ", position)
        end = space + 1 + 4 * dim
        if (len(pending) if space < 0 else space) - position > LONGEST_WORD:
            raise FormatError(f"{path}: the word of vector {len(keys) + 1} does not end; is this a binary file?")
        if space < 0 or end > len(pending):
            more = source.file.read(max(_BYTES_PER_READ, 4 * dim))
            if not more:
                raise FormatError(f"{path}: truncated: it ends within vector {len(keys) + 1} of {count}")
            pending, position = pending[position:] + more, 0
            continue
        # Some programs end a vector with a line break, others do not.
        word = pending[position:space].lstrip(b"\n")
        where = f"vector {len(keys) + 1}"
        if not word:
            raise FormatError(f"{path}: {where} has an empty word; are count and dimension in the header right?")
        keys.append(decoded(path, where, word))
        rows += pending[space + 1 : end]
        position = end
    if (pending[position:] + source.file.read(16)).strip(b"\r\n"):
        raise FormatError(f"{path}: wrong header: it promises {count} vectors of dimension {dim}, but data follow them")
    return keys, rows


def write_word2vec(path: Path, vectors: KeyedVectors, names: Sequence[str]) -> None:
    with path.open("wb") as file:
        file.write(f"{len(vectors)} {vectors.vector_size}\n".encode())
        for name, row in zip(names, vectors.vectors, strict=True):
            file.write(b"%b %b\n" % (name.encode(), row.astype("<f4", copy=False).tobytes()))


def write_fasttext(path: Path, vectors: KeyedVectors, names: Sequence[str]) -> None:
    """A dictionary and a matrix of input vectors, as fastText's own programs load them.

    fastText makes a vector of a word's own row and the rows of its character n-grams. Vectors from here know no
    n-grams, so the file says that there are none (`maxn` 0): a known word has exactly its vector, an unknown one has
    none, which fastText answers with zeros. Rows for n-grams could only be fitted afterwards, and guess worse than
    `guess` does; see experiments/update/README.md. The output matrix, which fastText needs only to train on, holds
    zeros.
    """
    counts = np.ones(len(names), np.int64) if vectors.counts is None else np.maximum(vectors.counts, 1)
    dim = vectors.vector_size
    settings = {
        "dim": dim, "ws": 10, "epoch": 1, "minCount": 1, "neg": 5, "wordNgrams": 1, "loss": 2, "model": 2,
        "bucket": 0, "minn": 0, "maxn": 0, "lrUpdateRate": 100,
    }  # fmt: skip # in the order of the file; loss 2 is negative sampling, model 2 skip-gram
    with path.open("wb") as file:
        file.write(struct.pack("<2i", 793712314, 12))  # fastText's mark, and the version of its format
        file.write(struct.pack("<12id", *settings.values(), 1e-4))
        file.write(struct.pack("<3i2q", len(names), len(names), 0, int(counts.sum()), -1))
        for name, count in zip(names, counts.tolist(), strict=True):
            file.write(name.encode() + b"\0" + struct.pack("<qb", count, 0))
        for known in (True, False):  # the input matrix, and the output matrix
            file.write(struct.pack("<?2q", False, len(names), dim))
            for start in range(0, len(names), _ROWS_AT_ONCE):
                rows = np.ascontiguousarray(vectors.vectors[start : start + _ROWS_AT_ONCE], "<f4")
                file.write(rows.tobytes() if known else bytes(rows.nbytes))


def write_npy(path: Path, vectors: KeyedVectors, names: Sequence[str]) -> None:
    """The vectors alone; `export_vectors` writes the names beside them."""
    with path.open("wb") as file:
        header = {"descr": "<f4", "fortran_order": False, "shape": vectors.vectors.shape}
        npy_format.write_array_header_1_0(file, header)
        file.write(vectors.vectors.astype("<f4", copy=False).data)


def write_ids(path: Path, ids: Iterable[str], *, overwrite: bool = False) -> None:
    """Write one id per line; characters that would break a line, or that UTF-8 lacks, are escaped: \\n, \\udc80."""
    with atomic_file(path, overwrite=overwrite) as file, file.open("w", encoding="utf-8", newline="\n") as lines:
        lines.writelines(f"{visible(identifier)}\n" for identifier in ids)


def write_parquet(
    path: Path, vectors: KeyedVectors, names: Sequence[str], *, title: Callable[[int], str] | None = None
) -> None:
    """The columns `key`, `vector` (a list of dim float32 numbers) and, if known, `count` and `title`."""
    pyarrow, parquet = (import_extra(name, "writing Parquet", "parquet") for name in ("pyarrow", "pyarrow.parquet"))
    schema = [
        ("key", pyarrow.string() if vectors.named else pyarrow.int64()),
        ("vector", pyarrow.list_(pyarrow.float32(), vectors.vector_size)),
        *([] if vectors.counts is None else [("count", pyarrow.int64())]),
        *([] if title is None else [("title", pyarrow.string())]),
    ]
    with parquet.ParquetWriter(path, pyarrow.schema(schema)) as writer:
        for start in range(0, len(vectors), _ROWS_PER_GROUP):
            rows = range(start, min(start + _ROWS_PER_GROUP, len(vectors)))
            numbers = pyarrow.array(vectors.vectors[start : rows.stop].reshape(-1))
            columns = [
                names[start : rows.stop] if vectors.named else np.array(rows),
                pyarrow.FixedSizeListArray.from_arrays(numbers, vectors.vector_size),
                *([] if vectors.counts is None else [vectors.counts[start : rows.stop]]),
                *([] if title is None else [list(map(title, rows))]),
            ]
            writer.write_table(pyarrow.table(columns, schema=pyarrow.schema(schema)))
