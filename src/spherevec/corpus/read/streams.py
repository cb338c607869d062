"""Files as streams of bytes, decompressed by their ending, and as pieces of valid UTF-8.

This is also the border to foreign readers: what they may cost, and what becomes of whatever they raise. How many
documents and bytes a source may hold, and how far a compressed file may expand, is bounded. Each bound is an
environment variable that a user can raise; the error names it.
"""

from __future__ import annotations

import codecs
import io
import lzma
import os
import re
import sys
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from dataclasses import dataclass, field
from pathlib import Path
from stat import S_ISREG
from typing import Any, BinaryIO, cast

import numpy as np

from spherevec.corpus.read.options import AUTO, ReadOptions
from spherevec.corpus.tokenize.cleaning import LONGEST_TAG
from spherevec.errors import ConfigError, CorpusError, SpherevecError, import_extra
from spherevec.storage.os_errors import explain_os_errors

_DOCUMENTS = ("SPHEREVEC_MAX_DOCUMENTS", 1 << 26)
_EMPTY = ("SPHEREVEC_MAX_EMPTY_DOCUMENTS", 1 << 22)
_BYTES = ("SPHEREVEC_MAX_BYTES", 1 << 42)
_EXPANSION = ("SPHEREVEC_MAX_EXPANSION", 250)
# Below this, what a compressed file expands to harms nobody.
_HARMLESS = 1 << 23
# A document costs its place and, with the usual 100 numbers, a vector.
_BYTES_A_DOCUMENT = 408
_NEWLINE = 0x0A


def limit(setting: tuple[str, int]) -> int:
    """A bound: the user's, or the default."""
    name, default = setting
    given = os.environ.get(name, "")
    if not given:
        return default
    if not (given.isascii() and given.isdigit() and len(given) < 19 and int(given) > 0):
        raise ConfigError(f"{name} must be a whole number above 0, not {given!r:.40}")
    return int(given)


class UnreadableError(CorpusError):
    """A document, or a file of one, that no reader makes sense of within its bounds; it may be skipped."""


@contextmanager
def guarded(name: str | Path, format: str = "") -> Iterator[None]:
    """Turn whatever goes wrong while `name` is read into one line: the disk, a decompressor, a parser of a format."""
    with explain_os_errors(reading=name, kind=CorpusError):
        try:
            yield
        except (SpherevecError, OSError):
            raise
        except EOFError:
            raise UnreadableError(f"{name}: compressed file is truncated; copy or download it again") from None
        except MemoryError:
            raise UnreadableError(f"{name}: not enough memory to read it; split it into smaller files") from None
        except Exception as error:  # of as many kinds as there are readers
            kind, reason = type(error).__name__, " ".join(str(error).split())[:200]
            if isinstance(error, zlib.error | lzma.LZMAError) or kind == "ZstdError":
                raise UnreadableError(
                    f"{name}: not a valid {Path(str(name)).suffix} file ({reason}); copy it again, or rename it if it "
                    "is not compressed"
                ) from None
            what = f"cannot be read as {format}" if format else "cannot be read"
            raise UnreadableError(f"{name}: {what} ({kind}: {reason}); correct it, or copy it again") from error


class DecompressionLimit:
    """Watches how far a compressed file expands."""

    def __init__(self, name: object) -> None:
        self._name, self._most = name, limit(_EXPANSION)
        self._unpacked = 0

    def add(self, unpacked: int, packed: int) -> None:
        """Args: unpacked: further bytes that came out; packed: all bytes that went in so far."""
        self._unpacked += unpacked
        if self._unpacked > max(_HARMLESS, self._most * packed):
            raise CorpusError(
                f"{self._name}: {packed:,} bytes expand to {self._unpacked:,} and more, over {self._most} times as "
                f"many; set {_EXPANSION[0]} higher if that is meant"
            )


def newlines_in(text: bytes) -> int:
    """How many newlines there are. Other threads go on meanwhile, which `bytes.count` does not allow."""
    return int(np.count_nonzero(np.frombuffer(text, np.uint8) == _NEWLINE))


