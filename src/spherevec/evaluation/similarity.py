"""Do similar words get similar vectors? Rank correlation with human judgement."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

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
    """Compare the cosine of every pair of words with its human score."""
    from scipy.stats import spearmanr

    table = WordTable(words)
    rows: list[tuple[int, int]] = []
    scores: list[float] = []
    for first, second, score in pairs:
        row, other = table.row(first), table.row(second)
        if row is not None and other is not None:
            rows.append((row, other))
            scores.append(score)
    ends = np.array(rows, dtype=np.intp).reshape(-1, 2)
    cosines = np.sum(table.vectors[ends[:, 0]] * table.vectors[ends[:, 1]], axis=1, dtype=np.float64)
    varied = len(set(scores)) > 1 and bool(np.ptp(cosines) > 0)
    return SimilarityResult(
        name, float(spearmanr(cosines, scores).statistic) if varied else math.nan, len(rows), len(pairs)
    )
