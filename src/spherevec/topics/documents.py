"""Documents as topics see them: vectors of what they are about, and which documents say nothing.

A short text whose few words are mostly function words ("is there a way to …") lies near others of the same form,
whatever they are about. So topics are found among vectors that leave function words out.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from spherevec import process
from spherevec.corpus import encode_texts
from spherevec.errors import ConfigError
from spherevec.model.inference import texts_of
from spherevec.topics.general_words import general_words, listed_words, pulls
from spherevec.topics.graph import Labels, Rows

if TYPE_CHECKING:
    from spherevec.model import Model

# Documents are fitted without function words where these have at least this share in their vector.
_LEAST_SHARE = 0.02
_BLOCK = 1 << 15


class TopicDocuments(NamedTuple):
    """Some documents, n of them."""

    vectors: Rows  # (n, d)
    known: NDArray[np.bool_]  # (n,), which hold a word that the model knows
    informative: NDArray[np.bool_]  # (n,), which hold a word that can found a topic

    @property
    def rows(self) -> NDArray[np.int64]:
        """The rows that take part in topics."""
        return np.flatnonzero(self.informative)


def documents_of(model: Model, threads: int = 0) -> TopicDocuments:
    """The documents of a model."""
    if model.docs is None:
        raise ConfigError(
            "this model has no documents, hence no topics; train it with documents=True, or import their vectors"
        )
    counts = model.document_terms
    known = np.any(np.asarray(model.docs.vectors) != 0, axis=1) if counts is None else np.diff(counts.indptr) > 0
    if counts is None or model.fit is None:
        return TopicDocuments(model.docs.vectors, known, known)
    vectors = np.array(model.docs.vectors, np.float32)
    for low in range(0, len(vectors), _BLOCK):
        _leave_out_general_words(model, vectors[low : low + _BLOCK], counts[low : low + _BLOCK], threads)
    return TopicDocuments(vectors, known, _says_something(model, counts))


def documents_from(model: Model, texts: Iterable[Any], threads: int = 0) -> TopicDocuments:
    """New texts, fitted as the documents of the model were; a warning tells of texts without a known word."""
    from scipy.sparse import csr_array

    listed = texts_of(model, texts)
    vectors, unknown = model.infer(listed, threads=threads, return_unknown=True)
    known = unknown < 1
    if not known.all():
        none = f"{np.count_nonzero(~known):,} of {len(known):,} texts hold"
        process.warn(f"{none} no word that the model knows: topic -1, probability 0", stacklevel=3)
    if model.fit is None or not len(listed):
        return TopicDocuments(vectors, known, known)
    _, vocabulary = model._inference()
    ids, offsets, _ = encode_texts(listed, vocabulary, model.tokenizer, threads=threads or process.usable_cores())
    counts = csr_array((np.ones(len(ids), np.int32), ids, offsets), shape=(len(listed), len(model.words)))
    counts.sum_duplicates()
    _leave_out_general_words(model, vectors, counts, threads)
    return TopicDocuments(vectors, known, _says_something(model, counts))


def shuffled_documents(
    model: Model, rows: NDArray[np.int64], groups: Labels, random: np.random.Generator, threads: int = 0
) -> Rows:
    """Vectors of documents as long as those in `rows`, made of the words of their group in random order.

    Such documents have no structure inside the groups (n,).
    """
    counts, general = model.document_terms[rows], general_words(model)
    informative = np.where(general[counts.indices], 0, counts.data)
    ids = np.repeat(counts.indices, informative).astype(np.int32)
    row_of = np.repeat(np.repeat(np.arange(len(rows)), np.diff(counts.indptr)), informative)
    drawn = np.empty_like(ids)
    drawn[np.argsort(groups[row_of], kind="stable")] = ids[np.lexsort((random.random(len(ids)), groups[row_of]))]
    offsets = np.concatenate([[0], np.cumsum(np.bincount(row_of, minlength=len(rows)))])
    fitter, _ = model._inference()
    return fitter.fit(drawn, offsets.astype(np.int64), threads=threads)


def _says_something(model: Model, counts: Any) -> NDArray[np.bool_]:
    """Which rows of the counts (n, V) hold a word that is on no list of general words."""
    return np.asarray((counts > 0) @ (~listed_words(model)).astype(np.int32) > 0)


def _leave_out_general_words(model: Model, vectors: Rows, counts: Any, threads: int) -> None:
    """Fit the vectors (n, d) again, in place, that change when general words are left out of the counts (n, V)."""
    strength = pulls(model, counts)
    own = general_words(model)[counts.indices]
    row_of = np.repeat(np.arange(counts.shape[0]), np.diff(counts.indptr))
    total = np.bincount(row_of, strength, counts.shape[0])
    dropped = np.bincount(row_of[own], strength[own], counts.shape[0])
    changed = (dropped >= _LEAST_SHARE * total) & (dropped > 0) & (dropped < total)
    kept = changed[row_of] & ~own
    ids = np.repeat(counts.indices[kept], counts.data[kept]).astype(np.int32)
    sizes = np.bincount(row_of[kept], counts.data[kept], counts.shape[0])[changed]
    offsets = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    fitter, _ = model._inference()
    vectors[changed] = fitter.fit(ids, offsets, threads=threads)
