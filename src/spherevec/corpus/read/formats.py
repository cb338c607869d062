"""The table of input formats, and which files a source stands for. To read another format, add a row and a reader."""

from __future__ import annotations

import glob
import os
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from stat import S_ISREG

from spherevec.corpus.read import markup, tables
from spherevec.corpus.read.streams import COMPRESSED, STDIN, InputFile, guarded
from spherevec.corpus.table.records import Row
from spherevec.errors import CorpusError
from spherevec.terminal import number_of


@dataclass(frozen=True)
class Format:
    """A kind of file."""

    name: str  # what messages call it
    endings: tuple[str, ...]  # of its files, in lower case
    # Gives the documents of a file; None for plain text, in which each line is one
    read: Callable[[InputFile], Iterator[Row]] | None = None
    row: str = "line"  # what a document of it is called in messages
    one_document: bool = False  # a file is one document; a folder of them is a corpus
    fields: bool = True  # it has fields beside the text
    untyped: bool = False  # its cells have no types: text may spell a number
    begins: bytes = b""  # what standard input begins with if it is of this format
    split: str | None = None  # how machines share a file: by "lines", by "row groups", or not at all
    options: tuple[str, ...] = ()  # reading options that are for it alone


TEXT = Format("text", (".txt", ".md", ".text"), fields=False, split="lines")
CSV = Format("CSV", (".csv", ".tsv", ".tab", ".psv"), tables.csv_rows, untyped=True, options=("delimiter", "ragged"))
EMAIL = Format("e-mail", (".eml",), markup.email_rows, "mail", one_document=True)
FORMATS = [
    TEXT,
    CSV,
    Format("JSON lines", (".jsonl", ".ndjson"), tables.jsonl_rows, begins=b"{", split="lines"),
    Format("JSON", (".json",), tables.json_rows, "record", begins=b"["),
    Format("Parquet", (".parquet",), tables.parquet_rows, "row", split="row groups"),
    Format("spreadsheet", (".xlsx", ".ods"), tables.sheet_rows, "row", options=("sheet",)),
    Format("HTML", (".html", ".htm", ".xhtml"), markup.html_rows, "page", one_document=True),
    EMAIL,
    Format("mbox", (".mbox",), markup.mbox_rows, "mail"),
]

# What is refused by name, and what to do instead.
REFUSED = {
    ".pdf": "extract its text first, for example with pdftotext",
    **dict.fromkeys(
        (".doc", ".docx", ".odt", ".rtf", ".pages", ".epub"), "save it as plain text (.txt) or .html first"
    ),
    **dict.fromkeys((".ppt", ".pptx", ".odp", ".key"), "save it as plain text (.txt) first"),
    **dict.fromkeys((".xls", ".xlsb", ".numbers"), "save it as .xlsx or .csv first"),
    **dict.fromkeys(
        (".feather", ".arrow", ".orc", ".avro", ".dta", ".sav", ".rds"), "save it as .parquet or .csv first"
    ),
    **dict.fromkeys((".db", ".sqlite", ".sqlite3"), "export its table as .csv or .parquet first"),
    **dict.fromkeys((".zip", ".tar", ".tgz", ".7z", ".rar", ".bz2"), "unpack it first, or compress the text with gzip"),
    **dict.fromkeys((".pkl", ".pickle", ".joblib"), "load it yourself and give the texts: pickles can run code"),
    ".xml": "extract its text first, or give a table of texts",
    **dict.fromkeys((".msg", ".pst"), "save the mail as .eml or .mbox first"),
}


def ending(path: Path) -> str:
    """The ending that says what a file holds, compression aside."""
    endings = [one.lower() for one in path.suffixes]
    if endings and endings[-1] in COMPRESSED:
        del endings[-1]
    return endings[-1] if endings else ""


def format_by_ending(path: Path) -> Format | None:
    """The format of a file by its ending; None where that says nothing."""
    end = ending(path)
    return next((one for one in FORMATS if end in one.endings), None)


def format_of(path: Path) -> Format:
    """The format of a file; one with an ending that says nothing is plain text, one that cannot be read is refused."""
    for end in (ending(path), path.suffix.lower()):
        if end in REFUSED:
            raise CorpusError(f"{path}: {end} files are not read; {REFUSED[end]}")
    return format_by_ending(path) or TEXT


_MAILDIR = {"cur", "new"}


@dataclass(frozen=True)
class Item:
    """One file to read."""

    path: Path
    name: str  # what its documents are called, alone or with a line number behind it
    format: Format
    whole: bool  # it is one document
    size: int | None  # in bytes; None where that is not known, as of a pipe

    def __fspath__(self) -> str:
        return str(self.path)


def items_of(paths: Sequence[str | os.PathLike[str]], notes: list[str]) -> list[Item]:
    """The files behind paths, folders and patterns, in the order given; within a folder or pattern, by name."""
    items: list[Item] = []
    for given in paths:
        if isinstance(given, Item):
            items.append(given)
            continue
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
            f"{text}: object stores and other addresses are read by workers: give ray='local' (--ray local), or copy "
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
            endings = sorted({ending(path) for _, path in chosen})
            way = f", or give the others as '{folder}/**/*{endings[0]}'" if endings else ""
            raise CorpusError(f"{path}: {ending(path)} files are not read; {REFUSED[ending(path)]}{way}")
    tables = [path for path, one in formats.items() if one is not None and not _holds_one_document(one)]
    if tables:
        mixed = "both text files and tables" if chosen else "tables"
        raise CorpusError(
            f"{folder}: holds {mixed} such as {tables[0].name}; "
            f"give the files of one kind, '{folder}/*{ending(tables[0])}'"
        )
    others = Counter(ending(path) or "no ending" for path, one in formats.items() if one is None and chosen)
    if others:
        listed = ", ".join(f"{count:,} with {end}" for end, count in others.most_common(5))
        notes.append(f"{folder}: left out {number_of(others.total(), 'file')} other than text ({listed})")
    if not found:
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