def bounded(pieces: Iterable[bytes], name: object) -> Iterator[bytes]:
    """Pieces of text in which a newline ends a document, as long as there are not too many of either."""
    most, most_empty, most_bytes = limit(_DOCUMENTS), limit(_EMPTY), limit(_BYTES)
    documents = empty = size = 0
    ended = True  # the last piece ended a document
    for piece in pieces:
        if piece.find(b"\n") == len(piece) - 1 >= 0:  # one document, as the row of a table is
            documents, empty, ended = documents + 1, empty + (ended and len(piece) == 1), True
        else:
            newlines = np.frombuffer(piece, np.uint8) == _NEWLINE
            documents += int(np.count_nonzero(newlines))
            empty += int(np.count_nonzero(newlines[1:] & newlines[:-1])) + bool(ended and newlines[:1].any())
            ended = bool(newlines[-1]) if len(newlines) else ended
        size += len(piece)
        if documents > most or empty > most_empty:
            highest, setting, what = (most, _DOCUMENTS, "") if documents > most else (most_empty, _EMPTY, "empty ")
            raise CorpusError(
                f"{name}: over {highest:,} {what}documents; at {_BYTES_A_DOCUMENT} bytes each that is over "
                f"{highest * _BYTES_A_DOCUMENT / 1e9:.1f} GB; set {setting[0]} higher if that is meant"
            )
        if size > most_bytes:
            raise CorpusError(f"{name}: over {most_bytes:,} bytes of text; set {_BYTES[0]} higher if that is meant")
        yield piece


BLOCK_SIZE = 1 << 20
LONGEST_TEXT = 1 << 28  # bytes that are ever held as one text or one word
_LONGEST_MARKUP = LONGEST_TAG + 64  # bytes of a tag with its name
_CUTS_TRIED = 100  # in one piece; one may be found in the next
STDIN = Path("-")  # a file of that name is given as ./-
_PACKED_CHUNK = 1 << 10  # compressed bytes at a time: each of zstd's may unfold to 32 KB
_XZ_MEMORY = 1 << 28  # four times what `xz -9` asks for
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


# The endings of compressed files, and what decompresses one of the parts that such a file consists of.
COMPRESSED: dict[str, Callable[[], Any]] = {
    ".gz": lambda: zlib.decompressobj(zlib.MAX_WBITS + 16),
    ".xz": lambda: lzma.LZMADecompressor(lzma.FORMAT_XZ, memlimit=_XZ_MEMORY),
    ".zst": lambda: import_extra("zstandard", "reading .zst files", "zstd").ZstdDecompressor().decompressobj(),
}


class _Unpacked(io.RawIOBase):
    """A compressed file as a file of what it holds, of which little is in memory.

    Notices a truncated one, and one that expands too far.
    """

    def __init__(self, file: BinaryIO, new_part: Callable[[], Any], limit: DecompressionLimit) -> None:
        self._file, self._pieces, self._held = file, self._unpack(file, new_part, limit), memoryview(b"")

    def close(self) -> None:
        self._file.close()
        super().close()

    @staticmethod
    def _unpack(file: BinaryIO, new_part: Callable[[], Any], limit: DecompressionLimit) -> Iterator[bytes]:
        part: Any = None
        packed = 0
        while chunk := file.read(_PACKED_CHUNK):
            packed += len(chunk)
            while chunk := chunk if part else chunk.lstrip(b"\0"):  # parts may be padded with zeros
                part = part or new_part()
                piece = part.decompress(chunk)
                limit.add(len(piece), packed)
                yield piece
                chunk = b""
                if part.eof:
                    chunk, part = part.unused_data, None
        if part:
            raise EOFError

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while not self._held:
            piece = next(self._pieces, None)
            if piece is None:
                return 0
            self._held = memoryview(piece)
        n = min(len(buffer), len(self._held))
        buffer[:n] = self._held[:n]
        self._held = self._held[n:]
        return n


def open_stream(path: Path, meter: Meter) -> AbstractContextManager[BinaryIO]:
    """The bytes of a file, decompressed where its ending says so; `meter` counts what is read from the disk."""
    if path == STDIN:
        return nullcontext(sys.stdin.buffer)
    file = cast(BinaryIO, io.BufferedReader(_MeteredFile(path, meter), 1 << 16))
    new_part = COMPRESSED.get(path.suffix.lower())
    if new_part is None:
        return file
    return cast(BinaryIO, io.BufferedReader(_Unpacked(file, new_part, DecompressionLimit(path)), 1 << 16))


