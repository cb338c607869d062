"""The compiled kernels against the NumPy oracle: triple by triple, batch by batch, epoch by epoch."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import astuple, replace

import numpy as np
import pytest

import oracle
from helpers import run_on, train_block
from spherevec.compiling import njit
from spherevec.config import TrainConfig
from spherevec.corpus import encode
from spherevec.engine import schedule
from spherevec.engine.base import Block, TrainingData
from spherevec.engine.cpu import kernels as kernel
from spherevec.engine.cpu.backend import CpuBackend
from spherevec.engine.fit import FitPlan
from spherevec.engine.sampling import alias_table, keep_probabilities
from spherevec.training.runtime import prepare

TABLES = ("inputs", "contexts", "docs")
DIMENSIONS = (2, 3, 15, 16, 17, 100, 300)
# One step in float32 is off by a few units of the last place (6e-8) of numbers up to 1.
STEP_ERROR = 1e-6
# The kernels' logistic function is right to 3e-5 (see vector_ops); a step multiplies it by alpha * kappa.
LOGISTIC_ERROR = 3e-5


@njit(cache=False)
def read_unit(unit, corpus, key, window, kept):
    return kernel.read_unit(unit, corpus, key, window, kept)


def corpus_of(data, keep_probability):
    """The data of a run as the kernels see it, with other keep probabilities."""
    return kernel.Corpus(data.ids, data.offsets, data.pieces, keep_probability, data.alias_probability, data.alias_word)


def plain_data(documents, words, sample=0.0):
    """TrainingData straight from lists of word numbers; words that never occur count once."""
    ids = np.array([word for document in documents for word in document], np.int32)
    offsets = np.cumsum([0, *map(len, documents)]).astype(np.int64)
    counts = np.maximum(np.bincount(ids, minlength=words), 1).astype(np.int64)
    pieces = schedule.further_pieces(offsets, kernel.PIECE)
    shares = (
        keep_probabilities(counts, sample),
        keep_probabilities(counts, sample / 10),
    )  # while training, and while refitting
    return TrainingData(ids, offsets, pieces, *shares, *alias_table(counts))


def load_random_vectors(rng, *backends):
    for table in TABLES:
        shape = backends[0].read(table, 0, 10**9).shape
        rows = rng.standard_normal(shape).astype(np.float32)
        rows /= np.linalg.norm(rows, axis=1, keepdims=True)
        for backend in backends:
            backend.load(table, 0, rows)


def largest_difference(ours, theirs):
    return max(np.abs(ours.read(table, 0, 10**9) - theirs.vectors[table]).max() for table in TABLES)


def both(data, config):
    return CpuBackend(data, config), oracle.OracleBackend(data, config)


HINGES = [
    (objective, batch, rule, step)
    for objective, batch in (("hinge", 1), ("hinge", 4), ("joint", 1))
    for rule in ("1+h", "h", "2h")
    for step in ("retraction", "exponential")
]


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
    for dimension in DIMENSIONS:
        config = TrainConfig(
            vector_size=dimension, objective=objective, batch=batch, negative_rule=rule, step=step,
            negative=1, window=1, margin=0.1, threads=1,
        )  # fmt: skip
        ours, theirs = both(data, config)
        for position in range(len(documents)):
            alpha = float(rng.choice([0.001, 0.04, 0.4]))
            load_random_vectors(rng, ours, theirs)
            block = Block(position, position + 1, 0, int(rng.integers(1, 2**63)), alpha, 0.0, 1.0, 0.5)
            train_block(ours, block)
            train_block(theirs, block)
            allowed = STEP_ERROR + alpha * config.concentration * LOGISTIC_ERROR * (objective == "vmf") * 2
            assert largest_difference(ours, theirs) < allowed
        np.testing.assert_allclose(astuple(ours.sums()), astuple(theirs.sums()), rtol=1e-4, atol=1e-4)
        assert theirs.closest_call > 1e-5
        violated += theirs.sums().violated
        compared += theirs.sums().compared
    assert 0.2 < violated / compared < 0.8


@pytest.mark.parametrize(
    ("concentration", "bias"),
    [(0.01, 0.0), (1.0, -100.0), (8.0, 1.0), (40.0, 100.0), (1000.0, -3.0), (1000.0, 100.0)],
)
def test_every_concentration_and_offset_is_the_oracles(concentration, bias):
    rng = np.random.default_rng(6)
    data = plain_data([[word] for word in rng.integers(6, size=150)], 6)
    config = TrainConfig(vector_size=3, concentration=concentration, negative=2, threads=1)
    ours, theirs = both(data, config)
    alpha = 0.3 / concentration
    for position in range(150):
        load_random_vectors(rng, ours, theirs)
        block = Block(position, position + 1, 0, int(rng.integers(1, 2**63)), alpha, alpha, 0.0, bias)
        train_block(ours, block)
        train_block(theirs, block)
        # Rounding of a cosine is multiplied by the concentration before the logistic function sees it.
        assert largest_difference(ours, theirs) < 3 * (STEP_ERROR + 0.3 * (LOGISTIC_ERROR + concentration * 1e-7))


@pytest.mark.parametrize("objective", ["vmf", "hinge"])
@pytest.mark.parametrize("batch", [1, 3, 4, 5, 8])
@pytest.mark.parametrize("negative", [1, 2, 5, 7])
def test_batches_of_every_shape_are_the_oracles(objective, batch, negative):
    # 9 words only, so that a batch holds the same word twice and draws the real one.
    rng = np.random.default_rng((batch, negative))
    documents = [rng.integers(9, size=length).tolist() for length in (0, 1, 2, 7, 14)]
    data = plain_data(documents, 9)
    for window, with_documents, step in ((1, True, "retraction"), (2, False, "exponential"), (10, True, "retraction")):
        config = TrainConfig(
            vector_size=20, objective=objective, batch=batch, negative=negative, window=window, step=step,
            documents=with_documents, margin=0.2, threads=1,
        )  # fmt: skip
        ours, theirs = both(data, config)
        for position in range(len(documents)):
            load_random_vectors(rng, ours, theirs)
            block = Block(position, position + 1, 0, int(rng.integers(1, 2**63)), 0.02, 0.0, 1.5, -0.5)
            train_block(ours, block)
            train_block(theirs, block)
            # Every word is in some 30 steps, each of which inherits the error of those before.
            assert largest_difference(ours, theirs) < 2e-5
        np.testing.assert_allclose(astuple(ours.sums()), astuple(theirs.sums()), rtol=1e-4, atol=1e-4)
        if objective == "hinge":
            assert theirs.closest_call > 1e-5
        else:
            assert theirs.sums().violated > 0


@pytest.fixture(scope="module")
def small_corpus(tmp_path_factory):
    """80 documents of words with Zipf's frequencies, among them empty ones and ones of one word."""
    rng = np.random.default_rng(3)
    shares = 1 / np.arange(1, 61)
    documents = [
        [f"w{i}" for i in rng.choice(60, size=rng.integers(2, 25), p=shares / shares.sum())] for _ in range(80)
    ]
    for empty in (0, 17, 79):
        documents[empty] = []
    for single in (1, 40):
        documents[single] = ["w5"]
    return encode(documents, tmp_path_factory.mktemp("small") / "corpus", min_count=1)


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"documents": False, "order": "file", "step": "exponential", "sample": 0.0},
        {"objective": "hinge", "negative": 3, "margin": 0.3, "step": "exponential"},
        {
            "objective": "hinge",
            "batch": 1,
            "negative": 2,
            "negative_rule": "2h",
            "alpha": 0.04,
            "order": "file",
            "seed": 5,
        },
        {
            "objective": "hinge",
            "batch": 1,
            "negative": 2,
            "documents": False,
            "seed": 3,
            "negative_rule": "h",
            "step": "exponential",
        },
        {"objective": "joint", "negative": 2, "alpha": 0.04},
        {"objective": "joint", "negative": 1, "negative_rule": "2h", "step": "exponential", "seed": 2},
    ],
    ids=str,
)
def test_epoch_by_epoch_is_the_oracles(small_corpus, settings):
    config = TrainConfig(**{"vector_size": 24, "window": 3, "sample": 0.05, "epochs": 3, "threads": 1} | settings)
    data = prepare(small_corpus, config)
    ours, theirs = both(data, config)
    for backend in (ours, theirs):
        backend.fill()
    started = ours.read("inputs", 0, 100)

    # A word of this corpus takes some 500 steps, each off by a few 1e-8 that add up like a random walk. The logistic
    # function adds its own error, 3e-5 * alpha * kappa at most. The vectors themselves travel 10,000 times as far.
    tolerance = 3e-5 if config.objective == "vmf" else 1e-5
    records = []
    biases = config.bias, config.bias
    for epoch in range(config.epochs):
        first, *others = schedule.epoch_blocks(data, config, epoch)
        first = replace(first, word_bias=biases[0], document_bias=biases[1])
        for backend in (ours, theirs):
            backend.begin([first, *others]).train(0)
        biases = ours.learned_biases()
        assert biases == pytest.approx(theirs.learned_biases(), rel=1e-5)
        records.append(largest_difference(ours, theirs))
    assert max(records) < tolerance
    assert np.linalg.norm(ours.read("inputs", 0, 100) - started, axis=1).mean() > 0.1
    np.testing.assert_allclose(astuple(ours.sums()), astuple(theirs.sums()), rtol=1e-4, atol=1e-4)
    if config.objective != "vmf":
        # The seeds are chosen for this: no comparison so close to the margin that rounding may decide it.
        assert theirs.closest_call > tolerance


