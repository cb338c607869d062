"""Races of lock-free training stay harmless, runs beside each other undisturbed, and kernels within their arrays."""

import hashlib
import multiprocessing
import os
import subprocess
import sys
import tempfile
import textwrap
import threading
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import spherevec
from helpers import devices, run_on
from spherevec.config import TrainConfig
from spherevec.corpus import encode
from spherevec.engine.backends import make_backend
from spherevec.errors import TrainingError
from spherevec.training import run as training_run
from spherevec.training.runtime import prepare

TEXTS = [f"a b c{i % 7} d{i % 3} e a b f{i % 11}" for i in range(300)]
SETTINGS = {"vector_size": 20, "min_count": 1, "epochs": 2, "threads": 1, "window": 3}
OBJECTIVES = [
    {"objective": "vmf"},
    {"objective": "hinge"},
    {"objective": "hinge", "batch": 1},
    {"objective": "joint"},
]
jit = pytest.mark.skipif(os.environ.get("NUMBA_DISABLE_JIT") == "1", reason="about compiled kernels")


def digest(model):
    tables = [table.vectors for table in (model.words, model.contexts, model.docs) if table is not None]
    return hashlib.sha256(b"".join(table.tobytes() for table in tables)).hexdigest()


def train(**changes):
    return spherevec.train(TEXTS, **SETTINGS | changes)


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    with encode(TEXTS, tmp_path_factory.mktemp("corpus") / "c", min_count=1) as corpus:
        yield corpus


# --- races ------------------------------------------------------------------------------------------------------------


def assert_sound(model):
    model.check()  # norms within 1e-5, and no NaN
    assert all(np.isfinite(value) for epoch in model.record for value in epoch.values())


@pytest.mark.parametrize("objective", OBJECTIVES, ids=str)
def test_many_threads_on_few_words_leave_every_vector_on_the_sphere(corpus, objective, monkeypatch):
    """Eight threads fight over thirty words, with blocks of a few documents."""
    monkeypatch.setattr("spherevec.engine.schedule.DEVICES", devices(block_tokens=50))
    config = TrainConfig(**SETTINGS | objective | {"threads": 8, "epochs": 20, "sample": 0.0, "alpha": 0.2})
    assert_sound(spherevec.train_corpus(corpus, config))


@given(
    objective=st.sampled_from(OBJECTIVES),
    changes=st.fixed_dictionaries(
        {
            "alpha": st.sampled_from([0.01, 1.0, 10.0]),
            "concentration": st.sampled_from([0.01, 8.0, 1000.0]),
            "bias": st.sampled_from([-100.0, 1.0, 100.0]),
            "margin": st.sampled_from([0.0, 0.3, 4.0]),
            "negative_rule": st.sampled_from(["1+h", "h", "2h"]),
            "negative": st.sampled_from([1, 5, 64]),
            "step": st.sampled_from(["retraction", "exponential"]),
            "vector_size": st.sampled_from([2, 16, 33]),
            "window": st.sampled_from([1, 10, 1000]),
            "threads": st.sampled_from([1, 3]),
            "sample": st.sampled_from([0.0, 1e-3, 1.0]),
        }
    ),
)
@settings(max_examples=60)
def test_no_settings_within_their_ranges_make_a_vector_diverge(corpus, objective, changes):
    assert_sound(spherevec.train_corpus(corpus, TrainConfig(**SETTINGS | objective | changes)))


def a_run(corpus, **changes):
    config = TrainConfig(**SETTINGS | {"epochs": 1} | changes).resolved(corpus.n_tokens, len(corpus.vocabulary))
    data = prepare(corpus, config)
    backend = make_backend(data, config)
    backend.fill()
    return backend, run_on(backend, data, config, corpus)


@pytest.mark.parametrize("objective", OBJECTIVES, ids=str)
@pytest.mark.parametrize("table", ["inputs", "contexts", "docs"])
def test_a_diverged_run_is_stopped_and_says_what_to_lower(corpus, objective, table):
    """No setting was found that diverges, so NaN is put into one of the tables."""
    backend, run = a_run(corpus, **objective)
    backend.load(table, 0, np.full((20, 20), np.nan, np.float32))
    with pytest.raises(TrainingError, match=r"diverged \(NaN\); lower alpha, which is 0\.01") as caught:
        run.train()
    assert ("concentration, which is 8.0" in str(caught.value)) == (objective["objective"] == "vmf")


def test_a_diverged_run_is_stopped_within_the_epoch(corpus, monkeypatch):
    """At the first report after NaN appears, with most blocks of a long epoch still to come."""
    monkeypatch.setattr("spherevec.engine.schedule.DEVICES", devices(block_tokens=10))
    train_blocks = training_run.train_blocks

    def train_one(training, *others):  # a report comes after each block, however busy the machine is
        training.stop()
        train_blocks(training, *others)

    monkeypatch.setattr(training_run, "train_blocks", train_one)
    backend, run = a_run(corpus, epochs=1000)
    backend.load("inputs", 0, np.full((20, 20), np.nan, np.float32))
    with pytest.raises(TrainingError, match="diverged"):
        run.train()
    assert run.position.epoch == 0 and run.done < 0.001


# --- runs beside each other -------------------------------------------------------------------------------------------


