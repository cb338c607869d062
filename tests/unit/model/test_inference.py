"""New documents: the compiled fit against the textbook one, and that a text's vector depends on the text alone."""

from __future__ import annotations

import pickle
import re

import numpy as np
import pandas
import pytest

import spherevec
from helpers import fit_cases
from method import random_directions
from oracle import OracleBackend, fitted_document
from spherevec import sphere
from spherevec.cli import main
from spherevec.config import INFERENCE_EPOCHS, WEIGHTED_ALPHA, WEIGHTED_EPOCHS, TrainConfig
from spherevec.corpus import encode_texts
from spherevec.corpus.tokenize.tokenizer import Tokenizer
from spherevec.engine.base import Sampling, TrainingData
from spherevec.engine.cpu import backend as cpu
from spherevec.engine.fit import BY_LENGTH, MOST_BIAS, FitPlan, FitTables, exponents, fit_document, negative_moments
from spherevec.engine.sampling import alias_table, keep_probabilities
from spherevec.errors import ConfigError, CorpusError, FormatError, SpherevecError
from spherevec.model import KeyedVectors, Model, inference
from spherevec.model.inference import DocumentFitter, infer_batches
from spherevec.objectives import OBJECTIVES
from spherevec.storage.tensors import write_rows

SETTINGS = {
    "vector_size": 20, "epochs": 30, "alpha": 0.03, "min_count": 1, "sample": 0.01, "window": 5, "threads": 1,
}  # fmt: skip
TOPICS = "abcd"


def topic_texts(documents, seed):
    """Texts of 0 to 60 words, most of them of one topic, which the first letter tells; and their topics."""
    rng = np.random.default_rng(seed)
    texts, topics = [], rng.integers(len(TOPICS), size=documents)
    for topic in topics:
        words = [f"{TOPICS[topic]}{n % 30}" for n in rng.zipf(1.3, size=rng.integers(0, 61))]
        common = [f"the{n}" for n in rng.integers(5, size=len(words) // 3)]
        texts.append(" ".join(rng.permutation(words + common)))
    return texts, topics


@pytest.fixture(scope="module")
def texts():
    return topic_texts(300, seed=1)[0]


@pytest.fixture(scope="module")
def new_texts():
    return topic_texts(200, seed=2)[0]


@pytest.fixture(scope="module", params=["default", "paper"])
def model(request, texts):
    return spherevec.train(texts, recipe=request.param, **SETTINGS)


@pytest.fixture(scope="module")
def default_model(texts):
    return spherevec.train(texts, **SETTINGS)


def unit_rows(n, dim, seed):
    return np.asarray(random_directions(n, dim, np.random.default_rng(seed)), np.float32)


def test_the_number_of_passes_is_what_the_help_says(default_model, texts):
    said = re.search(r"epochs: passes over each text; by default (\d+)", Model.infer.__doc__)
    ours = default_model.infer(texts[:20])
    np.testing.assert_array_equal(ours, default_model.infer(texts[:20], epochs=int(said[1])))
    assert (ours != default_model.infer(texts[:20], epochs=int(said[1]) - 2)).any()


# --- the fit ----------------------------------------------------------------------------------------------------------


def fitter_of(words, counts, config, fallback, tables=None):
    """What fits documents to some words, with a bias of 0.7; those without words go to `fallback`."""
    table = KeyedVectors([f"w{row}" for row in range(len(words))], words, counts)
    about = {"config": config.as_dict(), "parameters": {"document_bias": 0.7}}
    return DocumentFitter(Model(table, docs=KeyedVectors(None, fallback[None]), fit=tables, **about))


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"step": "exponential", "concentration": 20.0, "negative": 7},
        {"sample": 0.0, "vector_size": 2},
        {"objective": "hinge", "margin": 0.3},
        {"objective": "hinge", "negative": 2, "step": "exponential"},
        {"objective": "joint", "negative": 1},
    ],
    ids=str,
)
def test_documents_are_fitted_as_a_textbook_would(settings):
    config = TrainConfig(**{"vector_size": 18, "sample": 0.02} | settings)
    rng = np.random.default_rng(3)
    words = unit_rows(40, config.vector_size, seed=4)
    counts = rng.integers(1, 200, size=40)
    documents = [rng.integers(40, size=length).tolist() for length in (0, 1, 2, 30, 0, 200)]
    ids = np.array([word for document in documents for word in document], np.int32)
    offsets = np.cumsum([0, *map(len, documents)]).astype(np.int64)
    fallback = np.eye(config.vector_size, dtype=np.float32)[1]
    ours = fitter_of(words, counts, config, fallback).fit(ids, offsets, epochs=3, alpha=0.02, threads=2)

    fit = config.for_inference(3, 0.02)
    shares = keep_probabilities(counts, config.sample), keep_probabilities(counts, fit.sample)
    data = TrainingData(ids, offsets, np.empty((0, 2), np.int64), *shares, *alias_table(counts))
    oracle = OracleBackend(data, fit)
    oracle.load("inputs", 0, words)
    before = oracle.vectors["docs"][:] = fallback  # a document with words has another start
    oracle.refit_documents(0, len(documents), FitPlan(fit, 0.7))
    theirs = oracle.vectors["docs"]
    assert np.abs(ours - theirs).max() < 3e-5 < oracle.closest_call
    filled = [bool(document) for document in documents]
    assert np.abs(theirs - before).max(axis=1)[filled].min() > 0.05
    np.testing.assert_array_equal(ours[0], fallback)


