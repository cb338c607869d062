"""word2vec text: a header with count and dimension, then a word and its numbers a line."""

from __future__ import annotations

from pathlib import Path

from spherevec.io.outside import Changes, on_the_sphere, opened, read_header
from spherevec.io.text_rows import plain_names, read_rows, write_rows
from spherevec.model.keyed_vectors import KeyedVectors
from spherevec.storage.files import atomic_file


def read(path: Path) -> tuple[KeyedVectors, Changes]:
    with opened(path) as source:
        count, dim = read_header(source, bytes_per_value=2)
        keys, vectors = read_rows(source, dim, first_line=2, promised=count)
    return on_the_sphere(path, keys, vectors)


def write(vectors: KeyedVectors, path: Path, *, overwrite: bool = False, end: str = "\n") -> None:
    """`end` closes each line of numbers."""
    names = plain_names(vectors, "word2vec text")
    with atomic_file(path, overwrite=overwrite) as temporary, temporary.open("wb") as file:
        file.write(f"{len(vectors)} {vectors.vector_size}\n".encode())
        write_rows(file, names, vectors, end=end)
