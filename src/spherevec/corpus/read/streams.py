"""Files as streams of bytes, decompressed by their ending, and as pieces of valid UTF-8."""

from __future__ import annotations

import codecs
import gzip
import io
import lzma
import os
import re
import sys
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from dataclasses import dataclass, field
from pathlib import Path
from stat import S_ISREG
from typing import Any, BinaryIO, cast

from spherevec.corpus.read.guard import DamagedError, DecompressionLimit, UnreadableError, guarded, newlines_in
from spherevec.corpus.read.options import AUTO, ReadOptions
from spherevec.corpus.tokenize.cleaning import LONGEST_TAG
from spherevec.errors import ConfigError, CorpusError, MissingExtraError

BLOCK_SIZE = 1 << 20
LONGEST_TEXT = 1 << 28  # bytes that are ever held as one text or one word
_LONGEST_MARKUP = LONGEST_TAG + 64  # bytes of a tag with its name
COMPRESSED = (".gz", ".xz", ".zst")
STDIN = Path("-")  # a file of that name is given as ./-
_ZSTD_CHUNK = 1 << 9  # compressed bytes at a time: each may unfold to 32 KB
_XZ_CHUNK = 1 << 16  # bytes at a time, on both sides
_XZ_MEMORY = 1 << 28  # four times what `xz -9` asks for
_WIDE_ENCODINGS = ("utf-16", "utf-32")
_MARKS = {
    codecs.BOM_UTF8: "utf-8",
    codecs.BOM_UTF32_LE: "utf-32",
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}
WESTERN = "cp1252"  # Latin-1 with quotes and dashes
# What speaks against Western text: characters of UTF-8, bytes without meaning, ÿ, and long runs of bytes that are not
# ASCII, as in Cyrillic, Greek and Chinese encodings.
_NOT_WESTERN = re.compile(
    rb"[\xc2-\xdf][\x80-\xbf]|[\xe0-\xef][\x80-\xbf]{2}|[\x81\x8d\x8f\x90\x9d\xff]|[\x80-\xfe]{5}"
)


@dataclass
class Meter:
    """How far reading has come, in bytes of the source as it is stored."""

    done: int = 0
    total: int | None = None


class _MeteredFile(io.FileIO):
    def __init__(self, path: Path, meter: Meter) -> None:
        super().__init__(path)
        self._meter = meter

    def readinto(self, buffer: Any) -> int | None:
        n = super().readinto(buffer)
        self._meter.done += n or 0
        return n


class _Unpacker(io.RawIOBase):
    """Unpacks one compressed part after another, a bounded number of bytes at a time, and notices a truncated one."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._part = self._new_part()
        self._inside_part = False
        self._ready = memoryview(b"")

    def _new_part(self) -> Any:
        """What unpacks one part: has `eof` and `unused_data`."""
        raise NotImplementedError

    def _unpacked(self) -> bytes | None:
        """Some more bytes of the part, perhaps none yet; None at the end of the file."""
        raise NotImplementedError

    def _more(self, size: int) -> bytes:
        """Compressed bytes for the current part, or for a new one where that has ended."""
        if not self._part.eof:
            return self._file.read(size)
        unused: bytes = self._part.unused_data
        self._part, self._inside_part = self._new_part(), False
        return unused or self._file.read(size)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while not self._ready:
            data = self._unpacked()
            if data is None:
                if self._inside_part:
                    raise EOFError
                return 0
            self._ready = memoryview(data)
        n = min(len(buffer), len(self._ready))
        buffer[:n] = self._ready[:n]
        self._ready = self._ready[n:]
        return n


class _ZstdUnpacker(_Unpacker):
    def __init__(self, file: BinaryIO) -> None:
        try:
            import zstandard
        except ImportError:
            raise MissingExtraError("reading .zst files", "zstd") from None
        self._zstandard = zstandard
        super().__init__(file)

    def _new_part(self) -> Any:
        return self._zstandard.ZstdDecompressor().decompressobj()

    def _unpacked(self) -> bytes | None:
        chunk = self._more(_ZSTD_CHUNK)
        if not chunk:
            return None
        self._inside_part = True
        try:
            data: bytes = self._part.decompress(chunk)
        except self._zstandard.ZstdError as error:
            raise DamagedError(str(error)) from None
        return data


class _XzUnpacker(_Unpacker):
    """Unlike the library's own reader, refuses a file that asks for gigabytes of working memory."""

    def _new_part(self) -> Any:
        return lzma.LZMADecompressor(lzma.FORMAT_XZ, memlimit=_XZ_MEMORY)

    def _unpacked(self) -> bytes | None:
        chunk = b""
        if self._part.eof or self._part.needs_input:
            chunk = self._more(_XZ_CHUNK)
            while not self._inside_part:  # parts may be padded with zeros
                chunk, was = chunk.lstrip(b"\0"), chunk
                if chunk or not was:
                    break
                chunk = self._file.read(_XZ_CHUNK)
            if not chunk:
                return None
        self._inside_part = True
        data: bytes = self._part.decompress(chunk, _XZ_CHUNK)
        return data


