"""An output has one owner at a time, and a dead one owns nothing."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
import threading

import pytest

from spherevec.cli.exit import exit_code_of
from spherevec.errors import BusyError, SpherevecError
from spherevec.storage import locks
from spherevec.storage.locks import lock_name, owned

OWNER = """
import sys
from spherevec.storage.locks import owned
with owned(sys.argv[1], run=True):
    print("owned", flush=True)
    sys.stdin.read()
"""


@pytest.fixture
def owner(tmp_path):
    """Another process that owns tmp_path/m until its input is closed or it is killed."""
    with subprocess.Popen(
        [sys.executable, "-c", OWNER, tmp_path / "m"], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        assert process.stdout.readline() == b"owned\n"
        yield process
        if process.poll() is None:
            process.stdin.close()


@pytest.mark.process
def test_a_second_process_is_refused_at_once_with_the_first(owner, tmp_path):
    with pytest.raises(BusyError, match=f"m: process {owner.pid} is writing it"), owned(tmp_path / "m"):
        raise AssertionError("both own it")
    (tmp_path / "link").symlink_to(tmp_path / "m")
    with pytest.raises(BusyError), owned(tmp_path / "link"):
        raise AssertionError("both own it")
    with owned(tmp_path / "other"):
        pass
    owner.stdin.close()
    owner.wait()
    with owned(tmp_path / "m"):
        pass
    assert sorted(path.name for path in tmp_path.iterdir()) == ["link"]


@pytest.mark.process
def test_the_lock_of_a_killed_process_is_taken_over(owner, tmp_path):
    owner.send_signal(signal.SIGKILL)
    owner.wait()
    assert lock_name(tmp_path / "m").exists()
    with owned(tmp_path / "m"):
        assert lock_name(tmp_path / "m").read_text().split()[0] == str(os.getpid())
    assert list(tmp_path.iterdir()) == []


def test_a_thread_may_ask_again_and_others_wait_or_are_refused(tmp_path):
    refused, order = [], []

    def write():
        with owned(tmp_path / "m"):
            order.append("other")

    def run():
        try:
            with owned(tmp_path / "m", run=True):
                order.append("never")
        except BusyError as error:
            refused.append(str(error))

    waiting = threading.Thread(target=write)
    with owned(tmp_path / "m"):
        with owned(tmp_path / "m"):
            waiting.start()
            second = threading.Thread(target=run)
            second.start()
            second.join()
        order.append("first")
    waiting.join()
    assert order == ["first", "other"] and len(refused) == 1 and "another thread" in refused[0]
    assert list(tmp_path.iterdir()) == []


def test_a_whole_run_makes_nobody_wait(tmp_path):
    refused = []

    def write():
        try:
            with owned(tmp_path / "m"):
                pass
        except BusyError as error:
            refused.append(error)

    with owned(tmp_path / "m", run=True):
        thread = threading.Thread(target=write)
        thread.start()
        thread.join()
    assert len(refused) == 1


@pytest.mark.parametrize("kind", ["fifo", "link", "folder"])
def test_what_is_no_lock_neither_hangs_nor_leads_elsewhere(tmp_path, kind):
    lock, elsewhere = lock_name(tmp_path / "m"), tmp_path / "elsewhere"
    match kind:
        case "fifo":
            os.mkfifo(lock)
        case "link":
            lock.symlink_to(elsewhere)
        case "folder":
            lock.mkdir()
    with pytest.raises(SpherevecError, match="in the way"), owned(tmp_path / "m"):
        raise AssertionError("taken for a lock")
    assert not elsewhere.exists()


def test_a_disk_without_locks_is_said_so(tmp_path, monkeypatch):
    def no_locks(descriptor):
        raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))

    monkeypatch.setattr(locks, "exclusive_lock", no_locks)
    with pytest.warns(UserWarning, match="m: this disk has no locks"), owned(tmp_path / "m"):
        pass


def test_folders_on_the_way_are_made_and_do_not_stay_empty(tmp_path):
    with owned(tmp_path / "a" / "b" / "m"):
        assert (tmp_path / "a" / "b").is_dir()
    assert list(tmp_path.iterdir()) == []
    with owned(tmp_path / "a" / "b" / "m") as target:
        target.write_text("")
    assert (tmp_path / "a" / "b" / "m").exists()


def test_a_working_directory_that_is_gone_is_said_so(tmp_path, monkeypatch, capsys):
    (tmp_path / "gone").mkdir()
    monkeypatch.chdir(tmp_path / "gone")
    (tmp_path / "gone").rmdir()
    with pytest.raises(SpherevecError, match=r"^m: the working directory is gone; change to another \(cd\)"):
        locks.resolved("m")
    assert exit_code_of(os.getcwd) == 2
    assert capsys.readouterr().err == "spherevec: error: the working directory is gone; change to another (cd)\n"


def test_a_file_without_a_name_is_no_working_directory(capsys):
    def fails():
        raise FileNotFoundError("no such program")

    assert exit_code_of(fails) == 2
    assert capsys.readouterr().err == "spherevec: error: reading or writing failed: no such program\n"


@pytest.mark.process
def test_a_forked_child_owns_nothing(tmp_path):
    with owned(tmp_path / "m"):
        child = os.fork()
        if child == 0:
            try:
                with owned(tmp_path / "m"):
                    os._exit(1)
            except BusyError:
                os._exit(0)
        assert os.waitpid(child, 0)[1] == 0
