"""Topics of a trained model: found, named, changed by hand, by field, over time, saved and read again."""

from __future__ import annotations

import csv
import json
import tracemalloc
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.metrics import adjusted_rand_score

from spherevec import Model, load, train
from spherevec.corpus.tokenize.function_words import same_word
from spherevec.errors import ConfigError, CorpusError, FormatError
from spherevec.model import KeyedVectors
from spherevec.model.parts import StoredTopics
from spherevec.sphere import normalize
from spherevec.topics import Name, Topics, find_topics, load_topics, read_names
from spherevec.topics import names as naming
from spherevec.topics.breakdown import break_down, groups_of, holm, periods
from spherevec.topics.components import centered
from spherevec.topics.documents import shuffled_documents
from spherevec.topics.levels import Level, choose_counts, finest_stable
from spherevec.topics.names import name_directions, priors, spread
from spherevec.topics.partition import agreement_inside
from spherevec.topics.titles import titles_of
from spherevec.topics.words import Cooccurrence, TopicWords, best_words, forms_of

NAMES = {"sport": ["match"], "finance": ["bank", "invoice"], "space": ["rocket"], "food": ["oven"]}


@pytest.fixture(scope="module")
def topics(model: Model) -> Topics:
    return find_topics(model, k=4, threads=1)


def test_the_topics_are_the_subjects_of_the_text_and_are_hardly_ever_split_further(
    table_file: Path, truth: list[int]
) -> None:
    split = 0
    for seed in range(1, 7):
        model = train(str(table_file), text_field="body", min_count=1, vector_size=16, epochs=60, threads=1, seed=seed)
        found = find_topics(model, threads=1)
        assert len(found.parents) == 4
        assert adjusted_rand_score(truth, found.parents.labels) > 0.95
        split += len(found) > 4
    assert split <= 1  # one of twelve trainings finds parts in some subject


def test_halves_agree_inside_groups_where_these_have_parts() -> None:
    random = np.random.default_rng(1)
    parts = normalize(random.standard_normal((2, 1, 12)) + 0.7 * random.standard_normal((2, 3, 12))).reshape(6, 12)
    groups = np.repeat([0, 1], 150)
    drawn = {
        "parts": parts[np.repeat(np.arange(6), 50)],
        "none": normalize(parts.reshape(2, 3, 12).mean(axis=1))[groups],
    }
    rows = {
        name: np.asarray(normalize(middle + 0.15 * random.standard_normal((300, 12))), np.float32)
        for name, middle in drawn.items()
    }
    found = {name: agreement_inside(own, groups, 6, seed=1) for name, own in rows.items()}
    assert found["parts"] > 0.9 and found["none"] < 0.4


def test_shuffled_documents_keep_their_lengths_and_the_words_of_their_group(model: Model, truth: list[int]) -> None:
    rows, groups = np.arange(8), np.array(truth[:8])
    one, again = (shuffled_documents(model, rows, groups, np.random.default_rng(3), 1) for _ in range(2))
    np.testing.assert_array_equal(one, again)
    assert model.docs is not None
    own = np.asarray(model.docs.vectors[rows], np.float32)
    nearest = np.argmax(one @ own.T, axis=1)
    assert (groups[nearest] == groups).all() and not np.allclose(one, own, atol=1e-3)


def test_topics_are_found_with_words_of_their_own(topics: Topics, truth: list[int]) -> None:
    assert len(topics) == 4
    assert adjusted_rand_score(truth, topics.labels) > 0.95
    assert topics.sizes.tolist() == sorted(topics.sizes.tolist(), reverse=True)
    words = [set(topic.words) for topic in topics]
    assert all(not a & b for a in words for b in words if a is not b)
    assert not {"the", "and", "of", "with"} & {word for own in words for word in own}
    terms = topics.model.document_terms
    rows = {word: row for row, word in enumerate(topics.model.words.names or ())}
    for place, topic in enumerate(topics):
        held = np.asarray(terms[np.flatnonzero(topics.labels == place)].sum(axis=0)).ravel()
        assert all(held[rows[word]] > 0 for word in topic.words)


