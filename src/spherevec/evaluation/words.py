"""How good are word vectors? Rank correlation with human judgement, and analogy questions a : b = c : ?"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from spherevec.errors import ConfigError
from spherevec.evaluation.files import AnalogySection
from spherevec.model import KeyedVectors
from spherevec.search.neighbors import multiplicative_terms
from spherevec.sphere import FloatArray

METHODS = ("3cosadd", "3cosmul")

# Scores of one block, 1 MB of float32, stay in cache over the handful of passes made on them.
_QUESTION_BLOCK = 128
_WORD_BLOCK = 2048


def _rows_of(words: KeyedVectors, asked: Sequence[str]) -> list[int] | None:
    """The rows of some words, or of their lower-cased forms where they are unknown; None where one has neither."""
    rows = [words.key_to_index.get(word, words.key_to_index.get(word.lower(), -1)) for word in asked]
    return None if -1 in rows else rows


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
    words: KeyedVectors, pairs: Sequence[tuple[str, str, float]], name: str = "similarity"
) -> SimilarityResult:
    """Compare the cosine of every pair of words with its human score.

    Args:
        pairs: (word, word, score); pairs with an unknown word are left out and counted.
        name: of the data set, for the result.
    """
    from scipy.stats import spearmanr

    known = [(rows, score) for one, other, score in pairs if (rows := _rows_of(words, (one, other))) is not None]
    first, second = words.vectors[np.array([rows for rows, _ in known], np.intp).reshape(-1, 2).T].astype(np.float64)
    cosines, scores = np.einsum("ij,ij->i", first, second), np.array([score for _, score in known])
    varied = len(known) > 1 and bool(np.ptp(scores) > 0 and np.ptp(cosines) > 0)
    return SimilarityResult(
        name, float(spearmanr(cosines, scores).statistic) if varied else math.nan, len(known), len(pairs)
    )


@dataclass(frozen=True)
class SectionScore:
    """Answers of one section, or of several; a question is covered when its four words are known."""

    name: str
    syntactic: bool
    correct: int
    covered: int
    total: int

    @property
    def accuracy(self) -> float:
        """Correct answers among covered questions, 0 where none is covered."""
        return self.correct / self.covered if self.covered else 0.0


def evaluate_analogies(
    words: KeyedVectors, sections: Sequence[AnalogySection], method: str = "3cosadd"
) -> list[SectionScore]:
    """Answer every question whose four words are known with the best of all other words.

    Args:
        sections: questions by kind, such as `read_analogies` reads.
        method: "3cosadd" maximises cos(d, b) − cos(d, a) + cos(d, c); "3cosmul" multiplies and divides instead, with
            cosines shifted to [0, 1].

    Returns:
        One score for each section, then those of all semantic sections, of all syntactic ones, and of all.
    """
    if method not in METHODS:
        raise ConfigError(f"method must be one of {', '.join(METHODS)}, not {method!r}")
    scores = []
    for section in sections:
        found = [rows for question in section.questions if (rows := _rows_of(words, question)) is not None]
        known = np.array(found, dtype=np.intp).reshape(-1, 4)
        correct = int((answer_analogies(words.vectors, known[:, :3], method) == known[:, 3]).sum())
        scores.append(SectionScore(section.name, section.syntactic, correct, len(known), len(section.questions)))

    def summed(name: str, own: Sequence[SectionScore]) -> SectionScore:
        sums = (sum(getattr(score, of) for score in own) for of in ("correct", "covered", "total"))
        return SectionScore(name, bool(own) and all(score.syntactic for score in own), *sums)

    semantic, syntactic = ([score for score in scores if score.syntactic is kind] for kind in (False, True))
    return [*scores, summed("semantic", semantic), summed("syntactic", syntactic), summed("total", scores)]


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
