"""Ways to title topics: a table, to which anyone can add."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from scipy.sparse import csc_array

import spherevec
from helpers import grows
from spherevec import Model
from spherevec.corpus.tokenize.function_words import same_word
from spherevec.errors import ConfigError
from spherevec.topics import find_topics
from spherevec.topics.titles import TITLES, coverage, usual_spelling
from spherevec.topics.words import TopicContent, TopicWords, forms_of


def content(holds: list[list[int]], inside: list[int], words: list[str]) -> TopicContent:
    matrix = csc_array(np.array(holds, float))
    member = np.array(inside, bool)
    weights = np.ones(len(words), np.float32)
    return TopicContent(0, int(member.sum()), words, words, [], words, matrix, member, weights, forms_of(words))


def test_words_cover_the_documents_one_after_another() -> None:
    # iraq and iraqi stand in the same three documents, police in the two others, said everywhere.
    holds = [[1, 1, 0, 1], [1, 1, 0, 1], [1, 1, 0, 1], [0, 0, 1, 1], [0, 0, 1, 1], [0, 0, 0, 1], [0, 0, 0, 1]]
    found = coverage(content(holds, [1, 1, 1, 1, 1, 0, 0], ["iraq", "iraqi", "police", "said"]))
    assert found[:2] == ["iraq", "police"]


def test_where_one_word_covers_all_the_others_are_frequent_ones() -> None:
    # All documents hold printer but one in fifty, which alone has pitch; most have paper, too.
    inside = [1] * 50 + [0] * 50
    holds = [[1, 0, int(row % 3 > 0)] for row in range(49)] + [[0, 1, 0]] + [[0, 0, 0]] * 50
    assert coverage(content(holds, inside, ["printer", "pitch", "paper"])) == ["printer", "paper", "pitch"]


def test_greedy_coverage_against_the_definition() -> None:
    random = np.random.default_rng(4)
    holds = random.random((60, 12)) < 0.2
    inside = random.random(60) < 0.4
    words = [f"w{'xyz'[i % 3]}{i}" for i in range(12)]
    found = coverage(content(holds.astype(int).tolist(), inside.astype(int).tolist(), words))
    covered, left, wanted = np.zeros(60, bool), list(range(12)), []
    for _ in range(3):
        new = {i: holds[:, i] & ~covered for i in left}
        worth = {i: new[i][inside].mean() - 2 * new[i][~inside].mean() for i in left}
        if max(worth.values()) < 0.05:  # no word adds enough
            worth = {i: holds[:, i][inside].mean() - 2 * holds[:, i][~inside].mean() for i in left}
        best = max(left, key=lambda i: worth[i])
        wanted.append(words[best])
        covered |= holds[:, best]
        left.remove(best)
    assert found[:3] == wanted


def test_a_way_to_title_is_added_from_outside(model: Model) -> None:
    def longest(topic: TopicContent) -> list[str]:
        return sorted(topic.words, key=len, reverse=True)

    TITLES["longest"] = longest
    try:
        found = find_topics(model, k=4, titles="longest", threads=1)
        titles = found.titles
    finally:
        del TITLES["longest"]
    for title, words in zip(titles, found.words_by_place, strict=True):
        assert title == ", ".join(sorted(words, key=len, reverse=True)[:3])


def test_a_function_may_title_and_its_titles_count_as_given(model: Model) -> None:
    found = find_topics(model, k=4, titles=lambda topic: f"about {topic.words[0]}", threads=1)
    assert all(topic.given and topic.title == f"about {topic.words[0]}" for topic in found)
    assert found.merge(0, 1)[0].title == found[0].title
    for way in ("coverage", "distinctive", "nearest"):
        titled = find_topics(model, k=4, titles=way, threads=1).titles
        assert len(set(titled)) == 4 and all(title.count(",") >= 2 for title in titled)


def test_words_are_written_as_in_the_text() -> None:
    texts = ["Rocket by NASA. Iraq said it", "they saw NASA and then Iraq", "the launch by NASA, in Iraq", "of Iraq",
             "Plan Of Launch To Mars", "Rocket again: Rocket", "saw the Launch To Mars And Back"]  # fmt: skip
    assert usual_spelling("nasa", texts) == "NASA" and usual_spelling("iraq", texts) == "Iraq"
    for word in ("launch", "rocket"):  # headlines and starts of sentences
        assert usual_spelling(word, texts) == word
    assert usual_spelling("linux", ["内核 模块 由 Linux 加载", "使用 Linux 的 文件"]) == "Linux"


def test_a_long_run_of_letters_is_read_once() -> None:
    assert grows(lambda text: usual_spelling("quick", [text]), lambda n: f"the quick brown {'a' * n}", 4000) < 24


def test_only_the_beginnings_of_long_texts_are_looked_at() -> None:
    texts = [f"the {('heron', 'boat')[i % 2]} {i} {'waits ' * 500}" for i in range(20)]
    model = spherevec.train(texts, keep_text=10_000, min_count=1, vector_size=4, epochs=1, threads=1, progress=False)
    topics = find_topics(model, k=2, threads=1)
    found = list(TopicWords(model, topics.components, topics.labels).texts_with("heron"))
    assert len(found) == 10 and {len(text) for text in found} == {2000}


def test_phrases_and_underscores_are_told_apart() -> None:
    """Phrases are joined by a space, `size_t` is one word: both are titled as they are written."""
    assert same_word("new york", "york") and not same_word("size_t", "wint_t") and not same_word("size_t", "size")
    random = np.random.default_rng(1)
    subjects = (["new york", "mayor", "bridge", "subway"], ["size_t", "pointer", "malloc", "struct"])
    texts = [" ".join(random.permutation(subjects[i % 2]).tolist() * 2) for i in range(200)]
    model = spherevec.train(texts, phrases=True, min_count=1, vector_size=10, epochs=30, threads=1, progress=False)
    names = Counter(model.words.names or [])
    assert names["new york"] == 1
    topics = find_topics(model, k=2, threads=1)
    listed = [word for words in topics.words_by_place for word in words]
    assert "size_t" in listed and "new york" in listed and "york" not in listed
    assert all("size t" not in title for title in topics.titles)
    named = find_topics(model, names={"city": ["new york"], "code": ["size_t"]}, only_names=True, threads=1)
    assert named.sizes.tolist() == [100, 100]


@pytest.mark.parametrize("title", ["", "a, b"])
def test_titles_that_a_function_repeats_are_told_apart(model: Model, title: str) -> None:
    titles = find_topics(model, k=3, titles=lambda topic: title, threads=1).titles
    assert len(set(titles)) == 3


def test_a_function_may_title_by_any_text_and_by_nothing_else(model: Model) -> None:
    titles = find_topics(model, k=4, titles=lambda topic: ["no", f"such word {topic.number}"], threads=1).titles
    assert sorted(titles) == [f"no, such word {number}" for number in range(4)]
    for wrong in (None, 7, [1]):
        with pytest.raises(ConfigError, match=r"must return a text or a list of words, not .* \(topic 0\)"):
            _ = find_topics(model, k=4, titles=lambda topic, wrong=wrong: wrong, threads=1).titles  # type: ignore[misc]
