"""The CUDA kernels: compiled everywhere, and on a machine with a GPU compared with the NumPy oracle."""

from __future__ import annotations

from dataclasses import astuple

import numpy as np
import pytest

import oracle
import spherevec
from spherevec.config import TrainConfig
from spherevec.engine.base import PIECE, Block, TrainingData
from spherevec.engine.cuda import backend as cuda
from spherevec.engine.cuda import build
from spherevec.engine.fit import FitPlan, FitTables, negative_moments
from spherevec.engine.sampling import alias_table, keep_probabilities
from spherevec.engine.schedule import epoch_blocks, further_pieces
from spherevec.errors import SpherevecError
from spherevec.search.terms import count_terms

TABLES = ("inputs", "contexts", "docs")
DIMENSIONS = (2, 3, 15, 33, 64, 65, 100, 128, 129, 300, 1024)
# One step in float32 is off by a few units of the last place (6e-8) of numbers up to 1.
STEP_ERROR = 1e-6


def has_gpu():
    try:
        build.cupy_with_gpu()
    except SpherevecError:
        return False
    return True


needs_gpu = pytest.mark.skipif(not has_gpu(), reason="needs CuPy and an NVIDIA GPU")


def plain_data(documents, words, sample=0.0):
    """TrainingData straight from lists of word numbers; words that never occur count once."""
    ids = np.array([word for document in documents for word in document], np.int32)
    offsets = np.cumsum([0, *map(len, documents)]).astype(np.int64)
    counts = np.maximum(np.bincount(ids, minlength=words), 1).astype(np.int64)
    pieces = further_pieces(offsets, PIECE)
    shares = (
        keep_probabilities(counts, sample),
        keep_probabilities(counts, sample / 10),
    )  # while training, and while refitting
    return TrainingData(ids, offsets, pieces, *shares, *alias_table(counts))


def zipf_documents(rng, count=80, words=60, longest=25):
    """Documents of words with Zipf's frequencies, among them empty ones and ones of one word."""
    shares = 1 / np.arange(1, words + 1)
    documents = [
        rng.choice(words, size=rng.integers(2, longest), p=shares / shares.sum()).tolist() for _ in range(count)
    ]
    for empty in (0, 17, count - 1):
        documents[empty] = []
    for single in (1, 40):
        documents[single] = [5]
    return documents


def load_random_vectors(rng, *backends):
    for table in TABLES:
        shape = backends[0].read(table, 0, 10**9).shape
        rows = rng.standard_normal(shape).astype(np.float32)
        rows /= np.linalg.norm(rows, axis=1, keepdims=True)
        for backend in backends:
            backend.load(table, 0, rows)


def largest_difference(ours, theirs):
    return max(np.abs(ours.read(table, 0, 10**9) - theirs.read(table, 0, 10**9)).max() for table in TABLES)


def in_order(data, config, **settings):
    return cuda.CudaBackend(data, config, concurrency=cuda.IN_ORDER, **settings)


def both(data, config):
    return in_order(data, config), oracle.OracleBackend(data, config)


def agree(ours, theirs):
    np.testing.assert_allclose(astuple(ours.sums()), astuple(theirs.sums()), rtol=1e-4, atol=1e-3)


# --- with a GPU ------------------------------------------------------------------------------------------------------

HINGES = [
    (objective, batch, rule, step)
    for objective, batch in (("hinge", 1), ("hinge", 4), ("joint", 1))
    for rule in ("1+h", "h", "2h")
    for step in ("retraction", "exponential")
]


@needs_gpu
@pytest.mark.parametrize(
    ("objective", "batch", "rule", "step"),
    [*HINGES, ("vmf", 4, "1+h", "retraction"), ("vmf", 4, "1+h", "exponential")],
)
def test_one_comparison_at_a_time_is_the_oracles(objective, batch, rule, step):
    # A document of one word has one pair, with its document; the joint hinge needs a context, so a second word.
    rng = np.random.default_rng(5)
    documents = [rng.integers(6, size=1 + (objective == "joint")).tolist() for _ in range(12)]
    data = plain_data(documents, 6)
    violated = compared = 0
    every = step == "retraction" and rule == "1+h"
    for dimension in DIMENSIONS if every else (3, 100, 300):
        config = TrainConfig(
            vector_size=dimension, objective=objective, batch=batch, negative_rule=rule, step=step,
            negative=1, window=1, margin=0.1,
        )  # fmt: skip
        ours, theirs = both(data, config)
        for position in range(len(documents)):
            alpha = float(rng.choice([0.001, 0.04, 0.4]))
            load_random_vectors(rng, ours, theirs)
            block = Block(position, position + 1, 0, int(rng.integers(1, 2**63)), alpha, 0.0, 1.0, 0.5)
            ours.train_block(block)
            theirs.train_block(block)
            assert largest_difference(ours, theirs) < STEP_ERROR * (1 + alpha * config.concentration)
        agree(ours, theirs)
        assert theirs.closest_call > 1e-5
        violated += theirs.sums().violated
        compared += theirs.sums().compared
    assert 0.15 < violated / compared < 0.85