def test_two_trainings_at_once_in_two_threads(corpus):
    alone = [digest(train(**objective)) for objective in OBJECTIVES]
    found = {}

    def work(number):
        found[number] = digest(train(**OBJECTIVES[number]))

    threads = [threading.Thread(target=work, args=(number,)) for number in range(len(OBJECTIVES))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [found[number] for number in range(len(OBJECTIVES))] == alone


SCRIPT = """
    import multiprocessing, os, sys, threading, time
    sys.path.insert(0, {tests!r})
    from test_threads import *

    def child(queue):
        queue.put(digest(train()))

    if __name__ == "__main__":
        {body}
"""
FORKED = """
        results = {{}}
        began = threading.Event()
        def beside():
            def progress(report):
                if report.phase == "training":
                    began.set()
            results["parent"] = digest(spherevec.train(TEXTS, **SETTINGS | {"epochs": 40}, progress=progress))
        train(threads=2)  # there are threads behind us
        other = threading.Thread(target=beside)
        other.start()
        began.wait()
        context = multiprocessing.get_context({method!r})
        queue = context.Queue()
        children = [context.Process(target=child, args=(queue,)) for _ in range(2)]
        for process in children:
            process.start()
        print(queue.get(timeout=900), queue.get(timeout=900))
        other.join()
        print(results["parent"])
"""


@pytest.mark.process
@pytest.mark.parametrize("method", multiprocessing.get_all_start_methods())
def test_two_trainings_in_children_beside_one_in_the_parent(tmp_path, method):
    script = tmp_path / "script.py"
    body = FORKED.replace("{method!r}", repr(method)).replace("{{}}", "{}").strip()
    script.write_text(
        textwrap.dedent(SCRIPT.replace("{tests!r}", repr(str(Path(__file__).parent))).replace("{body}", body))
    )
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, timeout=900)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == [digest(train())] * 2 + [digest(train(epochs=40))]


# --- bounds -----------------------------------------------------------------------------------------------------------

EVERY_KERNEL = """
    import sys
    sys.path.insert(0, {tests!r})
    from test_threads import *
    from spherevec.clustering import SphericalKMeans
    for objective in OBJECTIVES:
        model = train(**objective, threads=2, vector_size=18)
        assert_sound(model)
    long = " ".join(TEXTS * 2)  # is cut among shards
    assert_sound(spherevec.train([long, *TEXTS], **SETTINGS | {"threads": 2, "deterministic": True, "vector_size": 18}))
    assert model.infer(["a b zz", ""]).shape == (2, 18)
    SphericalKMeans(3, n_init=1, random_state=1).fit(model.docs.vectors)
    encode(["l'été İstanbul 日本’s x " * 50] * 20, sys.argv[1], min_count=1, threads=2, block_size=100)
    print("sound")
"""


@pytest.mark.process
@jit
def test_kernels_under_numbas_bounds_check(tmp_path):
    """Every array that a kernel indexes. Rows behind raw addresses are out of its sight: see the next test."""
    script = textwrap.dedent(EVERY_KERNEL).replace("{tests!r}", repr(str(Path(__file__).parent)))
    environment = {**os.environ, "NUMBA_BOUNDSCHECK": "1", "NUMBA_OPT": "1", "NUMBA_CACHE_DIR": str(tmp_path / "cache")}
    command = [sys.executable, "-c", script, str(tmp_path / "c")]
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    assert done.stdout.split() == ["sound"], done.stderr


GUARDED = """
    import ctypes, itertools, mmap, sys
    sys.path.insert(0, {tests!r})
    from test_threads import *
    from spherevec.engine.cpu import backend as cpu, deterministic as deterministic_cpu, document_rows as document_table
    from spherevec.engine.cpu.vector_ops import padded_width

    PAGE, PROT_NONE = mmap.PAGESIZE, 0
    libc = ctypes.CDLL(None, use_errno=True)
    libc.mprotect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
    kept = []

    def guarded_rows(rows, width):
        # As `padded_rows`, in memory of their own, between two pages that nobody may touch.
        stride = padded_width(width)
        size = -(-rows * stride * 4 // PAGE) * PAGE
        memory = mmap.mmap(-1, size + 2 * PAGE)
        address = ctypes.addressof(ctypes.c_char.from_buffer(memory))
        for page in (address, address + PAGE + size):
            assert libc.mprotect(page, PAGE, PROT_NONE) == 0
        start = PAGE + (size - rows * stride * 4 if at_end else 0)
        kept.append(memory)
        return np.frombuffer(memory, np.float32, rows * stride, start).reshape(rows, stride)

    # All tables, and the copies that the shards of a round make of their rows.
    cpu.padded_rows = deterministic_cpu.padded_rows = document_table.padded_rows = guarded_rows
    with encode([" ".join(TEXTS * 2), *TEXTS], sys.argv[1], min_count=1) as corpus:
        for at_end, deterministic in itertools.product((False, True), repeat=2):
            for objective in OBJECTIVES:
                for changes in ({"vector_size": 16}, {"vector_size": 20, "batch": objective.get("batch", 5)}):
                    settings = objective | changes | {"deterministic": deterministic}
                    backend, run = a_run(corpus, **settings, threads=2, epochs=3)
                    run.train()
                    run.refit_documents(run.fit_tables())
                    last = int(sys.argv[2])
                    if last:  # proof that the guard works
                        table = backend._tables["inputs"]
                        ctypes.string_at(table.ctypes.data + table.nbytes * at_end - 4 * (not at_end), 4)
    print("sound")
"""


@pytest.mark.process
@jit
@pytest.mark.skipif(sys.platform != "linux", reason="needs mprotect")
@pytest.mark.parametrize("overstep", [False, True])
def test_no_kernel_touches_memory_beside_the_vectors(overstep):
    """A read or write just before the first row or behind the last one would end the process."""
    script = textwrap.dedent(GUARDED).replace("{tests!r}", repr(str(Path(__file__).parent)))
    with tempfile.TemporaryDirectory() as scratch:
        command = [sys.executable, "-c", script, f"{scratch}/c", str(int(overstep))]
        done = subprocess.run(command, capture_output=True, text=True)
    if overstep:
        assert done.returncode < 0
    else:
        assert done.stdout.split() == ["sound"], done.stderr
