"""What belongs to the whole process is given back."""

from __future__ import annotations

import csv
import signal
import threading
import warnings

import pytest

from spherevec import process


@pytest.mark.parametrize(
    ("borrow", "state", "meanwhile"),
    [
        (process.long_csv_cells, csv.field_size_limit, lambda now: now >= process.LONGEST_CELL),
        (process.one_blas_thread, process._blas_threads, lambda now: set(now) <= {1}),
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


def test_signals_wait_and_are_delivered_once():
    after = []
    with pytest.raises(KeyboardInterrupt), process.signals_held_back():
        signal.raise_signal(signal.SIGINT)
        signal.raise_signal(signal.SIGINT)
        after.append("still here")
    assert after == ["still here"] and signal.getsignal(signal.SIGINT) is signal.default_int_handler
    with process.signals_held_back() as held:
        signal.raise_signal(signal.SIGINT)
        assert held.take() == [signal.SIGINT]


def test_a_warning_ends_nothing(capsys):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        process.warn("careful")
    assert capsys.readouterr().err == "warning: careful\n"