@pytest.mark.parametrize("settings", [{}, {"vector_size": 2}, {"concentration": 30.0, "negative": 20}], ids=str)
def test_documents_are_fitted_with_weights_as_a_textbook_would(settings):
    config = TrainConfig(**{"vector_size": 18} | settings)
    rng = np.random.default_rng(3)
    words = unit_rows(40, config.vector_size, seed=4)
    counts = rng.integers(1, 200, size=40)
    documents = [rng.integers(40, size=length).tolist() for length in (0, 1, 2, 30, 0, 200)]
    ids = np.array([word for document in documents for word in document], np.int32)
    offsets = np.cumsum([0, *map(len, documents)]).astype(np.int64)
    fallback = np.eye(config.vector_size, dtype=np.float32)[1]
    tables = FitTables(rng.random(40, np.float32), *negative_moments(words, counts))
    fitter = fitter_of(words, counts, config, fallback, tables)
    ours = fitter.fit(ids, offsets, threads=2)
    fit = config.resolved(1, 40).for_inference(weighted=True)
    assert (fit.epochs, fit.alpha) == (WEIGHTED_EPOCHS, WEIGHTED_ALPHA)
    for document, found in zip(documents, ours, strict=True):
        expected = fitted_document(np.array(document, np.int32), words, FitPlan(fit, 0.7, tables=tables))
        np.testing.assert_allclose(found, fallback if expected is None else expected, atol=1e-5)
    # The order of words does not matter, beyond rounding.
    turned = fitter.fit(ids[::-1].copy(), (offsets[-1] - offsets[::-1]).copy())
    np.testing.assert_allclose(turned[::-1], ours, atol=1e-5)


@pytest.mark.parametrize("form", ["oracle", "numpy", "compiled"])
def test_the_cases_of_the_fit(form):
    given = fit_cases()
    words = sphere.normalize(np.array(given["directions"], np.float32))
    tables = FitTables(*(np.array(given[name], np.float32) for name in ("weights", "mean", "covariance", "by_length")))
    settings = {name: given[name] for name in ("alpha", "epochs", "concentration", "negative")}
    config = TrainConfig(vector_size=words.shape[1], **settings).resolved(1, len(words))
    plan = FitPlan(config, given["bias"], tables=tables)
    for case in given["cases"]:
        ids = np.array(case["words"], np.int32)
        if form == "oracle":
            found = fitted_document(ids, words, plan)
        elif form == "numpy":
            found = fit_document(ids, words, plan)
        else:
            counts = np.ones(len(words), np.int64)
            sampling = Sampling(keep_probabilities(counts, config.sample), *alias_table(counts))
            start = np.zeros((1, words.shape[1]), np.float32)
            found = cpu.DocumentFit(words, sampling, config).fit(ids, np.array([0, len(ids)], np.int64), start, plan)
        np.testing.assert_allclose(np.ravel(found), case["vector"], atol=2e-5, err_msg=str(case["words"]))


