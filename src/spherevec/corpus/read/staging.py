"""A worker's copy of the pieces that it reads: ranges of bytes, whole lines of them, and what lies in object stores."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from spherevec.corpus.read.parts import Piece, filesystem, told_by_fsspec
from spherevec.corpus.read.streams import COMPRESSED, readable
from spherevec.errors import CorpusError, MissingExtraError
from spherevec.storage.os_errors import explain_os_errors

_COPIED = 1 << 22  # bytes at a time
_ENDINGS = {"text": ".txt", "html": ".html", "email": ".eml"}  # of files that are one document


class Stage(NamedTuple):
    """Pieces as files of this machine."""

    pieces: Sequence[Piece]
    paths: list[Path | None]  # of each; None where it is empty
    given: list[Path]  # what to read, in their order

    def rows(self, columns: Mapping[str, NDArray[Any]], documents: int) -> list[int]:
        """How many documents each piece has; all are the first one's where that is not known, nor asked for.

        Args:
            columns: of the table of documents.
        """
        there = [number for number, path in enumerate(self.paths) if path is not None]
        found, rows = columns.get("sources.rows", np.zeros(0)).tolist(), [0] * len(self.paths)
        firsts = found if len(found) == len(there) else [0] + [documents] * (len(there) - 1)
        for number, (first, last) in zip(there, pairwise([*firsts, documents]), strict=True):
            rows[number] = last - first
        return rows

    def renamed(self, message: str) -> str:
        """What was said of the copies, with the names of the pieces."""
        for piece, path in zip(self.pieces, self.paths, strict=False):
            message = message if path is None else message.replace(str(path), piece.title)
        return message


@contextmanager
def staged_pieces(pieces: Sequence[Piece], folder: Path) -> Iterator[Stage]:
    """Pieces as files, as long as the context lasts; errors there name the pieces."""
    place = folder / "stage"
    place.mkdir()
    stage = Stage(pieces, [], [])
    try:
        for number, piece in enumerate(pieces):
            stage.paths.append(_staged(piece, place, number))
        stage.given.extend(_given(pieces, stage.paths, place))
        yield stage
    except CorpusError as error:
        raise CorpusError(stage.renamed(str(error))) from None
    finally:
        shutil.rmtree(place, ignore_errors=True)


def _given(pieces: Sequence[Piece], paths: Sequence[Path | None], stage: Path) -> list[Path]:
    """Files of many documents as they are; those that are one document each in a folder, which says so."""
    given: list[Path] = []
    for number, (piece, path) in enumerate(zip(pieces, paths, strict=True)):
        if path is None or not piece.whole:
            given += [] if path is None else [path]
            continue
        if not given or given[-1].parent != stage or not given[-1].is_dir():
            given.append(stage / f"folder-{number:09}")
            given[-1].mkdir()
        packed = path.suffix.lower() if path.suffix.lower() in COMPRESSED else ""
        (given[-1] / f"{number:09}{_ENDINGS[piece.kind]}{packed}").symlink_to(path.absolute())
    return given


def _staged(piece: Piece, folder: Path, number: int) -> Path | None:
    """A file of this machine with a piece of text: the file itself, or a copy in `folder`; None where it is empty."""
    if not piece.remote and piece.start is None:
        return Path(piece.place)
    suffixes = "".join(Path(piece.place).suffixes[-2:])
    target = folder / f"{number}{suffixes}"
    with opened(piece.place) as source, explain_os_errors(writing=folder):
        if piece.start is None:
            with target.open("wb") as copy:
                shutil.copyfileobj(source, copy, _COPIED)
        elif piece.kind == "parquet":
            _copy_row_groups(source, piece, target)
        else:
            _copy_lines(source, piece, target)
    return target if target.stat().st_size else None


@contextmanager
def opened(place: str) -> Iterator[BinaryIO]:
    """A file to read and to seek in, wherever it is."""
    if "://" not in place:
        path = Path(place)
        with readable(path), path.open("rb") as file:
            yield file
        return
    with told_by_fsspec(place):
        system, inside = filesystem(place)
        with system.open(inside, "rb") as file:
            yield cast(BinaryIO, file)


def _copy_lines(source: BinaryIO, piece: Piece, target: Path) -> None:
    """The lines that begin in the range: a line belongs to the piece that holds its first byte."""
    assert piece.start is not None and piece.stop is not None
    position = piece.start
    if position:
        # The line before ends with the first newline at or behind the byte before the range.
        source.seek(position - 1)
        position = position - 1 + len(source.readline())
    with target.open("wb") as copy:
        left = piece.stop - position
        last = b"\n"
        while left > 0:
            data = source.read(min(left, _COPIED))
            if not data:
                break
            copy.write(data)
            left -= len(data)
            last = data[-1:]
        if left <= 0 and last != b"\n" and piece.stop > position:
            copy.write(source.readline())


def _copy_row_groups(source: BinaryIO, piece: Piece, target: Path) -> None:
    """The row groups whose middle lies in the range, where each takes its share of the file by its rows."""
    try:
        import pyarrow.parquet as parquet
    except ImportError:
        raise MissingExtraError("reading Parquet files", "parquet") from None
    assert piece.start is not None and piece.stop is not None
    file: Any = parquet.ParquetFile(source)
    rows = [file.metadata.row_group(number).num_rows for number in range(file.num_row_groups)]
    source.seek(0, 2)
    size, done, total = source.tell(), 0, max(sum(rows), 1)
    writer: Any = None
    for number, count in enumerate(rows):
        middle = (done + count / 2) / total * size
        done += count
        if piece.start <= middle < piece.stop:
            table = file.read_row_group(number)
            writer = writer or parquet.ParquetWriter(target, table.schema)
            writer.write_table(table)
    if writer is None:
        target.touch()
    else:
        writer.close()
