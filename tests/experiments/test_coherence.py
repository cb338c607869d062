"""NPMI over sliding windows, against gensim's own."""

from __future__ import annotations

import numpy as np
import pytest

from experiments.coherence import topic_npmi


@pytest.mark.parametrize("window", [3, 10, 110])
def test_npmi_is_that_of_gensim(window: int) -> None:
    corpora = pytest.importorskip("gensim.corpora")
    from gensim.models import CoherenceModel

    random = np.random.default_rng(3)
    texts = [[f"w{word}" for word in random.zipf(1.6, random.integers(1, 60)) % 40] for _ in range(200)]
    topics = [["w1", "w2", "w3", "w4"], ["w5", "w6", "w7", "w9"], ["w30", "w31", "w1", "w8"]]
    dictionary = corpora.Dictionary(texts)
    theirs = CoherenceModel(
        topics=topics, texts=texts, dictionary=dictionary, coherence="c_npmi", window_size=window, processes=1
    ).get_coherence()
    assert topic_npmi(topics, texts, window) == pytest.approx(theirs, abs=1e-9)


def test_words_that_are_nowhere() -> None:
    assert topic_npmi([["a", "nowhere"]], [["a"], ["b"]]) == 0.0
