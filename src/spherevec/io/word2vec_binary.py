"""word2vec binary: a header line, then for each word its bytes, a space, its float32 numbers and a line break."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from spherevec.errors import FormatError
from spherevec.io.reading import Changes, Source, decoded, open_vectors, read_header, unit_vectors
from spherevec.io.text_rows import LONGEST_WORD, plain_names
from spherevec.model.keyed_vectors import KeyedVectors
from spherevec.storage.files import atomic_file

_BYTES_PER_READ = 1 << 22


def read(path: Path) -> tuple[KeyedVectors, Changes]:
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


def write(vectors: KeyedVectors, path: Path, *, overwrite: bool = False) -> None:
    names = plain_names(vectors, "word2vec binary")
    with atomic_file(path, overwrite=overwrite) as temporary, temporary.open("wb") as file:
        file.write(f"{len(vectors)} {vectors.vector_size}\n".encode())
        for name, row in zip(names, vectors.vectors, strict=True):
            file.write(b"%b %b\n" % (name.encode(), row.astype("<f4", copy=False).tobytes()))