def open_stream(path: Path, meter: Meter) -> AbstractContextManager[BinaryIO]:
    """The bytes of a file, decompressed where its ending says so; `meter` counts what is read from the disk."""
    if path == STDIN:
        return nullcontext(sys.stdin.buffer)
    file = cast(BinaryIO, io.BufferedReader(_MeteredFile(path, meter), 1 << 16))
    ending = path.suffix.lower()
    if ending == ".gz":
        return cast(BinaryIO, gzip.GzipFile(fileobj=file))
    if ending == ".xz":
        return cast(BinaryIO, io.BufferedReader(_XzUnpacker(file), 1 << 16))
    if ending == ".zst":
        return cast(BinaryIO, io.BufferedReader(_ZstdUnpacker(file), 1 << 16))
    return file


@contextmanager
def unchanged(path: Path) -> Iterator[None]:
    """Complain at the end if somebody wrote to the file, or cut it short, meanwhile."""
    if path == STDIN:
        yield
        return
    before = path.stat()
    yield
    check_unchanged(path, before, path.stat())


def check_unchanged(path: Path, before: os.stat_result, after: os.stat_result) -> None:
    """Raise if somebody wrote to the file, or cut it short, between two states of it."""
    same_file = S_ISREG(before.st_mode) and before.st_ino == after.st_ino  # a new file of that name harms nobody
    if same_file and (before.st_size, before.st_mtime_ns) != (after.st_size, after.st_mtime_ns):
        raise CorpusError(f"{path}: changed while it was read; give a copy that nobody writes to")


def check_encoding(encoding: str) -> None:
    """Raise `ConfigError` unless text can be decoded so; "auto" is found out for each file."""
    if encoding == AUTO:
        return
    try:
        if not encoding.isprintable():
            raise LookupError("unknown encoding")
        "".encode(encoding)
        codecs.getincrementaldecoder(encoding)
    except (LookupError, UnicodeError, ValueError) as error:
        raise ConfigError(f"encoding {encoding!r} cannot be used ({error}); try utf-8, latin-1 or utf-16") from None


def found_encoding(beginning: bytes) -> str:
    """The encoding of a text by its first bytes: a byte order mark, zeros as in UTF-16, or only Western letters.

    Whatever is ambiguous is called UTF-8: reading it says where it is not valid.

    >>> [found_encoding("naïve".encode(encoding)) for encoding in ("cp1252", "utf-8", "utf-16")]
    ['cp1252', 'utf-8', 'utf-16']
    """
    for mark, encoding in _MARKS.items():
        if beginning.startswith(mark):
            return encoding
    sample = beginning[: 1 << 12]
    zeros = sample[0::2].count(0), sample[1::2].count(0)
    if max(zeros) * 8 > len(sample) * 3 and min(zeros) * 20 < max(zeros):  # three of four letters are Latin
        return "utf-16-le" if zeros[1] else "utf-16-be"
    try:
        codecs.getincrementaldecoder("utf-8")().decode(beginning)
    except UnicodeDecodeError:
        if not _NOT_WESTERN.search(beginning) and 0 not in sample:
            return WESTERN
    return "utf-8"