def test_the_same_topics_with_any_number_of_threads(model: Model, topics: Topics) -> None:
    for k in (4, None):
        one, again = (find_topics(model, k=k, threads=threads) for threads in (1, 3))
        np.testing.assert_array_equal(again.labels, one.labels)
        np.testing.assert_array_equal(again.components.directions, one.components.directions)


def test_new_texts(topics: Topics, model: Model) -> None:
    texts = ["goal match team league coach", "oven flour butter recipe sugar"]
    numbers = topics.predict(texts)
    assert "match" in topics[int(numbers[0])].words and "flour" in topics[int(numbers[1])].words
    chances = topics.predict_proba(texts)
    np.testing.assert_allclose(chances.sum(axis=1), 1, rtol=1e-5)
    assert topics.predict([]).shape == (0,)
    refused = topics.none_fits(0.1)
    assert 0.02 < refused.mean() < 0.2
    shares = topics.memberships()
    assert adjusted_rand_score(topics.labels, shares.argmax(axis=1)) > 0.9
    np.testing.assert_allclose(shares.sum(axis=1), 1, rtol=1e-4)


def test_names_guide(model: Model, truth: list[int]) -> None:
    named = find_topics(model, names=NAMES, only_names=True, threads=1)
    assert named.titles == list(NAMES)
    assert np.mean(named.labels == np.array(truth)) > 0.95
    two = find_topics(model, names={"sport": ["match"], "finance": ["bank"]}, k=4, threads=1)
    assert two.titles[:2] == ["sport", "finance"] and len(two) == 4
    assert two.sizes[:2].tolist() == pytest.approx([60, 60], abs=4)


def test_examples_and_exclusions(model: Model) -> None:
    examples = {"kitchen": ["oven flour butter sugar", "dough pepper garlic"]}
    named = find_topics(
        model, names={"kitchen": ["the"], "sport": ["match", "-oven"]}, examples=examples, only_names=True
    )
    assert named.predict(["sauce bake recipe"])[0] == 0


def test_a_name_said_more_often_weighs_more_but_never_all() -> None:
    prior = priors(np.array([0, 0, 1]), np.array([16.0, 0.0001, 1.0]))
    np.testing.assert_allclose(prior.sum(), 1)
    assert prior[:2].sum() == pytest.approx(2 * prior[2], rel=1e-3) and prior[0] > 100 * prior[1]


def test_spreading_keeps_the_sizes_of_names() -> None:
    random = np.random.default_rng(1)
    graph = csr_array(np.triu(random.random((40, 40)) < 0.2, 1).astype(float))
    chances = random.dirichlet([3, 1, 0.2], 40)
    found = spread(graph + graph.T, chances)
    np.testing.assert_allclose(found.mean(axis=0), chances.mean(axis=0))


def test_no_name_swallows_the_rest() -> None:
    random = np.random.default_rng(1)
    graph = csr_array(np.triu(random.random((400, 400)) < 0.1, 1).astype(float))
    chances = random.dirichlet([40, 38, 36, 34], 400)  # names that say little: each document is as likely of any
    sizes = np.bincount(np.argmax(spread(graph + graph.T, chances), axis=1), minlength=4)
    assert sizes.max() <= 2.1 * chances.mean(axis=0)[0] * 400


def test_a_frequent_word_swallows_nothing(model: Model) -> None:
    named = find_topics(
        model, names={"all": ["the"], "sport": ["match"], "money": ["bank"]}, only_names=True, threads=1
    )
    assert named.sizes[1:].min() >= 40


