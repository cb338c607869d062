"""Names for clusters: the words that lie nearest to them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike

from spherevec.errors import ConfigError
from spherevec.sphere import normalize

# Words compared with all centres at once.
_BLOCK_WORDS = 16_384


class NamedVectors(Protocol):
    """Words and their vectors: row i of `vectors` (n_words, dim) belongs to `index_to_key[i]`."""

    @property
    def vectors(self) -> Any: ...

    @property
    def index_to_key(self) -> Sequence[str]: ...


def name_clusters(
    centers: ArrayLike, words: NamedVectors, topn: int = 5, *, distinctive: bool = False
) -> list[list[str]]:
    """Name each centre of centers (n_clusters, dim) by its `topn` nearest words, the nearest first.

    Nearest is the highest cosine. With `distinctive`, it is the highest cosine less the mean cosine to the other
    centres: a word that is near to every cluster then names none.
    """
    directions = np.asarray(normalize(np.asarray(centers)), np.float32)
    if directions.ndim != 2 or directions.shape[1] != words.vectors.shape[1]:
        raise ConfigError(f"centers has shape {directions.shape}; the words have {words.vectors.shape[1]} columns")
    if topn < 1:
        raise ConfigError(f"topn must be at least 1, not {topn}")
    n_clusters, n_words = len(directions), len(words.vectors)
    best_scores = np.empty((n_clusters, 0), np.float32)
    best_words = np.empty((n_clusters, 0), np.intp)
    for low in range(0, n_words, _BLOCK_WORDS):
        block = np.asarray(normalize(words.vectors[low : low + _BLOCK_WORDS]), np.float32)
        scores = directions @ block.T
        if distinctive and n_clusters > 1:
            others = (scores.sum(axis=0) - scores) / (n_clusters - 1)
            scores = scores - others
        ids = np.broadcast_to(np.arange(low, low + len(block)), scores.shape)
        best_scores = np.concatenate([best_scores, scores], axis=1)
        best_words = np.concatenate([best_words, ids], axis=1)
        if best_scores.shape[1] > topn:
            kept = np.argpartition(-best_scores, topn - 1, axis=1)[:, :topn]
            best_scores = np.take_along_axis(best_scores, kept, axis=1)
            best_words = np.take_along_axis(best_words, kept, axis=1)
    order = np.argsort(-best_scores, axis=1, kind="stable")
    best_words = np.take_along_axis(best_words, order, axis=1)
    return [[words.index_to_key[i] for i in row] for row in best_words]
