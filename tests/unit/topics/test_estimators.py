"""Topics as scikit-learn knows them."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import numpy as np
import pandas
import pytest
from sklearn.base import clone

from spherevec.errors import ConfigError, CorpusError
from spherevec.estimators import NamedTopics, SphericalEmbedding, SphericalTopics

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


def test_missing_names_are_unknown_and_a_random_state_is_a_seed(texts: list[str], truth: list[int]) -> None:
    names = {"sport": ["match"], "money": ["bank"], "space": ["orbit"], "cooking": ["oven"]}
    known: list[Any] = ["sport" if label == 0 else (None, np.nan, pandas.NA)[label - 1] for label in truth]

    def labels(y: list[Any], seed: Any) -> list[str]:
        named = NamedTopics(names, settings=SETTINGS, n_jobs=1, random_state=seed)
        return list(named.fit(texts, y).labels_)

    plain: list[Any] = ["sport" if label == 0 else None for label in truth]
    assert labels(known, 3) == labels(plain, 3)
    state = np.random.RandomState
    assert labels(plain, state(0)) == labels(plain, state(0))


def test_a_data_frame_is_refused(texts: list[str]) -> None:
    frame = pandas.DataFrame({"text": texts})
    for estimator in (SphericalTopics(4), NamedTopics({"a": ["match"]}), SphericalEmbedding()):
        with pytest.raises(CorpusError, match=r'not a data frame; give the column of the text: df\["text"\]'):
            estimator.fit(frame)
