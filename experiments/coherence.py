"""NPMI of topics over a window that slides over texts, as gensim's `c_npmi` counts it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from experiments.window_kernel import count_windows
from spherevec.evaluation.topics import mean_npmi


def topic_npmi(topics: Sequence[Sequence[str]], texts: Sequence[Sequence[str]], window: int = 10) -> float:
    """Mean normalised pointwise mutual information of the pairs of words of each topic, from −1 to 1.

    Args:
        topics: the words of each topic, the same number each.
        texts: tokenised texts.
        window: words in a window; 0 takes whole texts.
    """
    numbers = {word: number for number, word in enumerate(sorted({word for topic in topics for word in topic}))}
    encoded = [np.array([numbers.get(word, -1) for word in text], np.int64) for text in texts]
    offsets = np.cumsum([0, *map(len, encoded)])
    ids = np.concatenate([np.empty(0, np.int64), *encoded])
    together = np.zeros((len(numbers), len(numbers)), np.int64)
    windows = count_windows(ids, offsets, window, together)
    return mean_npmi([[numbers[word] for word in topic] for topic in topics], together / max(windows, 1))
