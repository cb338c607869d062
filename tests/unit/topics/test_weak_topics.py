"""Topics that do not stand beside the others."""

from __future__ import annotations

from itertools import combinations

import numpy as np

from spherevec import Model
from spherevec.sphere import normalize
from spherevec.topics import find_topics
from spherevec.topics.components import Components, centered
from spherevec.topics.documents import TopicDocuments
from spherevec.topics.weak_topics import cohesion, weak_topics


def test_cohesion_is_the_mean_cosine_of_two_documents() -> None:
    random = np.random.default_rng(3)
    rows, labels = centered(random.standard_normal((40, 5)).astype(np.float32)), np.arange(40) % 3
    labels[0], labels[labels == 2] = 2, 1  # one document alone in the last topic
    found = cohesion(rows, labels, 3)
    for topic in (0, 1):
        pairs = combinations(rows[labels == topic], 2)
        np.testing.assert_allclose(found[topic], np.mean([one @ other for one, other in pairs]), atol=1e-6)
    assert found[2] == 1.0


def test_few_or_loose_documents_are_no_topic(model: Model) -> None:
    random = np.random.default_rng(4)
    directions = np.eye(8, 16, dtype=np.float32)
    directions[6, 5] = directions[7, 5] = 0.5  # the weak ones are nearest to the topic before them
    directions[6, 0] = directions[7, 0] = 0.6  # beside them; another is nearer
    directions = normalize(directions)
    labels = np.repeat(np.arange(8), [60] * 6 + [60, 5])  # the last has few
    spread = np.where(labels == 6, 2.0, 0.1)[:, None]  # and the one before it is loose
    vectors = centered((directions[labels] + spread * random.standard_normal((len(labels), 16)) / 4).astype(np.float32))
    everything = np.ones(len(labels), np.bool_)
    plain = Model(model.words, docs=model.docs)  # without the words of documents
    components = Components(
        np.zeros(16, np.float32), directions, np.full(8, 1 / 8, np.float32), np.arange(8), concentration=20.0
    )
    documents = TopicDocuments(vectors, everything, everything)
    inside = np.array([0, 0, 0, 0, 1, 1, 1, 1])
    weak = weak_topics(plain, documents, components, inside)
    assert np.flatnonzero(weak).tolist() == [6, 7]
    # The others keep their documents, and those of weak topics go to the nearest beside them.
    before, after = components.assign(vectors).labels, components.joined(weak, inside).assign(vectors).labels
    np.testing.assert_array_equal(after[labels < 6], labels[labels < 6])
    assert (after[before >= 6] == 5).all()
    # Where all of a group are weak, the largest stays.
    alone = weak_topics(plain, documents, components, np.array([0, 0, 0, 0, 0, 0, 1, 1]))
    assert np.flatnonzero(alone).tolist() == [7]


def test_a_number_of_topics_that_is_asked_for_is_given(model: Model) -> None:
    assert len(find_topics(model, k=12, threads=1)) == 12
