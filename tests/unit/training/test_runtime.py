"""What a second process compiles on the first run."""

import json
import subprocess
import sys
import time
from pathlib import Path

import pytest

from spherevec.config import TrainConfig
from spherevec.training import runtime

# Compiles nothing, so that it is quick; leaves what it was given, and stays until it is killed if it is to.
STAND_IN = "import os, pathlib, sys, time; pathlib.Path({!r}).write_text(sys.argv[2]); time.sleep({})"


@pytest.fixture
def first(monkeypatch):
    """As on a machine with a core to spare, where nothing is compiled yet."""
    from spherevec import compiling

    monkeypatch.delenv("SPHEREVEC_COMPILES", raising=False)
    monkeypatch.setattr(runtime, "usable_cores", lambda: 2)
    monkeypatch.setattr(compiling, "is_compiled", lambda kernel, kind: False)


def test_another_process_is_told_which_kernels_and_waited_for(first, tmp_path, monkeypatch):
    monkeypatch.setattr(runtime, "_CODE", STAND_IN.format(str(tmp_path / "told"), 0))
    with runtime.compiled_meanwhile(TrainConfig.recipe("paper")) as wait:
        wait()
    told = json.loads((tmp_path / "told").read_text())
    assert told == {"objective": "hinge", "batch": 1, "deterministic": False, "documents": True}


@pytest.mark.process
def test_it_ends_with_a_run_that_fails(first, tmp_path, monkeypatch):
    monkeypatch.setattr(runtime, "_CODE", STAND_IN.format(str(tmp_path / "told"), 1000))
    started, popen = [], subprocess.Popen
    monkeypatch.setattr(subprocess, "Popen", lambda *a, **k: started.append(popen(*a, **k)) or started[0])
    with pytest.raises(ValueError, match="no such file"), runtime.compiled_meanwhile(TrainConfig()):
        raise ValueError("no such file")
    assert started[0].returncode is not None


@pytest.mark.process
def test_nothing_of_it_is_left(first, tmp_path, monkeypatch):
    """It is killed in the middle of its work, and its folder for temporary files goes with it."""
    told = tmp_path / "told"
    code = f"import pathlib, tempfile, time; place = tempfile.mkdtemp(); path = pathlib.Path({str(told)!r})"
    monkeypatch.setattr(
        runtime, "_CODE", f"{code}; path.write_text(place); path.rename({str(told)!r} + '.done'); time.sleep(1000)"
    )
    with runtime.compiled_meanwhile(TrainConfig()):
        while not (tmp_path / "told.done").exists():
            time.sleep(0.01)
        place = Path((tmp_path / "told.done").read_text())
        assert place.is_dir()
    assert not place.parent.exists()


@pytest.mark.parametrize("why", ["compiled", "one core", "inside", "frozen", "cuda"])
def test_most_runs_start_none(first, why, monkeypatch):
    from spherevec import compiling

    if why == "compiled":
        monkeypatch.setattr(compiling, "is_compiled", lambda kernel, kind: True)
    if why == "one core":
        monkeypatch.setattr(runtime, "usable_cores", lambda: 1)
    if why == "inside":
        monkeypatch.setenv("SPHEREVEC_COMPILES", "1")
    if why == "frozen":
        monkeypatch.setattr(sys, "frozen", True, raising=False)
    monkeypatch.setattr(subprocess, "Popen", None)
    with runtime.compiled_meanwhile(TrainConfig(device="cuda" if why == "cuda" else "cpu")) as wait:
        wait()


def test_a_gpu_is_started_by_a_thread(monkeypatch):
    told = []
    monkeypatch.setattr(runtime, "_train_few_words", told.append)
    with runtime.compiled_meanwhile(TrainConfig(device="cuda", vector_size=50, epochs=7)) as wait:
        wait()
    assert told == [TrainConfig(device="cuda", vector_size=50, epochs=1, min_count=1)]


def test_it_trains_a_few_words_with_the_settings_of_the_run(monkeypatch):
    from spherevec.training import trainer

    trained = []
    monkeypatch.setattr(trainer, "train_corpus", lambda corpus, config: trained.append((corpus.n_documents, config)))
    config = TrainConfig(device="cuda", vector_size=50, epochs=1, min_count=1)
    runtime._train_few_words.__wrapped__(config)
    assert trained == [(40, config)]


def test_where_no_process_can_be_started_this_one_compiles(first, monkeypatch):
    monkeypatch.setattr(sys, "executable", "/nowhere/python")
    with runtime.compiled_meanwhile(TrainConfig()) as wait:
        wait()


def test_what_it_trains_is_what_runs_train(monkeypatch):
    """The kernels that the other process compiles have the types that a run calls them with."""
    from spherevec.engine.cpu.backend import kernel_of
    from spherevec.training import train

    config = TrainConfig(threads=2)
    train([f"a b c{number % 7} d e" for number in range(50)], epochs=1, min_count=1, threads=2, progress=False)
    before = set(kernel_of(config).signatures)
    runtime.main(json.dumps({"objective": "vmf", "batch": 8, "deterministic": None, "documents": True}))
    assert set(kernel_of(config).signatures) == before and before
