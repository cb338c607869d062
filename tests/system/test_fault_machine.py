"""Train, kill, resume, save, replace, load, update and remove in any order, with faults at calls that change files.

The invariant is always the same: what was complete stays loadable, and nothing else ever appears. A process with a
shim below its C library runs the machine; each step runs in a fork of it, which a fault may end.

    COUNTS=counts.jsonl MINUTES=7 python -m pytest tests/system/test_fault_machine.py      a piece of a long campaign

A campaign adds a line to its file for every 25 sequences, with their seed, and goes on with the next seed.
"""

from __future__ import annotations

import ctypes
import errno
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, seed, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule, run_state_machine_as_test

import spherevec
from spherevec.errors import SpherevecError
from spherevec.model import KeyedVectors, Model
from spherevec.storage.files import atomic_file
from spherevec.training import checkpoint

KILL, HALF_A_WRITE, INTERRUPT = 0, -1, -2
LASTS = {errno.ENOSPC, errno.EROFS}
ACTIONS = st.sampled_from([KILL, errno.ENOSPC, errno.EIO, errno.EROFS, errno.EACCES, HALF_A_WRITE, INTERRUPT])
CALLS = st.one_of(st.just(-1), st.integers(0, 140))
TEXTS = [[f"w{(i * j) % 7}" for j in range(1, 9)] for i in range(1, 30)]
MORE = [[f"w{(i * j) % 9}" for j in range(1, 9)] for i in range(30, 36)]
SETTINGS: dict[str, Any] = {"vector_size": 4, "min_count": 1, "threads": 1, "epochs": 2, "window": 2}
DONE, REFUSED, DEFECT, INTERRUPTED = 0, 1, 3, 4
ENDINGS = {DONE: "done", REFUSED: "refused", INTERRUPTED: "interrupted", -9: "killed"}


def a_model(generation):
    rows = np.zeros((5, 4), np.float32)
    rows[:, generation % 4] = 1
    words = KeyedVectors([f"{generation} {i}" for i in range(5)], rows)
    return Model(words, docs=KeyedVectors(None, rows), provenance={"generation": generation})


