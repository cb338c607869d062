"""How good the words of topics are: do they stand together in texts (NPMI), and does each topic have its own?"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from spherevec.evaluation import window_kernel

_SMALL = 1e-12


def topic_diversity(topics: Sequence[Sequence[str]]) -> float:
    """The share of distinct words among all words of all topics.

    >>> topic_diversity([["goal", "team"], ["team", "bank"]])
    0.75
    """
    words = [word for topic in topics for word in topic]
    return len(set(words)) / max(len(words), 1)


def topic_npmi(topics: Sequence[Sequence[str]], texts: Sequence[Sequence[str]], window: int = 10) -> float:
    """Mean normalised pointwise mutual information of the pairs of words of each topic, from −1 to 1.

    Words stand together when a window that slides over a text holds both, as in gensim's `c_npmi`.

    Args:
        topics: the words of each topic, the same number each.
        texts: tokenised texts.
        window: words in a window; 0 takes whole texts.

    >>> round(topic_npmi([["a", "b"]], [["a", "b"], ["c"], ["d"]]), 3)
    1.0
    """
    numbers = {word: number for number, word in enumerate(sorted({word for topic in topics for word in topic}))}
    encoded = [np.array([numbers.get(word, -1) for word in text], np.int64) for text in texts]
    offsets = np.cumsum([0, *map(len, encoded)])
    ids = np.concatenate([np.empty(0, np.int64), *encoded])
    return mean_npmi([[numbers[word] for word in topic] for topic in topics], ids, offsets, len(numbers), window)


def document_npmi(topics: Sequence[Sequence[int]], counts: Any) -> float:
    """Mean NPMI of the pairs of words of each topic, which stand together when a document holds both.

    Args:
        topics: for each topic the columns of its words in `counts`.
        counts: csr_array (documents, words).
    """
    columns = sorted({column for topic in topics for column in topic})
    place = np.full(counts.shape[1], -1)
    place[columns] = np.arange(len(columns))
    return mean_npmi(
        [[int(place[column]) for column in topic] for topic in topics],
        place[counts.indices],
        np.asarray(counts.indptr, np.int64),
        len(columns),
        window=0,
    )


def mean_npmi(
    topics: Sequence[Sequence[int]],
    ids: NDArray[np.int64],
    offsets: NDArray[np.int64],
    n_words: int,
    window: int = 10,
) -> float:
    """`topic_npmi` over encoded texts: ids (n,) of words below `n_words`, −1 for words that are not asked about.

    Args:
        offsets: (n_texts + 1,), where each text begins in `ids`.
    """
    together = np.zeros((n_words, n_words), np.int64)
    windows = window_kernel.count_windows(np.asarray(ids, np.int64), np.asarray(offsets, np.int64), window, together)
    share = together / max(windows, 1)
    alone = np.diagonal(share)
    means = []
    for topic in topics:
        pairs = [_npmi(share[a, b], alone[a], alone[b]) for a, b in combinations(topic, 2)]
        means.append(float(np.mean(pairs)) if pairs else 0.0)
    return float(np.mean(means)) if means else 0.0


def _npmi(both: float, first: float, second: float) -> float:
    if first == 0 or second == 0:
        return 0.0
    return float(np.log((both + _SMALL) / (first * second)) / -np.log(both + _SMALL))
