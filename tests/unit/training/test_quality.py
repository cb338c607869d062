"""Hidden topics of text that the paper's own two-step process wrote are found again."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.cluster import KMeans
from sklearn.metrics import normalized_mutual_info_score

import spherevec
from helpers import written_text

TOPICS, WORDS, DOCUMENTS, PAIRS = 6, 240, 240, 40
SETTINGS = {"vector_size": 30, "window": 5, "min_count": 1, "sample": 0.0, "threads": 1}
# Least share of the nearest words that are of the same topic; chance gives 1/6. The paper's setting crowds the words of
# so small a text together, which blurs their neighbourhoods.
RECIPES = {"default": 0.85, "paper": 0.6}


@pytest.fixture(scope="module")
def written():
    return written_text()


def found_topics(vectors):
    return KMeans(TOPICS, n_init=5, random_state=0).fit_predict(vectors)


def neighbours_of_the_same_topic(model, word_topics):
    """Share of the five nearest words of each word that are of its topic."""
    topics = np.array([word_topics[int(word[1:])] for word in model.words])
    cosines = model.words.vectors @ model.words.vectors.T
    np.fill_diagonal(cosines, -2)
    nearest = np.argsort(-cosines, axis=1)[:, :5]
    return (topics[nearest] == topics[:, None]).mean()


@pytest.mark.parametrize("recipe", RECIPES)
def test_topics_are_found_again(written, recipe):
    texts, word_topics, document_topics = written
    model = spherevec.train(texts, recipe=recipe, **SETTINGS)
    found = found_topics(model.docs.vectors)
    assert normalized_mutual_info_score(document_topics, found) > 0.9
    assert neighbours_of_the_same_topic(model, word_topics) > RECIPES[recipe]
    # Labels that have nothing to do with the text must not be found.
    shuffled = np.random.default_rng(1).permutation(document_topics)
    assert normalized_mutual_info_score(shuffled, found) < 0.15


@pytest.mark.parametrize("recipe", RECIPES)
def test_topics_are_not_found_where_there_are_none(written, recipe):
    texts, word_topics, document_topics = written
    rng = np.random.default_rng(2)
    words = rng.permutation([word for text in texts for word in text]).reshape(len(texts), -1).tolist()
    model = spherevec.train(words, recipe=recipe, **SETTINGS)
    assert normalized_mutual_info_score(document_topics, found_topics(model.docs.vectors)) < 0.15
    assert neighbours_of_the_same_topic(model, word_topics) < 2 / TOPICS
