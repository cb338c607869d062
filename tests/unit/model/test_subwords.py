"""Guesses from spelling, against a twin that compares every pair of words with Python sets."""

from __future__ import annotations

import math

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from spherevec.model.subwords import LONGEST, SHORTEST, GuessedVector, Ngrams, Spellings, one_edit_apart

WORDS = ["refund", "refunds", "refunded", "invoice", "invoices", "login", "logins", "a", "über", "日本語", "x-ray"]


def ngrams(word):
    marked = f"<{word}>"
    return {
        marked[start : start + size] for size in range(SHORTEST, LONGEST + 1) for start in range(len(marked) - size + 1)
    }


def naive_likeness(word, known):
    often = {}
    for one in known:
        for gram in ngrams(one):
            often[gram] = often.get(gram, 0) + 1
    weight = lambda gram: math.log1p(len(known) / (1 + often.get(gram, 0)))  # noqa: E731
    length = lambda grams: math.sqrt(sum(weight(gram) ** 2 for gram in grams))  # noqa: E731
    mine = ngrams(word)
    found = []
    for one in known:
        likeness = sum(weight(gram) ** 2 for gram in mine & ngrams(one)) / (length(mine) * length(ngrams(one)))
        slip = len(word) >= 4 and likeness > 0 and edits(word, one) == 1
        found.append(max(likeness, 1 - 1 / max(len(word), len(one))) if slip else likeness)
    return found


def edits(a, b):
    """Letters inserted, left out, exchanged or swapped with their neighbour, the slow way."""
    table = {(i, 0): i for i in range(len(a) + 1)} | {(0, j): j for j in range(len(b) + 1)}
    for i in range(1, len(a) + 1):
        for j in range(1, len(b) + 1):
            ways = [table[i - 1, j] + 1, table[i, j - 1] + 1, table[i - 1, j - 1] + (a[i - 1] != b[j - 1])]
            if i > 1 and j > 1 and a[i - 2 : i] == b[j - 2 : j][::-1]:
                ways.append(table[i - 2, j - 2] + 1)
            table[i, j] = min(ways)
    return table[len(a), len(b)]


@given(st.text("abc", max_size=7), st.text("abc", max_size=7))
@settings(max_examples=300)
def test_a_slip_is_one_edit(a, b):
    assert one_edit_apart(a, b) == (edits(a, b) == 1)


def test_stand_ins_are_known_words_that_are_alike_enough():
    found = Spellings(WORDS).stand_ins(["refuund", "ivoices", "qqqq", "12345", "lgn", "invoicer"])
    assert [WORDS[at] if at >= 0 else None for at in found] == ["refund", "invoices", None, None, None, "invoice"]


def test_each_ngram_has_a_row():
    found = Ngrams.of(WORDS)
    assert np.diff(found.starts).tolist() == [len(ngrams(word)) for word in WORDS]
    assert len(Ngrams.of([]).rows) == 0


def test_the_nearest_spellings_are_those_of_the_twin():
    spellings = Spellings(WORDS)
    for word in ("refundd", "rfund", "invoicing", "logon", "ubér", "日本", "zzz", ""):
        rows, likeness = spellings.nearest([word], len(WORDS))
        twin = np.array(naive_likeness(word, WORDS))
        assert np.allclose(likeness[0], np.sort(twin)[::-1], atol=1e-8)
        some = likeness[0] > 0
        assert np.allclose(twin[rows[0][some]], likeness[0][some], atol=1e-8)


def test_a_batch_gives_what_single_words_give():
    spellings, asked = Spellings(WORDS), ["refundd", "logn", "ray"] * 700
    rows, likeness = spellings.nearest(asked, 3)
    for at in (0, 1, 2, 2099):
        alone = spellings.nearest([asked[at]], 3)
        assert np.array_equal(alone[0][0], rows[at]) and np.array_equal(alone[1][0], likeness[at])


def test_a_misspelling_is_near_its_word():
    vectors = np.eye(len(WORDS), dtype=np.float32)
    guesses = Spellings(WORDS).guess(["invoicee", "日本語の", "qqq"], vectors)
    assert guesses[0].argmax() in (3, 4) and guesses[1].argmax() == 9
    assert np.allclose(np.linalg.norm(guesses, axis=1), 1, atol=1e-6)
    assert np.allclose(guesses[2], guesses[2][0])  # shares nothing: the mean direction


def test_a_guess_says_so_and_what_is_computed_from_it_does_not():
    guess = np.ones(3, np.float32).view(GuessedVector)
    assert guess.guessed and not hasattr(guess * 2, "guessed") and type(guess @ guess) is np.float32
