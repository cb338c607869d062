"""Files as streams of bytes, decompressed by their ending, and as pieces of valid UTF-8."""

from __future__ import annotations

import codecs
import gzip
import io
import lzma
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, cast

from spherevec.errors import ConfigError, CorpusError, MissingExtraError

COMPRESSED = (".gz", ".xz", ".zst")
_ZSTD_CHUNK = 1 << 14  # compressed bytes at a time, since each may unfold to many
_WIDE_ENCODINGS = ("utf-16", "utf-32")


@dataclass
class Meter:
    """How far reading has come, in bytes of the source as it is stored."""

    done: int = 0
    total: int | None = None


class DamagedError(Exception):
    """Compressed data that does not decompress."""


class _MeteredFile(io.FileIO):
    def __init__(self, path: Path, meter: Meter) -> None:
        super().__init__(path)
        self._meter = meter

    def readinto(self, buffer: Any) -> int | None:
        n = super().readinto(buffer)
        self._meter.done += n or 0
        return n


class _ZstdReader(io.RawIOBase):
    """Decompresses frame after frame, and unlike the library's own reader notices a truncated one."""

    def __init__(self, file: BinaryIO) -> None:
        try:
            import zstandard
        except ImportError:
            raise MissingExtraError("reading .zst files", "zstd") from None
        self._zstandard = zstandard
        self._file = file
        self._frame = zstandard.ZstdDecompressor().decompressobj()
        self._inside_frame = False
        self._ready = memoryview(b"")

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while not self._ready:
            if self._frame.eof:
                chunk = self._frame.unused_data or self._file.read(_ZSTD_CHUNK)
                self._frame = self._zstandard.ZstdDecompressor().decompressobj()
                self._inside_frame = False
            else:
                chunk = self._file.read(_ZSTD_CHUNK)
            if not chunk:
                if self._inside_frame:
                    raise EOFError
                return 0
            self._inside_frame = True
            try:
                self._ready = memoryview(self._frame.decompress(chunk))
            except self._zstandard.ZstdError as error:
                raise DamagedError(str(error)) from None
        n = min(len(buffer), len(self._ready))
        buffer[:n] = self._ready[:n]
        self._ready = self._ready[n:]
        return n


def open_stream(path: Path, meter: Meter) -> BinaryIO:
    """The bytes of a file, decompressed where its ending says so; `meter` counts what is read from the disk."""
    file = cast(BinaryIO, io.BufferedReader(_MeteredFile(path, meter), 1 << 16))
    ending = path.suffix.lower()
    if ending == ".gz":
        return cast(BinaryIO, gzip.GzipFile(fileobj=file))
    if ending == ".xz":
        return cast(BinaryIO, lzma.LZMAFile(file))
    if ending == ".zst":
        return cast(BinaryIO, io.BufferedReader(_ZstdReader(file), 1 << 16))
    return file


@contextmanager
def readable(path: Path) -> Iterator[None]:
    """Turn whatever goes wrong while reading `path` into one line that names it."""
    try:
        yield
    except FileNotFoundError:
        raise CorpusError(f"{path}: no such file or folder; check the spelling") from None
    except PermissionError:
        raise CorpusError(f"{path}: permission denied; make it readable (chmod u+r)") from None
    except EOFError:
        raise CorpusError(f"{path}: compressed file is truncated; copy or download it again") from None
    except (gzip.BadGzipFile, zlib.error, lzma.LZMAError, DamagedError) as error:
        raise CorpusError(
            f"{path}: not a valid {path.suffix} file ({error}); copy it again, or rename it if it is not compressed"
        ) from None
    except OSError as error:
        raise CorpusError(f"{path}: cannot be read ({error.strerror or error}); check the disk") from None


def check_encoding(encoding: str) -> None:
    try:
        "".encode(encoding)
    except LookupError as error:
        raise ConfigError(f"encoding {encoding!r} cannot be used ({error}); try utf-8, latin-1 or utf-16") from None


def utf8_pieces(path: Path, encoding: str, size: int, meter: Meter) -> Iterator[bytes]:
    """The text of a file as UTF-8, without a byte order mark, in pieces read about `size` bytes at a time.

    A piece may end inside a character; a text that is not empty ends with a newline.
    """
    name = codecs.lookup(encoding).name
    decoder = codecs.getincrementaldecoder(encoding)()
    lines, last, first = 0, b"", True
    with readable(path), open_stream(path, meter) as stream:
        while True:
            raw = stream.read(max(size, 4))  # 4 bytes hold a whole character, so a byte order mark is seen at once
            if first and b"\0" in raw and not name.startswith(_WIDE_ENCODINGS):
                raise CorpusError(
                    f"{path}: looks binary, not text; if it is text, name its encoding (--encoding NAME, say utf-16)"
                )
            state = decoder.getstate()
            try:
                text = decoder.decode(raw, final=not raw)
            except UnicodeDecodeError as error:
                decoder.setstate(state)
                good = decoder.decode(raw[: max(0, error.start - len(state[0]))])
                line = lines + good.count("\n") + 1
                raise CorpusError(
                    f"{path}, line {line}: not valid {encoding} (byte 0x{error.object[error.start]:02x}); "
                    "name the file's encoding (--encoding NAME)"
                ) from None
            piece = raw if name == "utf-8" else text.encode("utf-8", "replace")
            if first and text:
                first = False
                piece = piece.removeprefix(codecs.BOM_UTF8)
            if piece:
                lines += piece.count(b"\n")
                last = piece[-1:]
                yield piece
            if not raw:
                break
        if last not in (b"", b"\n"):
            yield b"\n"
