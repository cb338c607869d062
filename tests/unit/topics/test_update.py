"""Topics across updates: what was there keeps number, title and documents; a new subject becomes a topic."""

from __future__ import annotations

import gzip
import os
from pathlib import Path

import numpy as np
import pytest

import spherevec
from spherevec.errors import ConfigError
from spherevec.topics import compare_topics, find_topics, grow_topics
from spherevec.topics.update import origins

SUBJECTS = ("sea", "sky", "ash")
SMALL = {"vector_size": 20, "epochs": 20, "threads": 1, "ids": True}


def documents(prefix, subjects, n, seed):
    rng = np.random.default_rng(seed)
    words = {name: [f"{name}{i}" for i in range(30)] for name in SUBJECTS}
    return [(f"{prefix}{i}", " ".join(rng.choice(words[subjects[i % len(subjects)]], 25))) for i in range(n)]


@pytest.fixture(scope="module")
def model():
    return spherevec.train(documents("a", ["sea", "sky"], 240, 1), **SMALL)


@pytest.fixture(scope="module")
def topics(model):
    return find_topics(model, k=2, threads=1).rename(1, "second")


@pytest.fixture(scope="module")
def grown(model):
    return model.update(documents("b", ["sea", "sky", "ash"], 150, 2), ids=True, threads=1)


def test_a_new_subject_becomes_a_topic_and_the_old_ones_stay(topics, grown):
    after = topics.update(grown, threads=1)
    assert after.numbers == [0, 1, 2] and after.titles[:2] == topics.titles
    growth = compare_topics(topics, after)
    assert growth.added == [2] and growth.kept == 1.0 and not growth.growing
    about = {grown.documents.snippet(row)[:3] for row in np.flatnonzero(after.labels == 2)}
    assert about == {"ash"} and after[2].size == 50
    assert all(word.startswith("ash") for word in after[2].words)
    assert growth.shares[2] == (0.0, round(1 / 3, 4))


def test_more_of_the_same_adds_nothing_and_growth_is_told(model, topics):
    for subjects, growing in ((["sea", "sky"], False), (["sea"], True)):
        more = model.update(documents("c", subjects, 60, 3), ids=True, threads=1, add_only=True)
        after = grow_topics(topics, more, threads=1)
        growth = compare_topics(topics, after)
        assert after.numbers == topics.numbers and growth.kept == 1.0 and not growth.added
        assert len(growth.growing) == growing


def test_kept_topics_follow_updates_by_themselves(model, topics, tmp_path):
    own = spherevec.train(documents("a", ["sea", "sky"], 240, 1), **SMALL)
    find_topics(own, k=2, threads=1).rename(1, "second").keep()
    own.save(tmp_path / "model")
    own = spherevec.load(tmp_path / "model")
    more = own.update(documents("b", ["sea", "sky", "ash"], 150, 2), ids=True, threads=1)
    more.save(tmp_path / "more")
    again = spherevec.load(tmp_path / "more", verify=True)
    assert again.topics().numbers == [0, 1, 2] and again.topics()[1].title == "second"
    told = again.provenance["updates"][0]["topics"]
    assert [topic["number"] for topic in told["added"]] == [2] and told["kept"] == 1.0
    # Ten more updates keep them.
    for step in range(10):
        again = again.update(documents(f"u{step}-", ["ash", "sea"], 10, 10 + step), ids=True, threads=1)
    assert again.topics().numbers == [0, 1, 2] and len(own.topics()) == 2


def test_removed_and_changed_documents_are_told_apart(model, topics):
    less = model.remove(["a0", "a5"])
    assert origins(model, less).tolist() == [row for row in range(240) if row not in (0, 5)]
    assert compare_topics(topics, topics.update(less)).kept == 1.0
    changed = model.update([("a7", "sea1 sea2 sea3"), ("new", "sky1 sky2")], ids=True, add_only=True, threads=1)
    origin = origins(model, changed)
    assert origin[7] == -1 and origin[240] == -1 and np.count_nonzero(origin < 0) == 2


def test_the_number_of_threads_changes_nothing(topics, grown):
    one, two = (topics.update(grown, threads=threads) for threads in (1, 2))
    assert np.array_equal(one.labels, two.labels)
    assert one.components.directions.tobytes() == two.components.directions.tobytes()


def test_topics_of_another_model_are_refused(topics):
    other = spherevec.train(documents("a", ["sea"], 20, 1), **SMALL | {"vector_size": 10})
    with pytest.raises(ConfigError, match="of another model"):
        topics.update(other)


@pytest.mark.skipif("SPHEREVEC_DATA" not in os.environ, reason="needs the evaluation data in SPHEREVEC_DATA")
@pytest.mark.parametrize(
    ("corpus", "classes", "left_out"),
    [("search_snippets", (1, 2, 5, 7), 7), pytest.param("20news", (7, 10, 13, 14), 14, marks=pytest.mark.slow)],
)
def test_a_class_left_out_at_first_becomes_a_topic(corpus, classes, left_out):
    data = Path(os.environ["SPHEREVEC_DATA"]) / corpus
    labels = np.array([int(line) for line in (data / "label.txt").read_text().split()])
    with gzip.open(data / "text.txt.gz", "rt", encoding="utf-8") as file:
        texts = [line[:1500] for line in file]
    rng = np.random.default_rng(1)
    chosen = np.concatenate([rng.permutation(np.flatnonzero(labels == one))[:300] for one in classes])
    late = (labels[chosen] == left_out) | (rng.random(len(chosen)) < 0.1)
    old, new = chosen[~late], chosen[late]
    start = spherevec.train([(f"d{i}", texts[i]) for i in old], ids=True, vector_size=50, epochs=15, threads=1)
    topics = find_topics(start, k=3, threads=1)
    after = start.update([(f"d{i}", texts[i]) for i in new], ids=True, threads=1)
    growth = compare_topics(topics, found := topics.update(after, threads=1))
    assert growth.added == [3] and growth.kept > 0.95
    members = found.labels == 3
    about = labels[np.concatenate([old, new])]
    assert np.mean(about[members] == left_out) > 0.8 and np.mean(members[about == left_out]) > 0.7
    # Only more of what was there: nothing is new.
    same = start.update([(f"d{i}", texts[i]) for i in new if labels[i] != left_out], ids=True, threads=1)
    assert not compare_topics(topics, topics.update(same, threads=1)).added


def test_a_name_that_the_text_lacks_is_guessed_when_asked_for():
    lines = [f"{a} {b} {a}" for a in ("football match", "banking money") for b in ("team", "rate", "day") * 20]
    plain = spherevec.train(lines, min_count=1, vector_size=10, epochs=20, threads=1)
    names = {"sport": ["footballs"], "finance": ["bankking"]}
    with pytest.raises(ConfigError, match="never says 'footballs'"):
        find_topics(plain, names=names, only_names=True, threads=1)
    with pytest.warns(UserWarning, match="'banking', which is spelled most alike"):
        found = find_topics(plain, names=names, only_names=True, subwords=True, threads=1)
    assert found.titles == ["sport", "finance"] and found.sizes.tolist() == [60, 60]
    with pytest.raises(ConfigError, match="never says 'quux'"):
        find_topics(plain, names={**names, "x": ["quux"]}, only_names=True, subwords=True, threads=1)
