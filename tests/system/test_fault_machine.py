"""Commands in any order on one model, with faults at calls that change files, beside a plain record of what must hold.

Train, resume, save, replace, load, update, remove, find and edit topics, search, explore. What was complete stays
loadable, holds exactly the documents and topics that it should, and nothing else ever appears. A process with a shim
below its C library runs the machine; each step runs in a fork of it, which a fault may end: a kill, a full disk, ….

    COUNTS=counts.jsonl SEEDS=1-80 python -m pytest tests/system/test_fault_machine.py      2,000 sequences

A campaign adds a line to its file for the 25 sequences of each seed; called again, it does the seeds that are missing.
"""

from __future__ import annotations

import ctypes
import errno
import inspect
import json
import os
import random
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
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

import spherevec
from spherevec.cli import main
from spherevec.errors import SpherevecError
from spherevec.model import KeyedVectors, Model
from spherevec.storage.files import atomic_file
from spherevec.training import checkpoint

KILL, HALF_A_WRITE, INTERRUPT = 0, -1, -2
LASTS = {errno.ENOSPC, errno.EROFS}
ACTIONS = st.sampled_from([KILL, errno.ENOSPC, errno.EIO, errno.EROFS, errno.EACCES, HALF_A_WRITE, INTERRUPT])
CALLS = st.one_of(st.just(-1), st.integers(0, 140))
WORDS = {str(i): [f"w{(i * j) % 7}" for j in range(1, 9)] for i in range(29)}
NEW_WORDS = {str(i): [f"w{(i * j) % 9}" for j in range(1, 9)] for i in (7, *range(29, 35))}  # 7 is replaced
SETTINGS: dict[str, Any] = {"vector_size": 4, "min_count": 1, "threads": 1, "epochs": 2, "window": 2}
DONE, REFUSED, DEFECT, INTERRUPTED = 0, 1, 3, 4
ENDINGS = {DONE: "done", REFUSED: "refused", INTERRUPTED: "interrupted", -9: "killed"}


def records(documents):
    return [{"id": id, "t": " ".join(words), "kind": words[0]} for id, words in documents.items()]


READING: dict[str, Any] = {"text_field": "t", "id_field": "id", "keep": ["kind:category"]}


def topics_of(model):
    """The numbers and titles of the topics that a model keeps."""
    return None if model.kept_topics is None else {t["number"]: t["title"] for t in model.kept_topics.about["topics"]}


def a_model(generation):
    rows = np.zeros((5, 4), np.float32)
    rows[:, generation % 4] = 1
    words = KeyedVectors([f"{generation} {i}" for i in range(5)], rows)
    return Model(words, docs=KeyedVectors(None, rows), provenance={"generation": generation})


