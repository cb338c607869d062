"""Does a − b carry over? Analogy questions a : b = c : ?, answered by 3CosAdd or 3CosMul."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from spherevec.errors import ConfigError
from spherevec.evaluation.files import AnalogySection
from spherevec.evaluation.words import Words, WordTable
from spherevec.search.neighbors import multiplicative_terms
from spherevec.sphere import FloatArray

METHODS = ("3cosadd", "3cosmul")

# Scores of one block, 1 MB of float32, stay in cache over the handful of passes made on them.
_QUESTION_BLOCK = 128
_WORD_BLOCK = 2048


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
        return _sum("total", self.sections)

    @property
    def semantic(self) -> SectionScore:
        return _sum("semantic", [section for section in self.sections if not section.syntactic])

    @property
    def syntactic(self) -> SectionScore:
        return _sum("syntactic", [section for section in self.sections if section.syntactic])


def evaluate_analogies(words: Words, sections: Sequence[AnalogySection], method: str = "3cosadd") -> AnalogyResult:
    """Answer every question whose four words are known with the best of all other words.

    Args:
        words: words with their vectors, such as `model.words`, or a tuple of both.
        sections: questions by kind, such as `read_analogies` reads.
        method: "3cosadd" maximises cos(d, b) − cos(d, a) + cos(d, c); "3cosmul" multiplies and divides instead, with
            cosines shifted to [0, 1].

    Returns:
        How many questions were answered correctly, section by section; `total` sums them up.

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
    covered: list[tuple[int, int, int, int]] = []
    ends = [0]
    for section in sections:
        for question in section.questions:
            a, b, c, d = (table.row(word) for word in question)
            if a is not None and b is not None and c is not None and d is not None:
                covered.append((a, b, c, d))
        ends.append(len(covered))
    rows = np.array(covered, dtype=np.intp).reshape(-1, 4)
    right = answer_analogies(table.vectors, rows[:, :3], method) == rows[:, 3]
    return AnalogyResult(
        method,
        tuple(
            SectionScore(
                section.name, section.syntactic, int(right[start:end].sum()), end - start, len(section.questions)
            )
            for section, (start, end) in zip(sections, pairwise(ends), strict=True)
        ),
    )


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
        plus, minus = _terms(cosines, method)
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


def _terms(cosines: FloatArray, method: str) -> tuple[FloatArray, FloatArray]:
    """What a word adds to a candidate's score as b or c, and what it takes away as a."""
    return (cosines, cosines) if method == "3cosadd" else multiplicative_terms(cosines)


def _sum(name: str, sections: Sequence[SectionScore]) -> SectionScore:
    return SectionScore(
        name,
        bool(sections) and all(section.syntactic for section in sections),
        sum(section.correct for section in sections),
        sum(section.covered for section in sections),
        sum(section.total for section in sections),
    )
