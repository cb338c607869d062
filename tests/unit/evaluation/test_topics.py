"""NPMI and diversity of topics' words, against gensim's own."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_array

from spherevec.evaluation.topics import document_npmi, topic_diversity

TOPICS = [["w1", "w2", "w3", "w4"], ["w5", "w6", "w7", "w9"], ["w30", "w31", "w1", "w8"]]


def some_texts() -> list[list[str]]:
    random = np.random.default_rng(3)
    return [[f"w{word}" for word in random.zipf(1.6, random.integers(0, 60)) % 40] for _ in range(200)]


def counted(texts: list[list[str]]) -> csr_array:
    counts = np.zeros((len(texts), 40), np.int32)
    for row, text in enumerate(texts):
        for word in text:
            counts[row, int(word[1:])] += 1
    return csr_array(counts)


def test_npmi_over_documents_is_that_of_gensim_over_endless_windows() -> None:
    corpora = pytest.importorskip("gensim.corpora")
    from gensim.models import CoherenceModel

    texts = [text for text in some_texts() if text]
    dictionary = corpora.Dictionary(texts)
    theirs = CoherenceModel(
        topics=TOPICS,
        texts=texts,
        dictionary=dictionary,
        coherence="c_npmi",
        window_size=999,
        processes=1,
    ).get_coherence()
    topics = [[int(word[1:]) for word in topic] for topic in TOPICS]
    assert document_npmi(topics, counted(texts)) == pytest.approx(theirs, abs=1e-9)
    assert document_npmi(topics, counted([*texts, [], []])) == pytest.approx(theirs, abs=1e-9)


def test_diversity_and_words_that_are_nowhere() -> None:
    assert topic_diversity([["a", "b"], ["b", "c"]]) == 0.75
    assert document_npmi([[0, 1]], csr_array(np.array([[1, 0], [2, 0]]))) == 0.0