def test_a_name_leans_to_the_name_above_it() -> None:
    inputs = np.eye(3, dtype=np.float32)
    vocabulary = {"computers": 0, "fruit": 1, "apple": 2}
    names = [Name("it", ("computers",)), Name("apple", ("apple",), parent="it"), Name("food", ("fruit",))]
    directions, owners, said = name_directions(names, vocabulary, inputs, np.array([4, 9, 1]), {})
    assert owners.tolist() == [0, 1, 2] and said.tolist() == [4, 1, 9]
    np.testing.assert_allclose(directions[1], np.array([0.25, 0, 1]) / np.hypot(0.25, 1), rtol=1e-6)
    with pytest.raises(ConfigError, match=r"never says 'pear' \(near words: 'apple', 'fruit'\); give words"):
        name_directions([Name("pear", ("pear",))], vocabulary, inputs, np.ones(3), {}, lambda word: ["apple", "fruit"])


def test_words_of_a_topic_stand_together() -> None:
    names = ["goal", "match", "lonely", "team"]
    counts = csr_array(np.array([[2, 1, 0, 1], [1, 1, 0, 1], [0, 0, 1, 0], [0, 0, 1, 0]], np.int32))
    pairs = Cooccurrence(counts)
    npmi = pairs.npmi([0, 1, 2])
    np.testing.assert_allclose(npmi[:2, :2], 1, atol=1e-6)
    assert npmi[0, 2] < -0.9
    scores = np.array([1.0, 0.8, 0.9, 0.7], np.float32)
    assert best_words(scores, names, 3) == ["goal", "lonely", "match"]
    assert best_words(scores, names, 3, pairs) == ["goal", "match", "team"]
    # A long document: windows of ten of its 20 words, and the one window of a short one.
    long = Cooccurrence(csr_array(np.array([[2, 10, 8], [1, 0, 1]], np.int32))).npmi([0, 1])
    first, second = 1 - 0.9**10, 1 - 0.5**10
    both, alone = 11 * first * second / 12, [(11 * first + 1) / 12, 11 * second / 12]
    np.testing.assert_allclose(long[0, 1], np.log(both / (alone[0] * alone[1])) / -np.log(both), rtol=1e-6)


def levels_of(counts: list[int], gains: list[float]) -> list[Level]:
    return [Level(1.0, count, 0.5, 0.1, gain, 0.05) for count, gain in zip(counts, gains, strict=True)]


@pytest.mark.parametrize(
    ("counts", "gains", "chosen"),
    [
        ([2, 4, 8, 16], [-1.0, 0.2, 0.9, 0.2], [9]),  # few topics are 3, 4, 6, 9, 14 or 20 …
        (
            [2, 7, 8, 8, 8, 8, 16],
            [-1.0, 0.7, 0.9, 0.9, 0.9, 0.9, 0.2],
            [8],
        ),  # … or one of several levels
        ([2, 4, 8, 16, 32], [-1.0, 0.9, 0.5, 0.62, 0.55], [4, 16]),  # the coarsest good and the finest clear one
        ([4, 6, 20, 60, 200], [0.5, 0.8, 0.8, 0.66, 0.4], [6, 20]),  # near the best; 25 documents a topic
        ([4, 9, 20, 60, 200], [0.1, 0.35, 0.4, 0.33, 0.2], [6, 20]),  # six where halves agree about nothing surely
        ([3, 4, 5], [0.1, 0.2, 0.3], [5]),  # if there are so many
        ([25, 30, 60, 200], [0.9, 0.9, 0.5, 0.2], [25]),  # many are taken as they are
        ([4, 6, 20, 60, 200], [0.2, 0.9, 0.4, 0.63, 0.3], [6]),  # at most eight finer ones in a broad one
        ([3, 4, 5, 6, 8, 13, 28], [0.5, 0.77, 0.4, 0.45, 0.45, 0.5, 0.55], [3, 13]),  # one spike hides nothing
        ([5, 6, 7], [0.8, 0.8, 0.8], [6]),  # too near each other for two levels
        ([3, 9], [-1.0, -0.1], [1]),
        ([], [], [1]),
    ],
)
def test_the_coarsest_and_the_finest_clear_level_are_chosen(
    counts: list[int], gains: list[float], chosen: list[int]
) -> None:
    assert choose_counts(levels_of(counts, gains), 800) == chosen


