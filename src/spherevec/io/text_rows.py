"""Lines of a word and its numbers, separated by single spaces: what all textual vector formats share."""

from __future__ import annotations

import re
from array import array
from collections.abc import Sequence
from pathlib import Path
from typing import BinaryIO

import numpy as np

from spherevec.errors import FormatError
from spherevec.io.reading import Source, decoded
from spherevec.model.keyed_vectors import KeyedVectors

# Room for a word and for each of its numbers in one line; a longer line is no vector.
LONGEST_WORD = 1 << 16
_LONGEST_NUMBER = 64
_LINE_END = b" \t\r\n"
_ROWS_PER_WRITE = 1024
# Nine digits bring every float32 back exactly.
_NUMBER = "%.9g"


def read_rows(
    source: Source, dim: int, first_line: int, *, promised: int | None = None, spaces: bool = False
) -> tuple[list[str], np.ndarray[tuple[int, ...], np.dtype[np.float32]]]:
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
    number, blank = first_line - 1, False
    while line := readline(limit):
        number += 1
        if len(line) == limit:
            raise FormatError(f"{path}: line {number} is longer than any vector; is this a file of vectors?")
        content = line.rstrip(_LINE_END)
        if not content:
            blank = True
            continue
        if blank:
            raise FormatError(f"{path}: line {number - 1} is blank; remove it")
        if promised is not None and len(keys) == promised:
            raise FormatError(f"{path}: wrong header: it promises {promised} vectors, line {number} is one more")
        fields = content.split(b" ")
        if len(fields) != dim + 1:
            fields = _mended(path, number, line, fields, dim, spaces)
        try:
            rows.extend(map(float, fields[1:]))  # a number beyond float32 becomes infinity, which is refused later
        except ValueError:
            raise _not_a_number(path, number, fields) from None
        keys.append(decoded(path, f"line {number}", fields[0]))
        if not fields[0]:
            raise FormatError(f"{path}: line {number} begins with a space: its word is empty")
    if promised is not None and len(keys) < promised:
        raise FormatError(
            f"{path}: truncated, or a wrong header: it promises {promised} vectors, the file holds {len(keys)}"
        )
    return keys, np.frombuffer(rows, np.float32).reshape(len(keys), dim)


def numbers_at_end(fields: Sequence[bytes]) -> int:
    """How many of the last fields are numbers, the first field never being one."""
    count = 0
    for field in reversed(fields[1:]):
        if not _is_number(field):
            break
        count += 1
    return count


def _mended(path: Path, number: int, line: bytes, fields: list[bytes], dim: int, spaces: bool) -> list[bytes]:
    """The fields of a line that has not exactly dim + 1, with its word in one piece, or an error that says why not."""
    extra = len(fields) - dim - 1
    if extra < 0:
        if not line.endswith(b"\n"):
            raise FormatError(f"{path}: truncated: line {number}, the last, has {len(fields) - 1} numbers, not {dim}")
        raise FormatError(f"{path}: line {number} has {len(fields) - 1} numbers, not {dim}")
    if all(_is_number(field) for field in fields[1 : extra + 1]):
        raise FormatError(f"{path}: line {number} has {len(fields) - 1} numbers, not {dim}")
    word = b" ".join(fields[: extra + 1])
    if not spaces:
        shown = word[:40].decode(errors="replace")
        raise FormatError(f"{path}: line {number}: the word {shown!r} holds a space, which this format cannot hold")
    return [word, *fields[extra + 1 :]]


def _not_a_number(path: Path, number: int, fields: list[bytes]) -> FormatError:
    wrong = next(field for field in fields[1:] if not _is_number(field))
    shown = wrong[:40].decode(errors="replace")
    return FormatError(f"{path}: line {number}: {shown!r} is not a number")


def _is_number(field: bytes) -> bool:
    try:
        float(field)
    except ValueError:
        return False
    return True


def plain_names(
    vectors: KeyedVectors, format_name: str, *, forbidden: str = " \t\n\r\f\v\0", empty: bool = False
) -> list[str]:
    """The names to write, positions where there are none; refused if the format cannot hold one of them.

    Args:
        forbidden: the characters that the format gives a meaning of its own.
        empty: whether the format can hold an empty name.
    """
    if vectors.names is None:
        return [str(position) for position in range(len(vectors))]
    # Half a character, as in odd file names, cannot be written in UTF-8.
    special = re.compile(f"[{re.escape(forbidden)}\ud800-\udfff]")
    for row, name in enumerate(vectors.names):
        found = special.search(name)
        if found or not (name or empty):
            fault = _described(found.group()) if found else "an empty name"
            raise FormatError(
                f"the name {name!r} (number {row + 1}) cannot be written: {format_name} files cannot hold {fault};"
                " rename it or choose another format"
            )
    return list(vectors.names)


def _described(character: str) -> str:
    known = {" ": "a space", "\n": "a line break", "\r": "a line break", "\t": "a tab"}
    return known.get(character, f"the character {character!r}")


def write_rows(
    file: BinaryIO, names: Sequence[str], vectors: KeyedVectors, *, separator: str = " ", end: str = "\n"
) -> None:
    """One line a vector; an empty `names` writes numbers only."""
    numbers = separator.join([_NUMBER] * vectors.vector_size) + end
    line = f"%s{separator}{numbers}"
    for start in range(0, len(vectors), _ROWS_PER_WRITE):
        rows = vectors.vectors[start : start + _ROWS_PER_WRITE].tolist()
        if names:
            some = names[start : start + _ROWS_PER_WRITE]
            text = "".join([line % (name, *row) for name, row in zip(some, rows, strict=True)])
        else:
            text = "".join([numbers % tuple(row) for row in rows])
        file.write(text.encode())