@needs_gpu
@pytest.mark.parametrize("objective", ["vmf", "hinge"])
@pytest.mark.parametrize(("batch", "negative"), [(1, 5), (3, 1), (4, 7), (5, 2), (8, 5), (13, 6), (16, 20), (8, 64)])
def test_batches_of_every_shape_are_the_oracles(objective, batch, negative):
    if objective == "hinge" and batch == 1:
        pytest.skip("one at a time is another kernel")
    # 9 words only, so that a batch holds the same word twice and draws the real one.
    rng = np.random.default_rng((batch, negative))
    documents = [rng.integers(9, size=length).tolist() for length in (0, 1, 2, 7, 14)]
    data = plain_data(documents, 9)
    for window, with_documents, step, dimension in (
        (1, True, "retraction", 20),
        (2, False, "exponential", 20),
        (10, True, "retraction", 100),
        (3, True, "exponential", 260),
    ):
        config = TrainConfig(
            vector_size=dimension, objective=objective, batch=batch, negative=negative, window=window, step=step,
            documents=with_documents, margin=0.2,
        )  # fmt: skip
        ours, theirs = both(data, config)
        for position in range(len(documents)):
            load_random_vectors(rng, ours, theirs)
            block = Block(position, position + 1, 0, int(rng.integers(1, 2**63)), 0.02, 0.0, 1.5, -0.5)
            ours.train_block(block)
            theirs.train_block(block)
            # Every word is in some 30 steps, each of which inherits the error of those before.
            assert largest_difference(ours, theirs) < 1e-5
        agree(ours, theirs)
        if objective == "hinge":
            assert theirs.closest_call > 1e-6
        else:
            assert theirs.sums().violated > 0


@needs_gpu
@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"vector_size": 200, "negative": 9},
        {"documents": False, "order": "file", "step": "exponential", "sample": 0.0},
        {"objective": "hinge", "negative": 3, "margin": 0.3, "step": "exponential"},
        {"objective": "hinge", "batch": 1, "negative": 2, "negative_rule": "2h", "alpha": 0.04, "order": "file"},
        {"objective": "hinge", "batch": 1, "negative": 2, "documents": False, "negative_rule": "h"},
        {"objective": "joint", "negative": 2, "alpha": 0.04},
        {"objective": "joint", "negative": 1, "negative_rule": "2h", "step": "exponential"},
    ],
    ids=str,
)
def test_epoch_by_epoch_is_the_oracles(settings):
    # A margin that no pair can keep: every comparison moves its vectors, and rounding decides nothing.
    config = TrainConfig(
        **{"vector_size": 24, "window": 3, "margin": 4.0 if settings.get("objective") == "joint" else 2.5, "epochs": 3}
        | settings
    )
    data = plain_data(zipf_documents(np.random.default_rng(3)), 60, sample=config.sample or 0.05)
    ours, theirs = both(data, config)
    load_random_vectors(np.random.default_rng(4), ours, theirs)
    started = ours.read("inputs", 0, 100)
    for epoch in range(3):
        for block in epoch_blocks(data, config, epoch):
            for backend in (ours, theirs):
                backend.train_block(block)
        assert largest_difference(ours, theirs) < 2e-5
    assert np.linalg.norm(ours.read("inputs", 0, 100) - started, axis=1).mean() > 0.1
    agree(ours, theirs)


