"""Targets: vectors from other programs."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from pathlib import Path

import numpy as np

from benchmarks.fuzz.base import Target

_NUMBERS = (b"nan", b"inf", b"-1e999", b"1e-46", b"0", b"1_0", b"0x1", b"99999999999999999999")
_TEXT_VECTORS = [
    b"2 3\na 1 0 0\nb 0 0.6 0.8\n",
    b"3 2\n\xc3\xa9 1 0 \nb 0 1 \na -1 1e-3 \n",
    b"2 2\r\n0 1 0\r\n1 0 1",
]
_BINARY_VECTORS = [
    b"2 2\na " + np.array([1, 0], "<f4").tobytes() + b"\nb " + np.array([0.6, 0.8], "<f4").tobytes() + b"\n",
    b"1 3\nword " + np.array([3, -1e30, 1e-40], "<f4").tobytes(),
]
_GLOVE_VECTORS = [b"a 1 0 0\nb 0 1 0\n", b"New York 0.5 0.5\n. . 1 2\n"]


def _import(format_name: str | None) -> Callable[[bytes, Path], None]:
    def read(data: bytes, folder: Path) -> None:
        from spherevec.io import import_vectors
        from spherevec.model import Model

        path = folder / "vectors"
        path.write_bytes(data)
        vectors, _ = import_vectors(path, format_name)
        vectors.check()
        if vectors.named:
            Model(vectors).describe()

    return read


def _import_any(data: bytes, folder: Path) -> None:
    """As `spherevec import` does without --format; the first byte decides whether the rest is packed first."""
    _import(None)(gzip.compress(data[1:], 1) if data[:1] > b"\x80" else data[1:], folder)


VECTORS: dict[str, Target] = {
    "word2vec": Target(lambda: _TEXT_VECTORS, _import("word2vec"), words=_NUMBERS),
    "word2vec-bin": Target(lambda: _BINARY_VECTORS, _import("word2vec-bin"), words=(b" ", b"\n", b"1000000000 300\n")),
    "glove": Target(lambda: _GLOVE_VECTORS, _import("glove"), words=_NUMBERS),
    "fasttext": Target(lambda: _TEXT_VECTORS, _import("fasttext"), words=_NUMBERS),
    "jose": Target(lambda: _TEXT_VECTORS, _import("jose"), words=_NUMBERS),
    "import": Target(
        lambda: (
            [mode + seed for seed in _TEXT_VECTORS + _BINARY_VECTORS + _GLOVE_VECTORS for mode in (b"\0", b"\xff")]
            + [b"\0" + gzip.compress(seed, mtime=0) for seed in _TEXT_VECTORS]
        ),
        _import_any,
        words=(*_NUMBERS, b"\x1f\x8b"),
    ),
}
