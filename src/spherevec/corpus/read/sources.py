"""Which files a source stands for, in which order."""

from __future__ import annotations

import glob
import os
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from stat import S_ISREG

from spherevec.corpus.read.formats import EMAIL, REFUSED, TEXT, Format, ending, format_by_ending, format_of
from spherevec.corpus.read.guard import guarded
from spherevec.corpus.read.streams import STDIN
from spherevec.errors import CorpusError

_MAILDIR = {"cur", "new"}


@dataclass(frozen=True)
class Item:
    """One file to read.

    Args:
        name: what its documents are called, alone or with a line number behind it.
        whole: it is one document.
        size: in bytes; None where that is not known, as of a pipe.
    """

    path: Path
    name: str
    format: Format
    whole: bool
    size: int | None


def items_of(paths: Sequence[str | os.PathLike[str]], notes: list[str]) -> list[Item]:
    """The files behind paths, folders and patterns, in the order given; within a folder or pattern, by name."""
    items: list[Item] = []
    for given in paths:
        for path in _expanded(given):
            if path == STDIN:
                items.append(Item(STDIN, "-", TEXT, False, None))
                continue
            with guarded(path):
                status = path.stat()
                is_folder = path.is_dir()
            if is_folder:
                items.extend(_folder_items(path, "" if len(paths) == 1 else f"{path.as_posix()}/", notes))
            else:
                size = status.st_size if S_ISREG(status.st_mode) else None
                found = format_of(path)
                items.append(Item(path, str(path), found, found.one_document, size))
    twice = [str(path) for path, count in Counter(item.path for item in items).items() if count > 1]
    if twice:
        raise CorpusError(f"{twice[0]}: given twice; name each file once")
    return items


def _expanded(given: str | os.PathLike[str]) -> list[Path]:
    text = os.fspath(given)
    if not text:
        raise CorpusError("the path of the corpus is empty; name a file, a folder, or - for standard input")
    if "://" in text and not Path(given).exists():
        raise CorpusError(
            f"{text}: object stores and other addresses are read by workers: give --ray local (ray='local'), or copy "
            "the file here"
        )
    path = Path(given)
    if text == "-":
        return [STDIN]
    if path == STDIN:  # ./-
        return [path.absolute()]
    if not glob.has_magic(text) or path.exists():
        return [path]
    found = sorted(glob.glob(text, recursive=True))  # noqa: PTH207  # patterns may be absolute
    if not found:
        raise CorpusError(f"{text}: no file fits this pattern; check the spelling")
    return [Path(one) for one in found]


def _folder_items(folder: Path, prefix: str, notes: list[str]) -> list[Item]:
    """One document a file, in the order of the paths relative to `folder`."""
    with guarded(folder):
        found = sorted((path.relative_to(folder).as_posix(), path) for path in _visible_files(folder))
    formats = {path: _format_in_folder(path) for _, path in found}
    chosen = [(name, path) for name, path in found if _holds_one_document(formats[path])]
    for _, path in found:
        if ending(path) in REFUSED:
            others = sorted({ending(path) for _, path in chosen})
            way = f", or give the others as '{folder}/**/*{others[0]}'" if others else ""
            raise CorpusError(f"{path}: {ending(path)} files are not read; {REFUSED[ending(path)]}{way}")
    tables = [path for path, one in formats.items() if one is not None and not _holds_one_document(one)]
    if tables:
        mixed = "both text files and tables" if chosen else "tables"
        raise CorpusError(
            f"{folder}: holds {mixed} such as {tables[0].name}; "
            f"give the files of one kind, '{folder}/*{ending(tables[0])}'"
        )
    if chosen:
        _note_skipped(folder, [path for path, one in formats.items() if one is None], notes)
    elif not found:
        raise CorpusError(f"{folder}: holds no text files; put one document a file there, or give a file")
    with guarded(folder):
        return [
            Item(path, prefix + name, formats[path] or TEXT, True, path.stat().st_size)
            for name, path in chosen or found
        ]


def _format_in_folder(path: Path) -> Format | None:
    if path.parent.name in _MAILDIR and (path.parent.parent / "cur").is_dir():
        return format_by_ending(path) or EMAIL
    return format_by_ending(path)


def _holds_one_document(format: Format | None) -> bool:
    """Whether files of a format are one document each in a folder; lines of a text file are none there."""
    return format is not None and (format.one_document or format is TEXT)


def _note_skipped(folder: Path, skipped: Iterable[Path], notes: list[str]) -> None:
    counts = Counter(ending(path) or "no ending" for path in skipped)
    if counts:
        listed = ", ".join(f"{count:,} with {end}" for end, count in counts.most_common(5))
        notes.append(f"{folder}: left out {sum(counts.values()):,} files that are not text ({listed})")


def _visible_files(folder: Path) -> Iterator[Path]:
    waiting = [folder]
    while waiting:
        for path in waiting.pop().iterdir():
            if path.name.startswith("."):
                continue
            if path.is_file():
                yield path
            elif path.is_dir() and not path.is_symlink():  # a link may lead back up
                waiting.append(path)
