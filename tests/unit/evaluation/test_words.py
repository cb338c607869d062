"""Word similarity and analogies, against slow and obvious twins."""

import math
from itertools import combinations

import numpy as np
import pytest
from scipy.stats import spearmanr

from method import random_directions
from spherevec.errors import ConfigError, FormatError
from spherevec.evaluation import words as words_module
from spherevec.evaluation.files import AnalogySection
from spherevec.evaluation.words import answer_analogies, evaluate_analogies, evaluate_similarity
from spherevec.model.keyed_vectors import KeyedVectors
from spherevec.sphere import normalize


def keyed(keys, vectors):
    return KeyedVectors(keys, normalize(vectors))


def test_spearman_over_the_covered_pairs_is_scipys():
    rng = np.random.default_rng(0)
    keys = [f"w{i}" for i in range(50)]
    vectors = rng.standard_normal((50, 8)).astype(np.float32) * rng.uniform(0.1, 5, (50, 1)).astype(np.float32)
    # Distinct pairs of distinct words: equal cosines would be ranked by their rounding.
    chosen = rng.choice(list(combinations(keys, 2)), size=60, replace=False)
    known = [(str(first), str(second), float(round(rng.uniform(0, 5)))) for first, second in chosen]
    pairs = [*known[:30], ("w1", "unknown", 3.0), *known[30:], ("unknown", "w1", 1.0)]
    cosines = []
    for first, second, _ in known:
        a, b = (vectors[int(word[1:])].astype(float) for word in (first, second))
        cosines.append(a @ b / np.linalg.norm(a) / np.linalg.norm(b))
    result = evaluate_similarity(keyed(keys, vectors), pairs, "mine")
    assert (result.name, result.covered, result.total) == ("mine", 60, 62)
    assert result.spearman == pytest.approx(spearmanr(cosines, [score for *_, score in known]).statistic, abs=1e-6)


def test_order_of_three_pairs_by_hand():
    vectors = np.array([[1.0, 0.0], [0.9, 0.1], [0.0, 1.0]])
    words = keyed(["car", "auto", "tree"], vectors)
    pairs = [("car", "auto", 9.0), ("auto", "tree", 3.0), ("car", "tree", 1.0)]
    assert evaluate_similarity(words, pairs).spearman == pytest.approx(1)
    assert evaluate_similarity(words, [(a, b, -score) for a, b, score in pairs]).spearman == pytest.approx(-1)


def test_words_are_lower_cased_only_where_they_are_missing():
    keys = ["polish", "Polish", "paris", "x"]
    vectors = np.array([[1.0, 0.0], [0.0, 1.0], [0.0, 1.0], [1.0, 1.0]])
    pairs = [("Polish", "Paris", 2.0), ("polish", "Paris", 1.0), ("polish", "X", 1.5)]
    result = evaluate_similarity(keyed(keys, vectors), pairs)
    assert result.covered == 3
    assert result.spearman == pytest.approx(1)


def test_the_first_of_two_equal_words_counts():
    words = keyed(["a", "b", "c", "a"], np.array([[1.0, 0.0], [1.0, 0.1], [0.0, 1.0], [0.0, 1.0]]))
    assert evaluate_similarity(words, [("a", "b", 2.0), ("a", "c", 1.0)]).spearman == pytest.approx(1)


@pytest.mark.parametrize("pairs", [[], [("a", "b", 1.0)], [("a", "b", 1.0), ("b", "a", 2.0)], [("u", "v", 1.0)] * 3])
def test_what_cannot_be_ranked_is_not_a_number(pairs):
    result = evaluate_similarity(keyed(["a", "b"], np.eye(2)), pairs)
    assert math.isnan(result.spearman)
    assert result.total == len(pairs)


def test_words_and_vectors_must_agree():
    with pytest.raises(FormatError, match="2 keys do not fit 3 vectors"):
        evaluate_similarity(keyed(["a", "b"], np.eye(3)), [])


