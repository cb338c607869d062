"""Vectors laid out in two dimensions, for the eye only: nothing is measured on a map."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from spherevec.keyed_vectors import KeyedVectors

_SEED = 1
_WORD_GROUPS = 10


def document_map(
    vectors: NDArray[np.float32], labels: NDArray[np.int64], classes: Sequence[str], count: int
) -> dict[str, Any]:
    """A random choice of `count` documents: their places (count, 2), and the classes that only colour them."""
    chosen = np.sort(np.random.default_rng(_SEED).permutation(len(vectors))[:count])
    return {"places": _flat(vectors[chosen]), "labels": labels[chosen].tolist(), "classes": list(classes)}


def word_map(words: KeyedVectors, count: int) -> dict[str, Any]:
    """The `count` most frequent words that carry meaning: their places (count, 2), and groups of nearby words."""
    from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS

    from spherevec.clustering import SphericalKMeans

    telling = (
        row
        for row, word in enumerate(words.names or [])
        if len(word) > 3 and word.isalpha() and word not in ENGLISH_STOP_WORDS
    )
    chosen = [row for row, _ in zip(telling, range(count), strict=False)]
    vectors = words.vectors[chosen]
    groups = SphericalKMeans(min(_WORD_GROUPS, len(chosen)), n_init=3, random_state=_SEED).fit(vectors).labels_
    return {
        "places": _flat(vectors),
        "labels": groups.tolist(),
        "words": [(words.names or [])[row] for row in chosen],
    }


def _flat(vectors: NDArray[np.float32]) -> list[list[float]]:
    from sklearn.manifold import TSNE

    perplexity = min(30.0, max(2.0, (len(vectors) - 1) / 4))
    layout = TSNE(2, perplexity=perplexity, metric="cosine", init="pca", random_state=_SEED).fit_transform(
        vectors.astype(np.float64)
    )
    places: list[list[float]] = np.round(layout, 2).tolist()
    return places