def test_long_documents_damp_counts_and_sharpen_weights():
    damping, sharpening = exponents(np.array([0, 1, 16, 32, 256, 10**6]), BY_LENGTH)
    np.testing.assert_allclose(damping, [1, 1, 1, 0.875, 0.5, 0.5])
    np.testing.assert_allclose(sharpening, [1, 1, 1, 1.4, 2.6, 3], rtol=1e-6)
    words, counts = unit_rows(5, 6, seed=4), np.arange(1, 6)
    tables = FitTables(np.array([1, 0.1, 1, 1, 1], np.float32), *negative_moments(words, counts))
    before = tables._replace(by_length=np.zeros(2, np.float32))
    text = np.array([0, 1] * 100, np.int32)

    def nearness(given: FitTables) -> float:
        fitter = fitter_of(words, counts, TrainConfig(vector_size=6), words[0], given)
        found = fitter.fit(text, np.array([0, len(text)], np.int64))[0]
        return float(found @ words[0] - found @ words[1])

    assert nearness(tables) > nearness(before) + 0.01


def test_moments_of_negative_samples_are_theirs(monkeypatch):
    rows, counts = unit_rows(300, 6, seed=1), np.random.default_rng(1).integers(1, 500, size=300)
    chosen = counts**0.75 / (counts**0.75).sum()
    monkeypatch.setattr("spherevec.engine.fit._ROWS_AT_ONCE", 64)
    mean, covariance = negative_moments(rows, counts)
    np.testing.assert_allclose(mean, chosen @ rows, atol=1e-6)
    np.testing.assert_allclose(covariance, np.cov(rows.T.astype(float), aweights=chosen, ddof=0), atol=1e-6)


def test_training_texts_get_their_trained_vectors_to_the_bit(texts, default_model):
    filled = [bool(text) for text in texts]
    np.testing.assert_array_equal(default_model.infer(texts)[filled], default_model.docs.vectors[filled])


def test_new_texts_lie_among_those_of_their_topic(model, texts):
    unseen, topics = topic_texts(200, seed=3)
    enough = np.array([len(text.split()) >= 10 for text in unseen])
    nearest = np.argmax(model.infer(unseen) @ model.docs.vectors.T, axis=1)
    found = topic_texts(300, seed=1)[1][nearest]
    assert (found == topics)[enough].mean() > 0.9


def test_vectors_are_unit_rows_in_plain_float32(model, new_texts):
    vectors = model.infer(new_texts)
    assert vectors.dtype == np.float32 and vectors.flags.c_contiguous and vectors.shape == (200, 20)
    np.testing.assert_allclose(np.linalg.norm(vectors.astype(np.float64), axis=1), 1, atol=1e-5)


def test_longer_fits_and_other_rates_differ(default_model, new_texts):
    short, long = new_texts[:5], [" ".join(map(str, new_texts)) for _ in range(2)]
    sampled = Model(default_model.words, inputs=default_model.inputs, config=default_model.config)
    settings = {"epochs": INFERENCE_EPOCHS, "alpha": OBJECTIVES["vmf"].refit_alpha}
    np.testing.assert_array_equal(sampled.infer(long), sampled.infer(long, **settings))
    # Ten passes over a short text make too few steps.
    assert not np.array_equal(sampled.infer(short), sampled.infer(short, **settings))
    settings = {"epochs": WEIGHTED_EPOCHS, "alpha": WEIGHTED_ALPHA}
    np.testing.assert_array_equal(default_model.infer(short), default_model.infer(short, **settings))
    for fitted in (sampled, default_model):
        assert not np.array_equal(fitted.infer(long), fitted.infer(long, epochs=INFERENCE_EPOCHS + 1))
        assert not np.array_equal(fitted.infer(long), fitted.infer(long, alpha=0.02))
    with pytest.raises(ConfigError, match="alpha must be between 0 and 1"):
        default_model.infer(short, alpha=1.5)


# --- the same text, the same bits -------------------------------------------------------------------------------------


@pytest.mark.parametrize("threads", [1, 2, 3])
def test_a_text_gets_the_same_bits_in_any_company(model, new_texts, threads, monkeypatch):
    together = model.infer(new_texts, threads=1)
    monkeypatch.setattr(cpu, "SLICE_TOKENS", 150)  # many slices, so that threads take turns
    monkeypatch.setattr(inference, "BATCH_DOCUMENTS", 37)
    np.testing.assert_array_equal(model.infer(new_texts, threads=threads), together)
    order = np.random.default_rng(0).permutation(len(new_texts))
    shuffled = model.infer((new_texts[i] for i in order), threads=threads)
    np.testing.assert_array_equal(shuffled, together[order])
    for i in range(0, len(new_texts), 7):
        np.testing.assert_array_equal(model.infer([new_texts[i]], threads=threads)[0], together[i])


