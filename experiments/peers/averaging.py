"""Documents as counts of words, and as weighted averages of word vectors."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from spherevec.corpus.count.encoded import EncodedCorpus
from spherevec.model.keyed_vectors import KeyedVectors

BLOCK_TOKENS = 1 << 22  # words counted at a time: about 50 MB


def document_counts(corpus: EncodedCorpus, first: int = 0, last: int | None = None) -> Any:
    """How often each word occurs in documents [first, last): a sparse float32 matrix (documents, words), CSR."""
    from scipy.sparse import csr_matrix

    offsets = np.asarray(corpus.offsets[first : (corpus.n_documents if last is None else last) + 1])
    ids = np.array(corpus.ids[offsets[0] : offsets[-1]])
    counts = csr_matrix(
        (np.ones(len(ids), np.float32), ids, offsets - offsets[0]), (len(offsets) - 1, len(corpus.vocabulary))
    )
    counts.sum_duplicates()
    return counts


def document_averages(
    corpus: EncodedCorpus, words: KeyedVectors, weights: NDArray[np.float32] | None = None
) -> NDArray[np.float32]:
    """Σ weight·vector / number of words, for every document, shape (documents, dim); zero where there are no words.

    Args:
        words: the vectors of the corpus' vocabulary, in its order.
        weights: of each word, shape (words,); 1 when None.
    """
    vectors = words.vectors if weights is None else words.vectors * weights[:, None]
    averages = np.zeros((corpus.n_documents, words.vector_size), np.float32)
    lengths = np.diff(corpus.offsets)
    for first, last in _blocks(corpus):
        averages[first:last] = document_counts(corpus, first, last) @ vectors
    averages /= np.maximum(lengths, 1)[:, None]
    return averages


def _blocks(corpus: EncodedCorpus) -> Iterator[tuple[int, int]]:
    """Runs of documents [first, last) of about `BLOCK_TOKENS` words each."""
    first, offsets = 0, corpus.offsets
    while first < corpus.n_documents:
        last = int(np.searchsorted(offsets, offsets[first] + BLOCK_TOKENS, side="right")) - 1
        last = min(max(last, first + 1), corpus.n_documents)
        yield first, last
        first = last
