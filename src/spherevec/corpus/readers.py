"""Whatever a corpus may come from, as one stream of UTF-8 in which a newline ends a document."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from stat import S_ISREG

from spherevec.corpus import tables
from spherevec.corpus.streams import COMPRESSED, Meter, check_encoding, readable, utf8_pieces
from spherevec.errors import CorpusError

BLOCK_SIZE = 1 << 20
TEXT_ENDINGS = (".txt", ".md", ".text")
LONGEST_TEXT = 1 << 28  # bytes that are ever held as one text or one word

Document = str | Sequence[str]


@dataclass
class Source:
    """A corpus to be read once: either `pieces` of UTF-8 text, or `documents` that are already lists of words."""

    pieces: Iterator[bytes] | None = None
    documents: Iterator[Sequence[str]] | None = None
    document_names: list[str] | None = None
    meter: Meter = field(default_factory=Meter)
    name: str = "the corpus"

    def texts(self) -> Iterator[str]:
        """The documents of a text source, one string each."""
        assert self.pieces is not None
        return (line[:-1].decode() for line in lines(self.pieces, self.name))

    def blocks(self, size: int) -> Iterator[bytes]:
        """The text in blocks of about `size` bytes that never end inside a word."""
        assert self.pieces is not None
        return blocks(self.pieces, size, self.name)


def read_documents(
    source: str | os.PathLike[str] | Iterable[Document], *, text_field: str | None = None, encoding: str = "utf-8"
) -> Iterator[Document]:
    """The documents of any source that `encode` takes, in the same order; newlines inside a text become spaces."""
    opened = open_source(source, text_field, encoding)
    return opened.documents if opened.documents is not None else opened.texts()


def open_source(
    source: str | os.PathLike[str] | Iterable[Document],
    text_field: str | None = None,
    encoding: str = "utf-8",
    size: int = BLOCK_SIZE,
) -> Source:
    """Find out what `source` is, and get ready to read it `size` bytes at a time."""
    check_encoding(encoding)
    if not isinstance(source, str | os.PathLike):
        if text_field is not None:
            raise CorpusError(f"text_field {text_field!r} needs a .jsonl, .csv or .parquet file, not a Python iterable")
        return _open_iterable(source)
    path = Path(source)
    with readable(path):
        status = path.stat()
    kind = _ending(path)
    if text_field is not None and (path.is_dir() or kind not in tables.ENDINGS):
        raise CorpusError(f"{path}: text_field {text_field!r} needs a .jsonl, .csv or .parquet file; leave it out")
    if path.is_dir():
        return _open_folder(path, encoding, size)
    meter = Meter(total=status.st_size if S_ISREG(status.st_mode) else None)
    pieces = _not_empty(path, _file_pieces(path, kind, text_field, encoding, size, meter))
    return Source(pieces=pieces, meter=meter, name=str(path))


def blocks(pieces: Iterable[bytes], size: int = BLOCK_SIZE, name: str = "the corpus") -> Iterator[bytes]:
    """Join and cut pieces to blocks of about `size` bytes that end at white space, so never inside a word."""
    held: list[bytes] = []
    held_size = 0
    for piece in pieces:
        held.append(piece)
        held_size += len(piece)
        if held_size < size:
            continue
        cut = 1 + max(piece.rfind(b" "), piece.rfind(b"\n"))
        if cut:
            held[-1] = piece[:cut]
            yield b"".join(held)
            held = [piece[cut:]]
            held_size = len(held[0])
        elif held_size > LONGEST_TEXT:
            raise CorpusError(f"{name}: over {LONGEST_TEXT >> 20} MB without a space or a line break; is this text?")
    if held_size:
        yield b"".join(held)


def lines(pieces: Iterable[bytes], name: str = "the corpus", longest: int = LONGEST_TEXT) -> Iterator[bytes]:
    """Join and cut pieces, the last of which ends with a newline, to lines with their newlines."""
    held: list[bytes] = []
    held_size = number = 0
    for piece in pieces:
        first, *others = piece.split(b"\n")
        held.append(first)
        held_size += len(first)
        for other in others:
            number += 1
            held.append(b"\n")
            yield b"".join(held)
            held, held_size = [other], len(other)
        if held_size > longest:
            raise CorpusError(f"{name}, line {number + 1}: longer than {longest >> 20} MB; split it into several")


def utf8(text: str) -> bytes:
    """Half a surrogate pair, which broken JSON may hold, becomes the replacement character."""
    try:
        return text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace").encode()


def _as_piece(text: str) -> bytes:
    return utf8(text).replace(b"\n", b" ") + b"\n"


def _ending(path: Path) -> str:
    """The ending that says what a file holds, compression aside."""
    endings = [ending.lower() for ending in path.suffixes]
    if endings and endings[-1] in COMPRESSED:
        del endings[-1]
    return endings[-1] if endings else ""


def _file_pieces(
    path: Path, kind: str, text_field: str | None, encoding: str, size: int, meter: Meter
) -> Iterator[bytes]:
    if kind == ".parquet":
        return map(_as_piece, tables.parquet_documents(path, text_field, meter))
    text = utf8_pieces(path, encoding, size, meter)
    if kind in (".jsonl", ".csv"):
        read = tables.jsonl_documents if kind == ".jsonl" else tables.csv_documents
        return map(_as_piece, read(lines(text, str(path), tables.LONGEST_RECORD), path, text_field))
    return text


def _not_empty(path: Path, pieces: Iterator[bytes]) -> Iterator[bytes]:
    first = next(pieces, None)
    if first is None:
        raise CorpusError(f"{path}: is empty; give a file with at least one document")
    yield first
    yield from pieces


def _open_folder(folder: Path, encoding: str, size: int) -> Source:
    """One document a file, in the order of the paths relative to `folder`."""
    with readable(folder):
        found = list(_visible_files(folder))
    chosen = [path for path in found if _ending(path) in TEXT_ENDINGS]
    if not chosen:
        table = next((path for path in found if _ending(path) in tables.ENDINGS), None)
        if table:
            raise CorpusError(f"{folder}: holds tables such as {table.name}, no text files; give one table at a time")
        chosen = found
    if not chosen:
        raise CorpusError(f"{folder}: holds no text files; put one document a file there, or give a file")
    files = sorted((path.relative_to(folder).as_posix(), path) for path in chosen)
    meter = Meter(total=sum(path.stat().st_size for path in chosen))

    def pieces() -> Iterator[bytes]:
        for _, path in files:
            for piece in utf8_pieces(path, encoding, size, meter):
                yield piece.replace(b"\n", b" ")
            yield b"\n"

    return Source(pieces(), document_names=[name for name, _ in files], meter=meter, name=str(folder))


def _visible_files(folder: Path) -> Iterator[Path]:
    for path in folder.iterdir():
        if path.name.startswith("."):
            continue
        if path.is_file():
            yield path
        elif path.is_dir() and not path.is_symlink():  # a link may lead back up
            yield from _visible_files(path)


def _open_iterable(source: Iterable[Document]) -> Source:
    """The first document decides whether they are texts or lists of words; all must be alike."""
    try:
        documents = iter(source)
    except TypeError:
        raise CorpusError(
            f"a corpus is a path, or an iterable of strings or token lists, not {type(source).__name__}"
        ) from None
    try:
        first = next(documents)
    except StopIteration:
        raise CorpusError("the iterable holds no documents; a generator can be read only once") from None
    whole = chain([first], documents)
    if isinstance(first, list | tuple):
        return Source(documents=_token_lists(whole))
    meter = Meter()
    return Source(pieces=_text_pieces(whole, meter), meter=meter)


def _token_lists(documents: Iterable[Document]) -> Iterator[Sequence[str]]:
    for number, document in enumerate(documents, 1):
        if not isinstance(document, list | tuple):
            raise CorpusError(f"document {number} must be a list of strings like the first, not {_shown(document)}")
        yield document


def _text_pieces(documents: Iterable[Document], meter: Meter) -> Iterator[bytes]:
    for number, document in enumerate(documents, 1):
        if not isinstance(document, str):
            raise CorpusError(f"document {number} must be a string, not {_shown(document)}; make it '' if it is empty")
        piece = _as_piece(document)
        meter.done += len(piece)
        yield piece


def _shown(value: object) -> str:
    return f"{type(value).__name__} {repr(value)[:40]}"