@pytest.mark.parametrize("dim", [2, 16, 17, 100])
def test_the_same_bits_in_any_dimension(dim):
    rng = np.random.default_rng(dim)
    model = Model(KeyedVectors([f"w{n}" for n in range(50)], unit_rows(50, dim, seed=6), rng.integers(1, 99, size=50)))
    lists = [[f"w{n}" for n in rng.integers(50, size=length)] for length in rng.integers(0, 90, size=60)]
    together = model.infer(lists)
    for words, vector in zip(lists, together, strict=True):
        np.testing.assert_array_equal(model.infer([words])[0], vector)


def test_a_loaded_model_infers_the_same_bits(default_model, new_texts, tmp_path):
    default_model.save(tmp_path / "model")
    np.testing.assert_array_equal(spherevec.load(tmp_path / "model").infer(new_texts), default_model.infer(new_texts))


# --- words that the model does not know -------------------------------------------------------------------------------


def test_unknown_words_are_skipped_and_their_share_is_told(default_model):
    asked = ["a1 b2 c3", "a1 nowhere b2 c3 unheard", "nowhere", "", "?!"]
    vectors, unknown = default_model.infer(asked, return_unknown=True)
    assert unknown.tolist() == [0.0, 0.4, 1.0, 1.0, 1.0]
    np.testing.assert_array_equal(vectors[0], vectors[1])


def test_a_text_without_known_words_gets_the_mean_direction_of_the_documents(default_model):
    expected = sphere.normalize(default_model.docs.vectors.mean(axis=0))
    for vector in default_model.infer(["nowhere unheard", "", "a1 a2"])[:2]:
        np.testing.assert_allclose(vector, expected, atol=1e-6)
    only_words = Model(default_model.words, config=default_model.config)
    np.testing.assert_allclose(
        only_words.infer(["nowhere"])[0], sphere.normalize(default_model.words.vectors.mean(axis=0)), atol=1e-6
    )


def test_documents_that_cancel_out_leave_the_answer_to_the_words():
    words = KeyedVectors(["x", "y"], np.array([[1, 0], [0, 1]], np.float32))
    opposite = KeyedVectors(None, np.array([[1, 0], [-1, 0]], np.float32))
    np.testing.assert_allclose(Model(words, docs=opposite).infer(["?"]), [[0.5**0.5, 0.5**0.5]])
    balanced = KeyedVectors(["x", "y"], opposite.vectors)
    np.testing.assert_array_equal(Model(balanced).infer(["?"]), [[1, 0]])
    # Words of a text that cancel out leave it at the first of them.
    np.testing.assert_allclose(Model(balanced).infer(["x y", "y x"], alpha=0.0), [[1, 0], [-1, 0]])


# --- models from elsewhere --------------------------------------------------------------------------------------------


def test_vectors_from_outside_need_no_counts_or_settings(default_model, new_texts):
    bare = Model(KeyedVectors(default_model.words.names, default_model.words.vectors))
    alike = KeyedVectors(bare.words.names, bare.words.vectors, np.full(len(bare.words), 7))
    spelled_out = Model(alike, config=TrainConfig(vector_size=20, sample=0.0).as_dict())
    np.testing.assert_array_equal(bare.infer(new_texts), spelled_out.infer(new_texts))


def test_a_word_that_was_never_counted_does_no_harm():
    counted = Model(KeyedVectors(["x", "y", "z"], unit_rows(3, 4, seed=1), [0, 0, 5]))
    assert np.isfinite(counted.infer(["x y z"])).all()


def test_settings_of_another_release_do_not_stand_in_the_way(default_model, new_texts):
    newer = Model(default_model.words, config={**default_model.config, "device": "abacus", "sorcery": 3})
    assert newer.infer(new_texts).shape == (200, 20)