@needs_gpu
@pytest.mark.parametrize("batch", [1, 4])
@pytest.mark.parametrize("resident", [None, 0])
def test_a_document_longer_than_a_piece_is_the_oracles(batch, resident):
    rng = np.random.default_rng(7)
    documents = [rng.integers(400, size=length).tolist() for length in (3, 2 * PIECE + 1000, 0, PIECE)]
    data = plain_data(documents, 400, sample=1e-5)
    config = TrainConfig(vector_size=8, window=10, objective="hinge", negative=2, batch=batch, margin=3.0)
    ours, theirs = in_order(data, config, resident_tokens=resident), oracle.OracleBackend(data, config)
    load_random_vectors(rng, ours, theirs)
    # Three blocks, so that a streamed one is copied ahead; the last comes as nobody expects it.
    for first, last in ((0, 2), (2, 4), (4, 5), (5, 6)):
        for backend in (ours, theirs):
            backend.train_block(Block(first, last, 11, 12, 0.02, 0.01))
    assert ours.sums().tokens == 1003 + 3 * PIECE
    agree(ours, theirs)
    assert largest_difference(ours, theirs) < 2e-5


@needs_gpu
def test_a_streamed_text_gives_the_same_bits_as_one_on_the_device():
    data = plain_data(zipf_documents(np.random.default_rng(3), 300), 60, sample=0.05)
    config = TrainConfig(vector_size=24, window=3, epochs=2)
    backends = [in_order(data, config, resident_tokens=tokens) for tokens in (None, 0)]
    load_random_vectors(np.random.default_rng(4), *backends)
    for backend in backends:
        for first, last in ((0, 100), (100, 200), (200, data.units)):
            backend.train_block(Block(first, last, 5, 6, 0.02, 0.01, 1.0, 1.0))
        backend.refit_documents(0, 150, FitPlan(config.with_(alpha=0.03), 0.7, 60))
    assert largest_difference(*backends) == 0
    assert backends[0].sums() == backends[1].sums()


@needs_gpu
@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"vector_size": 300, "negative": 13},
        {"step": "exponential", "negative": 7, "concentration": 20.0},
        {"objective": "hinge", "margin": 2.5},
        {"objective": "hinge", "batch": 1, "negative": 40, "step": "exponential", "margin": 2.5},
        {"objective": "joint", "negative": 2, "margin": 2.5},
    ],
    ids=str,
)
def test_documents_are_refitted_as_by_the_oracle(settings):
    config = TrainConfig(**{"vector_size": 18, "epochs": 3, "alpha": 0.03} | settings)
    documents = zipf_documents(np.random.default_rng(3))
    ours, theirs = both(plain_data(documents, 60, sample=0.05), config)
    load_random_vectors(np.random.default_rng(1), ours, theirs)
    before = {table: ours.read(table, 0, 10**9) for table in TABLES}
    for backend in (ours, theirs):
        backend.refit_documents(0, 30, FitPlan(config, 0.7, 60))
        backend.refit_documents(30, len(documents), FitPlan(config, 0.7, 60))
    assert largest_difference(ours, theirs) < 2e-5
    for fixed in ("inputs", "contexts"):
        np.testing.assert_array_equal(ours.read(fixed, 0, 10**9), before[fixed])
    moved = np.abs(ours.read("docs", 0, 10**9) - before["docs"]).max(axis=1)
    filled = np.array([len(document) > 0 for document in documents])
    assert (moved[~filled] == 0).all()
    assert moved[filled].mean() > 0.05


@needs_gpu
@pytest.mark.parametrize("dimension", [18, 50, 100, 300])
def test_documents_are_fitted_with_weights_as_by_the_oracle(dimension):
    config = TrainConfig(vector_size=dimension, epochs=4, alpha=0.5, concentration=6.0)
    documents = zipf_documents(np.random.default_rng(3))
    data = plain_data(documents, 60)
    ours, theirs = both(data, config)
    rng = np.random.default_rng(1)
    load_random_vectors(rng, ours, theirs)
    inputs = ours.host_inputs()[:, :dimension]
    np.testing.assert_array_equal(inputs, ours.read("inputs", 0, 60))
    moments = negative_moments(inputs, rng.integers(1, 99, size=60))
    plan = FitPlan(config, 0.7, tables=FitTables(rng.random(60, np.float32), *moments))
    before = ours.read("docs", 0, 10**9)
    for backend in (ours, theirs):
        backend.refit_documents(0, 30, plan)
        backend.refit_documents(30, len(documents), plan)
    assert largest_difference(ours, theirs) < 2e-5
    moved = np.abs(ours.read("docs", 0, 10**9) - before).max(axis=1)
    filled = np.array([len(document) > 0 for document in documents])
    assert (moved[~filled] == 0).all()
    assert moved[filled].mean() > 0.05


