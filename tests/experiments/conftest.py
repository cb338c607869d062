"""A small text with topics, shared by the tests of the experiments."""

import numpy as np
import pytest
from numpy.typing import NDArray

from spherevec.corpus import EncodedCorpus, encode

TOPICS = 4


@pytest.fixture(scope="session")
def topical(tmp_path_factory: pytest.TempPathFactory) -> tuple[EncodedCorpus, list[str], NDArray[np.int64]]:
    """Corpus, texts, labels: seven of ten words are those of the document's topic, which is a word's first letter."""
    rng = np.random.default_rng(0)
    documents, length = 300, 50
    labels = rng.integers(TOPICS, size=documents)
    strays = rng.integers(TOPICS, size=(documents, length))
    topics = np.where(rng.random((documents, length)) < 0.7, labels[:, None], strays)
    numbers = rng.integers(20, size=(documents, length))
    letters = [[f"{'abcd'[t]}{'uvwxy'[n % 5]}{'klmn'[n // 5]}" for n in range(20)] for t in range(TOPICS)]
    texts = [" ".join(letters[t][n] for t, n in zip(*row, strict=True)) for row in zip(topics, numbers, strict=True)]
    return encode(texts, tmp_path_factory.mktemp("topical") / "corpus", min_count=2), texts, labels
