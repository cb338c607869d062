"""Smooth inverse frequency: weighted averages of word vectors, without the direction that they all share."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from experiments.peers.averaging import document_averages
from experiments.peers.base import Fitted, Task, document_rows
from experiments.peers.gensim_models import fit_word2vec
from spherevec.corpus.count.encoded import EncodedCorpus
from spherevec.model.keyed_vectors import KeyedVectors

SMOOTHING = 1e-3  # the `a` of a / (a + p(w)); the authors' value


def fit_sif(task: Task) -> Fitted:
    """Train Word2Vec and average its unit vectors."""
    trained = fit_word2vec(task)
    assert trained.words is not None
    settings = {"smoothing": SMOOTHING, "directions removed": 1, "words": "Word2Vec", **trained.settings}
    return Fitted(trained.words, smooth_averages(task.corpus, trained.words), settings)


def smooth_averages(corpus: EncodedCorpus, words: KeyedVectors) -> NDArray[np.float32]:
    """Averages with weights a / (a + p(w)), less their first direction; shape (documents, dim)."""
    counts = corpus.vocabulary.counts
    weights = (SMOOTHING / (SMOOTHING + counts / counts.sum())).astype(np.float32)
    averages = document_averages(corpus, words, weights).astype(np.float64)
    # The last eigenvector of the second moments, shape (dim, dim), is the first right singular vector.
    direction = np.linalg.eigh(averages.T @ averages)[1][:, -1]
    known = np.any(averages != 0, axis=1, keepdims=True)
    return document_rows(averages - known * np.outer(averages @ direction, direction))
