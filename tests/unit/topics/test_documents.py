"""Documents without a known word, or of general words alone, belong to no topic; general words found none."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas
import pytest
from click.testing import CliRunner
from numpy.typing import NDArray
from scipy.sparse import csr_array

import spherevec
from spherevec.cli import cli
from spherevec.errors import ConfigError
from spherevec.explore.from_model import TopicTable
from spherevec.explore.report import report_html
from spherevec.sphere import normalize
from spherevec.topics import find_topics, load_topics
from spherevec.topics.general_words import focus, general_words, listed_words
from spherevec.topics.persistence import describe

SUBJECTS = (
    "goal match team league coach striker stadium penalty",
    "bank loan invoice refund credit interest payment account",
    "oven flour butter recipe sugar dough pepper garlic",
)
SPEAKING, BLANK, GENERAL = 700, 100, 5
SMALL: dict[str, Any] = {"vector_size": 16, "epochs": 40, "min_count": 1, "threads": 1, "progress": False}


def texts() -> list[str]:
    """Three subjects, each in two manners, then texts without a word, then texts of function words alone."""
    random = np.random.default_rng(2)
    found = []
    for number in range(SPEAKING):
        words = random.choice(SUBJECTS[number % 3].split(), 3).tolist()
        manner = "is there a way to do this with the" if number % 2 else "why does it not have what i would like from"
        found.append(f"{manner} {' '.join(words)}")
    return [*found, *[""] * BLANK, *["is there a way to do this"] * GENERAL]


@pytest.fixture(scope="module")
def model() -> spherevec.Model:
    return spherevec.train(texts(), **SMALL)


@pytest.fixture(scope="module")
def topics(model: spherevec.Model) -> spherevec.topics.Topics:
    return find_topics(model, k=3, threads=1)


def test_documents_that_say_nothing_belong_to_no_topic(topics: spherevec.topics.Topics) -> None:
    assert topics.n_unknown == BLANK and topics.n_other == GENERAL
    assert (topics.labels[SPEAKING:] == -1).all() and (topics.probability[SPEAKING:] == 0).all()
    assert topics.sizes.sum() == SPEAKING and topics.none_fits(0.05)[SPEAKING:].all()
    assert all(row < SPEAKING for topic in topics for row in topics.examples(topic.number, SPEAKING))
    assert topics.document(SPEAKING) == (str(SPEAKING), "", -1, "", -1, 0.0)
    assert topics.document(SPEAKING + BLANK).name == "other"
    assert "no known word" in topics._repr_html_() and f"{BLANK}" in topics._repr_html_()
    frame = topics.documents()
    assert frame["topic"].tolist()[SPEAKING:] == [-1] * (BLANK + GENERAL)
    assert frame["name"].tolist()[SPEAKING:] == [""] * BLANK + ["other"] * GENERAL
    assert frame["probability"].tolist()[SPEAKING:] == [0.0] * (BLANK + GENERAL)


def test_the_page_shows_them_without_a_topic(topics: spherevec.topics.Topics) -> None:
    shown = TopicTable(topics)
    assert (shown.labels[SPEAKING:] == -1).all() and (shown.labels[:SPEAKING] >= 0).all()
    assert sum(topic.size for topic in shown.topics) == SPEAKING


def test_topics_are_of_matter_not_of_manner(topics: spherevec.topics.Topics) -> None:
    matter, manner = np.arange(SPEAKING) % 3, np.arange(SPEAKING) % 2
    for topic in range(3):
        own = topics.labels[:SPEAKING] == topic
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
    with pytest.warns(UserWarning, match=f"{BLANK} of {SPEAKING + BLANK + GENERAL}"):
        assert topics.predict(texts()).tolist() == np.append(topics.numbers, -1)[topics.labels].tolist()


def test_written_and_read_again(topics: spherevec.topics.Topics, tmp_path: Path) -> None:
    topics.save(tmp_path / "topics")
    with (tmp_path / "topics" / "assignments.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    for row in rows[SPEAKING : SPEAKING + BLANK]:
        assert [row[name] for name in ("topic", "name", "probability", "second")] == ["-1", "", "0.0000", ""]
    assert {(row["topic"], row["name"]) for row in rows[SPEAKING + BLANK :]} == {("-1", "other")}
    again = load_topics(tmp_path / "topics", topics.model)
    np.testing.assert_array_equal(again.labels, topics.labels)


def test_an_update_leaves_them_out_too(topics: spherevec.topics.Topics, model: spherevec.Model) -> None:
    more = model.update(["", "bank loan invoice", "goal match"], add_only=True, threads=1)
    after = topics.update(more, threads=1)
    assert after.labels[-3] == -1 and (after.labels[-2:] >= 0).all()
    np.testing.assert_array_equal(after.labels[:-3], topics.labels)
    assert after.n_unknown == BLANK + 1 and after.titles == topics.titles


def test_only_lists_of_languages_that_are_used_count() -> None:
    words = ["die", "war", "soldiers", "und", "nicht", "für", "the", "and", "with", "from"]

    def manner(counts: list[int]) -> list[str]:
        vectors = spherevec.KeyedVectors(words, np.eye(10, dtype=np.float32), counts=np.array(counts))
        return [word for word, found in zip(words, general_words(spherevec.Model(vectors)), strict=True) if found]

    assert manner([5, 50, 50, 1, 1, 1, 500, 300, 200, 100]) == ["the", "and", "with", "from"]
    assert manner([500, 50, 50, 300, 200, 100, 1, 1, 1, 1]) == ["die", "war", "und", "nicht", "für"]


def test_words_without_focus_are_general_in_a_language_without_a_list() -> None:
    random = np.random.default_rng(4)
    forms = ["zim lora pek", "dub arno wiz", "kel ofta num"]  # whatever the subject is
    lines = [" ".join([*random.choice(SUBJECTS[number % 3].split(), 4), random.choice(forms)]) for number in range(300)]
    model = spherevec.train(lines, **SMALL)
    general = general_words(model)
    found = {word for word, own in zip(model.words.names or (), general, strict=True) if own}
    assert found == set(" ".join(forms).split())
    topics = find_topics(model, k=3, threads=1)
    assert all(np.bincount(np.arange(300)[topics.labels == topic] % 3).max() > 95 for topic in range(3))


def test_focus_is_how_alike_documents_are_without_the_word() -> None:
    random = np.random.default_rng(6)
    counts = csr_array((random.random((150, 12)) < 0.3).astype(np.int32))
    inputs = np.asarray(normalize(random.standard_normal((12, 5))), np.float32)
    strength = random.uniform(0.5, 2, counts.nnz)
    dense = csr_array((strength, counts.indices, counts.indptr), shape=counts.shape).toarray()

    def unit(vector: NDArray[np.float64]) -> NDArray[np.float64]:
        return vector / max(float(np.linalg.norm(vector)), 1e-12)

    vectors = inputs.astype(np.float64)  # nothing is left of a document without its only word
    documents = dense @ vectors
    mean = np.mean([unit(one) for one in documents], axis=0)
    for word, found in enumerate(focus(counts, strength, inputs)):
        holding = np.flatnonzero(dense[:, word])
        rest = np.array([unit(unit(documents[row] - dense[row, word] * vectors[word]) - mean) for row in holding])
        cosines = (rest @ rest.T)[~np.eye(len(holding), dtype=bool)]
        assert found == pytest.approx(np.sqrt(max(cosines.mean(), 0)), abs=1e-3)


def test_repeated_passages_found_no_topic() -> None:
    random = np.random.default_rng(8)
    signatures = ["n3jxp skepticism chastity intellect surrender", "zmodem sauvie ymodem zcomm oregon"]
    # In two documents of five, whatever their subject.
    licence = "warranty redistribute foundation gplv3 permitted law extent merchantability fitness"
    lines = []
    for number in range(300):
        words = random.choice(SUBJECTS[number % 3].split(), 5).tolist()
        passages = [signatures[number % 2] if number < 24 else "", licence if number % 5 < 2 else ""]
        lines.append(" ".join([*words, *passages, "and the of"]))
    model = spherevec.train(lines, **SMALL)
    general = listed_words(model)
    found = {word for word, own in zip(model.words.names or (), general, strict=True) if own}
    for passage in (*signatures, licence):  # all but one word of each
        assert len(found & set(passage.split())) == len(passage.split()) - 1
    assert not found & set(" ".join(SUBJECTS).split())
    topics = find_topics(model, k=3, threads=1)
    assert all(np.bincount(np.arange(300)[topics.labels == topic] % 3).max() > 95 for topic in range(3))


def test_names_beside_an_address_belong_to_writers() -> None:
    subjects = ["orbit rocket moon", "bank loan debt", "oven flour dough"]
    lines = []
    for number in range(240):
        writer = "jane miller j@cs.pitt.edu" if number % 12 == 0 else "see www.example.org" if number % 5 else ""
        lines.append(f"{subjects[number % 3]} {writer} {subjects[number % 3]}")
    words = spherevec.train(lines, min_count=1, vector_size=10, epochs=5, threads=1)
    found = {word for word, listed in zip(words.words.names or [], listed_words(words), strict=True) if listed}
    assert {"jane", "miller", "cs.pitt.edu", "example.org"} <= found
    assert not found & set(" ".join(subjects).split())


def test_integer_ids_are_not_taken_for_rows(tmp_path: Path) -> None:
    ids = [str(10 + row) for row in range(120)]
    model = spherevec.train(zip(ids, texts()[:120], strict=True), ids=True, **SMALL)
    topics = find_topics(model, k=3, threads=1)
    with pytest.raises(ConfigError, match="20 may mean '20' or row 20, which is '30'"):
        topics.document(20)
    assert topics.document("20").id == topics.document_in(10).id == "20"
    assert topics._repr_html_() and describe(topics) and report_html(topics)  # which show examples by their rows
    model.save(tmp_path / "m")
    assert model.docs is not None
    run = CliRunner().invoke(cli, ["neighbors", str(tmp_path / "m"), "--doc", "20", "--top", "1", "--json"])
    assert json.loads(run.stdout)[0]["neighbors"][0]["key"] == model.docs.most_similar("20", topn=1)[0][0]


def test_a_data_frame_is_predicted_row_by_row() -> None:
    frame = pandas.DataFrame({"title": ["x"] * 120, "body": texts()[:120]})
    topics = find_topics(spherevec.train(frame, text_field="body", **SMALL), k=3, threads=1)
    assert topics.predict(frame).tolist() == topics.predict(frame["body"]).tolist()
    assert topics.predict_proba(frame).shape == (120, 3)
    assert topics.predict(frame.to_dict("records")[:2]).tolist() == topics.predict(frame[:2]).tolist()


def test_texts_for_a_model_of_lists_of_words_are_refused_with_what_works() -> None:
    model = spherevec.train([text.split() for text in texts()[:120]], **SMALL)
    topics = find_topics(model, k=3, threads=1)
    with pytest.raises(ConfigError, match=r"give lists of words, \['the', 'war'\]; infer and search also take"):
        topics.predict(["goal match"])
    assert topics.predict([["goal", "match"]]).shape == (1,)  # type: ignore[list-item]
