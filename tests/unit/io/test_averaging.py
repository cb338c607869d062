"""Vectors whose averages are close to what `infer` gives."""

import numpy as np
import pytest

import spherevec
from helpers import written_text
from spherevec.io import averaging, export_model
from spherevec.io.averaging import averaging_vectors
from spherevec.sphere import normalize


@pytest.fixture(scope="module")
def model():
    texts, _, _ = written_text()
    return spherevec.train([" ".join(words) for words in texts], vector_size=16, epochs=10, threads=1, progress=False)


def averages(vectors, texts):
    return normalize(np.array([sum(vectors[word] for word in text.split()) for text in texts]))


def test_averages_are_close_to_inferred_vectors(model):
    unseen = [" ".join(words) for words in written_text(seed=2)[0][:60]]
    vectors, cosine = averaging_vectors(model)
    inferred = model.infer(unseen)
    ours, plain = ((averages(one, unseen) * inferred).sum(axis=1).mean() for one in (vectors, model.words))
    assert ours > 0.95 and ours > plain
    assert cosine == pytest.approx(ours, abs=0.05)


def test_the_map_is_the_least_squares_solution(monkeypatch):
    """For lengths that stay as they are, against scikit-learn."""
    from sklearn.linear_model import LinearRegression

    rng = np.random.default_rng(0)
    counts = rng.integers(0, 3, (200, 30)).astype(float)
    inputs, weights, targets = rng.normal(size=(30, 5)), rng.random(30) + 0.5, normalize(rng.normal(size=(200, 5)))
    monkeypatch.setattr(averaging, "_ROUNDS", 1)
    _, mapping = averaging._fit(counts, targets, inputs, weights)
    means = (counts @ (weights[:, None] * inputs)) / (counts @ weights)[:, None]
    expected = LinearRegression().fit(means, targets)
    np.testing.assert_allclose(mapping[:-1], expected.coef_.T, atol=1e-3)
    np.testing.assert_allclose(mapping[-1], expected.intercept_, atol=1e-3)


def test_a_model_without_documents_gives_its_words(model):
    words, cosine = averaging_vectors(spherevec.Model(model.words))
    assert words is model.words and cosine is None


def test_the_export_for_spacy_is_made_of_them(model, tmp_path):
    spacy = pytest.importorskip("spacy")
    notes = export_model(model, "words", tmp_path / "vocabulary", "spacy")
    assert "mean cosine" in notes[0]
    nlp = spacy.blank("en")
    nlp.vocab.from_disk(tmp_path / "vocabulary")
    text = " ".join(written_text()[0][0])
    assert nlp(text).vector @ model.infer([text])[0] / np.linalg.norm(nlp(text).vector) > 0.95
