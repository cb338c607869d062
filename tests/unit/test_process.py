"""What belongs to the whole process is given back."""

from __future__ import annotations

import contextlib
import csv
import locale
import os
import random
import signal
import sys
import tempfile
import threading
import warnings
from pathlib import Path

import numpy as np
import pytest

import spherevec
from spherevec import process


def blas_threads() -> list[int]:
    found = process._blas_controller().info()
    return [library["num_threads"] for library in found if library["user_api"] == "blas"]


@pytest.mark.parametrize(
    ("borrow", "state", "meanwhile"),
    [
        (process.long_csv_cells, csv.field_size_limit, lambda now: now >= process.LONGEST_CELL),
        (process.one_blas_thread, blas_threads, lambda now: set(now) <= {1}),
    ],
    ids=["csv", "blas"],
)
def test_overlapping_borrowers_give_back_what_was_there(borrow, state, meanwhile):
    """The first to come leaves first: the second must neither lose what it borrowed nor keep it."""
    before = state()
    inside, leave = threading.Event(), threading.Event()

    def second():
        with borrow():
            seen.append(meanwhile(state()))
            inside.set()
            leave.wait()

    seen = []
    thread = threading.Thread(target=second)
    with borrow():
        thread.start()
        inside.wait()
        assert meanwhile(state())
    leave.set()
    thread.join()
    assert seen == [True] and state() == before


@pytest.fixture
def interruptible():
    """Programs that a shell starts in the background ignore interruptions."""
    before = {number: signal.getsignal(number) for number in process.ENDING_SIGNALS}
    signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


def test_signals_wait_and_are_delivered_once(interruptible):
    after = []
    with pytest.raises(KeyboardInterrupt), process.signals_held_back():
        signal.raise_signal(signal.SIGINT)
        signal.raise_signal(signal.SIGINT)
        after.append("still here")
    assert after == ["still here"] and signal.getsignal(signal.SIGINT) is signal.default_int_handler
    with process.signals_held_back() as held:
        signal.raise_signal(signal.SIGINT)
        assert held == [signal.SIGINT]
        held.clear()


@pytest.mark.parametrize("when", [1, 2, 3, 4, 5, 6])
def test_handlers_come_back_whatever_arrives_meanwhile(interruptible, monkeypatch, when):
    """An interruption comes just before or after a handler is given back, whichever of the three that is."""
    mine = dict.fromkeys(process.ENDING_SIGNALS, signal.default_int_handler)
    change, calls = signal.signal, []

    def interrupted(number, handler):
        for step in (0, 1):
            if step:
                change(number, handler)
            calls.append(number)
            if len(calls) == len(mine) * 2 + when:
                back = [one for one in mine if signal.getsignal(one) is mine[one]]
                for one in back[:1]:
                    signal.raise_signal(one)

    for number, handler in mine.items():
        change(number, handler)
    monkeypatch.setattr(signal, "signal", interrupted)
    with contextlib.suppress(KeyboardInterrupt), process.signals_held_back():
        pass
    monkeypatch.undo()
    assert {number: signal.getsignal(number) for number in mine} == mine


def test_a_handler_that_was_not_given_back_is_with_the_next_signal(interruptible, monkeypatch):
    with monkeypatch.context() as patched:
        patched.setattr(process, "give_handlers_back", lambda handlers: None)
        with process.signals_held_back():
            pass
    with pytest.raises(KeyboardInterrupt):
        signal.raise_signal(signal.SIGINT)
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_a_warning_ends_nothing(capsys):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        process.warn("careful")
    assert capsys.readouterr().err == "warning: careful\n"


# --- the whole process ------------------------------------------------------------------------------------------------

TEXTS = [" ".join(f"w{(i * j) % 7}" for j in range(1, 9)) for i in range(1, 30)]


def state_of_the_process():
    """All that belongs to the whole process and that a library could leave changed."""
    import numba

    return {
        "csv": csv.field_size_limit(),
        "blas": blas_threads(),
        "signals": [signal.getsignal(number) for number in process.ENDING_SIGNALS],
        "locale": [locale.setlocale(kind) for kind in (locale.LC_ALL, locale.LC_NUMERIC, locale.LC_CTYPE)],
        "warnings": (list(warnings.filters), warnings.showwarning),
        "numba": numba.get_num_threads(),
        "numpy": (np.geterr(), repr(np.get_printoptions())),
        "random": (random.getstate(), repr(np.random.get_state())),  # noqa: NPY002
        "limits": (sys.getrecursionlimit(), sys.getswitchinterval(), threading.stack_size()),
        "system": (dict(os.environ), str(Path.cwd()), _mask()),
        "hooks": (sys.excepthook, threading.excepthook, sys.path[:], tempfile.tempdir),
    }


def _mask():
    mask = os.umask(0)
    os.umask(mask)
    return mask


def tour(folder):
    """Every verb once."""
    model = spherevec.train(TEXTS, vector_size=4, min_count=1, threads=2, epochs=1)
    model.save(folder / "m")
    model = spherevec.load(folder / "m", verify=True)
    found = model.topics(k=2, threads=2)
    found.save(folder / "t")
    model.explore(folder / "p.html", threads=2)
    grown = model.update(["w1 w2 w3", "w4 w5"], threads=2)
    numbers = [model.words.vectors, model.docs.vectors, model.infer(["w1 w2"]), found.probability, grown.docs.vectors]
    answers = [(hit.id, hit.score) for hit in model.search("w1 w2")]
    return [np.array(table) for table in numbers], answers, (folder / "t" / "assignments.csv").read_bytes()


def test_every_verb_gives_the_process_back_as_it_was(tmp_path):
    (tmp_path / "warm").mkdir()
    tour(tmp_path / "warm")  # imports and compiles
    before = state_of_the_process()
    tour(tmp_path)
    after = state_of_the_process()
    assert {name for name in before if before[name] != after[name]} == set()


def test_neither_warnings_as_errors_nor_another_locale_change_a_result(tmp_path):
    (tmp_path / "plain").mkdir()
    expected = tour(tmp_path / "plain")
    old = locale.setlocale(locale.LC_ALL)
    try:
        for name in ("de_DE.UTF-8", "fr_FR.UTF-8", "tr_TR.UTF-8", "C"):
            try:
                locale.setlocale(locale.LC_ALL, name)
                break
            except locale.Error:
                continue
        (tmp_path / "strict").mkdir()
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            got = tour(tmp_path / "strict")
    finally:
        locale.setlocale(locale.LC_ALL, old)
    assert all(np.array_equal(a, b) for a, b in zip(expected[0], got[0], strict=True)) and expected[1:] == got[1:]
