"""How good are word vectors? Rank correlation with human judgement, and analogy questions a : b = c : ?"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from spherevec.errors import ConfigError
from spherevec.evaluation.files import AnalogySection
from spherevec.search.neighbors import multiplicative_terms
from spherevec.sphere import FloatArray, normalize

METHODS = ("3cosadd", "3cosmul")

# Scores of one block, 1 MB of float32, stay in cache over the handful of passes made on them.
_QUESTION_BLOCK = 128
_WORD_BLOCK = 2048


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


@dataclass(frozen=True)
class SimilarityResult:
    """Spearman's correlation of cosines with human scores, over the pairs whose two words are known.

    `spearman` is NaN where the covered pairs cannot be ranked: fewer than two, or all alike.
    """

    name: str
    spearman: float
    covered: int
    total: int


def evaluate_similarity(
    words: Words, pairs: Sequence[tuple[str, str, float]], name: str = "similarity"
) -> SimilarityResult:
    """Compare the cosine of every pair of words with its human score.

    Args:
        words: words with their vectors, such as `model.words`, or a tuple of both.
        pairs: (word, word, score); pairs with an unknown word are left out and counted.
        name: of the data set, for the result.

    Examples:
        >>> words = (["cat", "dog", "car"], [[1.0, 0.1], [0.9, 0.2], [0.0, 1.0]])
        >>> result = evaluate_similarity(words, [("cat", "dog", 9.0), ("cat", "car", 1.0), ("cat", "cow", 7.0)])
        >>> round(result.spearman, 3), result.covered, result.total
        (1.0, 2, 3)
    """
    from scipy.stats import spearmanr

    table = WordTable(words)
    known = [(table.row(one), table.row(other), score) for one, other, score in pairs]
    covered = [(one, other, score) for one, other, score in known if one is not None and other is not None]
    first = table.vectors[[one for one, _, _ in covered]].astype(np.float64)
    second = table.vectors[[other for _, other, _ in covered]].astype(np.float64)
    cosines, scores = np.einsum("ij,ij->i", first, second), np.array([score for *_, score in covered])
    varied = len(covered) > 1 and bool(np.ptp(scores) > 0 and np.ptp(cosines) > 0)
    return SimilarityResult(
        name, float(spearmanr(cosines, scores).statistic) if varied else math.nan, len(covered), len(pairs)
    )


@dataclass(frozen=True)
class SectionScore:
    """Answers of one section; a question is covered when its four words are known."""

    name: str
    syntactic: bool
    correct: int
    covered: int
    total: int

    @property
    def accuracy(self) -> float:
        """Correct answers among covered questions, 0 where none is covered."""
        return self.correct / self.covered if self.covered else 0.0


@dataclass(frozen=True)
class AnalogyResult:
    """Answers section by section, and summed up."""

    method: str
    sections: tuple[SectionScore, ...]

    @property
    def total(self) -> SectionScore:
        return self._sum("total", (False, True))

    @property
    def semantic(self) -> SectionScore:
        return self._sum("semantic", (False,))

    @property
    def syntactic(self) -> SectionScore:
        return self._sum("syntactic", (True,))

    def _sum(self, name: str, kinds: tuple[bool, ...]) -> SectionScore:
        own = [section for section in self.sections if section.syntactic in kinds]
        sums = (sum(getattr(section, of) for section in own) for of in ("correct", "covered", "total"))
        return SectionScore(name, bool(own) and all(section.syntactic for section in own), *sums)


def evaluate_analogies(words: Words, sections: Sequence[AnalogySection], method: str = "3cosadd") -> AnalogyResult:
    """Answer every question whose four words are known with the best of all other words.

    Args:
        words: words with their vectors, such as `model.words`, or a tuple of both.
        sections: questions by kind, such as `read_analogies` reads.
        method: "3cosadd" maximises cos(d, b) − cos(d, a) + cos(d, c); "3cosmul" multiplies and divides instead, with
            cosines shifted to [0, 1].

    Examples:
        >>> names = ["man", "woman", "king", "queen", "apple"]
        >>> vectors = [[1.0, 0, 0], [1.0, 1, 0], [1.0, 0, 1], [1.0, 1, 1], [-1.0, 0, 0]]
        >>> section = AnalogySection("family", (("man", "woman", "king", "queen"),))
        >>> evaluate_analogies((names, vectors), [section]).total.accuracy
        1.0
    """
    if method not in METHODS:
        raise ConfigError(f"method must be one of {', '.join(METHODS)}, not {method!r}")
    table = WordTable(words)
    scores = []
    for section in sections:
        known = [[table.row(word) for word in question] for question in section.questions]
        rows = np.array([row for row in known if None not in row], dtype=np.intp).reshape(-1, 4)
        correct = int((answer_analogies(table.vectors, rows[:, :3], method) == rows[:, 3]).sum())
        scores.append(SectionScore(section.name, section.syntactic, correct, len(rows), len(known)))
    return AnalogyResult(method, tuple(scores))


def answer_analogies(vectors: FloatArray, questions: NDArray[np.intp], method: str) -> NDArray[np.intp]:
    """The row that best completes each question (a, b, c), never one of these three.

    Both methods are sums of a term for each given word (3CosMul's in logarithms), and few words are asked about again
    and again: the terms are computed once per word and block of the vocabulary.

    Args:
        vectors: unit rows, shape (n, dim).
        questions: row numbers, shape (q, 3).
    """
    asked, places = np.unique(questions, return_inverse=True)
    a, b, c = places.reshape(-1, 3).T
    best = np.full(len(questions), -np.inf)
    answers = np.full(len(questions), -1, dtype=np.intp)
    for start in range(0, len(vectors), _WORD_BLOCK):
        cosines = vectors[asked] @ vectors[start : start + _WORD_BLOCK].T
        plus, minus = (cosines, cosines) if method == "3cosadd" else multiplicative_terms(cosines)
        for low in range(0, len(questions), _QUESTION_BLOCK):
            block = slice(low, low + _QUESTION_BLOCK)
            scores = plus[b[block]] + plus[c[block]]
            scores -= minus[a[block]]
            question, given = np.nonzero((questions[block] >= start) & (questions[block] < start + scores.shape[1]))
            scores[question, questions[block][question, given] - start] = -np.inf
            winner = scores.argmax(axis=1)
            score = scores[np.arange(len(scores)), winner]
            better = score > best[block]
            best[block][better] = score[better]
            answers[block][better] = winner[better] + start
    return answers
