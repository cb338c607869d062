"""A typed sentence in a real browser: the same words and the same vector as in Python."""

from __future__ import annotations

import random
from dataclasses import replace

import numpy as np
import pytest

from browser_helpers import visit
from helpers import fit_cases, tokenizer_cases
from spherevec.corpus.tokenize.tokenizer import Tokenizer, tokenizer_of
from spherevec.corpus.tokenize.words import TokenizerOptions
from spherevec.explore.from_model import description
from spherevec.explore.page import save_page


def test_the_browser_fits_as_the_model_does(browser, tmp_path):
    """The same vector as `Model.infer`, within 0.02 of cosine."""
    import spherevec
    from helpers import written_text
    from spherevec.explore import write_page

    texts = [" ".join(words) for words in written_text()[0]]
    model = spherevec.train(texts, vector_size=40, min_count=1, epochs=30, threads=1, seed=1)
    path = write_page(model, tmp_path / "page.html", threads=1)
    asked = [" ".join(text.split()[:length]) for length in (1, 3, 8, 20, 500) for text in texts[:8]]
    expected = model.infer(asked, threads=1)
    with visit(browser, path) as one:
        given = one.page.evaluate("texts => texts.map((text) => Array.from(spherevec.place(text, false)))", asked)
    cosines = (np.asarray(given) * expected).sum(axis=1)
    assert cosines.min() > 0.98


def test_the_cases_of_the_fit_in_javascript(browser, data, tmp_path):
    given = fit_cases()
    words = np.array(given["directions"], np.float32)
    dim, names = words.shape[1], [f"word{row}" for row in range(len(words))]
    settings = {name: given[name] for name in ("alpha", "epochs", "concentration", "bias", "negative", "by_length")}
    assert data.fit is not None
    fit = replace(data.fit, weights=np.array(given["weights"], np.float32), negatives=np.zeros((0, dim), np.float32),
                  moments=np.array([*given["covariance"], given["mean"]], np.float32), **settings)  # fmt: skip
    page = replace(
        data, words=names, word_vectors=words, word_counts=None, place_names=data.place_names[:0],
        word_places=data.word_places[:0], doc_vectors=data.doc_vectors[:, :dim], vocabulary=len(words), fit=fit,
        topics=[], topic_places=data.topic_places[:0], topic_vectors=data.topic_vectors[:0, :dim],
        doc_topics=np.full_like(data.doc_topics, -1),
    )  # fmt: skip
    texts = [" ".join(names[word] for word in case["words"]) for case in given["cases"]]
    with visit(browser, save_page(page, tmp_path / "fit.html")) as one:
        found = one.page.evaluate("texts => texts.map((text) => Array.from(spherevec.place(text, false)))", texts)
    for case, vector in zip(given["cases"], found, strict=True):
        np.testing.assert_allclose(vector, case["vector"], atol=2e-5, err_msg=str(case["words"]))


def test_the_cases_of_the_tokenizer_in_javascript(browser, file):
    cases = tokenizer_cases()
    given = [[case["text"], description(tokenizer_of(case["tokenizer"]), False)] for case in cases]
    with visit(browser, file) as one:
        found = one.page.evaluate("cases => cases.map(([text, how]) => spherevec.words(text, how))", given)
    for case, words in zip(cases, found, strict=True):
        assert words == case["words"], case


def test_javascript_and_python_agree_on_any_mixture_of_the_cases(browser, file):
    chance = random.Random(1)
    pieces = [
        case["text"][i : i + size] for case in tokenizer_cases() for size in (1, 3, 7) for i in range(0, 60, size)
    ]
    choices = {
        name: [choice for choice in given if choice not in ("segment", "auto")]
        for name, given in TokenizerOptions.choices().items()
    }
    cases = [
        (
            "".join(chance.choices(pieces, k=chance.randrange(12))),
            Tokenizer("words-0.2", TokenizerOptions(**{name: chance.choice(given) for name, given in choices.items()})),
        )
        for _ in range(600)
    ]
    given = [[text, description(tokenizer, False)] for text, tokenizer in cases]
    with visit(browser, file) as one:
        found = one.page.evaluate("cases => cases.map(([text, how]) => spherevec.words(text, how))", given)
    for (text, tokenizer), words in zip(cases, found, strict=True):
        assert words == tokenizer.words(text), (text, str(tokenizer))


TEXTS = ("Don’t stop; COVID-19 isn't C++17", "see (https://www.example.com/a_(b).html), me@host.example.com, a@b")


def test_the_browser_says_where_it_uses_its_own_dictionary(browser, data, tmp_path):
    pytest.importorskip("icu4py", reason="needs the extra cjk")
    tokenizer = tokenizer_of("words:unspaced=segment")
    path = save_page(replace(data, tokenizer=description(tokenizer, False)), tmp_path / "page.html")
    uncut = "ロケール"  # by the dictionary ロ and ケール
    unspaced = ("word1 我们在北京大学学习中文 word2", "東京で寿司を食べました", "ภาษาไทยง่ายมาก", "挂载到内核")
    with visit(browser, path) as one:
        assert one.page.evaluate("texts => texts.map((text) => spherevec.words(text))", TEXTS) == [
            tokenizer.words(text) for text in TEXTS
        ]
        assert one.page.evaluate("text => spherevec.words(text)", uncut) == tokenizer.words(uncut) == [uncut]
        for text in unspaced:
            words = one.page.evaluate("text => spherevec.words(text)", text)
            assert "".join(words) == "".join(tokenizer.words(text))  # all of the text, perhaps divided otherwise
        for text, said in ((unspaced[0], True), ("word1 word2", False)):
            one.page.evaluate("text => spherevec.place(text)", text)
            assert ("the browser's dictionary" in one.text("#panel")) is said


def test_the_browser_finds_phrases_as_training_does(browser, file):
    known = ["new", "york", "times", "new york", "new york times"]
    how = description(tokenizer_of("words:unspaced=bigrams"), True)
    with visit(browser, file) as one:
        one.page.evaluate(
            "known => { spherevec.world.wordIds = new Map(known.map((word, row) => [word, row])) }", known
        )
        words = one.page.evaluate(
            "([text, how]) => spherevec.words(text, how)", ["New York Times, New. York, new york city", how]
        )
    assert words == ["new", "york", "times", "new york times", "new", "york", "new", "york", "new york", "city"]