class Machine(RuleBasedStateMachine):
    expected: Any = None  # the bits of a training that nothing disturbs
    expected_update: Any = None  # those of an update
    begun: Any = None  # a folder with a trained model, an updated one, and that with its topics
    found: Any = None  # those topics
    endings: ClassVar[Counter[str]] = Counter()

    def __init__(self):
        super().__init__()
        self.folder = Path(tempfile.mkdtemp(prefix="machine-"))
        self.model, self.file, self.trained, self.generation = None, None, False, 0
        self.documents: dict[str, list[str]] | None = None  # what the updated model holds
        self.topics: dict[int, str | None] | None = None  # that it keeps

    @initialize(begun=st.sampled_from(["with-topics", "updated", ""]))
    def begin(self, begun):
        """Most sequences have models from the start: what comes after them needs more room."""
        if begun:
            shutil.copytree(f"{type(self).begun}/trained", self.folder / "t")
            shutil.copytree(f"{type(self).begun}/{begun}", self.folder / "u")
            self.trained, self.documents = True, {**WORDS, **NEW_WORDS}
            self.topics = type(self).found if begun == "with-topics" else None

    def teardown(self):
        shutil.rmtree(self.folder)

    def commanded(self, arguments, calls, action, **how):
        """How a command on the updated model ended."""

        def work():
            null = os.open(os.devnull, os.O_WRONLY)
            os.dup2(null, 1)
            os.dup2(null, 2)
            if code := main([arguments[0], str(self.folder / "u"), *arguments[1:], "--quiet"]):
                raise {2: SpherevecError, 130: KeyboardInterrupt}.get(code, RuntimeError)(f"exit code {code}")

        return self.forked(work, calls, action, **how)

    def forked(self, work, calls, action, may_refuse=False):
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
        undisturbed = (DONE, REFUSED) if may_refuse else (DONE,)
        assert code in (undisturbed if calls < 0 or action == HALF_A_WRITE else ENDINGS), code
        step = next(frame.function for frame in inspect.stack()[1:] if frame.function != "commanded")
        type(self).endings[f"{step} {ENDINGS[code]}"] += 1
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
            spherevec.train(records(WORDS), workdir=self.folder, **READING, **saving, **SETTINGS)

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
            Model.load(self.folder / "t").update(records(NEW_WORDS), workdir=self.folder, threads=1, **saving)

        code = self.forked(work, calls, action)
        self.becomes({**WORDS, **NEW_WORDS}, lambda topics: topics is None, code)

    def becomes(self, documents, fits, code):
        """The updated model holds what it should after a step, or what it held before if the step did not succeed.

        Args:
            fits: whether the topics that it keeps may be these.
        """
        if not (self.folder / "u").exists():
            assert code != DONE and self.documents is None
            return
        model = Model.load(self.folder / "u", verify=True)
        ids, now = set(model.documents.ids), topics_of(model)
        if code != DONE and self.documents is not None and (ids, now) == (set(self.documents), self.topics):
            return
        assert ids == set(documents) and fits(now), (ids, now, self.topics)
        self.documents, self.topics = documents, now

    @precondition(lambda self: self.documents)
    @rule(calls=CALLS, action=ACTIONS, luck=st.randoms(use_true_random=False))
    def remove_document(self, calls, action, luck):
        """In place: the updated model without a document, which a later update does not know of."""
        id = luck.choice(sorted(self.documents))

        def work():
            Model.load(self.folder / "u").remove([id]).save(self.folder / "u", overwrite=True)

        code = self.forked(work, calls, action)
        left = {key: words for key, words in self.documents.items() if key != id}
        self.becomes(left, lambda topics: topics == self.topics, code)

    @precondition(lambda self: self.documents)
    @rule(calls=CALLS, action=ACTIONS, k=st.integers(2, 3))
    def find_topics(self, calls, action, k):
        code = self.commanded(["topics", "--k", str(k), "--keep"], calls, action)
        self.becomes(self.documents, lambda topics: list(topics) == list(range(k)), code)

    @precondition(lambda self: self.topics)
    @rule(calls=CALLS, action=ACTIONS, edit=st.sampled_from(["rename", "merge", "drop", "split"]))
    def edit_topics(self, calls, action, edit):
        """Topics that an edit does not name stay as they are."""
        first, last = min(self.topics), max(self.topics)
        self.generation += 1
        title = f"title {self.generation}"
        changes = {"rename": f"{last}={title}", "merge": f"{first},{last}", "drop": str(last), "split": str(last)}
        named = {first, last} if edit == "merge" else {last}
        others = {number: title for number, title in self.topics.items() if number not in named}

        def fits(topics):
            more = {number: title for number, title in topics.items() if others.get(number, title) != title}
            new = set(topics) - set(others)
            counts = {"rename": 1, "merge": 1, "drop": 0, "split": 2}
            renamed = edit != "rename" or topics.get(last) == title
            return not more and set(others) <= set(topics) and len(new) == counts[edit] and renamed

        may_refuse = edit != "rename"  # of one topic, or one document
        code = self.commanded(["topics", f"--{edit}", changes[edit], "--keep"], calls, action, may_refuse=may_refuse)
        self.becomes(self.documents, fits, code)

    @precondition(lambda self: self.documents)
    @rule(word=st.integers(0, 9))
    def search(self, word):
        """Exactly the documents with the word, and none that is gone."""
        model = Model.load(self.folder / "u")
        having = {id for id, words in self.documents.items() if f"w{word}" in words}
        for mode in ("lexical", "hybrid") if model.terms is not None else ("dense",):
            hits = model.search(f"w{word}", topn=100, mode=mode) if word < 9 else []
            found = [hit.id for hit in hits]
            assert len(found) == len(set(found)) and set(found) <= set(self.documents)
            assert having == set(found) if mode == "lexical" else True
            scores = [hit.score for hit in hits]
            assert scores == sorted(scores, reverse=True)
        kind = f"w{word}"
        rows = model.documents.rows_where({"kind": kind})
        assert {model.documents.ids[row] for row in rows} == {
            id for id, words in self.documents.items() if words[0] == kind
        }

    @precondition(lambda self: self.documents)
    @rule(calls=CALLS, action=ACTIONS)
    def explore(self, calls, action):
        page = self.folder / "page.html"
        before = page.read_text("utf-8") if page.exists() else None
        code = self.commanded(["explore", "--out", str(page), "--force"], calls, action)
        now = page.read_text("utf-8") if page.exists() else None
        assert code == DONE or now == before or now is not None
        assert now is None or now.rstrip().endswith("</html>")

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
        if self.documents is not None:
            model = Model.load(self.folder / "u", verify=True)
            assert np.array_equal(model.words.vectors, type(self).expected_update)
            assert set(model.documents.ids) == set(self.documents)
            assert topics_of(model) == self.topics and len(model.docs) == len(model.documents)
            # Words of documents that found no room while the model was trained are warned about and left out.
            assert model.terms is None or model.terms.n_documents == len(model.docs)
        for name in ("t.checkpoint", "u.checkpoint"):
            if checkpoint.find(self.folder / name):
                assert checkpoint.load(self.folder / name) is not None

    @invariant()
    def nothing_else_appears(self):
        visible = {path.name for path in self.folder.iterdir() if not path.name.startswith(".")}
        assert visible <= {"m", "f", "t", "t.checkpoint", "u", "u.checkpoint", "page.html"}, visible


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