@dataclass
class InputFile:
    """A file while it is read: all that the reader of a format needs.

    Args:
        name: what its documents are called.
        meter, notes: told how far reading has come, and what was found out.
        size: bytes to read at a time.
        begun: its text, where that was looked at already, as of standard input.
    """

    path: Path
    name: str
    options: ReadOptions
    meter: Meter = field(default_factory=Meter)
    notes: list[str] = field(default_factory=list)
    size: int = BLOCK_SIZE
    begun: Iterator[bytes] | None = None

    def text(self) -> Iterator[bytes]:
        """Its text as UTF-8; see `utf8_pieces`."""
        return utf8_pieces(self) if self.begun is None else self.begun

    def lines(self, longest: int) -> Iterator[bytes]:
        """Its lines, with their newlines; one of more than `longest` bytes is refused."""
        return lines(self.text(), str(self.path), longest)

    def content(self, longest: int) -> bytes:
        """All its bytes, decompressed; more than `longest` are refused."""
        with guarded(self.path), open_stream(self.path, self.meter) as stream:
            content = bytearray()
            while len(content) <= longest and (piece := stream.read(1 << 20)):
                content += piece
        if len(content) > longest:
            raise UnreadableError(f"{self.path}: longer than {longest >> 20} MB; split it into several")
        return bytes(content)


def utf8_pieces(file: InputFile, *, check: bool = True) -> Iterator[bytes]:
    """The text of a file as UTF-8, without a byte order mark, in pieces read about `file.size` bytes at a time.

    A piece may end inside a character; a text that is not empty ends with a newline. Where lines end with a carriage
    return alone, as old Macs and some spreadsheets write them, these become newlines, and a note says so.

    Args:
        check: a file in UTF-8 is looked at; else whoever reads it must see that it is valid.
    """
    path, meter, done_before = file.path, file.meter, file.meter.done
    limit = DecompressionLimit(path) if path.suffix.lower() in COMPRESSED else None
    decoder: _Decoder | None = None
    last, old_mac = b"", False
    with guarded(path), unchanged(path), open_stream(path, meter) as stream:
        while True:
            raw = stream.read(max(file.size, 4))  # a byte order mark is seen at once
            if limit is not None:
                limit.add(len(raw), meter.done - done_before)
            first = decoder is None
            if decoder is None:
                decoder = _Decoder(file, raw, check)
            piece = decoder.decode(raw)
            if first:
                piece = piece.removeprefix(codecs.BOM_UTF8)
                old_mac = ends_lines_with_returns(piece)
                if old_mac:
                    file.notes.append(f"{path}: lines end with a carriage return (CR)")
            if old_mac:
                piece = piece.replace(b"\r", b"\n")
            if piece:
                last = piece[-1:]
                yield piece
            if not raw:
                break
        if last not in (b"", b"\n"):
            yield b"\n"
    if decoder.replaced:
        file.notes.append(f"{path}: {decoder.replaced:,} bytes or characters that are not valid text were replaced")


