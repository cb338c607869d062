"""The training loop: deterministic, interruptible, on the sphere."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections import defaultdict
from dataclasses import replace
from itertools import chain, pairwise
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import spherevec
from helpers import GivenBackend, devices, digest, random_documents, run_on, train_block
from spherevec import TrainConfig
from spherevec.corpus import encode
from spherevec.engine import schedule
from spherevec.engine.backends import make_backend
from spherevec.engine.base import LEARNED_TOKENS, PIECE, OneByOne, TrainingData
from spherevec.engine.cpu.backend import CpuBackend
from spherevec.errors import ConfigError, CorpusError, FormatError, SpherevecError, TrainingError
from spherevec.model.inference import DocumentFitter
from spherevec.model.keyed_vectors import KeyedVectors
from spherevec.training import run as workers
from spherevec.training.finishing import directions_of_sums
from spherevec.training.options import Options
from spherevec.training.runtime import prepare
from spherevec.training.trainer import TrainingRun

SETTINGS = {"vector_size": 20, "window": 4, "min_count": 1, "epochs": 2, "sample": 1e-2, "threads": 1}
OBJECTIVES = [{}, {"objective": "hinge"}, {"objective": "hinge", "batch": 1, "negative": 2}, {"objective": "joint"}]


DOCUMENTS = random_documents()


@pytest.fixture(scope="module")
def model():
    return spherevec.train(DOCUMENTS, **SETTINGS)


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    return encode(DOCUMENTS, tmp_path_factory.mktemp("corpus") / "encoded", min_count=1)


def run_script(script, *arguments, **options):
    command = [sys.executable, "-c", script, *map(str, arguments)]
    return subprocess.run(
        command, capture_output=True, text=True, check=True, cwd=Path(__file__).parent, **options
    ).stdout.split()


# --- the same bits ----------------------------------------------------------------------------------------------------

FRESH_RUN = """
from test_trainer import *
print(digest(spherevec.train(DOCUMENTS, **SETTINGS)))
"""


@pytest.mark.process
def test_one_thread_and_a_seed_give_the_same_bits(model):
    expected = digest(model)
    assert digest(spherevec.train(DOCUMENTS, **SETTINGS)) == expected
    for hash_seed in ("1", "2"):
        assert run_script(FRESH_RUN, env={**os.environ, "PYTHONHASHSEED": hash_seed}) == [expected]


@pytest.mark.parametrize("settings", OBJECTIVES[1:], ids=str)
def test_every_objective_repeats_itself(corpus, settings):
    config = TrainConfig(**SETTINGS | settings)
    assert digest(spherevec.train_corpus(corpus, config)) == digest(spherevec.train_corpus(corpus, config))


def test_another_seed_gives_other_vectors(model):
    other = spherevec.train(DOCUMENTS, **SETTINGS, seed=2)
    assert np.abs(other.words.vectors - model.words.vectors).max() > 0.1
    start = SETTINGS | {"alpha": 0.0, "add_contexts": False}
    same_start, other_start = spherevec.train(DOCUMENTS, **start), spherevec.train(DOCUMENTS, **start, seed=2)
    for table in ("words", "contexts", "docs"):
        ours, theirs = (getattr(m, table).vectors for m in (same_start, other_start))
        assert np.abs(np.sum(ours * theirs, axis=1)).mean() < 0.5
    assert np.abs(np.sum(same_start.words.vectors * same_start.contexts.vectors, axis=1)).mean() < 0.5


def test_two_trainings_at_once_do_not_disturb_each_other(model):
    other = {**SETTINGS, "objective": "hinge", "batch": 1, "vector_size": 33}
    alone = digest(spherevec.train(DOCUMENTS, **other))
    found = {}

    def work(name, settings):
        found[name] = digest(spherevec.train(DOCUMENTS, **settings))

    threads = [threading.Thread(target=work, args=job) for job in (("a", SETTINGS), ("b", other), ("c", SETTINGS))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == {"a": digest(model), "b": alone, "c": digest(model)}


FORKED_RUN = """
import multiprocessing
from test_trainer import *
def child(queue):
    queue.put(digest(spherevec.train(DOCUMENTS, **SETTINGS)))
