"""Names for clusters: the words that lie nearest to them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from spherevec.errors import ConfigError
from spherevec.search.neighbors import nearest_neighbors
from spherevec.sphere import normalize

if TYPE_CHECKING:
    from spherevec.model import KeyedVectors


def name_clusters(
    centers: ArrayLike, words: KeyedVectors, topn: int = 5, *, distinctive: bool = False
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
    if distinctive and len(directions) > 1:
        # cos(w, c) less the mean of the other cosines is one scalar product of w.
        total = directions.sum(axis=0, dtype=np.float64)
        directions = (directions - (total - directions) / (len(directions) - 1)).astype(np.float32)
    rows, _ = nearest_neighbors(directions, words.vectors, topn)
    return [[words.index_to_key[i] for i in nearest] for nearest in rows]