class Machine(RuleBasedStateMachine):
    expected: Any = None  # the bits of a training that nothing disturbs
    expected_update: Any = None  # those of an update
    endings: ClassVar[Counter[str]] = Counter()

    def __init__(self):
        super().__init__()
        self.folder = Path(tempfile.mkdtemp(prefix="machine-"))
        self.model, self.file, self.trained, self.updated, self.generation = None, None, False, False, 0

    def teardown(self):
        shutil.rmtree(self.folder)

    def forked(self, work, calls, action):
        """How a step ended that ran in a process of its own, with a fault after so many calls."""
        child = os.fork()
        if child == 0:
            code = DEFECT
            try:
                signal.signal(signal.SIGINT, signal.default_int_handler)
                ctypes.CDLL(None).fault_arm(ctypes.c_long(calls), action, int(action in LASTS))
                work()
                code = DONE
            except SpherevecError:
                code = REFUSED
            except KeyboardInterrupt:
                code = INTERRUPTED if action == INTERRUPT else DEFECT
            except BaseException as error:
                os.write(2, f"{type(error).__name__}: {error}\n".encode())
            finally:
                os._exit(code)
        _, status = os.waitpid(child, 0)
        code = os.waitstatus_to_exitcode(status)
        assert code in ((DONE,) if calls < 0 or action == HALF_A_WRITE else ENDINGS), code
        type(self).endings[ENDINGS[code]] += 1
        return code

    @rule(calls=CALLS, action=ACTIONS)
    def save(self, calls, action):
        self.generation += 1
        model = a_model(self.generation)
        code = self.forked(lambda: model.save(self.folder / "m", overwrite=True), calls, action)
        found = self.loaded()
        assert found == self.generation or (code != DONE and found == self.model), (found, self.model, code)
        self.model = found

    @rule(calls=CALLS, action=ACTIONS)
    def write(self, calls, action):
        self.generation += 1

        def work(text=str(self.generation)):
            with atomic_file(self.folder / "f", overwrite=True) as path:
                path.write_text(text)

        code = self.forked(work, calls, action)
        found = (self.folder / "f").read_text() if (self.folder / "f").exists() else None
        assert found == str(self.generation) or (code != DONE and found == self.file)
        self.file = found

    @rule(calls=CALLS, action=ACTIONS)
    def train(self, calls, action):
        """From the beginning, or from where a fault has left the last one."""
        out, unfinished = self.folder / "t", self.folder / "t.checkpoint"

        def finish(model):
            model.save(out, overwrite=True)
            checkpoint.remove(unfinished)

        def work():
            saving = {"checkpoint": unfinished, "checkpoint_every": "1e", "resume": True, "finish": finish}
            spherevec.train(TEXTS, workdir=self.folder, **saving, **SETTINGS)

        code = self.forked(work, calls, action)
        assert code != DONE or out.exists()
        self.trained = self.trained or out.exists()

    @rule(calls=CALLS, action=ACTIONS)
    def update(self, calls, action):
        """The trained model, in a folder of its own; from the beginning, or from where a fault has left it."""
        out, unfinished = self.folder / "u", self.folder / "u.checkpoint"
        if not self.trained:
            return

        def finish(model):
            model.save(out, overwrite=True)
            checkpoint.remove(unfinished)

        def work():
            saving = {"checkpoint": unfinished, "checkpoint_every": "1e", "resume": True, "finish": finish}
            Model.load(self.folder / "t").update(MORE, workdir=self.folder, threads=1, **saving)

        code = self.forked(work, calls, action)
        assert code != DONE or out.exists()
        self.updated = self.updated or out.exists()

    @rule(calls=CALLS, action=ACTIONS, id=st.sampled_from(["0", "7", "28"]))
    def remove_document(self, calls, action, id):
        """In place: the updated model without a document, which a later update does not know of."""
        if not self.updated:
            return

        def work():
            model = Model.load(self.folder / "u")
            if id in model.documents.ids:
                model.remove([id]).save(self.folder / "u", overwrite=True)

        code = self.forked(work, calls, action)
        there = id in Model.load(self.folder / "u").documents.ids
        assert not (code == DONE and there)

    @rule()
    def remove(self):
        shutil.rmtree(self.folder / "m", ignore_errors=True)
        self.model = None

    def loaded(self):
        if not (self.folder / "m").exists():
            return None
        model = Model.load(self.folder / "m", verify=True)
        generation = model.provenance["generation"]
        assert list(model.words.names) == list(a_model(generation).words.names)
        return generation

    @invariant()
    def what_was_complete_is_there(self):
        assert self.loaded() == self.model
        if self.trained:
            model = Model.load(self.folder / "t", verify=True)
            assert np.array_equal(model.words.vectors, type(self).expected)
        if self.updated:
            model = Model.load(self.folder / "u", verify=True)
            assert np.array_equal(model.words.vectors, type(self).expected_update)
            assert len(model.docs) == len(model.documents)
            # Words of documents that found no room while the model was trained are warned about and left out.
            assert model.terms is None or model.terms.n_documents == len(model.docs)
        for name in ("t.checkpoint", "u.checkpoint"):
            if checkpoint.find(self.folder / name):
                assert checkpoint.load(self.folder / name) is not None

    @invariant()
    def nothing_else_appears(self):
        visible = {path.name for path in self.folder.iterdir() if not path.name.startswith(".")}
        assert visible <= {"m", "f", "t", "t.checkpoint", "u", "u.checkpoint"}, visible


def test_faults_in_any_order_lose_nothing(tmp_path):
    compiler = shutil.which("gcc") or shutil.which("cc")
    if compiler is None or sys.platform != "linux":
        pytest.skip("needs a C compiler on Linux")
    shim = tmp_path / "shim.so"
    source = Path(__file__).with_name("fault_shim.c")
    subprocess.run([compiler, "-shared", "-fPIC", "-o", shim, source, "-ldl"], check=True)
    environment = {**os.environ, "LD_PRELOAD": str(shim), "TMPDIR": str(tmp_path)}
    done = subprocess.run([sys.executable, __file__], env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-3000:] + done.stdout[-3000:]


def run_sequences(count, **how):
    run_state_machine_as_test(
        Machine,
        settings=settings(
            max_examples=count,
            stateful_step_count=12,
            deadline=None,
            database=None,
            suppress_health_check=list(HealthCheck),
            **how,
        ),
    )


def run_campaign(counts, seconds):
    """Goes on with the seed after the last one in the file of counts."""
    first = len(counts.read_text().splitlines()) if counts.exists() else 0
    ends = time.monotonic() + seconds
    while time.monotonic() < ends:
        first, started = first + 1, time.monotonic()
        Machine.endings.clear()
        seed(first)(Machine)
        run_sequences(25, phases=[Phase.generate])
        line = {"seed": first, "sequences": 25, "steps": dict(Machine.endings), "seconds": time.monotonic() - started}
        with counts.open("a") as file:
            file.write(json.dumps(line) + "\n")


if __name__ == "__main__":
    undisturbed = spherevec.train(TEXTS, **SETTINGS)
    Machine.expected = np.array(undisturbed.words.vectors)
    Machine.expected_update = np.array(undisturbed.update(MORE, threads=1).words.vectors)
    if "COUNTS" in os.environ:
        run_campaign(Path(os.environ["COUNTS"]), 60 * float(os.environ.get("MINUTES", "7")))
    else:
        run_sequences(12, derandomize=True)