def test_the_learned_offset_matters(default_model, new_texts):
    same = {"inputs": default_model.inputs, "config": default_model.config, "fit": default_model.fit}
    moved = Model(default_model.words, **same, parameters={"document_bias": 9.0})
    kept = Model(default_model.words, **same, parameters=default_model.parameters)
    with_words = [text for text in new_texts if text]
    np.testing.assert_array_equal(kept.infer(with_words), default_model.infer(with_words))
    assert not np.array_equal(moved.infer(with_words), default_model.infer(with_words))


@pytest.mark.parametrize("weighted", [True, False])
@pytest.mark.parametrize("bias", [-MOST_BIAS, -5500.0, -700.0, 700.0, MOST_BIAS])
def test_an_extreme_offset_leaves_documents_with_a_direction(default_model, new_texts, bias, weighted):
    """With alpha=0 and two words, training itself comes to -5500."""
    same = {"inputs": default_model.inputs, "config": default_model.config}
    same["fit"] = default_model.fit if weighted else None
    model = Model(default_model.words, **same, parameters={"document_bias": bias})
    fitter, vocabulary = model._inference()
    ids, offsets, _ = encode_texts(new_texts, vocabulary, model.tokenizer)
    fitted, queries = fitter.fit(ids, offsets), fitter.fit_queries(ids, offsets)
    assert np.isfinite(fitted).all() and np.isfinite(queries).all()
    if weighted and bias != -700:  # where a pull is in reach of one kind of float only
        np.testing.assert_allclose(queries, fitted, atol=1e-5)


# --- texts in many shapes ---------------------------------------------------------------------------------------------


def test_a_text_of_unknown_words_is_told(default_model):
    with pytest.warns(UserWarning, match="every word is unknown to the model"):
        default_model.infer(["qqq zzz"])


def test_lists_of_words_are_texts_too(default_model, new_texts):
    lists = [text.split() for text in new_texts]
    np.testing.assert_array_equal(default_model.infer(lists), default_model.infer(new_texts))
    with pytest.raises(CorpusError, match="is a tuple"):
        default_model.infer(map(tuple, lists))


def test_frames_are_inferred_by_their_column(default_model, new_texts):
    frame = pandas.DataFrame({"body": new_texts, "n": range(len(new_texts))})
    np.testing.assert_array_equal(default_model.infer(frame, text_field="body"), default_model.infer(new_texts))
    with pytest.raises(CorpusError, match="say which field holds the text"):
        default_model.infer(frame)


def test_no_texts_give_no_rows(default_model):
    vectors, unknown = default_model.infer([], return_unknown=True)
    assert vectors.shape == (0, 20) and unknown.shape == (0,)


@pytest.mark.parametrize("tokenizer", ["function", "tokens"])
def test_a_model_that_cannot_split_text_says_so(default_model, tokenizer):
    same = {name: getattr(default_model, name) for name in ("inputs", "fit", "config", "parameters")}
    own = Model(default_model.words, **same, tokenizer=Tokenizer(tokenizer))
    with pytest.raises(ConfigError, match=r"the model was trained (on|with).*give lists of words"):
        own.infer(["a1 b2"])
    expected = default_model.infer(["a1 b2"])
    np.testing.assert_array_equal(own.infer([["a1", "b2"]]), expected)
    np.testing.assert_array_equal(own.infer(["a1-b2"], tokenizer=lambda text: text.split("-")), expected)
    np.testing.assert_array_equal(own.infer(["a1 b2"], tokenizer="whitespace"), expected)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("a1 b2", "put it into a list"),
        (b"a1 b2", "put it into a list"),
        (7, "an iterable of texts or of lists of words, not int 7"),
        (["a1"] * 4 + [None], "document 4 (counted from 0) must be a string like the first, not NoneType None"),
        (["a1"] * 4 + [["a1"]], "document 4 (counted from 0) must be a string like the first, not list"),
        ([["a1"]] * 4 + ["a1"], "document 4 (counted from 0) must be a list of words like the first, not str 'a1'"),
        ([["a1"]] * 4 + [["a1", 3]], "document 4 (counted from 0): int 3 is not a word"),
    ],
)
def test_what_is_no_list_of_texts_is_told_by_its_place(default_model, given, message, monkeypatch):
    monkeypatch.setattr(inference, "BATCH_DOCUMENTS", 3)
    with pytest.raises(CorpusError, match=re.escape(message)):
        default_model.infer(given)