class _Decoder:
    """Decodes a file piece by piece into UTF-8.

    Args:
        beginning: the first bytes of the file.
        check: UTF-8 is decoded as well, to see that it is valid.
    """

    def __init__(self, file: InputFile, beginning: bytes, check: bool) -> None:
        self._path, self._encoding = file.path, file.options.encoding
        self._last: bytes | None = None  # of what was read, where Western text was found and the rest must be so, too
        if self._encoding == AUTO:
            self._encoding = found_encoding(beginning)
            self._last = b"" if self._encoding == WESTERN else None
            if self._encoding != "utf-8":
                file.notes.append(f"{file.path}: read as {self._encoding}; if that is wrong, name its encoding")
        self._name = codecs.lookup(self._encoding).name
        check_beginning(file.path, beginning, self._name)
        errors = file.options.encoding_errors
        self._as_it_is = self._name == "utf-8" and errors == "strict"
        self._idle = self._as_it_is and not check
        self._decoder = codecs.getincrementaldecoder(self._encoding)(errors)
        self._lines = self.replaced = 0

    def decode(self, raw: bytes) -> bytes:
        """The next piece of the file, empty at its end."""
        if self._idle:
            return raw
        if self._last is not None:
            self._check_western(self._last, raw)
            self._last = raw[-4:]
        state = self._decoder.getstate()
        try:
            text = self._decoder.decode(raw, final=not raw)
        except UnicodeDecodeError as error:
            self._decoder.setstate(state)
            with suppress(UnicodeError):
                self._lines += self._decoder.decode(raw[: max(0, error.start - len(state[0]))]).count("\n")
            raise not_valid(self._path, self._lines + 1, self._encoding, error.object[error.start]) from None
        except UnicodeError as error:  # such as a missing byte order mark
            raise CorpusError(
                f"{self._path}: not valid {self._encoding} ({error}); name the file's encoding (encoding=NAME)"
            ) from None
        piece = raw if self._as_it_is else text.encode("utf-8", "replace")
        self._lines += newlines_in(piece)
        if not self._as_it_is:
            there = raw.count("\ufffd".encode()) if self._name == "utf-8" else 0
            self.replaced += max(0, text.count("\ufffd") - there)
        return piece

    def _check_western(self, before: bytes, raw: bytes) -> None:
        """Refuse what is not Western in a text that began so, whose last bytes were `before`."""
        found = _NOT_WESTERN.search(before + raw)
        if found:
            line = self._lines + raw.count(b"\n", 0, max(0, found.start() - len(before))) + 1
            raise CorpusError(
                f"{self._path}, line {line}: {found[0]!r} is hardly {WESTERN}, as which the lines before were read; "
                f"name the file's encoding: encoding='{WESTERN}', or encoding='utf-8' with encoding_errors='replace'"
            )


def check_beginning(path: Path, raw: bytes, encoding: str) -> None:
    """Refuse a file whose first bytes are no text; `encoding` by its usual name."""
    if raw.startswith(b"%PDF-"):
        raise CorpusError(f"{path}: a PDF file; extract its text first, for example with pdftotext")
    if b"\0" in raw and not encoding.startswith(_WIDE_ENCODINGS):
        raise CorpusError(
            f"{path}: looks binary, not text; if it is text, name its encoding (encoding=NAME, say utf-16)"
        )


def ends_lines_with_returns(beginning: bytes) -> bool:
    """Whether lines end with a carriage return alone, by the first bytes of a text."""
    return b"\n" not in beginning and b"\r" in beginning[:-1]


def not_valid(path: Path, line: int, encoding: str, byte: int) -> CorpusError:
    """What to raise where a file's bytes are not text in its encoding."""
    return CorpusError(
        f"{path}, line {line}: not valid {encoding} (byte 0x{byte:02x}); name the file's encoding (encoding=NAME, say "
        f"{WESTERN}), or replace what is not valid (encoding_errors='replace')"
    )


def blocks(pieces: Iterable[bytes], size: int = BLOCK_SIZE, name: str = "the corpus") -> Iterator[bytes]:
    """Join and cut pieces to blocks of about `size` bytes that end at white space, so never inside a word."""
    held: list[bytes] = []
    held_size = 0
    for piece in pieces:
        held.append(piece)
        held_size += len(piece)
        if held_size < size:
            continue
        whole = b"".join(held) if b"\n" in piece or b" " in piece else b""
        cut = _safe_cut(whole)
        if cut:
            yield whole[:cut]
            held = [whole[cut:]]
            held_size = len(held[0])
        elif held_size > LONGEST_TEXT:
            raise CorpusError(f"{name}: over {LONGEST_TEXT >> 20} MB without a space or a line break; is this text?")
    if held_size:
        yield b"".join(held)


def _safe_cut(text: bytes) -> int:
    """The last place at which to cut a text: behind white space and, inside a document, in no HTML tag; 0 if none."""
    newline = text.rfind(b"\n")
    if newline >= 0:
        return newline + 1
    cut = text.rfind(b" ") + 1
    while cut:
        tag = text.rfind(b"<", max(0, cut - _LONGEST_MARKUP), cut)
        if tag < 0 or text.find(b">", tag, cut) >= 0:
            break
        cut = text.rfind(b" ", 0, tag) + 1
    return cut


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
