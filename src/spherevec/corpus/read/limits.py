"""Bombs are bounded: how many documents and bytes a source may hold, and how far a compressed file may unfold.

Each bound is an environment variable that a user can raise, and the error says what asking for so much would mean.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator

import numpy as np

from spherevec.errors import ConfigError, CorpusError

_DOCUMENTS = ("SPHEREVEC_MAX_DOCUMENTS", 1 << 26)
_EMPTY = ("SPHEREVEC_MAX_EMPTY_DOCUMENTS", 1 << 22)
_BYTES = ("SPHEREVEC_MAX_BYTES", 1 << 42)
_EXPANSION = ("SPHEREVEC_MAX_EXPANSION", 250)
# Below this, what a compressed file unfolds to harms nobody.
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


class Unfolding:
    """Watches how far a compressed file unfolds."""

    def __init__(self, name: object) -> None:
        self._name, self._most = name, limit(_EXPANSION)
        self._unpacked = 0

    def add(self, unpacked: int, packed: int) -> None:
        """Args: unpacked: further bytes that came out; packed: all bytes that went in so far."""
        self._unpacked += unpacked
        if self._unpacked > max(_HARMLESS, self._most * packed):
            raise CorpusError(
                f"{self._name}: {packed:,} bytes unfold to {self._unpacked:,} and more, over {self._most} times as "
                f"many; set {_EXPANSION[0]} higher if that is meant"
            )


class Budget:
    """Counts what was read of a source, and refuses too much of it.

    Args:
        name: of the source, for messages.
    """

    def __init__(self, name: object) -> None:
        self._name = name
        self._most = (limit(_DOCUMENTS), limit(_EMPTY), limit(_BYTES))
        self._documents = self._empty = self._size = 0

    def add(self, documents: int, empty: int, size: int) -> None:
        """Args: documents, empty: further documents, and how many of them are empty; size: bytes of text."""
        self._documents += documents
        self._empty += empty
        self._size += size
        most, most_empty, most_bytes = self._most
        for count, highest, (setting, _), what in (
            (self._documents, most, _DOCUMENTS, "documents"),
            (self._empty, most_empty, _EMPTY, "empty documents"),
        ):
            if count > highest:
                raise CorpusError(
                    f"{self._name}: over {highest:,} {what}; at {_BYTES_A_DOCUMENT} bytes each that is over "
                    f"{highest * _BYTES_A_DOCUMENT / 1e9:.1f} GB; set {setting} higher if that is meant"
                )
        if self._size > most_bytes:
            raise CorpusError(
                f"{self._name}: over {most_bytes:,} bytes of text; set {_BYTES[0]} higher if that is meant"
            )


def newlines_in(text: bytes) -> int:
    """How many newlines there are. Other threads go on meanwhile, which `bytes.count` does not allow."""
    return int(np.count_nonzero(np.frombuffer(text, np.uint8) == _NEWLINE))


def bounded(pieces: Iterable[bytes], name: object) -> Iterator[bytes]:
    """Pieces of text in which a newline ends a document, as long as there are not too many of either."""
    budget = Budget(name)
    for piece in pieces:
        newlines = np.frombuffer(piece, np.uint8) == _NEWLINE
        budget.add(int(np.count_nonzero(newlines)), int(np.count_nonzero(newlines[1:] & newlines[:-1])), len(piece))
        yield piece