@pytest.mark.parametrize(("name", "value"), [("epochs", 0), ("alpha", -1.0), ("threads", -1)])
def test_bad_arguments_are_told_before_a_text_is_read(default_model, name, value):
    def unreadable():
        raise AssertionError("read")
        yield

    with pytest.raises(ConfigError, match=f"{name} must be .* not {value}"):
        default_model.infer(unreadable(), **{name: value})


def test_texts_are_read_a_batch_at_a_time(default_model, monkeypatch):
    monkeypatch.setattr(inference, "BATCH_CHARACTERS", 50)
    read = []
    endless = (read.append(n) or "a1 a2 a3 a4" for n in range(10**9))
    batches = infer_batches(default_model, endless)
    first, second = next(batches), next(batches)
    assert len(first.vectors) + len(second.vectors) == len(read) == 10


def test_what_depends_on_the_model_is_prepared_once(default_model, new_texts):
    default_model.infer(new_texts)
    prepared = default_model._prepared
    default_model.infer(new_texts)
    assert default_model._prepared is prepared is not None
    copied = pickle.loads(pickle.dumps(default_model))
    assert copied._prepared is None
    np.testing.assert_array_equal(copied.infer(new_texts), default_model.infer(new_texts))


# --- search by a new sentence -----------------------------------------------------------------------------------------


def test_search_by_a_new_text(default_model):
    sentence = "b1 b2 nowhere b3 b1 b5"
    vector = default_model.infer([sentence])[0]
    for among, table in (("docs", default_model.docs), ("words", default_model.inputs)):
        found = default_model.search(sentence, among, 5, mode="dense")
        assert [(hit.row, hit.score) for hit in found] == [
            (table.position(key), pytest.approx(cosine, abs=1e-6)) for key, cosine in table.similar_by_vector(vector, 5)
        ]
        assert found.note == "without a vector: 'nowhere'"


def test_search_finds_documents_and_words_of_the_topic(default_model):
    topics = topic_texts(300, seed=1)[1]
    several = default_model.search(["b1 b2 b3 b1 b5 b2 b4", "c1 c2"], topn=5)
    assert [TOPICS[topics[hit.row]] for hit in several[0]] == ["b"] * 5
    assert [TOPICS[topics[hit.row]] for hit in several[1]] == ["c"] * 5
    assert [hit.id[0] for hit in default_model.search("b1 b2 b3 b1 b5", "words", 3)] == ["b"] * 3


def test_search_by_nothing_known_finds_nothing_and_says_so(default_model):
    found = default_model.search("nowhere")
    assert len(found) == 0 and found.note == "no word of 'nowhere' is known to the model; use other words"


def test_encode_is_infer(default_model, new_texts):
    vectors = default_model.encode(new_texts, show_progress_bar=False, batch_size=3)
    np.testing.assert_array_equal(vectors, default_model.infer(new_texts))
    np.testing.assert_array_equal(default_model.encode(new_texts[0]), vectors[0])
    with pytest.raises(ConfigError, match="not 'device'"):
        default_model.encode(new_texts, device="cpu")


# --- the command line -------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def folder(default_model, tmp_path_factory):
    path = tmp_path_factory.mktemp("models") / "model"
    default_model.save(path)
    return path


@pytest.fixture
def infer(folder, capsys):
    """Run the command; returns its exit code, what it printed and what it said."""

    def run(*arguments, model=folder):
        code = main(["infer", str(model), *map(str, arguments)])
        return code, *capsys.readouterr()

    return run