def test_the_loop_drives_the_oracle_as_it_drives_the_kernels(small_corpus):
    config = TrainConfig(vector_size=10, window=2, epochs=2, sample=0.05, threads=1)
    data = prepare(small_corpus, config)
    records = []
    for backend in both(data, config):
        backend.fill()
        backend.warm_up()
        run = run_on(backend, data, config, small_corpus)
        run.train()
        records.append(run.position.record)
    for ours, theirs in zip(*records, strict=True):
        for figure in ("epoch", "words", "pairs", "alpha"):
            assert ours[figure] == theirs[figure]
        for figure in ("loss", "violated", "mean_resultant_length"):
            assert ours[figure] == pytest.approx(theirs[figure], rel=1e-4)


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"step": "exponential", "negative": 7, "concentration": 20.0},
        {"objective": "hinge", "margin": 0.3},
        {"objective": "hinge", "batch": 1, "negative": 2, "step": "exponential"},
        {"objective": "joint", "negative": 2},
    ],
    ids=str,
)
def test_documents_are_refitted_as_by_the_oracle(small_corpus, settings):
    config = TrainConfig(**{"vector_size": 18, "sample": 0.05, "epochs": 3, "alpha": 0.03, "threads": 1} | settings)
    ours, theirs = both(prepare(small_corpus, config), config)
    load_random_vectors(np.random.default_rng(1), ours, theirs)
    before = {table: ours.read(table, 0, 10**9) for table in TABLES}
    for backend in (ours, theirs):
        backend.refit_documents(0, small_corpus.n_documents, FitPlan(config, 0.7, 60))
    # float32 rounding, and for the likelihood the kernel's sigmoid: 3e-5 off at most, times alpha * kappa, for each of
    # the few steps that a document remembers while its later ones contract.
    allowed = 1e-5 + (4 * 3e-5 * config.alpha * config.concentration if config.objective == "vmf" else 0)
    assert largest_difference(ours, theirs) < allowed < theirs.closest_call
    for fixed in ("inputs", "contexts"):
        np.testing.assert_array_equal(ours.read(fixed, 0, 10**9), before[fixed])
    moved = np.abs(ours.read("docs", 0, 10**9) - before["docs"]).max(axis=1)
    filled = np.diff(small_corpus.offsets) > 0
    assert (moved[~filled] == 0).all()
    assert moved[filled].mean() > 0.05


