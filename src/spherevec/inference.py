"""Vectors for documents that were not in the corpus: fitted on the sphere, with the word vectors fixed.

Arrays in, arrays out. The same words give the same vector, alone or in a batch, in any order, on any number of
threads: what is random about a document is a hash of its words.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from spherevec import sphere
from spherevec.config import TrainConfig
from spherevec.training.sampling import alias_table, keep_shares


def infer_vectors(
    ids: NDArray[np.int32],
    offsets: NDArray[np.int64],
    word_vectors: NDArray[np.float32],
    counts: NDArray[np.int64],
    config: TrainConfig,
    offset: float,
    fallback: NDArray[np.float32],
) -> NDArray[np.float32]:
    """Unit vectors of documents, (N, width).

    A document starts at the mean direction of its words and takes `config.epochs` passes over them.

    Args:
        ids, offsets: the documents' words; document d has ids[offsets[d]:offsets[d + 1]].
        word_vectors: (V, width), unit rows.
        counts: (V,) how often each word occurred in training; decides what is thinned out and drawn.
        config: as the words were trained with; `epochs` and `alpha` are of the fit.
        offset: the learned offset of pairs of a word and a document.
        fallback: (width,) the vector of a document without any word.
    """
    from spherevec.training.backends import cpu
    from spherevec.training.backends._vector_ops import padded_rows

    width = word_vectors.shape[1]
    words = padded_rows(len(word_vectors), width)
    words[:, :width] = word_vectors
    documents = padded_rows(len(offsets) - 1, width)
    documents[:, :width] = _starting_points(ids, offsets, word_vectors, fallback)
    draw_share, draw_other = alias_table(counts)
    corpus = (ids, offsets, keep_shares(counts, config.sample), draw_share, draw_other)
    cpu.infer_documents(corpus, words, documents, config, offset)
    return np.ascontiguousarray(documents[:, :width])


def _starting_points(
    ids: NDArray[np.int32],
    offsets: NDArray[np.int64],
    word_vectors: NDArray[np.float32],
    fallback: NDArray[np.float32],
) -> NDArray[np.float32]:
    """The mean direction of each document's words, (N, width)."""
    starts = np.tile(fallback, (len(offsets) - 1, 1)).astype(np.float32)
    for document, (start, stop) in enumerate(pairwise(offsets.tolist())):
        if stop > start:
            total = word_vectors[ids[start:stop]].sum(axis=0)
            if np.linalg.norm(total) > 1e-6:
                starts[document] = sphere.normalize(total)
    return starts
