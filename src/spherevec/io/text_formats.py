"""Textual vector files: word2vec and fastText `.vec` (with a header), GloVe (without), and the paper authors' files."""

from __future__ import annotations

from pathlib import Path

from spherevec.errors import FormatError
from spherevec.io.reading import LARGEST_DIMENSION, Changes, open_vectors, read_header, unit_vectors
from spherevec.io.text_rows import LONGEST_WORD, numbers_at_end, plain_names, read_rows, write_rows
from spherevec.model.keyed_vectors import KeyedVectors
from spherevec.storage.files import atomic_file


def read_word2vec(path: Path) -> tuple[KeyedVectors, Changes]:
    with open_vectors(path) as source:
        count, dim = read_header(source, bytes_per_value=2)
        keys, vectors = read_rows(source, dim, first_line=2, promised=count)
    return unit_vectors(path, keys, vectors)


def read_glove(path: Path) -> tuple[KeyedVectors, Changes]:
    """Published files hold words with spaces, so they are kept."""
    with open_vectors(path) as source:
        first = source.file.readline(8 * LONGEST_WORD)
        fields = first.rstrip(b" \t\r\n").split(b" ")
        dim = numbers_at_end(fields)
        if len(fields) == 2 and all(field.isdigit() for field in fields):
            raise FormatError(f"{path}: wrong header: GloVe files have none; read it as word2vec")
        if not 2 <= dim <= LARGEST_DIMENSION:
            raise FormatError(f"{path}: the first line is not a word and its numbers; is this a GloVe file?")
        source.file.seek(0)
        keys, vectors = read_rows(source, dim, first_line=1, spaces=True)
    return unit_vectors(path, keys, vectors)


def read_jose(path: Path) -> tuple[KeyedVectors, Changes]:
    """Names that are just 0, 1, 2, … are the numbers of documents, and not kept as names."""
    vectors, changes = read_word2vec(path)
    numbers = (str(row) for row in range(len(vectors)))
    if all(name == number for name, number in zip(vectors, numbers, strict=True)):
        vectors = KeyedVectors(None, vectors.vectors)
    return vectors, changes


def write_word2vec(vectors: KeyedVectors, path: Path, *, overwrite: bool = False) -> None:
    _write(vectors, path, overwrite, plain_names(vectors, "word2vec text"))


def write_fasttext(vectors: KeyedVectors, path: Path, *, overwrite: bool = False) -> None:
    """As word2vec, with a space at the end of each line; the paper authors' program writes the same."""
    _write(vectors, path, overwrite, plain_names(vectors, "word2vec text"), end=" \n")


def write_glove(vectors: KeyedVectors, path: Path, *, overwrite: bool = False) -> None:
    _write(vectors, path, overwrite, plain_names(vectors, "GloVe"), header=False)


def _write(
    vectors: KeyedVectors, path: Path, overwrite: bool, names: list[str], *, header: bool = True, end: str = "\n"
) -> None:
    with atomic_file(path, overwrite=overwrite) as temporary, temporary.open("wb") as file:
        if header:
            file.write(f"{len(vectors)} {vectors.vector_size}\n".encode())
        write_rows(file, names, vectors, end=end)
