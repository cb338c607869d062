"""Vectors for words that a model has never seen, guessed from their spelling.

The character n-grams of a word are hashed into a few ten thousand rows, as in floret. A word's guess is the direction of
the mean of its rows. The rows are fitted to the finished word vectors by ridge regression: known words keep their
vectors, and training takes no longer.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from spherevec import sphere
from spherevec.errors import ConfigError, FormatError

Floats = NDArray[np.float32]

ROWS = 50_000
SHORTEST, LONGEST = 3, 6  # characters of an n-gram, the marks of the word's two ends included
RIDGE = 0.3  # how strongly rows are drawn to zero, in words
_ITERATIONS = 40  # of conjugate gradients; the guesses do not change any more after 30
_TEXT_ROWS = 4096  # words that are guessed in one go
_NO_DIRECTION = 1e-9


class GuessedVector(np.ndarray[Any, np.dtype[np.float32]]):
    """A vector that was guessed from the spelling of a word: `guessed` is True.

    What is computed from it is an ordinary array.
    """

    guessed = True

    def __array_wrap__(self, array: Any, context: Any = None, return_scalar: bool = False) -> Any:
        plain = np.asarray(array)
        return plain[()] if return_scalar else plain


def is_guess(vector: object) -> bool:
    """Whether a vector was guessed from the spelling of a word that the model does not know."""
    return bool(getattr(vector, "guessed", False))


def ngrams(word: str, shortest: int = SHORTEST, longest: int = LONGEST) -> list[str]:
    """The character n-grams of a word between its end marks, and the whole of it.

    >>> ngrams("cat", 3, 4)
    ['<cat>', '<ca', 'cat', 'at>', '<cat', 'cat>']
    """
    marked = f"<{word}>"
    parts = [
        marked[start : start + size]
        for size in range(shortest, min(longest, len(marked) - 1) + 1)
        for start in range(len(marked) - size + 1)
    ]
    return [marked, *parts]


@dataclass(frozen=True)
class Subwords:
    """Rows for hashed n-grams, one set for each table of word vectors.

    Attributes:
        tables: "words" and, where documents are fitted to other vectors, "inputs": (rows, dim) each.
        shortest, longest: characters of an n-gram.
    """

    tables: dict[str, Floats]
    shortest: int = SHORTEST
    longest: int = LONGEST

    def __post_init__(self) -> None:
        if "words" not in self.tables or len({table.shape for table in self.tables.values()}) != 1:
            raise FormatError("subword rows need a table 'words', and all tables of one shape; fit them again")

    @classmethod
    def fit(
        cls,
        words: Sequence[str],
        tables: dict[str, Floats],
        *,
        rows: int = ROWS,
        shortest: int = SHORTEST,
        longest: int = LONGEST,
        ridge: float = RIDGE,
    ) -> Subwords:
        """Fit the rows to the vectors of known words.

        Args:
            words: n words.
            tables: their unit vectors, (n, dim) each, by name; "words" must be among them.
            rows: into how many the n-grams are hashed.
            shortest, longest: characters of an n-gram, the marks of the word's two ends included.
            ridge: how strongly rows are drawn to zero.

        >>> import numpy as np
        >>> rng = np.random.default_rng(0)
        >>> vectors = rng.standard_normal((3, 4)).astype(np.float32)
        >>> vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
        >>> subwords = Subwords.fit(["refund", "invoice", "login"], {"words": vectors}, rows=1000)
        >>> bool(subwords.guess(["refundd"])[0] @ vectors[0] > 0.9)
        True
        """
        if rows < 1 or not 1 <= shortest <= longest:
            raise ConfigError(f"subwords need rows ≥ 1 and 1 ≤ shortest ≤ longest, not {rows}, {shortest}, {longest}")
        features = _features(words, rows, shortest, longest)
        names = list(tables)
        targets = np.concatenate([np.asarray(tables[name], np.float64) for name in names], axis=1)
        solved = np.split(_ridge(features, targets, ridge), len(names), axis=1)
        fitted = {name: np.ascontiguousarray(part, np.float32) for name, part in zip(names, solved, strict=True)}
        return cls(fitted, shortest, longest)

    @property
    def rows(self) -> int:
        return len(self.tables["words"])

    def guess(self, words: Sequence[str], table: str = "words") -> Floats:
        """Unit vectors (n, dim) for words of any spelling; a word without a direction gets that of the mean row."""
        rows = self.tables[table]
        guesses = np.empty((len(words), rows.shape[1]), np.float32)
        for start in range(0, len(words), _TEXT_ROWS):
            some = words[start : start + _TEXT_ROWS]
            sums = _features(some, self.rows, self.shortest, self.longest) @ rows.astype(np.float64)
            lost = np.linalg.norm(sums, axis=1) < _NO_DIRECTION
            if lost.any():
                sums[lost] = rows.mean(axis=0, dtype=np.float64) + _NO_DIRECTION
            guesses[start : start + len(some)] = sphere.normalize(sums)
        return guesses

    def guess_one(self, word: str) -> GuessedVector:
        """The guessed vector (dim,) of one word, marked as a guess."""
        return self.guess([word])[0].view(GuessedVector)


def _features(words: Sequence[str], rows: int, shortest: int, longest: int) -> Any:
    """Which rows each word has, (words, rows): each row once, all of a word together of length 1."""
    from scipy.sparse import csr_array

    found: list[int] = []
    starts = [0]
    for word in words:
        found.extend(sorted(set(_hashed(ngrams(word, shortest, longest), rows))))
        starts.append(len(found))
    sizes = np.diff(starts)
    values = np.repeat(1 / np.sqrt(np.maximum(sizes, 1)), sizes)
    return csr_array((values, np.asarray(found, np.int32), np.asarray(starts, np.int32)), shape=(len(words), rows))


def _hashed(parts: Iterable[str], rows: int) -> Iterable[int]:
    return (zlib.crc32(part.encode("utf-8", "surrogatepass")) % rows for part in parts)


def _ridge(features: Any, targets: NDArray[np.float64], ridge: float) -> NDArray[np.float64]:
    """Z (rows, dim) of least |features Z - targets|² + ridge |Z|², by conjugate gradients, each column on its own."""
    across = features.T.tocsr()
    solution = np.zeros((features.shape[1], targets.shape[1]))
    residual = across @ targets
    direction = residual.copy()
    squares = np.einsum("ij,ij->j", residual, residual)
    for _ in range(_ITERATIONS):
        applied = across @ (features @ direction) + ridge * direction
        step = squares / np.maximum(np.einsum("ij,ij->j", direction, applied), 1e-300)
        solution += step * direction
        residual -= step * applied
        before, squares = squares, np.einsum("ij,ij->j", residual, residual)
        direction = residual + (squares / np.maximum(before, 1e-300)) * direction
    return solution
