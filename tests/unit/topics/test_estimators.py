"""Topics as scikit-learn knows them."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pytest
from sklearn.base import clone

from spherevec.errors import ConfigError, CorpusError
from spherevec.estimators import NamedTopics, SphericalTopics

SETTINGS = {"min_count": 1, "vector_size": 16, "epochs": 40}


@pytest.fixture(scope="module")
def texts(table_file: Path) -> list[str]:
    with table_file.open(newline="") as file:
        return [row["body"] for row in csv.DictReader(file)]


def test_found(texts: list[str], truth: list[int]) -> None:
    found = clone(SphericalTopics(4, settings=SETTINGS, n_jobs=1)).fit(texts)
    np.testing.assert_array_equal(found.predict(texts), found.labels_)
    assert found.transform(texts[:3]).shape == (3, 4)
    with pytest.raises(CorpusError, match="not a single one"):
        found.fit("a text")


def test_named(texts: list[str], truth: list[int]) -> None:
    classes = ["sport", "money", "space", "cooking"]
    names = {"sport": ["match"], "money": ["bank"], "space": ["orbit"], "cooking": ["the"]}
    right = [classes[label] for label in truth]
    known = [right[i] if i < 8 else None for i in range(len(right))]
    named = NamedTopics(names, settings=SETTINGS, n_jobs=1).fit(texts, known)
    assert np.mean(named.labels_ == right) > 0.9
    assert named.score(texts, right) > 0.9
    assert named.classes_.tolist() == classes
    with pytest.raises(ConfigError, match="y has 1 names"):
        named.fit(texts, ["sport"])
