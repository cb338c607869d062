"""The border to foreign readers: what they may cost, and what becomes of whatever they raise.

How many documents and bytes a source may hold, and how far a compressed file may expand, is bounded. Each bound is an
environment variable that a user can raise; the error names it.
"""

from __future__ import annotations

import lzma
import os
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from spherevec.errors import ConfigError, CorpusError, SpherevecError
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
        newlines = np.frombuffer(piece, np.uint8) == _NEWLINE
        documents += int(np.count_nonzero(newlines))
        empty += int(np.count_nonzero(newlines[1:] & newlines[:-1])) + bool(ended and newlines[:1].any())
        ended = bool(newlines[-1]) if len(newlines) else ended
        size += len(piece)
        for count, highest, (setting, _), what in (
            (documents, most, _DOCUMENTS, "documents"),
            (empty, most_empty, _EMPTY, "empty documents"),
        ):
            if count > highest:
                raise CorpusError(
                    f"{name}: over {highest:,} {what}; at {_BYTES_A_DOCUMENT} bytes each that is over "
                    f"{highest * _BYTES_A_DOCUMENT / 1e9:.1f} GB; set {setting} higher if that is meant"
                )
        if size > most_bytes:
            raise CorpusError(f"{name}: over {most_bytes:,} bytes of text; set {_BYTES[0]} higher if that is meant")
        yield piece
