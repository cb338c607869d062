"""Topics that are too small or too loose to keep: a thread of a few documents, or what is left by all subjects.

The topics of an answer that was not asked for by number are compared with each other. One that has far fewer documents
than most, or whose documents have far less in common and speak in more general words, does not stand beside the others:
its parts join the topics that they are nearest to, below the same broad topic.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from spherevec.topics.components import Components, centered
from spherevec.topics.documents import TopicDocuments
from spherevec.topics.general_words import focus_of_words, general_words, pulls
from spherevec.topics.graph import Labels, membership

if TYPE_CHECKING:
    from spherevec.model import Model

# A topic is weak that has less than this share of the documents of a mean one, or of the hold of a usual one.
_SMALL, _LOOSE = 1 / 6, 0.4
# Fewer topics are not compared.
_FEWEST_TOPICS = 6


def weak_topics(model: Model, documents: TopicDocuments, components: Components, inside: Labels) -> NDArray[np.bool_]:
    """Which of the topics (k,) are weak; the largest of a broader topic `inside` (k,) is not, where all of it are."""
    k = components.n_topics
    if k < _FEWEST_TOPICS:
        return np.zeros(k, np.bool_)
    rows = centered(np.asarray(documents.vectors[documents.rows], np.float32), components.mean)
    labels = components.assign(documents.vectors[documents.rows]).labels
    sizes = np.bincount(labels, minlength=k)
    hold = cohesion(rows, labels, k) * _mean_focus(model, documents.rows, labels, k)
    weak = np.asarray((sizes < _SMALL * sizes.mean()) | (hold < _LOOSE * np.median(hold)))
    for group in np.unique(inside):
        own = np.flatnonzero(inside == group)
        if weak[own].all():
            weak[own[np.argmax(sizes[own])]] = False
    return weak


def cohesion(rows: NDArray[np.float32], labels: Labels, k: int) -> NDArray[np.float64]:
    """The mean cosine of two documents of each topic, (k,), by their unit rows (n, d); 1 for a single one."""
    sums = np.asarray(membership(labels, k).T @ rows, np.float64)
    lengths = np.bincount(labels, (rows.astype(np.float64) ** 2).sum(axis=1), k)
    pairs = np.bincount(labels, minlength=k).astype(np.float64)
    pairs *= pairs - 1
    return np.where(pairs > 0, ((sums**2).sum(axis=1) - lengths) / np.maximum(pairs, 1), 1.0)


def _mean_focus(model: Model, rows: NDArray[np.int64], labels: Labels, k: int) -> NDArray[np.float64]:
    """How focused the words of each topic are, (k,), as strongly as they pull its documents."""
    if model.document_terms is None or model.fit is None:
        return np.ones(k)
    counts, focus = model.document_terms[rows], focus_of_words(model)
    known = np.isfinite(focus) & ~general_words(model)
    strength = np.where(known[counts.indices], pulls(model, counts), 0)
    topic = np.repeat(labels, np.diff(counts.indptr))
    total = np.bincount(topic, strength, k)
    summed = np.bincount(topic, strength * np.where(known, focus, 0)[counts.indices], k)
    return np.where(total > 0, summed / np.maximum(total, 1e-12), 1.0)
