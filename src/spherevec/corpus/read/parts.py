"""A source of many files, or of a few large ones, as parts of about the same size that workers read.

Local paths must mean the same on every machine. Others go through fsspec: `s3://…`, `gs://…`, `hdfs://…`, `file://…`.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path, PurePosixPath
from typing import Any

from spherevec.corpus.read.objects import paths_of
from spherevec.corpus.read.sources import TABLE_ENDINGS, TEXT_ENDINGS, Item, ending, items_of, refuse
from spherevec.corpus.read.streams import COMPRESSED, STDIN
from spherevec.errors import ConfigError, CorpusError, MissingExtraError

# Parts for each worker. A text is often sorted, by topic or by date: many parts, dealt out in turns, give each worker
# some of everything.
PARTS_A_WORKER = 16
LEAST_PART = 1 << 18  # bytes: a smaller one is not worth its own reading
_SPLIT_KINDS = ("text", "jsonl")
_WHOLE_ENCODINGS = ("utf16", "utf32", "utf_16", "utf_32", "utf-16", "utf-32")


@dataclass(frozen=True)
class Piece:
    """A file, or a range of its bytes (of its row groups, of Parquet).

    Attributes:
        place: a path or an address that fsspec understands.
        name: what its documents are called.
        kind, whole: as in `spherevec.corpus.read.sources.Item`.
        size: bytes, about.
        start, stop: the range; None for the whole file.
    """

    place: str
    name: str
    kind: str
    whole: bool
    size: int
    start: int | None = None
    stop: int | None = None

    @property
    def title(self) -> str:
        """What messages call it; lines are counted from where the range begins."""
        return f"{self.name} (from byte {self.start:,})" if self.start else self.name

    @property
    def remote(self) -> bool:
        return "://" in self.place


def addresses_of(source: Any) -> list[str] | None:
    """The paths and addresses that a source is; None where it is something else, which this process must read."""
    if isinstance(source, list | tuple) and source and all(isinstance(one, str) and "://" in one for one in source):
        return list(source)
    paths = paths_of(source)
    return None if paths is None else [os.fspath(path) for path in paths]


def find_parts(
    source: Any, workers: int, encoding: str, notes: list[str], *, small: bool = False
) -> list[list[Piece]] | None:
    """The parts of a source, a number that `workers` divides; None where this process had better read it.

    That is so for standard input, for Python objects, and for texts that are small.

    Args:
        small: workers read small texts, too, and what they cannot read is refused.
    """
    addresses = addresses_of(source)
    if addresses is None or any(Path(one) == STDIN for one in addresses):
        if small:
            raise CorpusError("workers read files, not standard input; give files, or leave out --ray")
        return None
    pieces: list[Piece] = []
    for address in addresses:
        pieces += _remote(address) if "://" in address else _local(address, len(addresses), notes)
    total = sum(piece.size for piece in pieces)
    remote = any(piece.remote for piece in pieces)
    if total < workers * LEAST_PART and not remote and not small:
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
    items = items_of(tables or [path], notes)
    prefix = "" if given == 1 or not path.is_dir() or tables else f"{path.as_posix()}/"
    return [_of_item(item, prefix) for item in items]


def _of_item(item: Item, prefix: str) -> Piece:
    if item.size is None:
        raise CorpusError(f"{item.path}: its size is not known; give a plain file")
    return Piece(str(item.path.absolute()), prefix + item.name, item.kind, item.whole, item.size)


def _remote(address: str) -> list[Piece]:
    """The files behind an address of fsspec: one, those of a folder, or those that fit a pattern."""
    with told_by_fsspec(address):
        system, path = filesystem(address)
        whole_folder = False
        if any(sign in path for sign in "*?["):
            found = {name: system.info(name) for name in sorted(system.glob(path))}
        elif system.isdir(path):
            found, whole_folder = system.find(path, detail=True), True
        else:
            found = {path: system.info(path)}
    files = {name: info for name, info in sorted(found.items()) if not _hidden(name, path)}
    if not files:
        raise CorpusError(f"{address}: no files there; check the spelling")
    pieces = []
    for name, info in files.items():
        end = ending(Path(name))
        refuse(Path(name), end)
        kind = TABLE_ENDINGS.get(end, "text")
        alone = whole_folder and kind == "text" and end in TEXT_ENDINGS
        pieces.append(Piece(system.unstrip_protocol(name), name, kind, alone, int(info["size"] or 0)))
    if len({piece.kind for piece in pieces}) > 1:
        raise CorpusError(f"{address}: holds {pieces[0].kind} and other files; give those of one kind, as a pattern")
    return pieces


def _hidden(name: str, folder: str) -> bool:
    inside = PurePosixPath(name).parts[len(PurePosixPath(folder).parts) :]
    return any(part.startswith((".", "_")) for part in inside)


def filesystem(address: str) -> tuple[Any, str]:
    """What fsspec opens an address with, and its path there."""
    try:
        import fsspec.core
    except ImportError:
        raise MissingExtraError(f"reading {address}", "ray") from None
    try:
        system, path = fsspec.core.url_to_fs(address)
    except ImportError as error:
        raise CorpusError(f"{address}: fsspec lacks a package for it ({error}); install that on every node") from None
    return system, path


@contextmanager
def told_by_fsspec(address: str) -> Iterator[None]:
    """Whatever an object store says, in one line."""
    try:
        yield
    except FileNotFoundError:
        raise CorpusError(f"{address}: no such file; check the spelling, and that it was not removed") from None
    except (CorpusError, MissingExtraError, MemoryError):
        raise
    except Exception as error:  # of as many kinds as there are stores
        reason = " ".join(str(error).split())[:200] or type(error).__name__
        raise CorpusError(f"{address}: cannot be read ({reason}); check its name and your rights") from None


def _splits(piece: Piece, encoding: str) -> bool:
    if piece.whole or encoding.lower().startswith(_WHOLE_ENCODINGS):
        return False
    if piece.kind == "parquet":
        return True
    return piece.kind in _SPLIT_KINDS and not piece.place.lower().endswith(COMPRESSED)


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
            for number, (start, stop) in enumerate(pairwise(edges), first):
                parts[number].append(replace(piece, start=start, stop=stop, size=stop - start))
        done += piece.size
    filled = [part for part in parts if part]
    return filled