@needs_gpu
@pytest.mark.parametrize("settings", [{}, {"negative": 20}, {"objective": "hinge", "margin": 2.5}], ids=str)
@pytest.mark.parametrize("dimension", [20, 50, 100, 300])
def test_steps_that_are_added_are_the_oracles(settings, dimension):
    # So many words that a batch hardly ever holds one twice: both its steps would be added, where the oracle keeps one.
    rng = np.random.default_rng(9)
    vocabulary = 200_000
    data = plain_data([rng.choice(vocabulary, size=9, replace=False).tolist() for _ in range(12)], vocabulary)
    config = TrainConfig(vector_size=dimension, window=4, batch=4, **settings)
    ours = cuda.CudaBackend(data, config, concurrency=cuda.Concurrency(1, PIECE, shuffled=False, added=True))
    theirs = oracle.OracleBackend(data, config)
    load_random_vectors(rng, ours, theirs)
    started = ours.read("docs", 0, 12)
    block = Block(0, data.units, 5, 6, 0.01, 0.005, 1.0, 0.5)
    for backend in (ours, theirs):
        backend.train_block(block)
    agree(ours, theirs)
    assert largest_difference(ours, theirs) < 3e-5
    assert np.abs(ours.read("docs", 0, 12) - started).max() > 0.01


@needs_gpu
def test_biases_are_learned_on_the_gpu_as_the_trainer_would():
    data = plain_data(zipf_documents(np.random.default_rng(3), 300), 60)
    config = TrainConfig(vector_size=24, window=3)
    backend = cuda.CudaBackend(data, config, concurrency=cuda.Concurrency(1))
    load_random_vectors(np.random.default_rng(4), backend)
    # A text of less than one block of the CPU's: learned once an epoch, at its end.
    for epoch in range(2):
        start = backend.learned_biases() if epoch else (1.0, 1.5)
        before = backend.sums()
        for first, last in ((0, 100), (100, data.units)):
            offsets = backend.learned_biases() if first else start
            backend.train_block(Block(first, last, 5, 6 + epoch, 0.01, 0.01, *offsets))
        seen = backend.sums() - before
        step = 0.1 * config.concentration
        expected = (
            start[0] - step * seen.word_cosine / seen.word_negatives,
            start[1] - step * seen.document_cosine / seen.document_negatives,
        )
        np.testing.assert_allclose(backend.learned_biases(), expected, rtol=1e-5)
        assert backend.learned_biases() != start


@needs_gpu
@pytest.mark.parametrize("alpha", [0.01, 0.1, 0.5])
def test_a_crowd_on_few_words_does_not_diverge(alpha):
    # Documents of one repeated word: all anchors of a batch are one row, and all teams want the same few.
    rng = np.random.default_rng(2)
    data = plain_data([rng.integers(8, size=1).tolist() * 500 for _ in range(200)], 8)
    config = TrainConfig(vector_size=100, alpha=alpha)
    backend = cuda.CudaBackend(data, config, concurrency=cuda.Concurrency(512))
    load_random_vectors(rng, backend)
    for epoch in range(10):
        backend.train_block(Block(0, data.units, 3 + epoch, 4, alpha, alpha, 1.0, 1.0))
    for table in TABLES:
        norms = np.linalg.norm(backend.read(table, 0, 10**9).astype(np.float64), axis=1)
        assert np.abs(norms - 1).max() < 2e-6
    raw = backend._cupy.asnumpy(backend._vectors)[: backend._zero_row]
    lengths = np.linalg.norm(raw, axis=1)
    assert 0.01 < lengths.min() < lengths.max() < 100


@needs_gpu
@pytest.mark.parametrize("settings", [{}, {"objective": "hinge", "batch": 1}, {"objective": "joint"}], ids=str)
@pytest.mark.parametrize("resident", [None, 0])
def test_every_token_is_trained_once_whatever_the_concurrency(settings, resident):
    rng = np.random.default_rng(2)
    documents = [rng.integers(300, size=length).tolist() for length in (*rng.integers(900, size=60), 3 * PIECE + 7)]
    data = plain_data(documents, 300, sample=1e-2)
    config = TrainConfig(vector_size=50, window=5, **settings)
    backend = cuda.CudaBackend(data, config, resident_tokens=resident)
    load_random_vectors(rng, backend)
    for first, last in ((0, 20), (20, 40), (40, data.units)):
        backend.train_block(Block(first, last, 3, 4, 0.05, 0.05, 1.0, 1.0))
    kept = sum(
        oracle.is_kept(word, place, 4, data.keep_probability) for place, word in enumerate(data.ids.tolist())
    )  # fmt: skip
    assert backend.sums().tokens == len(data.ids)
    assert backend.sums().words == kept
    for table in TABLES:
        norms = np.linalg.norm(backend.read(table, 0, 10**9).astype(np.float64), axis=1)
        assert np.abs(norms - 1).max() < 2e-6


