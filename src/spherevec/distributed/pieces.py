"""A source of many files, or of a few large ones, as pieces of about the same size, and a worker's copy of them.

Local paths must mean the same on every machine. Others go through fsspec: `s3://…`, `gs://…`, `hdfs://…`, `file://…`.
"""

from __future__ import annotations

import codecs
import os
import re
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path, PurePosixPath
from typing import Any, BinaryIO, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from spherevec.corpus.read.formats import TEXT, Format, Item, format_by_ending, format_of, items_of
from spherevec.corpus.read.options import AUTO
from spherevec.corpus.read.readers import paths_of
from spherevec.corpus.read.streams import BLOCK_SIZE, COMPRESSED, STDIN, found_encoding, guarded
from spherevec.corpus.table.records import schema_of, source_arrays
from spherevec.errors import ConfigError, CorpusError, import_extra
from spherevec.storage.os_errors import explain_os_errors

# Parts for each worker. A text is often sorted, by topic or by date: many parts, dealt out in turns, give each worker
# some of everything.
PARTS_A_WORKER = 16
LEAST_PART = 1 << 18  # bytes: a smaller one is not worth its own reading


@dataclass(frozen=True)
class Piece:
    """A file, or a range of its bytes (of its row groups, of Parquet)."""

    place: str  # a path or an address that fsspec understands
    name: str  # what its documents are called
    format: Format
    whole: bool  # it is one document
    size: int  # bytes, about
    start: int | None = None  # of the range; None for the whole file
    stop: int | None = None
    marked: bool = False  # the file was found to be UTF-8, which a copy of the range says by a byte order mark