def naive_answer(vectors, question, method):
    """One question at a time, one candidate at a time."""
    a, b, c = (vectors[row].astype(float) for row in question)
    best, answer = -math.inf, -1
    for row, candidate in enumerate(vectors.astype(float)):
        if row in question:
            continue
        if method == "3cosadd":
            score = candidate @ b - candidate @ a + candidate @ c
        else:
            score = (1 + candidate @ b) / 2 * (1 + candidate @ c) / 2 / ((1 + candidate @ a) / 2 + 0.001)
        if score > best:
            best, answer = score, row
    return answer


@pytest.mark.parametrize("method", ["3cosadd", "3cosmul"])
@pytest.mark.parametrize("blocks", [(128, 2048), (7, 13)])
def test_answers_agree_with_the_naive_search(method, blocks, monkeypatch):
    monkeypatch.setattr(words_module, "_QUESTION_BLOCK", blocks[0])
    monkeypatch.setattr(words_module, "_WORD_BLOCK", blocks[1])
    rng = np.random.default_rng(1)
    vectors = random_directions(60, 6, rng).astype(np.float32)
    questions = rng.integers(60, size=(50, 3))
    expected = [naive_answer(vectors, question, method) for question in questions]
    assert answer_analogies(vectors, questions, method).tolist() == expected


@pytest.mark.parametrize(("method", "other"), [("3cosadd", "add"), ("3cosmul", "mul")])
def test_answers_are_those_of_the_model(method, other):
    """One 3CosMul: what is evaluated is what `analogy` answers."""
    rng = np.random.default_rng(3)
    vectors = random_directions(80, 6, rng).astype(np.float32)
    words = KeyedVectors([f"w{n}" for n in range(80)], vectors)
    questions = np.array([rng.permutation(80)[:3] for _ in range(40)])
    found = answer_analogies(vectors, questions, method)
    for question, answer in zip(questions, found, strict=True):
        a, b, c = (f"w{row}" for row in question)
        assert words.analogy(a, b, c, topn=1, method=other)[0][0] == f"w{answer}"


def test_the_two_methods_can_differ():
    rng = np.random.default_rng(2)
    vectors, questions = random_directions(60, 6, rng), rng.integers(60, size=(50, 3))
    assert (answer_analogies(vectors, questions, "3cosadd") != answer_analogies(vectors, questions, "3cosmul")).any()


@pytest.mark.parametrize("method", ["3cosadd", "3cosmul"])
def test_sections_are_counted_and_given_words_never_answer(method):
    # Country = capital moved along the second axis, plural = singular moved along the third.
    base = {"athens": [1, 0, 0, 0.0], "oslo": [0.6, 0, 0, 0.8], "cat": [-0.5, 0, 0, 0.5], "dog": [-0.6, 0, 0, -0.8]}
    table = dict(base)
    for word, other, axis in (("athens", "greece", 1), ("oslo", "norway", 1), ("cat", "cats", 2), ("dog", "dogs", 2)):
        table[other] = [*base[word]]
        table[other][axis] = 1.0
    words = keyed(list(table), np.array(list(table.values())))
    sections = [
        AnalogySection("capitals", (("Athens", "Greece", "Oslo", "Norway"), ("Oslo", "Norway", "Paris", "France"))),
        AnalogySection("gram-plural", (("cat", "cats", "dog", "dogs"), ("dog", "dogs", "cat", "greece"))),
        AnalogySection("unknown", (("p", "q", "r", "s"),)),
    ]
    *own, semantic, syntactic, total = evaluate_analogies(words, sections, method)
    assert [(s.correct, s.covered, s.total) for s in own] == [(1, 1, 2), (1, 2, 2), (0, 0, 1)]
    assert [s.accuracy for s in own] == [1, 0.5, 0]
    assert (semantic.correct, semantic.covered, semantic.total) == (1, 1, 3)
    assert syntactic.accuracy == 0.5 and syntactic.syntactic
    assert total.accuracy == pytest.approx(2 / 3)


def test_no_sections_and_unknown_method():
    words = keyed(["a", "b"], np.eye(2))
    assert [score.total for score in evaluate_analogies(words, [])] == [0, 0, 0]
    with pytest.raises(ConfigError, match="not 'cosadd'"):
        evaluate_analogies(words, [], "cosadd")
