"""fastText `.vec`: word2vec text with a space at the end of each line."""

from __future__ import annotations

from pathlib import Path

from spherevec.io import word2vec_text
from spherevec.model.keyed_vectors import KeyedVectors

read = word2vec_text.read


def write(vectors: KeyedVectors, path: Path, *, overwrite: bool = False) -> None:
    word2vec_text.write(vectors, path, overwrite=overwrite, end=" \n")