def find_parts(
    source: Any, workers: int, encoding: str, notes: list[str], *, small: bool = False
) -> list[list[Piece]] | None:
    """The parts of a source, a number that `workers` divides; None where this process had better read it.

    That is so for standard input, for Python objects, and for texts that are `small`, unless workers read these, too;
    then what they cannot read is refused.
    """
    remote_list = isinstance(source, list | tuple) and all(isinstance(one, str) and "://" in one for one in source)
    addresses = [os.fspath(path) for path in (source if remote_list else paths_of(source)) or ()]
    if not addresses or any(Path(one) == STDIN for one in addresses):
        if small:
            raise CorpusError("workers read files, not standard input; give files, or leave out --ray")
        return None
    pieces: list[Piece] = []
    for address in addresses:
        pieces += _remote(address) if "://" in address else _local(address, len(addresses), notes)
    total = sum(piece.size for piece in pieces)
    if total < workers * LEAST_PART and not small and not any("://" in one for one in addresses):
        return None
    count = workers * max(1, min(PARTS_A_WORKER, total // (workers * LEAST_PART)))
    parts = _cut(pieces, count, total, encoding)
    if len(parts) < workers and not small:
        raise ConfigError(
            f"workers={workers}, but the text has only {len(parts)} files that cannot be split; lower workers"
        )
    return parts


def _local(address: str, given: int, notes: list[str]) -> list[Piece]:
    path = Path(address)
    tables = sorted(path.rglob("*.parquet")) if path.is_dir() else []
    prefix = "" if given == 1 or not path.is_dir() or tables else f"{path.as_posix()}/"
    pieces = []
    for item in items_of(tables or [path], notes):
        if item.size is None:
            raise CorpusError(f"{item.path}: its size is not known; give a plain file")
        pieces.append(Piece(str(item.path.absolute()), prefix + item.name, item.format, item.whole, item.size))
    return pieces


def _remote(address: str) -> list[Piece]:
    """The files behind an address of fsspec: one, those of a folder, or those that fit a pattern."""
    with guarded(address):
        system, path = filesystem(address)
        whole_folder = False
        if any(sign in path for sign in "*?["):
            found = {name: system.info(name) for name in sorted(system.glob(path))}
        elif system.isdir(path):
            found, whole_folder = system.find(path, detail=True), True
        else:
            found = {path: system.info(path)}
    above = len(PurePosixPath(path).parts)
    inside = {name: PurePosixPath(name).parts[above:] for name in sorted(found)}
    files = {name: found[name] for name, parts in inside.items() if not any(part[0] in "._" for part in parts)}
    if not files:
        raise CorpusError(f"{address}: no files there; check the spelling")
    pieces = []
    for name, info in files.items():
        format = format_of(Path(name))
        alone = format.one_document or (whole_folder and format_by_ending(Path(name)) is TEXT)
        pieces.append(Piece(system.unstrip_protocol(name), name, format, alone, int(info["size"] or 0)))
    if len({piece.format for piece in pieces}) > 1:
        kind = pieces[0].format.name
        raise CorpusError(f"{address}: holds {kind} and other files; give those of one kind, as a pattern")
    return pieces


def filesystem(address: str) -> tuple[Any, str]:
    """What fsspec opens an address with, and its path there."""
    fsspec = import_extra("fsspec.core", f"reading {address}", "ray")
    try:
        system, path = fsspec.url_to_fs(address)
    except ImportError as error:
        raise CorpusError(f"{address}: fsspec lacks a package for it ({error}); install that on every node") from None
    return system, path


def _splits(piece: Piece, encoding: str) -> bool:
    if piece.whole or re.match("utf[-_]?(16|32)", encoding.lower()):
        return False
    split = piece.format.split
    if split != "lines":
        return split is not None
    if Path(piece.place).suffix.lower() in COMPRESSED:
        return False
    if encoding != AUTO:
        return True
    with _open_piece(piece.place) as file:
        return found_encoding(file.read(BLOCK_SIZE)) == "utf-8"


def _cut(pieces: Sequence[Piece], count: int, total: int, encoding: str) -> list[list[Piece]]:
    """`count` runs of pieces of about as many bytes, in order; fewer where files cannot be split."""
    parts: list[list[Piece]] = [[] for _ in range(count)]
    done = 0
    for piece in pieces:
        first = min(done * count // max(total, 1), count - 1)
        last = min(max(done, done + piece.size - 1) * count // max(total, 1), count - 1)
        if first == last or not _splits(piece, encoding):
            parts[first].append(piece)
        else:
            # Parquet is cut in thousandths of its rows, which the reader makes row groups of.
            edges = [max(0, -(-number * total // count) - done) for number in range(first, last + 1)]
            edges = [0, *edges[1:], piece.size]
            marked = encoding == AUTO and piece.format.split == "lines"
            for number, (start, stop) in enumerate(pairwise(edges), first):
                parts[number].append(replace(piece, start=start, stop=stop, size=stop - start, marked=marked))
        done += piece.size
    return [part for part in parts if part]


_COPIED = 1 << 22  # bytes at a time


class Stage(NamedTuple):
    """Pieces as files of this machine."""

    pieces: Sequence[Piece]
    paths: list[Path | None]  # of each; None where it is empty
    given: list[Item]  # what to read, in their order

    def rows(self, columns: Mapping[str, NDArray[Any]], documents: int) -> list[int]:
        """How many documents each piece has, by the columns of their table; all are the first one's where that is not
        known, nor asked for.
        """
        there = [number for number, path in enumerate(self.paths) if path is not None]
        found, rows = columns.get("sources.rows", np.zeros(0)).tolist(), [0] * len(self.paths)
        firsts = found if len(found) == len(there) else [0] + [documents] * (len(there) - 1)
        for number, (first, last) in zip(there, pairwise([*firsts, documents]), strict=True):
            rows[number] = last - first
        return rows

    def renamed(self, message: str) -> str:
        """What was said of the copies, with the names of the pieces; lines are counted from where a range begins."""
        for piece, path in zip(self.pieces, self.paths, strict=False):
            title = f"{piece.name} (from byte {piece.start:,})" if piece.start else piece.name
            message = message if path is None else message.replace(str(path), title)
        return message


@contextmanager
def staged_pieces(pieces: Sequence[Piece], folder: Path) -> Iterator[Stage]:
    """Pieces as files, as long as the context lasts; errors there name the pieces."""
    place = folder / "stage"
    place.mkdir()
    stage = Stage(pieces, [], [])
    try:
        for number, piece in enumerate(pieces):
            path = _staged(piece, place, number)
            stage.paths.append(path)
            if path is not None:
                stage.given.append(Item(path, piece.name, piece.format, piece.whole, path.stat().st_size))
        yield stage
    except CorpusError as error:
        raise CorpusError(stage.renamed(str(error))) from None
    finally:
        shutil.rmtree(place, ignore_errors=True)


def _staged(piece: Piece, folder: Path, number: int) -> Path | None:
    """A file of this machine with a piece of text: the file itself, or a copy in `folder`; None where it is empty."""
    if "://" not in piece.place and piece.start is None:
        return Path(piece.place)
    suffixes = "".join(Path(piece.place).suffixes[-2:])
    target = folder / f"{number}{suffixes}"
    with _open_piece(piece.place) as source, explain_os_errors(writing=folder, kind=CorpusError):
        if piece.start is None:
            with target.open("wb") as copy:
                shutil.copyfileobj(source, copy, _COPIED)
        elif piece.format.split == "row groups":
            _copy_row_groups(source, piece, target)
        else:
            _copy_lines(source, piece, target)
    return target if target.stat().st_size else None


@contextmanager
def _open_piece(place: str) -> Iterator[BinaryIO]:
    """A file to read and to seek in, wherever it is."""
    with guarded(place):
        system, inside = filesystem(place) if "://" in place else (None, place)
        with system.open(inside, "rb") if system else Path(inside).open("rb") as file:
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
        while position < piece.stop and (line := source.readline()):
            if piece.marked and not copy.tell() and not line.startswith(codecs.BOM_UTF8):
                copy.write(codecs.BOM_UTF8)
            copy.write(line)
            position += len(line)


def _copy_row_groups(source: BinaryIO, piece: Piece, target: Path) -> None:
    """The row groups whose middle lies in the range, where each takes its share of the file by its rows."""
    parquet = import_extra("pyarrow.parquet", "reading Parquet files", "parquet")
    assert piece.start is not None and piece.stop is not None
    file: Any = parquet.ParquetFile(source)
    rows = np.array([file.metadata.row_group(number).num_rows for number in range(file.num_row_groups)])
    middles = (np.cumsum(rows) - rows / 2) / max(rows.sum(), 1) * source.seek(0, 2)
    chosen = np.flatnonzero((middles >= piece.start) & (middles < piece.stop)).tolist()
    target.touch()
    if chosen:
        with parquet.ParquetWriter(target, file.schema_arrow) as writer:
            for number in chosen:
                writer.write_table(file.read_row_group(number))


def source_columns(
    columns: Mapping[str, NDArray[Any]], pieces: Sequence[Sequence[Piece]], rows: Sequence[Sequence[int]]
) -> dict[str, NDArray[Any]]:
    """Where documents come from, by which they are told apart where they have no ids.

    Args:
        columns: of the table of documents.
        pieces: of each part.
        rows: how many documents each piece has.
    """
    if any(column["role"] == "id" for column in schema_of(columns)["columns"]):
        return {}
    sources: list[tuple[str, int, bool]] = []
    row = 0
    for part, counts in zip(pieces, rows, strict=True):
        for piece, count in zip(part, counts, strict=True):
            if not sources or sources[-1][0] != piece.name:
                sources.append((piece.name, row, piece.whole))
            row += count
    return source_arrays(sources)
