"""Textual vector files: word2vec and fastText `.vec` (with a header), GloVe (without), and the paper authors' files.

A line is a word and its numbers, separated by single spaces.
"""

from __future__ import annotations

import codecs
from array import array
from collections.abc import Sequence
from pathlib import Path
from typing import BinaryIO

import numpy as np

from spherevec.errors import FormatError
from spherevec.io.reading import LARGEST_DIMENSION, Changes, Source, decoded, open_vectors, read_header, unit_vectors
from spherevec.model.keyed_vectors import KeyedVectors
from spherevec.sphere import Floats

# Room for a word and for each of its numbers in one line; a longer line is no vector.
LONGEST_WORD = 1 << 16
_LONGEST_NUMBER = 64
_LINE_END = b" \t\r\n"
_ROWS_PER_WRITE = 1024
_MOST_BLANK_LINES = 1000
# Nine digits bring every float32 back exactly.
_NUMBER = "%.9g"


def read_word2vec(path: Path) -> tuple[KeyedVectors, Changes]:
    with open_vectors(path) as source:
        count, dim = read_header(source, bytes_per_value=2)
        keys, vectors = _read_rows(source, dim, first_line=2, promised=count)
    return unit_vectors(path, keys, vectors)


def read_glove(path: Path) -> tuple[KeyedVectors, Changes]:
    """Published files hold words with spaces, so they are kept."""
    with open_vectors(path) as source:
        begin = source.file.tell()
        fields = source.file.readline(8 * LONGEST_WORD).rstrip(_LINE_END).split(b" ")
        # As many of the last fields as are numbers; the first is the word.
        dim = next((place for place, field in enumerate(fields[:0:-1]) if not _is_number(field)), len(fields) - 1)
        if len(fields) == 2 and all(field.isdigit() for field in fields):
            raise FormatError(f"{path}: wrong header: GloVe files have none; read it as word2vec")
        if not 2 <= dim <= LARGEST_DIMENSION:
            raise FormatError(
                f"{path}: the first line is not a word and its numbers, so this is not a file of word vectors that can"
                " be read; to learn from text: spherevec train"
            )
        source.file.seek(begin)
        keys, vectors = _read_rows(source, dim, first_line=1, spaces=True)
    return unit_vectors(path, keys, vectors)


def read_jose(path: Path) -> tuple[KeyedVectors, Changes]:
    """Names that are just 0, 1, 2, … are the numbers of documents, and not kept as names."""
    vectors, changes = read_word2vec(path)
    if all(name == str(row) for row, name in enumerate(vectors)):
        vectors = KeyedVectors(None, vectors.vectors)
    return vectors, changes


def write(path: Path, vectors: KeyedVectors, names: Sequence[str], *, header: bool = True, end: str = "\n") -> None:
    with path.open("wb") as file:
        if header:
            file.write(f"{len(vectors)} {vectors.vector_size}\n".encode())
        elif names and names[0].startswith("\ufeff"):  # the reader takes the first of two for the mark of UTF-8
            file.write(codecs.BOM_UTF8)
        write_rows(file, names, vectors, end=end)


def write_rows(
    file: BinaryIO, names: Sequence[str], vectors: KeyedVectors, *, separator: str = " ", end: str = "\n"
) -> None:
    """One line a vector; an empty `names` writes numbers only."""
    line = separator.join([*(["%s"] if names else []), *[_NUMBER] * vectors.vector_size]) + end
    for start in range(0, len(vectors), _ROWS_PER_WRITE):
        rows = vectors.vectors[start : start + _ROWS_PER_WRITE].tolist()
        if names:
            some = names[start : start + _ROWS_PER_WRITE]
            rows = [(name, *row) for name, row in zip(some, rows, strict=True)]
        file.write("".join([line % tuple(row) for row in rows]).encode())


def _read_rows(
    source: Source, dim: int, first_line: int, *, promised: int | None = None, spaces: bool = False
) -> tuple[list[str], Floats]:
    """The words and vectors (n, dim) from the file's position to its end.

    Args:
        first_line: the number of the next line, for messages.
        promised: how many rows the header promised.
        spaces: whether a word may hold spaces.
    """
    path, readline = source.path, source.file.readline
    limit = LONGEST_WORD + dim * _LONGEST_NUMBER
    keys: list[str] = []
    rows = array("f")
    number, blank = first_line - 1, 0
    while line := readline(limit):
        number += 1
        if len(line) == limit:
            raise FormatError(f"{path}: line {number} is longer than any vector; is this a file of vectors?")
        content = line.rstrip(_LINE_END)
        if not content:
            blank += 1
            if blank > _MOST_BLANK_LINES:
                raise FormatError(f"{path}: ends in over {_MOST_BLANK_LINES:,} blank lines; remove them")
            continue
        if blank:
            raise FormatError(f"{path}: line {number - 1} is blank; remove it")
        if promised is not None and len(keys) == promised:
            raise FormatError(f"{path}: wrong header: it promises {promised} vectors, line {number} is one more")
        fields = content.split(b" ")
        if len(fields) != dim + 1:
            fields = _mended(f"{path}: ", f"line {number}", line, fields, dim, spaces)
        try:
            rows.extend(map(float, fields[1:]))  # a number beyond float32 becomes infinity, which is refused later
        except ValueError:
            wrong = next(field for field in fields[1:] if not _is_number(field))[:40].decode(errors="replace")
            raise FormatError(f"{path}: line {number}: {wrong!r} is not a number") from None
        keys.append(decoded(path, f"line {number}", fields[0]))
        if not fields[0]:
            raise FormatError(f"{path}: line {number} begins with a space: its word is empty")
    if promised is not None and len(keys) < promised:
        raise FormatError(
            f"{path}: truncated, or a wrong header: it promises {promised} vectors, the file holds {len(keys)}"
        )
    return keys, np.frombuffer(rows, np.float32).reshape(len(keys), dim)


def _mended(path: str, where: str, line: bytes, fields: list[bytes], dim: int, spaces: bool) -> list[bytes]:
    """The fields of a line that has not exactly dim + 1, with its word in one piece, or an error that says why not."""
    extra = len(fields) - dim - 1
    if extra < 0 or all(_is_number(field) for field in fields[1 : extra + 1]):
        if extra < 0 and not line.endswith(b"\n"):
            path, where = f"{path}truncated: ", f"{where}, the last,"
        raise FormatError(f"{path}{where} has {len(fields) - 1} numbers, not {dim}")
    word = b" ".join(fields[: extra + 1])
    if not spaces:
        shown = word[:40].decode(errors="replace")
        raise FormatError(f"{path}{where}: the word {shown!r} holds a space, which this format cannot hold")
    return [word, *fields[extra + 1 :]]


def _is_number(field: bytes) -> bool:
    try:
        float(field)
    except ValueError:
        return False
    return True
