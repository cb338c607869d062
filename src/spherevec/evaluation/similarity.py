"""Do similar words get similar vectors? Rank correlation with human judgement."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from spherevec.evaluation.words import Words, WordTable


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

    Returns:
        Spearman's correlation, and how many pairs it is over.

    Examples:
        >>> words = (["cat", "dog", "car"], [[1.0, 0.1], [0.9, 0.2], [0.0, 1.0]])
        >>> result = evaluate_similarity(words, [("cat", "dog", 9.0), ("cat", "car", 1.0), ("cat", "cow", 7.0)])
        >>> round(result.spearman, 3), result.covered, result.total
        (1.0, 2, 3)
    """
    from scipy.stats import spearmanr

    cosines, scores = pair_cosines(words, pairs)
    varied = len(cosines) > 1 and bool(np.ptp(scores) > 0 and np.ptp(cosines) > 0)
    return SimilarityResult(
        name, float(spearmanr(cosines, scores).statistic) if varied else math.nan, len(cosines), len(pairs)
    )


def pair_cosines(
    words: Words, pairs: Sequence[tuple[str, str, float]]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The cosines and the human scores of the pairs whose two words are known, each of shape (covered,)."""
    table = WordTable(words)
    rows: list[tuple[int, int]] = []
    scores: list[float] = []
    for one, another, score in pairs:
        row, other = table.row(one), table.row(another)
        if row is not None and other is not None:
            rows.append((row, other))
            scores.append(score)
    ends = np.array(rows, dtype=np.intp).reshape(-1, 2)
    first, second = (table.vectors[ends[:, side]].astype(np.float64) for side in (0, 1))
    return np.einsum("ij,ij->i", first, second), np.array(scores)