def run_every_step():
    """Once without a fault, which a few sequences of chance may not give."""
    machine = Machine()
    machine.begin("with-topics")
    machine.save(-1, KILL)
    machine.write(-1, KILL)
    machine.edit_topics(-1, KILL, "rename")
    machine.find_topics(-1, KILL, 2)
    machine.explore(-1, KILL)
    machine.search(1)
    machine.remove_document(-1, KILL, random.Random(0))
    machine.update(-1, KILL)
    machine.train(-1, KILL)
    machine.what_was_complete_is_there()
    machine.nothing_else_appears()
    machine.teardown()
    assert len(Machine.endings) == 8 and all(ending.endswith(" done") for ending in Machine.endings), Machine.endings


def run_campaign(counts, seeds):
    first, last = map(int, seeds.split("-"))
    done = {json.loads(line)["seed"] for line in counts.read_text().splitlines()} if counts.exists() else set()
    for number in sorted(set(range(first, last + 1)) - done):
        started = time.process_time()
        Machine.endings.clear()
        seed(number)(Machine)
        run_sequences(25, phases=[Phase.generate])
        steps, spent = dict(Machine.endings), round(time.process_time() - started, 2)
        with counts.open("a") as file:
            file.write(json.dumps({"seed": number, "sequences": 25, "steps": steps, "seconds": spent}) + "\n")


if __name__ == "__main__":
    undisturbed = spherevec.train(records(WORDS), **READING, **SETTINGS)
    Machine.expected = np.array(undisturbed.words.vectors)
    updated = undisturbed.update(records(NEW_WORDS), threads=1)
    Machine.expected_update = np.array(updated.words.vectors)
    with tempfile.TemporaryDirectory() as scratch:
        undisturbed.save(f"{scratch}/trained")
        updated.save(f"{scratch}/updated")
        updated.search("w1")
        updated.topics(k=3, threads=1).keep()
        updated.save(f"{scratch}/with-topics")
        # Compiles and imports what the steps run.
        assert main(["topics", f"{scratch}/updated", "--k", "2", "--quiet"]) == 0
        assert main(["explore", f"{scratch}/updated", "--out", f"{scratch}/page.html", "--quiet"]) == 0
        Machine.begun, Machine.found = scratch, topics_of(updated)
        if "COUNTS" in os.environ:
            run_campaign(Path(os.environ["COUNTS"]), os.environ["SEEDS"])
        else:
            run_every_step()
            run_sequences(40, derandomize=True)