def test_the_command_writes_a_row_a_document(infer, default_model, new_texts, tmp_path):
    corpus, out = tmp_path / "new.jsonl", tmp_path / "vectors.npy"
    corpus.write_text("".join(f'{{"body": "{text} nowhere"}}\n' for text in new_texts))
    code, printed, said = infer(corpus, "--out", out, "--text-field", "body", "--threads", 1)
    assert (code, printed) == (0, "")
    ids, _, _ = encode_texts(new_texts, inference.vocabulary_of(default_model))
    assert "200 documents; " in said
    assert f"{200 / (200 + len(ids)):.1%} of the tokens unknown to the model" in said
    np.testing.assert_array_equal(np.load(out), default_model.infer(new_texts))

    code, _, said = infer(corpus, "--out", out, "--text-field", "body")
    assert code == 2 and "--force" in said
    corpus.write_bytes('{"body": "a1 é"}\n'.encode("latin-1"))
    assert infer(corpus, "--out", out, "--text-field", "body", "--encoding", "latin-1", "--force")[0] == 0
    (few,) = infer_batches(default_model, ["a1"], inference.InferenceOptions(quick=True))
    np.testing.assert_array_equal(np.load(out), few.vectors)
    corpus.write_text('{"body": "nowhere"}\n')
    said = infer(corpus, "--out", out, "--text-field", "body", "--force", "--quiet")[2].splitlines()
    assert len(said) == 2 and said[0].startswith("warning: every word is unknown") and said[1] == f"{out}: 1 document"


def test_the_command_leaves_the_old_file_where_it_fails(infer, tmp_path):
    corpus, out = tmp_path / "broken.jsonl", tmp_path / "vectors.npy"
    out.write_bytes(b"precious")
    corpus.write_text('{"text": "a1"}\n{"text": \n')
    code, _, said = infer(corpus, "--out", out, "--text-field", "text", "--force")
    assert code == 2 and "line 2" in said and said.count("\n") == 1
    assert out.read_bytes() == b"precious"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["broken.jsonl", "vectors.npy"]


def test_the_command_takes_split_text_for_models_of_lists(infer, default_model, tmp_path):
    own = Model(default_model.words, config=default_model.config, tokenizer=Tokenizer("tokens"))
    own.save(tmp_path / "model")
    corpus, out = tmp_path / "new.txt", tmp_path / "vectors.npy"
    corpus.write_text("a1 b2\nc3\n")
    code, _, said = infer(corpus, "--out", out, model=tmp_path / "model")
    assert code == 2 and "--pretokenized" in said
    assert infer(corpus, "--out", out, "--pretokenized", model=tmp_path / "model")[0] == 0
    np.testing.assert_array_equal(np.load(out), own.infer([["a1", "b2"], ["c3"]]))


def test_rows_are_written_as_they_come(tmp_path):
    rows = np.random.default_rng(0).standard_normal((12_345, 3)).astype(np.float32)
    assert write_rows(tmp_path / "rows.npy", np.array_split(rows, 7), 3) == 12_345
    np.testing.assert_array_equal(np.load(tmp_path / "rows.npy"), rows)
    with pytest.raises(SpherevecError, match="already exists"):
        write_rows(tmp_path / "rows.npy", [], 3)
    assert write_rows(tmp_path / "none.npy", [], 3) == 0
    assert np.load(tmp_path / "none.npy").shape == (0, 3)


def test_queries_are_fitted_in_numpy_as_compiled_code_fits_them(default_model, new_texts):
    fitter, vocabulary = default_model._inference()
    asked = [*new_texts, "", "nowhere"]
    ids, offsets, _ = encode_texts(asked, vocabulary, default_model.tokenizer)
    np.testing.assert_allclose(fitter.fit_queries(ids, offsets), fitter.fit(ids, offsets), atol=1e-5)


def test_records_are_read_from_the_fields_of_the_model(tmp_path):
    """As an update does: text and title are those of training, unless a field is named; texts are texts."""
    records = [{"id": f"d{n}", "head": f"case {n % 4}", "body": f"red green {n % 5} blue"} for n in range(40)]
    fields = {"text_field": "body", "title_field": "head", "id_field": "id"}
    model = spherevec.train(records, **fields, min_count=1, epochs=1, vector_size=8, threads=1, progress=False)
    new = [{"head": "case 1", "body": "blue green"}, {"head": "case 2", "body": "red"}]
    whole = model.infer(["case 1\nblue green", "case 2\nred"])
    np.testing.assert_array_equal(model.infer(new), whole)
    np.testing.assert_array_equal(model.infer(pandas.DataFrame(new)), whole)
    np.testing.assert_array_equal(model.infer(new, text_field="body"), model.infer(["blue green", "red"]))
    with pytest.raises(CorpusError, match="no field 'body'"):
        model.infer([{"text": "blue"}])
    model.provenance["reading"]["colour"] = "red"  # of a later version, or made up
    with pytest.raises(FormatError, match="'colour', unknown to this version"):
        model.infer(new)