def test_windows_cross_the_borders_of_pieces_as_if_there_were_none():
    # Every token is a word of its own, so that words name places.
    tokens = 2 * kernel.PIECE + 1808
    documents = [[], list(range(tokens)), [tokens], []]
    data = plain_data(documents, tokens + 1)
    rng = np.random.default_rng(0)
    for window in (1, 2, 10):
        for share in (2**32 - 1, 2**30):
            keep_probability = np.full(tokens + 1, share, np.uint32)
            key = np.uint64(rng.integers(1, 2**63))
            kept = np.full(kernel.PIECE + 2 * window + 2, -1, np.int32)
            corpus = corpus_of(data, keep_probability)
            found, raw = [], 0
            for unit in range(data.units):
                document, count, first, last, size = read_unit(unit, corpus, key, window, kept)
                raw += size
                for center in range(first, last):
                    low, high = max(0, center - window), min(count, center + window + 1)
                    found += [(document, kept[center], kept[place]) for place in range(low, high)]
            survivors = [
                [word for word in words if oracle.is_kept(word, word, int(key), keep_probability)]
                for words in documents
            ]
            expected = [
                (number, word, words[place])
                for number, words in enumerate(survivors)
                for center, word in enumerate(words)
                for place in range(max(0, center - window), min(len(words), center + window + 1))
            ]
            assert raw == tokens + 1
            assert sorted(found) == sorted(expected)