@contextmanager
def unchanged(path: Path) -> Iterator[None]:
    """Complain at the end if somebody wrote to the file, or cut it short, meanwhile."""
    if path == STDIN:
        yield
        return
    before = path.stat()
    yield
    after = path.stat()
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
    """A file while it is read: all that the reader of a format needs."""

    path: Path
    name: str  # what its documents are called
    options: ReadOptions
    meter: Meter = field(default_factory=Meter)  # told how far reading has come
    notes: list[str] = field(default_factory=list)  # told what was found out
    size: int = BLOCK_SIZE  # bytes to read at a time
    begun: Iterator[bytes] | None = None  # its text, where that was looked at already, as of standard input

    def text(self) -> Iterator[bytes]:
        """Its text as UTF-8, without a byte order mark, in pieces read about `size` bytes at a time.

        A piece may end inside a character; a text that is not empty ends with a newline. Where lines end with a
        carriage return alone, as old Macs and some spreadsheets write them, these become newlines, and a note says so.
        """
        if self.begun is not None:
            yield from self.begun
            return
        path = self.path
        size, ended, old_mac, last = max(self.size, 4), False, False, b"\n"  # a byte order mark is seen at once
        decoder: _Decoder | None = None
        with guarded(path), unchanged(path), open_stream(path, self.meter) as stream:
            while not ended:
                raw = stream.read(size)
                ended = len(raw) < size
                if decoder is None:
                    decoder = _Decoder(self, raw)
                    piece = decoder.decode(raw, ended).removeprefix(codecs.BOM_UTF8)
                    old_mac = b"\n" not in piece and b"\r" in piece[:-1]
                    if old_mac:
                        self.notes.append(f"{path}: lines end with a carriage return (CR)")
                else:
                    piece = decoder.decode(raw, ended)
                if old_mac:
                    piece = piece.replace(b"\r", b"\n")
                last = piece[-1:] or last
                if ended and last != b"\n":
                    piece += b"\n"
                if piece:
                    yield piece
        if decoder and decoder.replaced:
            self.notes.append(f"{path}: {decoder.replaced:,} bytes or characters that are not valid text were replaced")

    def lines(self, longest: int) -> Iterator[bytes]:
        """Its lines, with their newlines; one of more than `longest` bytes is refused."""
        return lines(self.text(), str(self.path), longest)

    def content(self, longest: int) -> bytes:
        """All its bytes, decompressed; more than `longest` are refused."""
        with guarded(self.path), unchanged(self.path), open_stream(self.path, self.meter) as stream:
            content = bytearray()
            while len(content) <= longest and (piece := stream.read(1 << 20)):
                content += piece
        if len(content) > longest:
            raise UnreadableError(f"{self.path}: longer than {longest >> 20} MB; split it into several")
        return bytes(content)


class _Decoder:
    """Decodes a file piece by piece into UTF-8; `beginning` is its first bytes."""

    def __init__(self, file: InputFile, beginning: bytes) -> None:
        path, encoding, errors = file.path, file.options.encoding, file.options.encoding_errors
        self._last: bytes | None = None  # of what was read, where Western text was found and the rest must be so, too
        if encoding == AUTO:
            encoding = found_encoding(beginning)
            self._last = b"" if encoding == WESTERN else None
            if encoding != "utf-8":
                file.notes.append(f"{path}: read as {encoding}; if that is wrong, name its encoding")
        name = codecs.lookup(encoding).name
        if beginning.startswith(b"%PDF-"):
            raise CorpusError(f"{path}: a PDF file; extract its text first, for example with pdftotext")
        if b"\0" in beginning and not name.startswith(("utf-16", "utf-32")):
            raise CorpusError(
                f"{path}: looks binary, not text; if it is text, name its encoding (encoding=NAME, say utf-16), or "
                "remove its zero bytes"
            )
        self._path, self._encoding, self._is_utf8 = path, encoding, name == "utf-8"
        self._as_it_is = self._is_utf8 and errors == "strict"
        self._decoder = codecs.getincrementaldecoder(encoding)(errors)
        self._lines = self.replaced = 0

    def decode(self, raw: bytes, final: bool) -> bytes:
        """The next piece of the file."""
        if self._last is not None:
            self._check_western(self._last, raw)
            self._last = raw[-4:]
        state = self._decoder.getstate()
        if self._as_it_is and not state[0] and raw.isascii():
            self._lines += newlines_in(raw)
            return raw
        try:
            text = self._decoder.decode(raw, final)
        except UnicodeDecodeError as error:
            self._decoder.setstate(state)
            with suppress(UnicodeError):
                self._lines += self._decoder.decode(raw[: max(0, error.start - len(state[0]))]).count("\n")
            raise CorpusError(
                f"{self._path}, line {self._lines + 1}: not valid {self._encoding} (byte "
                f"0x{error.object[error.start]:02x}); name the file's encoding (encoding=NAME, say {WESTERN}), or "
                "replace what is not valid (encoding_errors='replace')"
            ) from None
        except UnicodeError as error:  # such as a missing byte order mark
            raise CorpusError(
                f"{self._path}: not valid {self._encoding} ({error}); name the file's encoding (encoding=NAME)"
            ) from None
        piece = raw if self._as_it_is else text.encode("utf-8", "replace")
        self._lines += newlines_in(piece)
        if not self._as_it_is:
            there = raw.count("\ufffd".encode()) if self._is_utf8 else 0
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


