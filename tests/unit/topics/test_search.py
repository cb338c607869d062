"""Topics as answers to a query, against the definition."""

from __future__ import annotations

import numpy as np

import spherevec
from spherevec.topics import find_topics

SUBJECTS = {
    "invoice": "invoice refund charge payment amount receipt",
    "parcel": "parcel courier shipping address package warehouse",
    "password": "password account reset email locked verify",
}


def texts(n: int = 240) -> list[str]:
    rng = np.random.default_rng(3)
    words = [subject.split() for subject in SUBJECTS.values()]
    return [" ".join(rng.choice(words[number % 3], size=12)) for number in range(n)]


def test_the_topic_of_a_query_comes_first() -> None:
    model = spherevec.train(texts(), vector_size=20, epochs=30, min_count=1, threads=1, progress=False)
    topics = find_topics(model)
    results = model.search([f"{name} problem" for name in SUBJECTS], among="topics", topn=2)
    for result, name in zip(results, SUBJECTS, strict=True):
        best = topics.place(int(result[0].id))
        assert result[0].title == topics.titles[best]
        assert name in SUBJECTS and set(topics.words_by_place[best]) & set(SUBJECTS[name].split())
        mean = topics.components.mean.astype(np.float64)
        vector = model.infer([f"{name} problem"])[0] - mean
        cosines = topics.components.directions_of_topics() @ (vector / np.linalg.norm(vector))
        np.testing.assert_allclose([hit.score for hit in result], np.sort(cosines)[::-1][:2], atol=1e-5)
