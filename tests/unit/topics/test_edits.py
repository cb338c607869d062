"""Topics on levels, changed by hand: only what is named changes, and titles that were given stay."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import spherevec
from spherevec import Model
from spherevec.errors import ConfigError
from spherevec.model import UnknownKeyError
from spherevec.topics import Topics, find_topics, load_topics
from spherevec.topics.persistence import restored, stored


@pytest.fixture(scope="module")
def model() -> Model:
    """Four subjects, each with a few words of its own and two or three parts with more."""
    random = np.random.default_rng(7)
    names, texts = [f"{subject}{part}" for subject in "abcd" for part in "xyz"][: 4 * 3 - 3], []
    for number in range(270):
        part = names[number % 9]
        shared = [f"{part[0]}{i}" for i in range(6)]
        own = [f"{part}{i}" for i in range(6)]
        texts.append(f"{' '.join(random.choice(shared, 5))} the {' '.join(random.choice(own, 9))}")
    records = [
        {"id": f"t{i}", "title": f"money {i}", "text": text, "team": "xy"[i % 2]} for i, text in enumerate(texts)
    ]
    return spherevec.train(
        records, text_field="text", id_field="id", title_field="title", keep=["team"],
        min_count=1, vector_size=20, epochs=40, threads=1, progress=False,
    )  # fmt: skip


@pytest.fixture(scope="module")
def topics(model: Model) -> Topics:
    return find_topics(model, levels=[3, 9], threads=1)


def number_of(topics: Topics) -> np.ndarray:
    return np.append(topics.numbers, -1)[topics.labels]


def test_levels_are_one_tree(topics: Topics, model: Model) -> None:
    broad = topics.parents
    assert len(broad) == 3 and len(topics) == 9 and broad.parents is broad
    assert sum(len(topic.children) or 1 for topic in broad) == 9
    assert all(len(topic.children) != 1 for topic in broad)
    for topic in broad:
        for number in topic.children:
            assert topics[number].parent == topic.number
            own = topics.labels == topics.place(number)
            assert (broad.labels[own] == broad.place(topic.number)).all()
        assert topic.size == sum(topics[number].size for number in topic.children) or not topic.children
    assert broad.by("team").counts.sum() == 270
    three = find_topics(model, levels=[2, 3, 9], threads=1)
    assert [len(level) for level in (three, three.parents, three.parents.parents)] == [9, 3, 2]
    depths = [branch.depth for branch in three.tree]
    assert set(depths) <= {0, 1, 2} and sum(branch.finest for branch in three.tree) == 9


def test_the_tree_prints_and_draws(topics: Topics) -> None:
    lines = str(topics.tree).splitlines()
    assert len(lines) == 9 + sum(bool(topic.children) for topic in topics.parents)
    assert any(line.startswith("   ") for line in lines) and not lines[0].startswith(" ")
    for branch in topics.tree:
        line = next(line for line in lines if branch.topic.title in line)
        assert f"({branch.topic.size:,})" in line
    assert "<script" not in topics._repr_html_() and topics.tree._repr_html_() == topics._repr_html_()
    assert topics[0]._repr_html_().count("<td") == 2 and "typical topics" in topics.by("team")._repr_html_()
    pytest.importorskip("matplotlib")
    assert topics.tree.plot().axes


def test_split_touches_its_own_documents_only(topics: Topics) -> None:
    for topic in topics:
        parted = topics.split(topic.number)
        others = topics.labels != topics.place(topic.number)
        np.testing.assert_array_equal(number_of(parted)[others], number_of(topics)[others])
        assert parted[topic.number].size < topic.size and len(parted) == 10
        assert parted[max(parted.numbers)].parent == topic.parent


def test_merge_takes_lists_and_titles(topics: Topics) -> None:
    first, second, third = topics.titles[:3]
    for merged in (topics.merge(0, 1, 2), topics.merge([0, 1, 2]), topics.merge(first, second, third)):
        assert merged[0].size == topics.sizes[:3].sum() and len(merged) == 7
        others = topics.labels > 2
        np.testing.assert_array_equal(number_of(merged)[others], number_of(topics)[others])
    assert topics.merge([3, 5], title="both")[3].title == "both"
    named = topics.rename(5, "five")
    assert named.merge(3, 5)[3].title == "five"  # the only title that was given
    with pytest.raises(ConfigError, match="two different topics"):
        topics.merge([3, 3])


def test_split_undoes_merge(topics: Topics) -> None:
    merged = topics.merge(0, 1)
    again = merged.split(0)
    others = topics.labels > 1
    np.testing.assert_array_equal(number_of(again)[others], number_of(topics)[others])
    assert sorted(again.sizes.tolist())[-1] < merged[0].size


def test_a_topic_that_was_kept_gets_another_title_when_it_is_split(model: Model) -> None:
    found = find_topics(model, levels=[3, 9], threads=1)
    before = found.merge(0, 1).rename(2, "mine")
    again = restored(model, stored(before.with_fixed_titles(), computed=True), "test")
    assert again.titles == before.titles and not again[0].given and again[2].given
    apart = again.split(0)
    assert apart.titles == before.split(0).titles and apart[0].title != before[0].title and apart[2].title == "mine"
    assert again.merge(0, 3).titles == before.merge(0, 3).titles


def test_titles_stay_unique(topics: Topics) -> None:
    with pytest.raises(ConfigError, match=r"topic 1 is called .* already"):
        topics.rename(0, topics.titles[1])
    with pytest.raises(ConfigError, match=r"topic 1 is called .* already"):
        topics.merge(0, 2, title=topics.titles[1])
    assert topics.merge(0, 1, title=topics.titles[1])[0].title == topics.titles[1]
    broad = topics.parents.titles
    with pytest.raises(ConfigError, match="already"):
        topics.rename(broad[0], broad[1])


def test_dropped_topics_have_no_documents(topics: Topics) -> None:
    left = topics.drop(2, [4])
    assert left.numbers == [0, 1, 3, 5, 6, 7, 8] and left.n_other == topics.sizes[[2, 4]].sum()
    kept = left.labels >= 0
    np.testing.assert_array_equal(number_of(left)[kept], number_of(topics)[kept])
    new = left.predict([topics.model.documents.snippet(topics.examples(2, 1)[0])])  # type: ignore[union-attr]
    assert new.tolist() == [-1]
    with pytest.raises(ConfigError, match="leaves none"):
        topics.drop(topics.numbers)


def test_given_titles_stay(topics: Topics, model: Model, tmp_path: Path) -> None:
    broad = topics.parents.titles[0]
    changed = topics.rename(3, "three").rename(topics.titles[4], "four").rename(broad, "a broad one")
    assert changed[3].given and changed["four"].number == 4 and changed.parents.titles[0] == "a broad one"
    later = changed.merge(3, 0).split(4).drop(8)
    assert later[3].title == "three" and later[4].title == "four" and "a broad one" in later.parents.titles
    later.save(tmp_path / "topics")
    read = load_topics(tmp_path / "topics", model)
    assert read.titles == later.titles and read.parents.titles == later.parents.titles
    np.testing.assert_array_equal(read.labels, later.labels)
    more = model.update([("new", "a0 ax1 ax2")], ids=True, add_only=True, threads=1)
    after = later.update(more, threads=1)
    assert after.titles == later.titles and after.parents.titles == later.parents.titles
    with pytest.raises(ConfigError, match="title of a topic is empty"):
        topics.rename(0, " ")


def test_views_of_documents(topics: Topics) -> None:
    assert topics.document("t5") == topics.document(5) and topics.document("t5").title == "money 5"
    frame = topics.documents()
    assert list(frame) == ["id", "title", "topic", "name", "parent", "probability"] and len(frame) == 270
    assert set(frame["parent"]) == set(topics.parents.titles)
    assert topics.to_pandas()["size"].sum() == 270 and len(topics.parents.to_pandas()) == 3
    with pytest.raises(UnknownKeyError, match="no vector for 270; there are 270, counted from 0"):
        topics.document(270)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_topics": 5}, "n_topics is called k here"),
        ({"nr_topics": 5}, "nr_topics is called k here"),
        ({"num_topics": 5}, "num_topics is called k here"),
        ({"colour": 5}, "topics has no 'colour'"),
        ({"levels": [9, 4]}, "from broad to fine"),
        ({"levels": [4, 9], "k": 3}, "give only one of the two"),
        ({"levels": [4, 1000]}, "a whole number from 1 to 270"),
        ({"titles": "best"}, "titles must be one of coverage, distinctive, nearest"),
        ({"levels": [2, 4], "names": ["ax0"]}, "exclude each other"),
    ],
)
def test_options_that_are_wrong(model: Model, options: dict[str, object], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        model.topics(**options)


def test_a_word_that_the_text_lacks_is_left_out_with_a_warning(model: Model) -> None:
    names = {"money": ["ax0", "ax00"], "sport": ["by1"]}
    with pytest.warns(UserWarning, match=r"'money': the text never says 'ax00' \(near words: 'ax0'"):
        named = find_topics(model, names=names, only_names=True, threads=1)
    assert named.titles == ["money", "sport"]


def test_names_below_names_are_levels(model: Model, tmp_path: Path) -> None:
    path = tmp_path / "names.txt"
    path.write_text("money: ax0, ax1\n  refunds: ay0, ay1\nsport: bx1\n")
    named = model.topics(names=str(path), only_names=True)
    assert named.titles == ["money", "refunds", "sport"] and len(named.parents) == 2
    assert next(topic for topic in named.parents if topic.children).children == (0, 1)


def test_the_number_of_threads_changes_nothing() -> None:
    texts = [f"{a} {b}" for a in ("goal match", "bank loan", "oven flour") for b in ("day", "week", "year") * 20]
    models = [
        spherevec.train(texts, min_count=1, vector_size=10, epochs=10, threads=1, progress=False) for _ in range(2)
    ]
    one, two = (model.topics(levels=[3, 6], threads=threads) for model, threads in zip(models, (1, 2), strict=True))
    np.testing.assert_array_equal(one.labels, two.labels)
    assert one.titles == two.titles and one.parents.titles == two.parents.titles


def test_a_title_that_could_not_be_read_again_is_not_kept(topics: Topics, tmp_path: Path) -> None:
    before = topics.model.kept_topics
    renamed = topics.rename(topics.numbers[0], "x" * 100_000)
    for write in (renamed.keep, lambda: renamed.save(tmp_path / "topics")):
        with pytest.raises(ConfigError, match=r"could not be read again: .*title must be a text of at most 65,536"):
            write()
    assert topics.model.kept_topics is before and not (tmp_path / "topics").exists()