spherevec.train(DOCUMENTS, **{**SETTINGS, "threads": 2})
fork = multiprocessing.get_context("fork")
queue = fork.Queue()
process = fork.Process(target=child, args=(queue,))
process.start()
print(queue.get(timeout=900))
process.join()
"""


@pytest.mark.process
def test_training_works_after_a_fork(model):
    assert run_script(FORKED_RUN, timeout=900) == [digest(model)]


def test_threads_share_the_work(corpus):
    config = TrainConfig(**SETTINGS | {"sample": 0.0, "epochs": 3})
    one, two = (spherevec.train_corpus(corpus, config.with_(threads=threads)) for threads in (1, 2))
    assert [epoch["pairs"] for epoch in one.record] == [epoch["pairs"] for epoch in two.record]
    assert two.record[-1]["loss"] == pytest.approx(one.record[-1]["loss"], rel=0.02)


# --- on the sphere ----------------------------------------------------------------------------------------------------


def assert_on_the_sphere(model):
    for table in (model.words, model.contexts, model.docs):
        if table is not None:
            assert table.vectors.dtype == np.float32
            assert table.vectors.flags.c_contiguous
            norms = np.linalg.norm(table.vectors.astype(np.float64), axis=1)
            assert np.abs(norms - 1).max() < 1e-5


@pytest.mark.parametrize("settings", OBJECTIVES, ids=str)
@pytest.mark.parametrize("step", ["retraction", "exponential"])
def test_every_vector_has_norm_1_however_large_the_steps(corpus, settings, step):
    for alpha in (0.01, 10.0):
        config = TrainConfig(**SETTINGS | settings | {"alpha": alpha, "step": step, "threads": 2, "margin": 1.0})
        trained = spherevec.train_corpus(corpus, config)
        assert_on_the_sphere(trained)
        assert all(np.isfinite(value) for epoch in trained.record for value in epoch.values())


@pytest.mark.parametrize(("concentration", "bias"), [(1000.0, 0.0), (1000.0, 100.0), (0.01, -100.0)])
def test_extreme_concentrations_leave_everything_finite(corpus, concentration, bias):
    config = TrainConfig(**SETTINGS, concentration=concentration, bias=bias)
    trained = spherevec.train_corpus(corpus, config)
    assert_on_the_sphere(trained)
    assert all(np.isfinite(value) for epoch in trained.record for value in epoch.values())


def test_a_diverged_run_stops_with_an_error(corpus):
    config = TrainConfig(**SETTINGS)
    data = prepare(corpus, config)
    backend = CpuBackend(data, config)
    backend.fill()
    backend.load("contexts", 0, np.full((5, 20), np.nan, np.float32))
    with pytest.raises(TrainingError, match=r"diverged.*lower alpha, which is 0\.01"):
        run_on(backend, data, config, corpus).train()


def test_too_many_vectors_for_the_memory_say_so(corpus):
    data = prepare(corpus, TrainConfig(sample=1e-3))
    endless = TrainingData(
        data.ids, np.broadcast_to(np.int64(0), 10**13), data.pieces,
        data.keep_probability, data.refit_keep_probability, data.alias_probability, data.alias_word,
    )  # fmt: skip
    with pytest.raises(TrainingError, match=r"not enough memory for .* GiB.*documents=False"):
        make_backend(endless, TrainConfig(sample=1e-3))


# --- the loop ---------------------------------------------------------------------------------------------------------


def test_alpha_falls_linearly_to_a_ten_thousandth(corpus):
    config = TrainConfig(**SETTINGS | {"alpha": 0.5, "epochs": 4})
    record = spherevec.train_corpus(corpus, config).record
    assert [epoch["epoch"] for epoch in record] == [1, 2, 3, 4]
    assert [epoch["alpha"] for epoch in record] == pytest.approx([0.375, 0.25, 0.125, 0.5e-4])


@pytest.mark.parametrize("order", ["shuffled", "file"])
def test_blocks_cover_an_epoch_with_one_straight_line_of_alphas(corpus, monkeypatch, order):
    monkeypatch.setattr(schedule, "DEVICES", devices(block_tokens=300))
    config = TrainConfig(alpha=1.0, epochs=3, sample=1e-3, order=order, deterministic=False)
    data = prepare(corpus, config)
    blocks = schedule.epoch_blocks(data, config, 1)
    assert len(blocks) == round(corpus.n_tokens / 300) > 5
    assert (blocks[0].first, blocks[-1].last) == (0, data.units)
    for block, following in pairwise(blocks):
        assert block.last == following.first
        assert block.alpha_last == following.alpha_first
    for number, block in enumerate(blocks):
        assert block.alpha_first == pytest.approx(1 - (1 + number / len(blocks)) / 3)
    assert schedule.epoch_blocks(data, config, 2)[-1].alpha_last == pytest.approx(1e-4)


def test_blocks_in_the_order_of_the_file_hold_as_many_tokens_each():
    lengths = np.array([10] * 900 + [200] * 9 + [3 * PIECE])
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    nothing = np.zeros(0, np.int64)
    data = TrainingData(
        np.zeros(offsets[-1], np.int32), offsets, schedule.further_pieces(offsets, PIECE), *[nothing] * 4
    )
    edges = schedule.block_edges(data, PIECE - 300, in_file_order=True)
    assert (edges[0], edges[-1], data.units) == (0, 912, 912)
    whole = [offsets[last] - offsets[first] for first, last in pairwise(edges) if last < 909]
    assert len(whole) > 3 and max(whole) < 2 * (PIECE - 300) and min(whole) > (PIECE - 300) / 2
    assert edges[-3:] == [910, 911, 912]  # the further pieces of the long document, one by one


def test_the_order_changes_with_every_epoch_unless_it_is_the_files(corpus):
    config = TrainConfig(epochs=5, sample=1e-3)
    data = prepare(corpus, config)
    shuffled = [schedule.epoch_blocks(data, config, epoch)[0] for epoch in range(5)]
    in_order = [schedule.epoch_blocks(data, config.with_(order="file"), epoch)[0] for epoch in range(5)]
    assert len({block.order_key for block in shuffled}) == 5
    assert {block.order_key for block in in_order} == {0}
    assert len({block.sample_key for block in shuffled}) == len({block.sample_key for block in in_order}) == 5


class Watched:
    """Blocks that workers take in turn; notes who trained which, and fails at one of them if told to."""

    def __init__(self, count, fails_at=-1):
        self.seen, self.stopped = defaultdict(list), threading.Event()
        self._waiting, self._fails_at = iter(range(count)), fails_at

    def train(self, worker):
        for block in self._waiting:
            if block == self._fails_at:
                raise RuntimeError("broken")
            time.sleep(0.001)
            self.seen[worker].append(block)
            if self.stopped.is_set():
                return

    def stop(self):
        self.stopped.set()


def test_all_workers_train_until_no_block_is_left():
    all_here = threading.Barrier(3)

    class Meeting(Watched):
        def train(self, worker):
            self.seen[worker].append(next(self._waiting))
            all_here.wait()  # on a busy machine, one might do all the work
            super().train(worker)

    training = Meeting(40)
    workers.train_blocks(training, 3)
    assert sorted(chain.from_iterable(training.seen.values())) == list(range(40)) and len(training.seen) == 3


def test_an_error_in_a_worker_comes_out_when_the_others_have_stopped():
    training = Watched(10**6, fails_at=5)
    with pytest.raises(RuntimeError, match="broken"):
        workers.train_blocks(training, 3)
    assert sum(map(len, training.seen.values())) < 10**5


def test_an_interruption_and_a_pause_leave_the_blocks_that_are_not_begun():
    def interrupt():
        raise KeyboardInterrupt

    training = Watched(10**6)
    with pytest.raises(KeyboardInterrupt):
        workers.train_blocks(training, 3, interrupt)
    assert 0 < sum(map(len, training.seen.values())) < 10**5
    paused = Watched(10**6)
    workers.train_blocks(paused, 3, lambda: True)
    assert 0 < sum(map(len, paused.seen.values())) < 10**5


@pytest.mark.parametrize("deterministic", [False, True])
def test_biases_follow_the_cosines_of_negative_pairs(corpus, deterministic, monkeypatch):
    monkeypatch.setattr(schedule, "DEVICES", devices(block_tokens=400))
    config = TrainConfig(**SETTINGS, deterministic=deterministic)
    data = prepare(corpus, config)
    backend = make_backend(data, config)
    backend.fill()
    words, documents = 1.0, 1.5
    for block in schedule.epoch_blocks(data, config, 0):
        before = backend.sums()
        train_block(backend, replace(block, word_bias=words, document_bias=documents))
        seen = backend.sums() - before
        rate = 0.1 * config.concentration * (1 if deterministic else seen.tokens / LEARNED_TOKENS)
        words -= rate * seen.word_cosine / seen.word_negatives
        documents -= rate * seen.document_cosine / seen.document_negatives
        assert backend.learned_biases() == pytest.approx((words, documents), rel=1e-6)
    assert abs(words - 1) > 0.001 and abs(documents - 1.5) > 0.001


def test_a_block_after_another_is_trained_with_what_was_learned_from_it(corpus, monkeypatch):
    monkeypatch.setattr(schedule, "DEVICES", devices(block_tokens=400))
    config = TrainConfig(**SETTINGS, deterministic=False)
    data = prepare(corpus, config)
    alone, together = (make_backend(data, config) for _ in range(2))
    blocks = schedule.epoch_blocks(data, config, 0)
    for backend in (alone, together):
        backend.fill()
    together.begin(blocks).train(0)
    one = SimpleNamespace(train_block=lambda block: train_block(alone, block), learned_biases=alone.learned_biases)
    OneByOne(one, blocks).train(0)
    assert len(blocks) > 5 and alone.learned_biases() == together.learned_biases()
    for table in ("inputs", "contexts", "docs"):
        np.testing.assert_array_equal(alone.read(table, 0, 10**9), together.read(table, 0, 10**9))


def test_pieces_are_those_of_long_documents(monkeypatch):
    monkeypatch.setattr(schedule, "CHUNK_ROWS", 4)
    lengths = np.random.default_rng(0).integers(0, 40, size=50)
    offsets = np.cumsum([0, *lengths]).astype(np.int64)
    expected = [
        [document, offsets[document] + place]
        for document, length in enumerate(lengths)
        for place in range(10, length, 10)
    ]
    assert schedule.further_pieces(offsets, 10).tolist() == expected
    assert schedule.further_pieces(np.array([0, 10, 10, 19]), 10).shape == (0, 2)


def test_giving_pages_back_changes_nothing(model, monkeypatch):
    monkeypatch.setattr(workers, "TICK", 0.001)  # pages are given back with every report
    assert digest(spherevec.train(DOCUMENTS, **SETTINGS)) == digest(model)


def test_progress_tells_the_phases_and_the_figures(monkeypatch):
    monkeypatch.setattr(schedule, "DEVICES", devices(block_tokens=500))
    monkeypatch.setattr(workers, "TICK", 0.002)
    seen = []
    trained = spherevec.train(
        DOCUMENTS, **SETTINGS | {"epochs": 5, "sample": 0.0, "add_contexts": False}, progress=seen.append
    )
    phases = [progress.phase for progress in seen]
    assert list(dict.fromkeys(phases)) == ["reading", "compiling", "training", "finishing"]
    training = [progress for progress in seen if progress.phase == "training"]
    shares = [progress.done for progress in training]
    assert shares == sorted(shares)
    assert shares[-1] == 1.0
    assert [progress.epoch for progress in training] == sorted(progress.epoch for progress in training)
    last = training[-1]
    assert (last.epoch, last.epochs, last.seconds_left) == (5, 5, 0.0)
    assert last.figures["tokens_per_second"] > 0
    for figure in ("words", "pairs", "loss", "violated", "mean_resultant_length"):
        assert last.figures[figure] == pytest.approx(trained.record[-1][figure], rel=1e-5)
    mean = trained.words.vectors.astype(np.float64).mean(axis=0)
    assert trained.record[-1]["mean_resultant_length"] == pytest.approx(np.linalg.norm(mean))
    assert trained.record[0]["words"] == sum(map(len, DOCUMENTS))
    assert trained.record[-1]["loss"] < trained.record[0]["loss"]


# --- what is trained --------------------------------------------------------------------------------------------------


def test_words_are_the_direction_of_the_sum_of_both_vectors(corpus):
    settings = SETTINGS | {"documents": False, "smooth_rare_words": False}
    summed = spherevec.train(corpus, **settings)
    alone = spherevec.train(corpus, **settings, add_contexts=False)
    assert alone.inputs is alone.words
    assert np.array_equal(summed.inputs.vectors, alone.words.vectors)
    assert np.array_equal(summed.contexts.vectors, alone.contexts.vectors)
    both = alone.words.vectors.astype(np.float64) + alone.contexts.vectors
    assert np.abs(summed.words.vectors - both / np.linalg.norm(both, axis=1, keepdims=True)).max() < 1e-6


def test_opposite_vectors_have_no_sum_and_stay():
    words = np.eye(3, dtype=np.float32)
    contexts = np.stack([-words[0], words[1], words[0]])
    expected = [[1, 0, 0], [0, 1, 0], [np.sqrt(0.5), 0, np.sqrt(0.5)]]
    np.testing.assert_allclose(directions_of_sums(words, contexts), expected, atol=1e-6)


@pytest.mark.parametrize("add_contexts", [True, False])
def test_documents_are_refitted_to_the_vectors_that_infer_uses(corpus, add_contexts):
    model = spherevec.train(corpus, **SETTINGS, add_contexts=add_contexts)
    again = DocumentFitter(model).fit(np.asarray(corpus.ids), np.asarray(corpus.offsets))
    filled = np.diff(corpus.offsets) > 0
    assert np.array_equal(model.docs.vectors[filled], again[filled])


def test_words_only(corpus):
    for settings in OBJECTIVES[:3]:
        trained = spherevec.train_corpus(corpus, TrainConfig(**SETTINGS | settings, documents=False))
        assert trained.docs is None
        assert_on_the_sphere(trained)
        assert trained.record[0]["pairs"] > 0


def test_the_model_knows_what_it_was_trained_with(model):
    assert TrainConfig.from_mapping(model.config) == TrainConfig(**SETTINGS)
    assert model.provenance["documents"] == len(model.docs) == len(DOCUMENTS)
    assert model.provenance["tokens"] == model.counts.sum() == sum(map(len, DOCUMENTS))


def test_empty_documents_get_the_mean_direction_of_the_others(model):
    empty = np.array([not document for document in DOCUMENTS])
    mean = model.docs.vectors[~empty].astype(np.float64).mean(axis=0)
    np.testing.assert_allclose(
        model.docs.vectors[empty], np.tile(mean / np.linalg.norm(mean), (empty.sum(), 1)), atol=1e-6
    )
    assert np.unique(model.docs.vectors[~empty], axis=0).shape[0] == (~empty).sum()


def given_vectors(words, dimension=20, seed=1):
    rows = np.random.default_rng(seed).standard_normal((len(words), dimension))
    return KeyedVectors(words, (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32))


def test_given_vectors_are_the_start(corpus):
    given = given_vectors(["unknown", "w3", "w7", "w0"])
    config = TrainConfig(**SETTINGS | {"alpha": 0.0, "add_contexts": False})
    data = prepare(corpus, config)
    backend = CpuBackend(data, config)
    TrainingRun(corpus, config, Options(initial=given, runtime=GivenBackend(backend, data, config))).initialise()
    for word in ("w0", "w3", "w7"):
        row = corpus.vocabulary.word_to_id[word]
        np.testing.assert_array_equal(backend.read("inputs", row, row + 1)[0], given[word])
    # Without a learning rate all that happens is that rows are normalised again, to the last bit or two.
    trained, plain = (spherevec.train_corpus(corpus, config, initial=initial) for initial in (given, None))
    for word in trained.words:
        expected = given[word] if word in given else plain.words[word]
        np.testing.assert_allclose(trained.words[word], expected, rtol=0, atol=5e-7)


def test_training_goes_on_from_a_model(model):
    further = spherevec.train(DOCUMENTS[:100], **SETTINGS | {"alpha": 0.0}, initial=model)
    # Every step normalises a row again. The roundings of some thousand steps (2**-25 each, at random) add up to 2e-6,
    # more or less from processor to processor; rows that started elsewhere would be 0.1 away.
    for table in ("words", "inputs", "contexts"):
        ours, theirs = getattr(further, table), getattr(model, table)
        np.testing.assert_allclose(ours.vectors, theirs[list(ours)], rtol=0, atol=1e-5)


def one_line(error):
    message = str(error.value)
    assert "\n" not in message
    return message


def test_given_vectors_of_another_dimension_are_refused(corpus):
    with pytest.raises(ConfigError) as error:
        spherevec.train_corpus(corpus, TrainConfig(**SETTINGS), initial=given_vectors(["w1"], 7))
    assert "dimension 7, vector_size is 20; set vector_size=7" in one_line(error)


def test_given_vectors_with_nan_are_refused(corpus):
    given = given_vectors(["w1", "w2"])
    given.vectors.flags.writeable = True
    given.vectors[1, 3] = np.nan
    with pytest.raises(FormatError) as error:
        spherevec.train_corpus(corpus, TrainConfig(**SETTINGS), initial=given)
    assert "'w2'" in one_line(error)
    assert "NaN" in one_line(error)


@pytest.mark.parametrize(
    ("documents", "settings", "says"),
    [
        ([["a", "a", "a"]], {}, "'a'"),
        ([["a", "b"]], {"min_count": 9}, "min_count"),
        ([], {}, ""),
        ([[], []], {}, "no words"),
        ([["a", "b"]], {"vector_size": 1}, "vector_size must be between 2 and 4096, not 1"),
        ([["a", "b"]], {"vectorsize": 10}, "did you mean 'vector_size'"),
    ],
    ids=str,
)
def test_bad_input_ends_in_one_line_and_leaves_nothing(documents, settings, says, tmp_path):
    with pytest.raises(SpherevecError) as error:
        spherevec.train(documents, workdir=tmp_path, **SETTINGS | settings)
    assert says in one_line(error)
    assert isinstance(error.value, CorpusError | ConfigError)
    assert not list(tmp_path.iterdir())


# --- interruptions ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("phase", ["reading", "compiling", "training", "finishing"])
def test_an_interruption_from_the_callback_stops_at_once_and_cleans_up(phase, tmp_path):
    def interrupt(progress):
        if progress.phase == phase:
            raise KeyboardInterrupt

    documents = random_documents(400, longest=300)
    with pytest.raises(KeyboardInterrupt):  # an undisturbed run would take minutes
        spherevec.train(
            documents, **SETTINGS | {"epochs": 1 if phase == "finishing" else 10_000, "threads": 2},
            workdir=tmp_path, progress=interrupt,
        )  # fmt: skip
    assert not list(tmp_path.iterdir())
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("spherevec")]


INTERRUPTED_RUN = """
import signal, sys
from test_trainer import *
signal.signal(signal.SIGINT, signal.default_int_handler)
def tell(progress):
    if progress.phase == "training":
        print("training", flush=True)
spherevec.train(random_documents(400, longest=300), **{**SETTINGS, "epochs": 100_000, "threads": 2},
                workdir=sys.argv[1], progress=tell)
"""


@pytest.mark.process
def test_ctrl_c_stops_and_cleans_up(tmp_path):
    process = subprocess.Popen(
        [sys.executable, "-c", INTERRUPTED_RUN, str(tmp_path)], cwd=Path(__file__).parent,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    try:
        assert process.stdout.readline() == "training\n", process.stderr.read()
        assert list(tmp_path.iterdir())
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=900)  # an undisturbed run would take far longer
    finally:
        process.kill()
    assert errors.strip().endswith("KeyboardInterrupt")
    assert process.returncode == -signal.SIGINT
    assert not list(tmp_path.iterdir())


def test_python_tells_what_was_read(capsys):
    with pytest.warns(UserWarning, match="there is only one document"):
        spherevec.train(["a b c " * 20], epochs=1, vector_size=8, threads=1, progress=True)
    assert "1 document; 60 tokens; 3 distinct words" in capsys.readouterr().err
    spherevec.train(["a b c", "c d e"] * 20, epochs=1, vector_size=8, threads=1, progress=False)
    assert capsys.readouterr() == ("", "")