@pytest.mark.parametrize("batch", [1, 4])
def test_a_document_longer_than_a_piece_is_the_oracles(batch):
    rng = np.random.default_rng(7)
    documents = [rng.integers(400, size=length).tolist() for length in (3, 10_000, 0, kernel.PIECE)]
    data = plain_data(documents, 400, sample=1e-5)
    assert data.units == 4 + 10_000 // kernel.PIECE
    # A margin that no pair can keep: every comparison moves its vectors, and rounding decides nothing.
    config = TrainConfig(
        vector_size=8, window=10, objective="hinge", negative=2, batch=batch, margin=3.0, alpha=0.02, threads=1
    )
    ours, theirs = both(data, config)
    load_random_vectors(rng, ours, theirs)
    block = Block(0, data.units, 11, 12, 0.02, 0.01)
    train_block(ours, block)
    train_block(theirs, block)
    assert ours.sums().tokens == 10_003 + kernel.PIECE
    np.testing.assert_allclose(astuple(ours.sums()), astuple(theirs.sums()), rtol=1e-4, atol=1e-4)
    assert largest_difference(ours, theirs) < 1e-5 < theirs.closest_call


def test_every_pair_of_a_long_document_is_trained_once():
    tokens = 3 * kernel.PIECE
    data = plain_data([list(range(tokens)), [1], [], [2, 3]], tokens)
    for objective, batch, per_word in (("vmf", 4, 1), ("hinge", 1, 1), ("joint", 1, 0)):
        config = TrainConfig(vector_size=4, window=1, objective=objective, batch=batch, threads=1, negative=1)
        backend = CpuBackend(data, config)
        load_random_vectors(np.random.default_rng(1), backend)
        train_block(backend, Block(0, data.units, 5, 6, 0.01, 0.01))
        neighbours = 2 * (tokens - 1) + 0 + 2
        assert backend.sums().pairs == neighbours + per_word * (tokens + 1 + 2)


@pytest.mark.parametrize("step", ["retraction", "exponential"])
@pytest.mark.parametrize(
    "settings",
    [
        {"objective": "vmf"},
        {"objective": "hinge"},
        {"objective": "hinge", "batch": 1, "negative_rule": "2h"},
        {"objective": "joint"},
    ],
    ids=str,
)
def test_norms_do_not_drift(settings, step):
    # At this rate an error in a norm that is fed back grows by a tenth with every step.
    rng = np.random.default_rng(2)
    documents = [rng.integers(300, size=200).tolist() for _ in range(40)]
    data = plain_data(documents, 300)
    config = TrainConfig(vector_size=50, window=5, step=step, margin=2.0, threads=1, **settings)
    backend = CpuBackend(data, config)
    load_random_vectors(rng, backend)
    for epoch in range(5):
        train_block(backend, Block(0, data.units, 3 + epoch, 4 + epoch, 0.1, 0.1))
    assert backend.sums().pairs > 150_000
    for table in TABLES:
        rows = backend.read(table, 0, 10**9).astype(np.float64)
        assert np.abs(np.linalg.norm(rows, axis=1) - 1).max() < 1e-6


@pytest.mark.parametrize(("rows", "dimension"), [(1, 2), (5, 16), (9000, 17), (4097, 100)])
def test_padding_is_taken_away_without_losing_a_row(rows, dimension):
    data = plain_data([[0, 1], [1, 2]], rows if rows > 2 else 3)
    config = TrainConfig(vector_size=dimension, threads=1)
    backend = CpuBackend(data, config)
    load_random_vectors(np.random.default_rng(0), backend)
    expected = {table: backend.read(table, 0, 10**9) for table in TABLES}
    for table, vectors in backend.take().items():
        assert vectors.flags.c_contiguous
        np.testing.assert_array_equal(vectors, expected[table])


CHECKED_RUN = """
import sys
sys.path.insert(0, {tests!r})
import numpy as np
from test_kernels import *
rng = np.random.default_rng(1)
lengths = (0, 1, 2, 30, 2 * kernel.PIECE + 5, 0)
data = plain_data([rng.integers(50, size=n).tolist() for n in lengths], 50, sample=1e-2)
for settings in (dict(negative=7, batch=5), dict(objective="hinge", batch=1), dict(objective="joint")):
    config = TrainConfig(vector_size=17, window=10, threads=1, **settings)
    backend = CpuBackend(data, config)
    load_random_vectors(rng, backend)
    train_block(backend, Block(0, data.units, 8, 9, 0.01, 0.0))
    assert backend.sums().tokens == sum(lengths)
try:
    for unit in (0, 4):
        read_unit(unit, corpus_of(data, data.keep_probability[:1]), np.uint64(1), 1, np.zeros(0, np.int32))
except IndexError:
    print("checked")
"""


@pytest.mark.process
def test_kernels_stay_inside_their_arrays(tmp_path):
    environment = {**os.environ, "NUMBA_BOUNDSCHECK": "1", "NUMBA_CACHE_DIR": str(tmp_path)}
    script = CHECKED_RUN.format(tests=os.path.dirname(__file__))  # noqa: PTH120
    done = subprocess.run([sys.executable, "-c", script], env=environment, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "checked\n"), done.stderr
