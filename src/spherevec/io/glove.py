"""GloVe text: a word and its numbers a line, no header.

Published files hold words with spaces, so reading keeps them.
"""

from __future__ import annotations

from pathlib import Path

from spherevec.errors import FormatError
from spherevec.io.outside import LARGEST_DIMENSION, Changes, on_the_sphere, opened
from spherevec.io.text_rows import LONGEST_WORD, numbers_at_end, plain_names, read_rows, write_rows
from spherevec.model.keyed_vectors import KeyedVectors
from spherevec.storage.files import atomic_file


def read(path: Path) -> tuple[KeyedVectors, Changes]:
    with opened(path) as source:
        first = source.file.readline(8 * LONGEST_WORD)
        fields = first.rstrip(b" \t\r\n").split(b" ")
        dim = numbers_at_end(fields)
        if len(fields) == 2 and all(field.isdigit() for field in fields):
            raise FormatError(f"{path}: wrong header: GloVe files have none; read it as word2vec")
        if not 2 <= dim <= LARGEST_DIMENSION:
            raise FormatError(f"{path}: the first line is not a word and its numbers; is this a GloVe file?")
        source.file.seek(0)
        keys, vectors = read_rows(source, dim, first_line=1, spaces=True)
    return on_the_sphere(path, keys, vectors)


def write(vectors: KeyedVectors, path: Path, *, overwrite: bool = False) -> None:
    names = plain_names(vectors, "GloVe")
    with atomic_file(path, overwrite=overwrite) as temporary, temporary.open("wb") as file:
        write_rows(file, names, vectors)
