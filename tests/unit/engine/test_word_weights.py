"""What a word says of its documents: the compiled sums against the textbook ones."""

from __future__ import annotations

import numpy as np
import pytest

from method import random_directions
from spherevec import sphere
from spherevec.engine.cpu import word_weights as weights
from spherevec.engine.cpu.vector_ops import padded_rows
from spherevec.engine.sampling import keep_probabilities


def padded(rows):
    table = padded_rows(*rows.shape)
    table[:, : rows.shape[1]] = rows
    return table


def flat(documents):
    ids = np.array([word for document in documents for word in document], np.int32)
    return ids, np.cumsum([0, *map(len, documents)]).astype(np.int64)


def word_nearness(documents, inputs, weights):
    """How much nearer each word is to the rest of its documents than to all documents, and which words have a rest."""
    sums = [
        sum((weights[word] * inputs[word] for word in document), np.zeros(inputs.shape[1])) for document in documents
    ]
    common = np.mean([total / np.linalg.norm(total) for total in sums], axis=0)
    near = {}
    for document, total in zip(documents, sums, strict=True):
        for word in set(document):
            rest = total - document.count(word) * weights[word] * inputs[word]
            if np.linalg.norm(rest) > 1e-6:
                near.setdefault(word, []).append(float(inputs[word] @ rest / np.linalg.norm(rest)))
    nearness = np.zeros(len(inputs))
    for word, cosines in near.items():
        nearness[word] = np.mean(cosines) - inputs[word] @ common
    return nearness, np.array([word in near for word in range(len(inputs))])


def by_the_book(documents, inputs, counts):
    found = keep_probabilities(counts, weights.FIRST_SAMPLE) / 2.0**32
    kept = keep_probabilities(counts, weights.PLAIN_SAMPLE) / 2.0**32
    plain = kept / (kept @ counts / counts.sum())
    looked_at = [document for document in documents if len(document) > 1]
    for _ in range(weights.ROUNDS):
        nearness, seen = word_nearness(looked_at, inputs.astype(float), found)
        told = np.maximum(nearness, 0)
        average = told @ (counts * seen) / (counts * seen).sum()
        found = np.maximum(np.where(seen, told, average) / average, weights.LEAST_WEIGHT)
    share = average**weights.STEEPNESS / (average**weights.STEEPNESS + weights.TOPICAL**weights.STEEPNESS)
    return np.maximum(share * found + (1 - share) * plain, weights.LEAST_WEIGHT)


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_words_are_weighed_as_a_textbook_would(threads):
    rng = np.random.default_rng(1)
    inputs = np.asarray(random_directions(30, 10, rng), np.float32)
    lengths = (0, 1, 2, 3, 40, 0, *rng.integers(5, 30, size=60))
    documents = [rng.integers(29, size=length).tolist() for length in lengths]
    documents.append([29])  # a word that is always alone
    ids, offsets = flat(documents)
    counts = np.bincount(ids, minlength=30)
    found = weights.word_weights(ids, offsets, counts, padded(inputs), threads)
    np.testing.assert_allclose(found, by_the_book(documents, inputs, counts), rtol=1e-4, atol=1e-5)
    alone = weights.word_weights(ids, offsets, counts, padded(inputs), 1)
    np.testing.assert_array_equal(found, alone)


def test_topical_words_weigh_more_than_function_words():
    rng = np.random.default_rng(2)
    topics = np.asarray(random_directions(3, 20, rng))
    topical = np.repeat(topics, 10, axis=0) + 0.1 * rng.standard_normal((30, 20))
    inputs = np.asarray(sphere.normalize(np.vstack([topical, rng.standard_normal((5, 20))])), np.float32)
    documents = [
        [*(10 * topic + rng.integers(10, size=8)), *(30 + rng.integers(5, size=8))]
        for topic in rng.integers(3, size=200)
    ]
    ids, offsets = flat(documents)
    found = weights.word_weights(ids, offsets, np.bincount(ids, minlength=35), padded(inputs), 1)
    assert found[:30].min() > 10 * found[30:].max()
    assert found[ids].mean() == pytest.approx(1, abs=0.05)


def test_text_without_topics_weighs_words_as_subsampling_does():
    """Every document has words of all kinds: what gathers by chance does not decide."""
    rng = np.random.default_rng(4)
    inputs = np.asarray(random_directions(400, 50, rng), np.float32)
    shares = 1 / np.arange(1, 401)
    ids, offsets = flat([rng.choice(400, size=200, p=shares / shares.sum()).tolist() for _ in range(50)])
    counts = np.maximum(np.bincount(ids, minlength=400), 1)
    kept = keep_probabilities(counts, weights.PLAIN_SAMPLE) / 2.0**32
    found = weights.word_weights(ids, offsets, counts, padded(inputs), 1)
    np.testing.assert_allclose(found, kept / (kept @ counts / counts.sum()), rtol=0.05)


def test_text_without_any_structure_weighs_all_words_alike():
    ids, offsets = flat([[0], [1], [2]])
    inputs = padded(np.eye(3, 4, dtype=np.float32))
    assert (weights.word_weights(ids, offsets, np.ones(3, np.int64), inputs, 1) == 1).all()


def test_of_a_long_text_a_part_is_looked_at(monkeypatch):
    rng = np.random.default_rng(3)
    inputs = padded(np.asarray(random_directions(20, 8, rng), np.float32))
    documents = [rng.integers(20, size=10).tolist() for _ in range(100)]
    monkeypatch.setattr(weights, "MOST_TOKENS", 250)
    ids, offsets = flat(documents)
    counts = np.bincount(ids, minlength=20)
    found = weights.word_weights(ids, offsets, counts, inputs, 2)
    some, edges = flat(documents[::4])
    monkeypatch.undo()
    np.testing.assert_array_equal(found, weights.word_weights(some, edges, counts, inputs, 1))
