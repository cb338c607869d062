"""The word and document files of the paper's authors: word2vec text with a space at the end of each line.

A document's word is its number, counted from 0.
"""

from __future__ import annotations

from pathlib import Path

from spherevec.io import word2vec_text
from spherevec.io.fasttext import write
from spherevec.io.outside import Changes
from spherevec.model.keyed_vectors import KeyedVectors

__all__ = ["read", "write"]


def read(path: Path) -> tuple[KeyedVectors, Changes]:
    """Names that are just 0, 1, 2, … are the numbers of documents, and not kept as names."""
    vectors, changes = word2vec_text.read(path)
    numbers = (str(row) for row in range(len(vectors)))
    if all(name == number for name, number in zip(vectors, numbers, strict=True)):
        vectors = KeyedVectors(None, vectors.vectors)
    return vectors, changes
