"""Vectors of other programs: files opened and checked, rows scaled to length 1, and what was changed."""

from __future__ import annotations

import codecs
import contextlib
import gzip
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

import numpy as np

from spherevec.errors import FormatError
from spherevec.model.keyed_vectors import KeyedVectors
from spherevec.sphere import Floats
from spherevec.storage.os_errors import explain_os_errors

# A row this close to norm 1 stays as it is, so that what we wrote ourselves comes back bit by bit.
_ALREADY_UNIT = 1e-6
_ROWS_PER_BLOCK = 1 << 14
# The deflate method cannot pack more than this many bytes into one.
_STRONGEST_COMPRESSION = 1032
LARGEST_DIMENSION = 1 << 16


@dataclass(frozen=True)
class Changes:
    """What was changed in vectors of another program."""

    vectors_read: int
    rescaled: int = 0
    duplicates: tuple[str, ...] = ()
    zeros: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.rescaled or self.duplicates or self.zeros)

    def __str__(self) -> str:
        told = []
        if self.rescaled:
            told.append(f"{self.rescaled:,} of {self.vectors_read:,} vectors scaled to length 1")
        if self.duplicates:
            told.append(f"{len(self.duplicates):,} repeated words dropped, such as {self.duplicates[0]!r:.60}")
        if self.zeros:
            told.append(f"{len(self.zeros):,} zero vectors dropped, such as that of {self.zeros[0]!r:.60}")
        return "; ".join(told) or f"{self.vectors_read:,} vectors taken over unchanged"


@dataclass(frozen=True)
class Source:
    """An opened file and the most bytes it can hold when unpacked."""

    path: Path
    file: BinaryIO
    capacity: int


@contextlib.contextmanager
def open_vectors(path: str | Path) -> Iterator[Source]:
    """Open a file, unpacking gzip on the way; every failure to read it becomes a `FormatError`."""
    path = Path(path)
    if not path.is_file():
        raise FormatError(f"{path}: {'is a folder, not a file' if path.is_dir() else 'no such file'}")
    with explain_os_errors(reading=path, kind=FormatError):
        try:
            with path.open("rb") as raw:
                size = path.stat().st_size
                if raw.read(2) == b"\x1f\x8b":
                    with gzip.open(path, "rb") as unpacked:
                        _skip_mark(unpacked)  # type: ignore[arg-type]
                        yield Source(path, unpacked, size * _STRONGEST_COMPRESSION)  # type: ignore[arg-type]
                else:
                    _skip_mark(raw)
                    yield Source(path, raw, size)
        except (EOFError, zlib.error, gzip.BadGzipFile) as error:
            raise FormatError(f"{path}: truncated or corrupt gzip file ({error}); copy it again") from None
        except MemoryError:
            raise FormatError(f"{path}: not enough memory for its vectors") from None


def _skip_mark(file: BinaryIO) -> None:
    """Go to the beginning, past the mark that some editors write before UTF-8: it is no part of the first word."""
    file.seek(0)
    if file.read(3) != codecs.BOM_UTF8:
        file.seek(0)


def read_header(source: Source, bytes_per_value: int) -> tuple[int, int]:
    """The count and the dimension in the first line, refused if the file cannot hold as many numbers of these bytes."""
    line = source.file.readline(256)
    fields = line.split()
    if len(fields) != 2 or not all(field.isdigit() for field in fields):
        raise FormatError(
            f"{source.path}: wrong header: the first line is {_excerpt(line)}, not a count and a dimension"
            " (a file without a header is in the glove format)"
        )
    # Bounded before conversion: a number of thousands of digits is no number of vectors.
    count, dim = (int(field) if len(field) < 19 else 2**62 for field in fields)
    if count < 1 or not 2 <= dim <= LARGEST_DIMENSION:
        raise FormatError(f"{source.path}: wrong header: {count} vectors of dimension {dim} are not possible")
    least = count * (dim * bytes_per_value + 1)
    if least > source.capacity:
        raise FormatError(
            f"{source.path}: truncated, or a wrong header: it promises {count} vectors of dimension {dim},"
            f" which take at least {least} bytes, but the file can hold only {source.capacity}"
        )
    return count, dim


def decoded(path: Path, where: str, word: bytes) -> str:
    try:
        return word.decode()
    except UnicodeDecodeError:
        raise FormatError(f"{path}: {where}: the word {_excerpt(word)} is not UTF-8; convert the file first") from None


def unit_vectors(path: Path, keys: list[str], vectors: Floats) -> tuple[KeyedVectors, Changes]:
    """Rows scaled to norm 1, in place; zero vectors and repeated words (all but the first) are dropped.

    NaN and infinity are refused.
    """
    kept = np.ones(len(keys), bool)
    rescaled = 0
    for start in range(0, len(keys), _ROWS_PER_BLOCK):
        block = vectors[start : start + _ROWS_PER_BLOCK]
        wide = block.astype(np.float64)
        norms = np.sqrt(np.einsum("ij,ij->i", wide, wide))
        if not np.isfinite(norms).all():
            bad = start + int(np.flatnonzero(~np.isfinite(norms))[0])
            raise FormatError(f"{path}: the vector of {keys[bad]!r:.60} (number {bad + 1}) holds NaN or infinity")
        kept[start : start + len(block)] = norms > 0
        off = np.flatnonzero((np.abs(norms - 1) > _ALREADY_UNIT) & (norms > 0))
        block[off] = (wide[off] / norms[off, None]).astype(np.float32)
        rescaled += len(off)
    zeros = tuple(keys[row] for row in np.flatnonzero(~kept))
    first: dict[str, int] = {}
    again = [row for row in np.flatnonzero(kept).tolist() if first.setdefault(keys[row], row) != row]
    duplicates = tuple(keys[row] for row in again)
    kept[again] = False
    if not kept.any():
        raise FormatError(f"{path}: holds no vector that is not zero")
    if not kept.all():
        vectors = vectors[kept]
        keys = [key for key, keep in zip(keys, kept, strict=True) if keep]
    return KeyedVectors(keys, vectors), Changes(len(kept), rescaled, duplicates, zeros)


def _excerpt(text: bytes) -> str:
    return repr(text if len(text) <= 40 else text[:40] + b"...")[1:]
