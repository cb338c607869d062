"""Which files a source stands for, and what each of them holds, by its ending."""

from __future__ import annotations

import glob
import os
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from stat import S_ISREG

from spherevec.corpus.read.guard import guarded
from spherevec.corpus.read.streams import COMPRESSED, STDIN
from spherevec.errors import CorpusError

TEXT_ENDINGS = (".txt", ".md", ".text")
# What holds fields, and is read row by row.
TABLE_ENDINGS = {
    ".csv": "csv",
    ".tsv": "csv",
    ".tab": "csv",
    ".psv": "csv",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".json": "json",
    ".parquet": "parquet",
}
# What holds one document, perhaps with a title, or a mailbox of them.
MARKUP_ENDINGS = {".html": "html", ".htm": "html", ".xhtml": "html", ".eml": "email", ".mbox": "mbox"}
# What is refused by name, and what to do instead.
REFUSED_ENDINGS = {
    ".pdf": "extract its text first, for example with pdftotext",
    **dict.fromkeys(
        (".doc", ".docx", ".odt", ".rtf", ".pages", ".epub"), "save it as plain text (.txt) or .html first"
    ),
    **dict.fromkeys((".ppt", ".pptx", ".odp", ".key"), "save it as plain text (.txt) first"),
    **dict.fromkeys((".xls", ".xlsx", ".ods", ".numbers"), "save its sheet as .csv first"),
    **dict.fromkeys(
        (".feather", ".arrow", ".orc", ".avro", ".dta", ".sav", ".rds"), "save it as .parquet or .csv first"
    ),
    **dict.fromkeys((".db", ".sqlite", ".sqlite3"), "export its table as .csv or .parquet first"),
    **dict.fromkeys((".zip", ".tar", ".tgz", ".7z", ".rar", ".bz2"), "unpack it first, or compress the text with gzip"),
    **dict.fromkeys((".pkl", ".pickle", ".joblib"), "load it yourself and give the texts: pickles can run code"),
    **dict.fromkeys((".xml",), "extract its text first, or give a table of texts"),
    **dict.fromkeys((".msg", ".pst"), "save the mail as .eml or .mbox first"),
}
_MAILDIR = {"cur", "new"}


@dataclass(frozen=True)
class Item:
    """One file to read.

    Args:
        name: what its documents are called, alone or with a line number behind it.
        kind: "text", "csv", "jsonl", "json", "parquet", "html", "email" or "mbox".
        whole: it is one document.
        size: in bytes; None where that is not known, as of a pipe.
    """

    path: Path
    name: str
    kind: str
    whole: bool
    size: int | None


def ending(path: Path) -> str:
    """The ending that says what a file holds, compression aside."""
    endings = [one.lower() for one in path.suffixes]
    if endings and endings[-1] in COMPRESSED:
        del endings[-1]
    return endings[-1] if endings else ""


def items_of(paths: Sequence[str | os.PathLike[str]], notes: list[str]) -> list[Item]:
    """The files behind paths, folders and patterns, in the order given; within a folder or pattern, by name."""
    items: list[Item] = []
    for given in paths:
        for path in _expanded(given):
            if path == STDIN:
                items.append(Item(STDIN, "-", "text", False, None))
                continue
            with guarded(path):
                status = path.stat()
                is_folder = path.is_dir()
            if is_folder:
                items.extend(_folder_items(path, "" if len(paths) == 1 else f"{path.as_posix()}/", notes))
            else:
                items.append(_file_item(path, str(path), status.st_size if S_ISREG(status.st_mode) else None))
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


def _file_item(path: Path, name: str, size: int | None) -> Item:
    end = ending(path)
    refuse(path, end)
    if end in TABLE_ENDINGS:
        return Item(path, name, TABLE_ENDINGS[end], False, size)
    if end in MARKUP_ENDINGS:
        return Item(path, name, MARKUP_ENDINGS[end], end != ".mbox", size)
    return Item(path, name, "text", False, size)


def refuse(path: Path, end: str) -> None:
    """Refuse, by name and with a way out, a file whose text cannot be got at."""
    if end in REFUSED_ENDINGS or path.suffix.lower() in REFUSED_ENDINGS:
        end = end if end in REFUSED_ENDINGS else path.suffix.lower()
        raise CorpusError(f"{path}: {end} files are not read; {REFUSED_ENDINGS[end]}")


def _folder_items(folder: Path, prefix: str, notes: list[str]) -> list[Item]:
    """One document a file, in the order of the paths relative to `folder`."""
    with guarded(folder):
        found = sorted((path.relative_to(folder).as_posix(), path) for path in _visible_files(folder))
    kinds = {path: _kind_in_folder(path) for _, path in found}
    for _, path in found:
        if kinds[path] == "refused":
            others = sorted({ending(path) for path, kind in kinds.items() if kind in ("text", "html", "email")})
            way = f", or give the others as '{folder}/**/*{others[0]}'" if others else ""
            end = ending(path)
            raise CorpusError(f"{path}: {end} files are not read; {REFUSED_ENDINGS[end]}{way}")
    chosen = [one for one in found if kinds[one[1]] in ("text", "html", "email")]
    tables = [path for _, path in found if kinds[path] == "table"]
    if tables:
        mixed = "both text files and tables" if chosen else "tables"
        raise CorpusError(
            f"{folder}: holds {mixed} such as {tables[0].name}; "
            f"give the files of one kind, '{folder}/*{ending(tables[0])}'"
        )
    if not chosen:
        chosen = found
        kinds = dict.fromkeys(kinds, "text")
    if not chosen:
        raise CorpusError(f"{folder}: holds no text files; put one document a file there, or give a file")
    _note_skipped(folder, [path for _, path in found if kinds[path] == "other"], notes)
    with guarded(folder):
        return [Item(path, prefix + name, kinds[path], True, path.stat().st_size) for name, path in chosen]


def _kind_in_folder(path: Path) -> str:
    end = ending(path)
    if end in TEXT_ENDINGS:
        return "text"
    if end in REFUSED_ENDINGS:
        return "refused"
    if end in TABLE_ENDINGS or end == ".mbox":
        return "table"
    if end in MARKUP_ENDINGS:
        return MARKUP_ENDINGS[end]
    if path.parent.name in _MAILDIR and (path.parent.parent / "cur").is_dir():
        return "email"
    return "other"


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
