"""The table of input formats: to read another kind of file, add a row and a reader."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from spherevec.corpus.read import markup, sheets, tables
from spherevec.corpus.read.streams import COMPRESSED, InputFile
from spherevec.corpus.table.records import Row
from spherevec.errors import CorpusError


@dataclass(frozen=True)
class Format:
    """A kind of file.

    Args:
        name: what messages call it.
        endings: of its files, in lower case.
        read: gives the documents of a file; None for plain text, in which each line is one.
        row: what a document of it is called in messages.
        one_document: a file is one document; a folder of them is a corpus.
        fields: it has fields beside the text.
        spelled: its cells have no types: text may spell a number.
        begins: what standard input begins with if it is of this format.
        split: how machines share a file: by "lines", by "row groups", or not at all.
    """

    name: str
    endings: tuple[str, ...]
    read: Callable[[InputFile], Iterator[Row]] | None = None
    row: str = "line"
    one_document: bool = False
    fields: bool = True
    spelled: bool = False
    begins: bytes = b""
    split: str | None = None


TEXT = Format("text", (".txt", ".md", ".text"), fields=False, split="lines")
CSV = Format("CSV", (".csv", ".tsv", ".tab", ".psv"), tables.csv_rows, spelled=True)
EMAIL = Format("e-mail", (".eml",), markup.email_rows, "mail", one_document=True)
FORMATS = [
    TEXT,
    CSV,
    Format("JSON lines", (".jsonl", ".ndjson"), tables.jsonl_rows, begins=b"{", split="lines"),
    Format("JSON", (".json",), tables.json_rows, "record", begins=b"["),
    Format("Parquet", (".parquet",), tables.parquet_rows, "row", split="row groups"),
    Format("spreadsheet", (".xlsx", ".ods"), sheets.sheet_rows, "row"),
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


def format_named(name: str) -> Format:
    """The format of that name."""
    return next(one for one in FORMATS if one.name == name)


def format_of_stream(beginning: bytes) -> Format:
    """What standard input holds, if it has fields."""
    begins = beginning.lstrip()[:1]
    return next((one for one in FORMATS if one.begins and begins == one.begins), CSV)


def endings_with_fields() -> str:
    """The first ending of each format that has fields, for messages."""
    return ", ".join(one.endings[0] for one in FORMATS if one.fields and not one.one_document)