@needs_gpu
def test_new_documents_are_fitted_as_the_trained_ones_and_as_on_the_cpu():
    pytest.importorskip("numba", reason="splitting text needs Numba")
    import spherevec

    rng = np.random.default_rng(8)
    texts = [" ".join(f"w{word}" for word in document) for document in zipf_documents(rng, 200) if document]
    model = spherevec.train(texts, device="cuda", vector_size=30, min_count=1, epochs=3)
    fitted = model.infer([*reversed(texts)], device="cuda")[::-1]
    np.testing.assert_array_equal(fitted, model.docs.vectors)
    np.testing.assert_allclose(fitted, model.infer(texts), atol=1e-4)


@needs_gpu
def test_vectors_that_do_not_fit_are_refused_with_the_arithmetic(monkeypatch):
    data = plain_data([[0, 1, 2]], 3)
    runtime = build.cupy_with_gpu().cuda.runtime
    monkeypatch.setattr(runtime, "memGetInfo", lambda: (2000, 4000))
    with pytest.raises(SpherevecError, match=r"8 vectors of 104 floats .* need 0.00 GiB, the GPU has 0.00 GiB free"):
        cuda.CudaBackend(data, TrainConfig())


@needs_gpu
@pytest.mark.parametrize("dimension", [2, 5, 100])
def test_random_directions_are_those_of_a_numpy_twin(dimension):
    data = plain_data(zipf_documents(np.random.default_rng(3)), 60)
    backend = cuda.CudaBackend(data, TrainConfig(vector_size=dimension, seed=7))
    backend.fill()
    pairs = -(-dimension // 2)
    rows = 2 * 60 + data.documents
    golden, whole = 0x9E3779B97F4A7C15, 2**64
    random = [oracle.mix((oracle.mix(7) + pair * golden) % whole) for pair in range(rows * pairs)]
    radius = np.sqrt(-2 * np.log([((one >> 40) % 2**32 + 1) / 2**24 for one in random]))
    angle = np.pi * np.array([one % 2**32 / 2**31 for one in random])
    normal = np.column_stack([radius * np.cos(angle), radius * np.sin(angle)]).reshape(rows, -1)[:, :dimension]
    expected = normal / np.linalg.norm(normal, axis=1, keepdims=True)
    found = np.concatenate([backend.read(table, 0, 10**9) for table in TABLES])
    assert np.abs(found - expected).max() < 1e-5
    assert np.linalg.norm(expected.mean(axis=0)) < 0.2


@needs_gpu
@pytest.mark.parametrize("resident", [None, 0])
def test_words_of_documents_are_counted_as_by_the_processor(tmp_path, resident):
    documents = [*zipf_documents(np.random.default_rng(3)), [7] * 300]
    data = plain_data(documents, 61)
    backend = cuda.CudaBackend(data, TrainConfig(vector_size=16), resident_tokens=resident)
    counted = backend.count_words()()
    slow = count_terms(data.ids, data.offsets, np.bincount(data.ids, minlength=61), tmp_path).tensors
    for name, array in counted.items():
        assert array.dtype == slow[name].dtype
        np.testing.assert_array_equal(array, slow[name])
    assert len(counted) == 6


@needs_gpu
def test_a_text_that_is_too_long_is_counted_by_the_processor(monkeypatch):
    texts = ["north south east", "south west", "", "west west north"] * 9
    settings = {"device": "cuda", "vector_size": 16, "epochs": 1, "min_count": 1, "progress": False}
    counted = [spherevec.train(texts, **settings).terms.tensors]
    monkeypatch.setattr(cuda, "MOST_COUNTED", 10)
    counted.append(spherevec.train(texts, **settings).terms.tensors)
    for name, array in counted[0].items():
        np.testing.assert_array_equal(array, counted[1][name])
