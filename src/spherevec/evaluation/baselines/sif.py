"""Smooth inverse frequency: weighted averages of word vectors, without the direction that they all share."""

from __future__ import annotations

import numpy as np

from spherevec.corpus.encoded import EncodedCorpus
from spherevec.evaluation.baselines.averaging import document_averages
from spherevec.evaluation.baselines.base import Fitted, Progress, Texts, document_rows, report
from spherevec.evaluation.baselines.gensim_models import fit_word2vec
from spherevec.keyed_vectors import KeyedVectors

SMOOTHING = 1e-3  # the `a` of a / (a + p(w)); the authors' value


def fit_sif(
    corpus: EncodedCorpus,
    *,
    dim: int,
    epochs: int,
    window: int,
    threads: int,
    seed: int,
    texts: Texts | None = None,
    words: KeyedVectors | None = None,
    progress: Progress | None = None,
) -> Fitted:
    """Average the given word vectors, or Word2Vec's, with weights a / (a + p(w)); then remove the first direction."""
    built_on: dict[str, object] = {"words": "given"}
    if words is None:
        trained = fit_word2vec(
            corpus, dim=dim, epochs=epochs, window=window, threads=threads, seed=seed, progress=progress
        )
        assert trained.words is not None
        words, built_on = trained.words, {"words": "Word2Vec", **trained.settings}
    shares = corpus.vocabulary.counts / corpus.vocabulary.counts.sum()
    weights = (SMOOTHING / (SMOOTHING + shares)).astype(np.float32)
    averages = document_averages(corpus, words, weights).astype(np.float64)
    # The last eigenvector of the second moments, shape (dim, dim), is the first right singular vector.
    direction = np.linalg.eigh(averages.T @ averages)[1][:, -1]
    known = np.any(averages != 0, axis=1, keepdims=True)
    documents = averages - known * np.outer(averages @ direction, direction)
    report(progress, 1.0)
    settings = {"smoothing": SMOOTHING, "directions removed": 1, **built_on}
    return Fitted(words, document_rows(documents), settings, [])
