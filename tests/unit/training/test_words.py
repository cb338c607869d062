"""Rare words drawn towards words of like spelling, against a twin that looks at every pair."""

from __future__ import annotations

import numpy as np
import pytest

import spherevec
from method import random_directions
from spherevec import TrainConfig
from spherevec.corpus import Vocabulary
from spherevec.model.subwords import POWER, Spellings
from spherevec.training import finishing as module
from spherevec.training.finishing import SpellingSmoother, directions_of_sums

STEMS = ("invest", "refund", "travel", "paint", "garden")
ENDINGS = ("", "s", "ed", "ing", "er", "ment")
WORDS = [stem + ending for stem in STEMS for ending in ENDINGS] + ["E1234", "E1235", "zq", "日本語", "日本人"]


def smoothed(vectors, words, counts, threads=1):
    return SpellingSmoother(Vocabulary(words, counts), threads).smooth(vectors)


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(1)
    vectors = np.asarray(random_directions(len(WORDS), 12, rng), np.float32)
    counts = np.sort(rng.integers(1, 3000, size=len(WORDS)))[::-1].astype(np.int64)
    return vectors, counts


def by_pairs(vectors, counts):
    """The same word by word, from the likeness of every pair."""
    plain = [word for word in WORDS if not any(sign.isdigit() for sign in word)]
    often = {word: counts[WORDS.index(word)] for word in plain}
    rows, likeness = Spellings(plain).sharing(plain, len(plain))
    moved = vectors.astype(float)
    for at, word in enumerate(plain):
        if often[word] >= module.FREQUENT:
            continue
        pairs = [(plain[row], like) for row, like in zip(rows[at], likeness[at], strict=True) if row != at]
        pairs = pairs[: module.MOST_ALIKE]
        guess = sum(
            like**POWER * often[other] / (often[other] + module.TRUSTED) * vectors[WORDS.index(other)]
            for other, like in pairs
        )
        pull = module.HALFWAY / (module.HALFWAY + often[word]) * min(max(like for _, like in pairs) / 0.7, 1)
        if np.linalg.norm(guess) > 1e-9:
            total = vectors[WORDS.index(word)] + pull * guess / np.linalg.norm(guess)
            moved[WORDS.index(word)] = total / np.linalg.norm(total)
    return moved


@pytest.mark.parametrize("threads", [1, 3])
def test_rare_words_move_as_the_twin_says(table, threads, monkeypatch):
    monkeypatch.setattr(module, "CHUNK_ROWS", 800)
    monkeypatch.setattr(module, "_COMPARED_AT_ONCE", 7)
    vectors, counts = table
    found = smoothed(vectors, WORDS, counts, threads)
    np.testing.assert_allclose(found, by_pairs(vectors, counts), atol=1e-6)
    np.testing.assert_array_equal(found, smoothed(vectors, WORDS, counts, 1))
    known = SpellingSmoother(Vocabulary(WORDS, counts), threads, keep=True)
    np.testing.assert_array_equal(found, known.smooth(vectors))
    assert np.abs(found - vectors).max() > 0.1


def test_frequent_words_and_codes_stay(table):
    vectors, counts = table
    found = smoothed(vectors, WORDS, counts)
    stay = [at for at, word in enumerate(WORDS) if counts[at] >= module.FREQUENT or word.startswith("E12")]
    assert len(stay) > 2
    np.testing.assert_array_equal(found[stay], vectors[stay])
    np.testing.assert_array_equal(smoothed(vectors, WORDS, np.full(len(WORDS), 5000)), vectors)


def test_a_rarer_word_moves_further(table):
    vectors, _ = table
    counts = np.full(len(WORDS), 500, np.int64)
    counts[1] = 3
    turned = 1 - np.einsum("ij,ij->i", smoothed(vectors, WORDS, counts), vectors)
    assert turned[1] > 2 * turned[2:30].max()


def test_models_say_whether_rare_words_were_drawn(tmp_path):
    texts = [" ".join(np.random.default_rng(seed).choice(WORDS, 12)) for seed in range(40)]
    settings = {"vector_size": 8, "epochs": 2, "min_count": 1, "threads": 1, "window": 3}
    drawn, plain = (spherevec.train(texts, smooth_rare_words=on, **settings) for on in (True, False))
    assert drawn.config["smooth_rare_words"] and not plain.config["smooth_rare_words"]
    np.testing.assert_array_equal(drawn.inputs.vectors, plain.inputs.vectors)
    np.testing.assert_array_equal(drawn.docs.vectors, plain.docs.vectors)
    np.testing.assert_array_equal(plain.words.vectors, directions_of_sums(plain.inputs.vectors, plain.contexts.vectors))
    counts = plain.words.counts
    np.testing.assert_array_equal(drawn.words.vectors, smoothed(plain.words.vectors, plain.words.names, counts))
    drawn.save(tmp_path / "m")
    np.testing.assert_array_equal(spherevec.load(tmp_path / "m").words.vectors, drawn.words.vectors)


def test_words_alone_can_be_drawn_too():
    texts = [" ".join(np.random.default_rng(seed).choice(WORDS, 12)) for seed in range(40)]
    settings = {"vector_size": 8, "epochs": 2, "min_count": 1, "threads": 1, "add_contexts": False}
    model = spherevec.train(texts, **settings)
    assert model.inputs is not model.words
    expected = smoothed(model.inputs.vectors, model.words.names, model.words.counts)
    np.testing.assert_array_equal(model.words.vectors, expected)


def test_the_recipe_for_words():
    config = TrainConfig.recipe("words")
    assert (config.window, config.negative, config.sample, config.documents) == (5, 15, 1e-3, True)
