"""How good are the words of topics? Whether documents hold them together (NPMI), and whether each topic has its own."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

_SMALL = 1e-12


def topic_diversity(topics: Sequence[Sequence[str]]) -> float:
    """The share of distinct words among all words of all topics."""
    words = [word for topic in topics for word in topic]
    return len(set(words)) / max(len(words), 1)


def document_npmi(topics: Sequence[Sequence[int]], counts: Any) -> float:
    """Mean normalised pointwise mutual information of the pairs of words of each topic, from −1 to 1.

    Two words occur together when a document holds both; empty documents do not count.

    Args:
        topics: for each topic the columns of its words in `counts`.
        counts: csr_array (documents, words).
    """
    columns = sorted({column for topic in topics for column in topic})
    place = {column: number for number, column in enumerate(columns)}
    held = (counts[:, columns] > 0).astype(np.int64)
    together = (held.T @ held).toarray() / max(int((np.diff(counts.indptr) > 0).sum()), 1)
    return mean_npmi([[place[column] for column in topic] for topic in topics], together)


def mean_npmi(topics: Sequence[Sequence[int]], together: NDArray[np.float64]) -> float:
    """Mean NPMI of topics, from the share of texts that hold each pair of words, and each word on the diagonal."""
    means = []
    for topic in topics:
        first, second = np.array([*combinations(topic, 2)], np.intp).reshape(-1, 2).T
        both, expected = together[first, second] + _SMALL, together[first, first] * together[second, second]
        known = expected > 0  # a word that no text holds goes with none
        pairs = np.zeros(len(first))
        pairs[known] = np.log(both[known] / expected[known]) / -np.log(both[known])
        means.append(float(pairs.mean()) if len(pairs) else 0.0)
    return float(np.mean(means)) if means else 0.0
