"""Files as streams of bytes, decompressed by their ending, and as pieces of valid UTF-8."""

from __future__ import annotations

import codecs
import gzip
import io
import lzma
import os
import sys
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from dataclasses import dataclass
from pathlib import Path
from stat import S_ISREG
from typing import Any, BinaryIO, cast

from spherevec.corpus.read.guard import DamagedError, DecompressionLimit, guarded, newlines_in
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
    try:
        if not encoding.isprintable():
            raise LookupError("unknown encoding")
        "".encode(encoding)
        codecs.getincrementaldecoder(encoding)
    except (LookupError, UnicodeError, ValueError) as error:
        raise ConfigError(f"encoding {encoding!r} cannot be used ({error}); try utf-8, latin-1 or utf-16") from None


def utf8_pieces(path: Path, encoding: str, size: int, meter: Meter, notes: list[str] | None = None) -> Iterator[bytes]:
    """The text of a file as UTF-8, without a byte order mark, in pieces read about `size` bytes at a time.

    A piece may end inside a character; a text that is not empty ends with a newline. Where lines end with a carriage
    return alone, as old Macs and some spreadsheets write them, these become newlines, and `notes` says so.
    """
    name = codecs.lookup(encoding).name
    decoder = codecs.getincrementaldecoder(encoding)()
    lines, last, first, old_mac = 0, b"", True, False
    limit, done_before = DecompressionLimit(path) if path.suffix.lower() in COMPRESSED else None, meter.done
    with guarded(path), unchanged(path), open_stream(path, meter) as stream:
        while True:
            raw = stream.read(max(size, 4))  # 4 bytes hold a whole character, so a byte order mark is seen at once
            if limit is not None:
                limit.add(len(raw), meter.done - done_before)
            if first:
                check_beginning(path, raw, name)
            state = decoder.getstate()
            try:
                text = decoder.decode(raw, final=not raw)
            except UnicodeDecodeError as error:
                decoder.setstate(state)
                with suppress(UnicodeError):
                    lines += decoder.decode(raw[: max(0, error.start - len(state[0]))]).count("\n")
                raise not_valid(path, lines + 1, encoding, error.object[error.start]) from None
            except UnicodeError as error:  # such as a missing byte order mark
                raise CorpusError(
                    f"{path}: not valid {encoding} ({error}); name the file's encoding (encoding=NAME)"
                ) from None
            piece = raw if name == "utf-8" else text.encode("utf-8", "replace")
            if first and text:
                first = False
                piece = piece.removeprefix(codecs.BOM_UTF8)
                old_mac = ends_lines_with_returns(piece)
                if old_mac and notes is not None:
                    notes.append(f"{path}: lines end with a carriage return (CR)")
            if old_mac:
                piece = piece.replace(b"\r", b"\n")
            if piece:
                lines += newlines_in(piece)
                last = piece[-1:]
                yield piece
            if not raw:
                break
        if last not in (b"", b"\n"):
            yield b"\n"


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
        f"{path}, line {line}: not valid {encoding} (byte 0x{byte:02x}); name the file's encoding (encoding=NAME)"
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
