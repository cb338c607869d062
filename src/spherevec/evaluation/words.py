"""Words with their vectors, whatever object they come in."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from spherevec.errors import ConfigError
from spherevec.sphere import normalize


class KeyedVectorsLike(Protocol):
    """Anything with row names and rows, such as `model.words` or gensim's `KeyedVectors`."""

    @property
    def index_to_key(self) -> Sequence[str] | Sequence[int]: ...

    @property
    def vectors(self) -> NDArray[Any]: ...


Words: TypeAlias = KeyedVectorsLike | tuple[Sequence[str], ArrayLike]


class WordTable:
    """Row numbers by word, and unit vectors, shape (n, dim)."""

    def __init__(self, words: Words) -> None:
        keys, vectors = words if isinstance(words, tuple) else (words.index_to_key, words.vectors)
        rows = np.asarray(vectors)
        if rows.ndim != 2 or len(rows) != len(keys):
            raise ConfigError(f"{len(keys)} words need as many rows of vectors, not an array of shape {rows.shape}")
        self.vectors = normalize(rows)
        # The first of equal keys wins: vocabularies are sorted by frequency.
        self._rows = {key: row for row, key in reversed(list(enumerate(keys)))}

    def row(self, word: str) -> int | None:
        """The row of `word`, of its lower-cased form where the word itself is unknown, or None."""
        row = self._rows.get(word)
        return self._rows.get(word.lower()) if row is None else row