def test_a_given_number_is_the_finer_level() -> None:
    levels = levels_of([2, 4, 8, 16, 32], [-1.0, 0.9, 0.5, 0.62, 0.56])
    assert choose_counts(levels, 800, 20) == [4, 20] and choose_counts(levels, 800, 5) == [5]
    assert finest_stable(levels, 16, 10_000) == 32 and finest_stable(levels, 30, 10_000) is None
    assert finest_stable(levels, 16, 700) is None and finest_stable([], 3, 10_000) is None


def test_changes_by_hand_keep_numbers(topics: Topics) -> None:
    merged = topics.merge(1, 3)
    assert merged.numbers == [0, 1, 2] and merged.sizes.sum() == topics.sizes.sum()
    renamed = merged.rename(2, "my topic")
    assert renamed[2].title == "my topic" and renamed[2].given
    parted = renamed.split(1)
    assert parted.numbers == [0, 1, 2, 3] and parted[2].title == "my topic"
    assert adjusted_rand_score(parted.labels, topics.labels) > 0.9
    broad = topics.cut(2)
    assert len(broad) == 2 and broad.numbers == [0, 1]
    assert len(topics.tree.merges()) == 3


def test_saved_and_read_again(topics: Topics, tmp_path: Path) -> None:
    changed = topics.rename(1, "money, all of it").merge(0, 2)
    changed.save(tmp_path / "topics")
    again = load_topics(tmp_path / "topics", topics.model)
    assert again.numbers == changed.numbers and again.titles == changed.titles
    np.testing.assert_array_equal(again.labels, changed.labels)
    about = json.loads((tmp_path / "topics" / "topics.json").read_text())
    assert sum(topic["size"] for topic in about["topics"]) == len(topics.labels)
    with (tmp_path / "topics" / "assignments.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert list(rows[0]) == ["id", "topic", "name", "probability", "second", "parent", "parent_name"]
    assert rows[0]["id"] == "t0" and len(rows) == len(topics.labels)
    with pytest.raises(FormatError, match=r"holds no topics\.json"):
        load_topics(tmp_path, topics.model)


def test_kept_with_the_model(model: Model, topics: Topics, tmp_path: Path) -> None:
    changed = topics.rename(1, "money, all of it").merge(0, 2).split(1)
    try:
        changed.keep()
        model.save(tmp_path / "model")
        loaded = load(tmp_path / "model", verify=True)
        again = loaded.topics()
        assert again.numbers == changed.numbers and again.titles == changed.titles
        np.testing.assert_array_equal(again.labels, changed.labels)
        assert len(loaded.topics(k=4)) == 4  # options find others
        fewer = loaded.remove(["t0", "t1"]).topics()
        assert fewer.titles == changed.titles and fewer.labels.tolist() == changed.labels[2:].tolist()
        # A file that says something else is told, in one line.
        kept = loaded.kept_topics
        assert kept is not None
        worded = [dict.fromkeys(Level.__dataclass_fields__, "x")]
        changes: list[dict[str, Any]] = [{"format": 1}, {"topics": []}, {"levels": worded}]
        for change in changes:
            about = {**kept.about, **change}
            loaded.kept_topics = StoredTopics(about, kept.arrays)
            with pytest.raises(FormatError, match="topics kept with the model: not the topics of a model"):
                loaded.topics()
        loaded.kept_topics = StoredTopics(kept.about, {**kept.arrays, "weights": kept.arrays["weights"][1:]})
        with pytest.raises(FormatError, match="do not fit each other"):
            loaded.topics()
    finally:
        model.kept_topics = None


def test_numbers_are_grouped_by_value_or_into_ranges() -> None:
    few = np.array([10, 2, 2, 5])
    names, order = groups_of(few)
    assert names.tolist() == ["10", "2", "2", "5"] and order is not None and order.tolist() == [2, 0, 0, 1]
    prices = np.append(np.random.default_rng(1).lognormal(3, 1, 500).round(2), np.nan)
    names, order = groups_of(prices)
    assert order is not None and names[-1] == ""
    for group in range(5):
        low, _, high = names[order == group][0].partition("..")
        inside = prices[order == group]
        assert (inside.min(), inside.max()) == (float(low), float(high)) and 95 <= len(inside) <= 105
    groups = break_down("price", names, np.zeros(501, np.int32), [0], ["all"], order=order).groups
    assert sorted(groups, key=lambda group: float(group.partition("..")[0])) == groups
    # Half of the values are the same: fewer ranges, each value in one of them.
    skewed = np.append(np.zeros(300), np.arange(1.0, 301))
    assert len(set(groups_of(skewed)[0])) == 3


def test_by_field_and_over_time(topics: Topics) -> None:
    money = next(topic.title for topic in topics if "bank" in topic.words)
    space = next(topic.title for topic in topics if "orbit" in topic.words)
    teams = topics.by("team")
    assert teams.groups == ["billing", "support"] and teams.typical("billing") == [money]
    with pytest.raises(ConfigError, match="'sales' is no group of team; choose one of 'billing', 'support'"):
        teams.typical("sales")
    years = topics.over("created", "year")
    assert years.rising() == [space] and years.counts.sum() == len(topics.labels)
    assert len(teams.to_pandas()) == 2 * len(topics)
    assert topics.to_pandas()["size"].sum() == len(topics.labels)


def test_noise_is_not_typical() -> None:
    random = np.random.default_rng(0)
    groups = random.choice(list("abcdefgh"), 4000)
    found = break_down("noise", groups, random.integers(0, 10, 4000), list(range(10)), list("ABCDEFGHIJ"), ordered=True)
    assert not any(found.typical(group) for group in found.groups) and not found.rising() + found.falling()


def test_periods() -> None:
    dates = np.array(["2024-11-30", "2024-12-02", "NaT"], "datetime64[us]")
    assert periods("d", dates, "week").tolist() == ["2024-11-25", "2024-12-02", ""]
    assert periods("d", dates, "month").tolist() == ["2024-11", "2024-12", ""]
    assert holm(np.array([[0.01], [0.5]])).tolist() == [[0.02], [0.5]]


def test_forms_of_one_word() -> None:
    assert same_word("share", "shares") and same_word("encrypt", "encrypted") and same_word("city", "cities")
    assert same_word("tax", "taxes")
    assert not same_word("car", "card") and not same_word("car", "care") and not same_word("star", "stadium")
    # With their cosine, words of other languages.
    plurals = (("partición", "particiones"), ("namensraum", "namensräume"), ("orden", "órdenes"))
    stems = (("ключей", "ключа"), ("scanner", "scannern"), ("israel", "israeli"), ("économie", "économique"))
    for one, other in (*stems, *plurals):
        assert same_word(one, other, 0.6) and not same_word(one, other, 0.4) and not same_word(one, other)
    for one, other in (("star", "stadium"), ("genes", "genetics"), ("car", "care")):
        assert not same_word(one, other, 0.9)


def test_words_that_go_with_any_topic_stand_in_no_title(model: Model, topics: Topics) -> None:
    words = TopicWords(model, topics.components, topics.labels)
    counts, labels = model.document_terms.toarray() > 0, topics.labels
    any_two = np.mean(labels[:, None] == labels)
    for row, word in enumerate(model.words.names or []):
        own = labels[counts[:, row]]
        alike = (own[:, None] == own)[~np.eye(len(own), dtype=bool)]
        assert words._spread[row] == (alike.mean() < min(1.7, any_two**-0.3) * any_two), word
    assert {"the", "and"} <= {
        word for word, spread in zip(model.words.names or [], words._spread, strict=True) if spread
    }


def test_forms_against_a_comparison_of_all_pairs() -> None:
    words = [
        "share",
        "shares",
        "new york",
        "york",
        "yorks",
        "ключей",
        "ключа",
        "tax",
        "taxes",
        "израиль",
        "orden",
        "órdenes",
        "s",
        "share's",
    ]
    vectors = centered(np.random.default_rng(2).standard_normal((len(words), 2)).astype(np.float32))
    cosines = vectors @ vectors.T
    wanted = [
        [i == j or same_word(a, b, float(cosines[i, j])) for j, b in enumerate(words)] for i, a in enumerate(words)
    ]
    assert forms_of(words, vectors).tolist() == wanted


def test_pictures(topics: Topics) -> None:
    pytest.importorskip("matplotlib")
    DisplayFormatter = pytest.importorskip("IPython.core.formatters").DisplayFormatter
    drawn = topics.plot(), topics.plot_tree(), topics.over("created", "year").plot(), topics.by("team").plot([0, 1])
    assert all(figure.axes for figure in drawn)
    assert len(drawn[3].axes[0].patches) == 4  # two groups, two topics
    shown, _ = DisplayFormatter(active_types=["text/plain", "image/png"]).format(drawn[0])
    assert shown["image/png"].startswith(b"\x89PNG")  # in a notebook
    for figure in drawn[2:]:
        figure.draw_without_rendering()
        (panel,) = figure.axes
        assert panel.get_legend().get_window_extent().x0 >= panel.get_window_extent().x1  # beside it, not on it
    assert len(topics.plot(1).axes) == 1 and len(topics.by("team").plot(1).axes[0].patches) == 2


def test_a_picture_over_time_shows_the_topics_with_the_surest_trend(topics: Topics) -> None:
    pytest.importorskip("matplotlib")
    years = topics.over("created", "year")
    sizes = years.counts + 100 * (years.p_trend > 0.05).astype(int)  # the largest have none
    for found, first in ((years, years.rising() + years.falling()), (replace(years, counts=sizes), years.rising())):
        drawn = [text.get_text() for text in found.plot().axes[0].get_legend().get_texts()]
        assert first and drawn[: len(first)] == first


def test_a_file_of_names(tmp_path: Path) -> None:
    path = tmp_path / "names.txt"
    path.write_text("# areas\nmoney: bank, -river bank\n  loans: loan\nsport\n", encoding="utf-8")
    money, loans, sport = read_names(path)
    assert money.words == ("bank",) and money.without == ("river bank",)
    assert loans.parent == "money" and sport.words == ("sport",) and sport.parent == ""
    path.write_text("a\na\n")
    with pytest.raises(ConfigError, match="'a' is given twice"):
        read_names(path)
    with pytest.raises(ConfigError, match="no such file of names"):
        read_names(tmp_path / "none.txt")
    for many in ([f"n{i}" for i in range(1001)], {"a": ["w " * 10_001]}):
        with pytest.raises(ConfigError, match=r"names: .* words; give at most 1,000 with 10,000"):
            read_names(many)


def test_a_word_that_a_name_repeats_counts_once() -> None:
    found = name_directions([Name("a", ("w w x w",))], {"w": 0, "x": 1}, np.eye(2, dtype=np.float32), np.ones(2), {})
    assert found.directions.tolist() == [[1, 0], [0, 1]]


def test_words_of_names_and_documents_are_taken_some_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    random = np.random.default_rng(3)
    rows, starts = (normalize(random.standard_normal((n, 5))).astype(np.float32) for n in (300, 40))
    owners = np.sort(random.integers(0, 6, 40))
    found = []
    for words, chances in ((1 << 10, 1 << 24), (7, 40 * 13)):
        monkeypatch.setattr(naming, "_COMPARED_AT_ONCE", words)
        monkeypatch.setattr(naming, "_CHANCES_AT_ONCE", chances)
        found.append(naming._mixture(rows, starts, owners, np.full(40, 1 / 40)))
    assert found[0].shape == (300, 6)
    np.testing.assert_allclose(found[0], found[1], rtol=1e-3)


def test_a_thousand_words_of_names_take_memory_for_some_documents_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(naming, "_CHANCES_AT_ONCE", 1 << 16)
    rows, starts = np.tile(np.eye(4, dtype=np.float32), (2000, 1)), np.tile(np.eye(4, dtype=np.float32), (250, 1))
    tracemalloc.start()
    try:
        naming._mixture(rows, starts, np.arange(1000) // 250, np.full(1000, 1e-3))
        assert tracemalloc.get_traced_memory()[1] < 32 << 20  # all at once, 64 MB for each array
    finally:
        tracemalloc.stop()


def bare(vectors: np.ndarray) -> Model:
    words = KeyedVectors(["a", "b", "c"], np.eye(3, dtype=np.float32))
    return Model(words, docs=KeyedVectors(None, np.asarray(vectors, np.float32)))


def test_bad_input(model: Model, topics: Topics) -> None:
    alike = np.tile(np.array([1, 0, 0], np.float32), (50, 1))
    wrong: Any = topics  # what types would not let through
    cases = [
        (lambda: find_topics(model, k=1000), ConfigError, "k is a whole number from 1 to 240"),
        (lambda: find_topics(bare(alike)), CorpusError, "all documents have the same vector"),
        (lambda: find_topics(bare(np.eye(3))), CorpusError, "too few documents for topics, 3"),
        (lambda: find_topics(Model(model.words)), ConfigError, "has no documents"),
        (lambda: find_topics(model, names={"sport": []}, only_names=True), ConfigError, "one name alone"),
        (lambda: find_topics(model, names={"galaxies": [], "x": []}), ConfigError, "near words: 'galaxy', "),
        (lambda: find_topics(model, names={}), ConfigError, "holds no name"),
        (lambda: find_topics(model, only_names=True), ConfigError, "need names"),
        (lambda: topics.over("team", "month"), ConfigError, r"'team' holds no dates.*use by\('team'\)"),
        (lambda: topics.get_topic_info(), AttributeError, r"use topics.to_pandas\(\)$"),  # type: ignore[attr-defined]
        (lambda: topics.over("created", "decade"), ConfigError, "unit must be one of"),
        (lambda: topics.by("colour"), ConfigError, "no field 'colour'"),
        (lambda: topics.merge(0, 99), ConfigError, "there is no topic 99"),
        (lambda: topics.cut(9), ConfigError, "between 1 and 4 topics, not 9"),
        (lambda: wrong.cut("3"), ConfigError, "between 1 and 4 topics, not '3'"),
        (lambda: wrong.split(0, 2.0), ConfigError, "2 parts or more, not 2.0"),
        (lambda: wrong.drop(None), ConfigError, "there is no topic None"),
        (lambda: wrong.rename({1: "x"}), ConfigError, "takes a topic and its title, such as"),
        (lambda: wrong.rename(1, 5), ConfigError, "takes a topic and its title, such as"),
        (lambda: wrong.rename(1), ConfigError, "the title of a topic is empty"),
        (lambda: wrong.by(["team"]), ConfigError, "no field"),
        (lambda: wrong.model.topics(levels=5), ConfigError, r"levels are a list, from broad to fine, .* not 5"),
        (lambda: topics.predict("bank loan"), CorpusError, "texts must be a list of texts, not a single one"),
        (lambda: topics.predict_proba("bank loan"), CorpusError, "texts must be a list of texts, not a single one"),
        (
            lambda: find_topics(model, names=["bank", "goal"], examples={"bank": "a loan"}),
            CorpusError,
            "texts must be a list of texts, not a single one",
        ),
    ]
    for call, kind, message in cases:
        with pytest.raises(kind, match=message) as caught:
            call()
        assert "\n" not in str(caught.value)


def test_titles_are_never_alike() -> None:
    words = [["a", "b", "c", "d"], ["c", "a", "b", "d"], ["a", "b", "c", "e"], ["x"], [], ["x"], ["y", "z"]]
    titles = titles_of(words, [0, 1, 2, 3, 4, 5, 6], taken=["y, z"])
    assert len(set(titles)) == len(titles)
    assert titles[2] == "a, b, c, e" and titles[4] == "topic 4" and titles[6] == "y, z (topic 6)"
    assert titles[0] == "a, b, c, d (topic 0)" and titles[3] == "x (topic 3)"
