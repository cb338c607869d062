"""Documents without a known word, or of function words alone, belong to no topic; manner founds none."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import spherevec
from spherevec.topics import find_topics, load_topics
from spherevec.topics.manner import manner_words

SUBJECTS = (
    "goal match team league coach striker stadium penalty",
    "bank loan invoice refund credit interest payment account",
    "oven flour butter recipe sugar dough pepper garlic",
)
BLANK, MANNER = 20, 5
SMALL: dict[str, Any] = {"vector_size": 16, "epochs": 40, "min_count": 1, "threads": 1, "progress": False}


def texts() -> list[str]:
    """Three subjects, each in two manners, then texts without a word, then texts of function words alone."""
    random = np.random.default_rng(2)
    found = []
    for number in range(240):
        words = random.choice(SUBJECTS[number % 3].split(), 3).tolist()
        manner = "is there a way to do this with the" if number % 2 else "why does it not have what i would like from"
        found.append(f"{manner} {' '.join(words)}")
    return [*found, *[""] * BLANK, *["is there a way to do this"] * MANNER]


@pytest.fixture(scope="module")
def model() -> spherevec.Model:
    return spherevec.train(texts(), **SMALL)


@pytest.fixture(scope="module")
def topics(model: spherevec.Model) -> spherevec.topics.Topics:
    return find_topics(model, k=3, threads=1)


def test_documents_that_say_nothing_belong_to_no_topic(topics: spherevec.topics.Topics) -> None:
    assert topics.n_unknown == BLANK and topics.n_other == MANNER
    assert (topics.labels[240:] == -1).all() and (topics.probability[240:] == 0).all()
    assert topics.sizes.sum() == 240 and topics.none_fits(0.05)[240:].all()
    assert all(row < 240 for topic in topics for row in topics.examples(topic.number, 240))
    assert topics.document(245) == ("245", "", -1, "", -1, 0.0) and topics.document(262).name == "other"
    assert "no known word" in topics._repr_html_() and f"{BLANK}" in topics._repr_html_()
    frame = topics.documents()
    assert frame["topic"].tolist()[240:] == [-1] * (BLANK + MANNER) and frame["name"].tolist()[-1] == "other"


def test_topics_are_of_matter_not_of_manner(topics: spherevec.topics.Topics) -> None:
    matter, manner = np.arange(240) % 3, np.arange(240) % 2
    for topic in range(3):
        own = topics.labels[:240] == topic
        assert np.bincount(matter[own]).max() / own.sum() > 0.95
        assert abs(manner[own].mean() - 0.5) < 0.2
        assert all(word in " ".join(SUBJECTS).split() for word in topics.words_by_place[topic])


def test_new_texts_without_a_known_word(topics: spherevec.topics.Topics) -> None:
    with pytest.warns(UserWarning, match="2 of 3 texts hold no word that the model knows: topic -1"):
        numbers = topics.predict(["zzzz qqqq", "", "bank loan"])
    assert numbers[:2].tolist() == [-1, -1] and "bank" in topics[int(numbers[2])].words
    with pytest.warns(UserWarning, match="no word"):
        assert topics.predict_proba([""]).tolist() == [[0.0, 0.0, 0.0]]
    assert topics.predict(["is there a way"]).tolist() == [-1]
    # The documents of the model, as new texts, keep their topics.
    with pytest.warns(UserWarning, match="20 of 265"):
        assert topics.predict(texts()).tolist() == np.append(topics.numbers, -1)[topics.labels].tolist()


def test_written_and_read_again(topics: spherevec.topics.Topics, tmp_path: Path) -> None:
    topics.save(tmp_path / "topics")
    with (tmp_path / "topics" / "assignments.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [rows[245][name] for name in ("topic", "name", "probability", "second")] == ["-1", "", "0.0000", ""]
    assert rows[262]["topic"] == "-1" and rows[262]["name"] == "other"
    again = load_topics(tmp_path / "topics", topics.model)
    np.testing.assert_array_equal(again.labels, topics.labels)


def test_an_update_leaves_them_out_too(topics: spherevec.topics.Topics, model: spherevec.Model) -> None:
    more = model.update(["", "bank loan invoice", "goal match"], add_only=True, threads=1)
    after = topics.update(more, threads=1)
    assert after.labels[-3:].tolist()[0] == -1 and (after.labels[-2:] >= 0).all()
    assert after.n_unknown == BLANK + 1 and after.titles == topics.titles


def test_only_lists_of_languages_that_are_used_count() -> None:
    words = ["die", "war", "soldiers", "und", "nicht", "für", "the", "and", "with", "from"]

    def manner(counts: list[int]) -> list[str]:
        vectors = spherevec.KeyedVectors(words, np.eye(10, dtype=np.float32), counts=np.array(counts))
        return [word for word, found in zip(words, manner_words(spherevec.Model(vectors)), strict=True) if found]

    assert manner([5, 50, 50, 1, 1, 1, 500, 300, 200, 100]) == ["the", "and", "with", "from"]
    assert manner([500, 50, 50, 300, 200, 100, 1, 1, 1, 1]) == ["die", "war", "und", "nicht", "für"]
