"""Topics of a model that has grown: numbers and titles stay, and a topic is added where new documents have a subject.

A document has a subject that is new when most of its nearest documents are new, too. Groups of such documents become
topics, as many as topics of the old size would be. All other documents go to the topics that there were.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from spherevec.errors import ConfigError
from spherevec.model import Model
from spherevec.process import one_blas_thread
from spherevec.topics.components import Components, centered, mean_directions, mean_of
from spherevec.topics.documents import TopicDocuments, documents_of
from spherevec.topics.find import topics_of
from spherevec.topics.graph import Labels, group_of_labels, neighbor_graph, renumbered, sample_of
from spherevec.topics.partition import FINER, MOST_ROWS, partition, split_into_components
from spherevec.topics.topics import NONE, Topics

# The least share of new documents among the nearest of a document with a new subject; more where most are new.
_NEW_NEIGHBORS = 0.6
# Documents that make a topic; new topics that one update may add.
_FEWEST, _MOST_TOPICS = 10, 10
# A topic grows when its share rises by half, and by so many standard errors.
_GROWS, _ERRORS = 1.5, 3.0


@dataclass(frozen=True)
class TopicGrowth:
    """What an update did to topics.

    Attributes:
        growing: the numbers of topics that take a larger share of the new documents, the fastest first.
        added: the numbers of new topics.
        kept: the share of old documents that stayed in their topic.
        shares: by number, the share of each topic among old documents and among new ones.
    """

    growing: list[int]
    added: list[int]
    kept: float
    shares: dict[int, tuple[float, float]]


def grow_topics(topics: Topics, model: Model, *, seed: int = 1, threads: int = 0) -> Topics:
    """The topics of a model that was updated, from those of the model before.

    Args:
        topics: of the model before the update.
        model: what `update` or `remove` made of that model.
        seed: of samples and communities.
        threads: 0 = all cores; they do not change the result.

    Returns:
        The old topics with their numbers and titles, and after them topics for subjects that are new.
    """
    if model.docs is None or topics.model.docs is None or model.vector_size != topics.model.vector_size:
        raise ConfigError("these topics are of another model; give what update() or remove() made of their model")
    origin = origins(topics.model, model)
    documents = documents_of(model, threads)
    with one_blas_thread():
        components, rows = _followed(topics, documents, origin), documents.rows
        components = _with_new_subjects(
            components, documents.vectors[rows], origin[rows] < 0, topics.sizes, seed, threads
        )
    # A title that people know a topic by stays, even where its best words are others now.
    state = topics.with_fixed_titles().state.with_more_topics(components, components.n_topics - len(topics))
    return Topics(model, state, documents=lambda: documents)


def carry_topics(before: Model, after: Model, threads: int = 0) -> None:
    """Keep with an updated model what became of the topics that were kept with the model before, and record it."""
    if before.kept_topics is None or after is before or before.docs is None:
        return
    topics = topics_of(before)
    grown = grow_topics(topics, after, threads=threads)
    grown.keep()
    growth = compare_topics(topics, grown)

    def recorded(number: int) -> dict[str, Any]:
        share_before, share = growth.shares[number]
        topic = grown[number]
        about = {"number": number, "title": topic.title, "size": topic.size}
        return {**about, "share": share, "share_before": share_before}

    record = {
        "growing": [recorded(number) for number in growth.growing],
        "added": [recorded(number) for number in growth.added],
        "kept": growth.kept,
    }
    *earlier, last = after.provenance["updates"]
    after.provenance["updates"] = [*earlier, {**last, "topics": record}]


def compare_topics(before: Topics, after: Topics) -> TopicGrowth:
    """Which topics grow, which are new, and how many old documents stayed where they were."""
    origin = origins(before.model, after.model)
    old, new = np.flatnonzero(origin >= 0), np.flatnonzero(origin < 0)
    was = np.append(before.numbers, NONE)[before.labels[origin[old]]]
    numbers = np.append(after.numbers, NONE)[after.labels]
    kept = float(np.mean(was == numbers[old])) if len(old) else 1.0
    shares, gains = {}, {}
    for number in after.numbers:
        earlier, now = (float(np.mean(part == number)) if len(part) else 0.0 for part in (was, numbers[new]))
        shares[number] = (round(earlier, 4), round(now, 4))
        error = np.sqrt(max(earlier * (1 - earlier), 1e-9) * (1 / max(len(new), 1) + 1 / max(len(old), 1)))
        if now > _GROWS * earlier and now - earlier > _ERRORS * error:
            gains[number] = now / max(earlier, 1e-9)
    added = [number for number in after.numbers if number not in before.numbers]
    growing = [number for number in sorted(gains, key=lambda one: (-gains[one], one)) if number not in added]
    return TopicGrowth(growing, added, round(kept, 4), shares)


def origins(before: Model, after: Model) -> Labels:
    """For each document of `after` its row in `before`, -1 for one that is new or has another text."""
    assert before.docs is not None and after.docs is not None
    n = len(after.docs)
    origin = np.full(n, -1, np.int64)
    if before.documents is not None and after.documents is not None and after.documents.named:
        rows = {str(one): row for row, one in enumerate(before.documents.ids)}
        origin[:] = [rows.get(str(one), -1) for one in after.documents.ids]
    else:
        origin[: len(before.docs)] = np.arange(min(n, len(before.docs)))
    known = np.flatnonzero(origin >= 0)
    if before.document_terms is not None and after.document_terms is not None and len(known):
        words = len(before.words)
        now, then = after.document_terms[known][:, :words], before.document_terms[origin[known]]
        changed = np.asarray(abs(now - then).sum(axis=1)).reshape(-1) > 0
        origin[known[changed]] = -1
    return origin


def _followed(topics: Topics, documents: TopicDocuments, origin: Labels) -> Components:
    """The components where their documents are now; as they were where no document has moved."""
    known = np.flatnonzero((origin >= 0) & documents.informative)
    known = known[topics.labels[origin[known]] >= 0]
    parts = topics.components
    then = np.asarray(topics.documents_used.vectors[origin[known]], np.float32)
    now = np.asarray(documents.vectors[known], np.float32)
    if len(known) == 0 or np.array_equal(then, now):
        return parts
    cosines = centered(then, parts.mean) @ parts.directions.T
    cosines[parts.topic_of[None, :] != topics.labels[origin[known]][:, None]] = -np.inf
    leaves = np.argmax(cosines, axis=1)
    mean = mean_of(now)
    directions = parts.directions.copy()
    directions[np.unique(leaves)] = mean_directions(centered(now, mean), renumbered(leaves))
    return replace(parts, mean=mean, directions=directions)


def _with_new_subjects(
    parts: Components,
    vectors: NDArray[np.floating[Any]],
    new: NDArray[np.bool_],
    sizes: Labels,
    seed: int,
    threads: int,
) -> Components:
    """The components with those of new subjects; of all vectors (n, d) some are `new`, and topics had `sizes` (k,)."""
    chosen = sample_of(len(vectors), MOST_ROWS, seed)
    rows = centered(np.asarray(vectors[chosen], np.float32), parts.mean)
    fresh = new[chosen]
    if np.count_nonzero(fresh) < _FEWEST or fresh.all():
        return parts
    graph = neighbor_graph(rows, threads=threads)
    total = np.maximum(np.asarray(graph.sum(axis=1)).reshape(-1), 1e-12)
    share = np.asarray(graph @ fresh.astype(np.float64)).reshape(-1) / total
    candidates = np.flatnonzero(fresh & (share >= max(_NEW_NEIGHBORS, (1 + fresh.mean()) / 2)))
    if len(candidates) < _FEWEST:
        return parts
    graph, rows = graph[candidates][:, candidates], rows[candidates]
    usual = max(float(np.median(sizes[sizes > 0])) * len(chosen) / len(vectors), _FEWEST)
    count = int(np.clip(round(len(rows) / usual), 1, _MOST_TOPICS))
    found, resolution = partition(graph, rows, count, seed)
    leaves = split_into_components(graph, rows, found, resolution * FINER, seed)
    large = np.bincount(found)[found] >= _FEWEST
    if not large.any():
        return parts
    labels, leaves = renumbered(found[large]), renumbered(leaves[large])
    own, counts = mean_directions(rows[large], leaves), np.bincount(leaves)
    topic_of = group_of_labels(leaves, labels)
    taken = counts.sum() / len(chosen)
    return Components(
        parts.mean,
        np.concatenate([parts.directions, own]),
        np.concatenate([parts.weights * (1 - taken), counts / len(chosen)]).astype(np.float32),
        np.concatenate([parts.topic_of, topic_of + parts.n_topics]),
        parts.concentration,
        np.concatenate([parts.cells, topic_of + int(parts.cells.max()) + 1]),
    )