def blocks(pieces: Iterable[bytes], size: int = BLOCK_SIZE, name: str = "the corpus") -> Iterator[bytes]:
    """Join and cut pieces to blocks of about `size` bytes that end at white space, so never inside a word."""
    held: list[bytes | memoryview] = []
    held_size, line = 0, b""  # the end of the line that the last piece ends in
    for piece in pieces:
        held.append(piece)
        held_size += len(piece)
        cut = _safe_cut(line, piece) if held_size >= size else 0
        line = b"" if piece.endswith(b"\n") else (line + piece[-_LONGEST_MARKUP:])[-_LONGEST_MARKUP:]
        if cut:
            held[-1] = memoryview(piece)[:cut]  # not copied twice
            yield b"".join(held)
            held, held_size = [piece[cut:]], len(piece) - cut
        elif held_size > LONGEST_TEXT:
            raise CorpusError(f"{name}: over {LONGEST_TEXT >> 20} MB without a space or a line break; is this text?")
    if held_size:
        yield b"".join(held)


def _safe_cut(line: bytes, piece: bytes) -> int:
    """The last place at which to cut a piece that follows `line`: behind white space and in no HTML tag; 0 if none."""
    newline = piece.rfind(b"\n")
    if newline >= 0:
        return newline + 1
    text = line + piece
    end = len(text)
    for _ in range(_CUTS_TRIED):
        cut = text.rfind(b" ", len(line), end) + 1
        end = text.rfind(b"<", max(0, cut - _LONGEST_MARKUP), cut)
        if cut == 0 or end < 0 or text.find(b">", end, cut) >= 0:
            return max(0, cut - len(line))
    return 0


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


def text_piece(text: str) -> bytes:
    """A document as a line of text."""
    return utf8(text).replace(b"\n", b" ") + b"\n"


# Neither byte is in any UTF-8: the first ends a word where documents are lists of words, the second is a newline there.
WORD_END, NEWLINE_IN_WORD = b"\xff", b"\xfe"


def checked_words(words: Sequence[Any], number: int) -> Sequence[str]:
    """A document that is a list of words; `number` is named where one of them is none."""
    for word in words:
        if not isinstance(word, str):
            what = f"{type(word).__name__} {word!r:.40}"
            raise CorpusError(f"document {number} (counted from 0): {what} is not a word; words are strings")
    return words


def word_piece(words: Sequence[str]) -> bytes:
    """A document that is a list of words, as a line of text."""
    line = utf8("\n".join(words))
    if line.count(b"\n") < len(words):
        return line.replace(b"\n", WORD_END) + b"\n"
    return WORD_END.join(utf8(word).replace(b"\n", NEWLINE_IN_WORD) for word in words) + b"\n"


def words_of(piece: bytes) -> list[str]:
    """The words of which `word_piece` made a line."""
    parts = piece[:-1].replace(NEWLINE_IN_WORD, b"\n").split(WORD_END)
    return [word.decode() for word in parts if word]
