"""Crash consistency: the system calls of everything that is saved are recorded, and replayed up to every moment.

Several disks are tried at every moment: one that has kept everything in order, one that has kept names but lost all
data that was not synced, one that has kept data but lost all changes of names that were not synced, and some on which
each file has kept a part of what was not synced, the rest cut off or zeros. On each, what was there before loads, or
what was to come.
"""

from __future__ import annotations

import hashlib
import importlib
import json
import os
import random
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import spherevec
from spherevec.cli import main
from spherevec.model import KeyedVectors, Model
from spherevec.training import checkpoint

WRITER = "import sys, test_crash_consistency as here; here.SCENARIOS[sys.argv[1]].write(here.Path(sys.argv[2]))"
CALLS = "openat,lseek,write,pwrite64,ftruncate,fsync,"
CALLS += "rename,renameat,renameat2,mkdir,mkdirat,unlink,unlinkat,rmdir,link,linkat"
LINE = re.compile(r"^(?:\d+ +)?(\w+)\((.*)\) += (-?\d+)")
STRING = re.compile(r'"((?:\\x[0-9a-f]{2})*)"')
DESCRIPTOR = re.compile(r"^(?:AT_FDCWD|(\d+))<((?:\\x[0-9a-f]{2}|[^>])*)>")


def a_model(generation):
    rows = np.zeros((30, 8), np.float32)
    rows[:, generation] = 1
    words = KeyedVectors([f"{generation} {i}" for i in range(30)], rows, np.full(30, generation + 1))
    return Model(words, words, KeyedVectors(None, rows), provenance={"generation": generation})


def recorded(scenario, folder):
    """The calls of a scenario that changed something below `folder`: (name, paths, data)."""
    log = folder.with_name("strace.log")
    path = os.pathsep.join([str(Path(__file__).parent), *sys.path])
    script = [sys.executable, "-B", "-c", WRITER, scenario, str(folder / "m")]
    command = ["strace", "-f", "-y", "-xx", "-s", "10000000", "-e", f"trace={CALLS}", "-o", str(log), *script]
    done = subprocess.run(command, env={**os.environ, "PYTHONPATH": path}, capture_output=True, text=True)
    if done.returncode and "ptrace" in done.stderr:
        pytest.skip("may not trace processes here")
    assert done.returncode == 0, done.stderr
    calls = []
    begun = {}  # calls of several threads are cut in two
    for line in log.read_text().splitlines():
        thread, _, rest = line.partition(" ")
        if rest.rstrip().endswith("<unfinished ...>"):
            begun[thread] = line.rpartition("<unfinished ...>")[0]
            continue
        if "resumed>" in rest[:40]:
            line = begun.pop(thread) + line.partition("resumed>")[2]
        found = LINE.match(line)
        if not found or int(found[3]) < 0:
            continue
        name, arguments = found[1], found[2]
        strings = [bytes.fromhex(text.replace("\\x", "")) for text in STRING.findall(arguments)]
        held = DESCRIPTOR.match(arguments)
        base = os.fsdecode(_unhex(held[2])) if held else ""
        if name in ("write", "pwrite64", "fsync", "ftruncate"):
            paths, data = [base], strings[0] if name in ("write", "pwrite64") else b""
        elif name == "lseek":
            paths, data = [base], int(found[3])
        else:
            held_all = re.findall(r"(?:AT_FDCWD|\d+)<((?:\\x[0-9a-f]{2})*)>", arguments)
            bases = [_unhex(text).decode() for text in held_all] + [""] * len(strings)
            paths = [str(Path(base, os.fsdecode(one))) for base, one in zip(bases, strings, strict=False)]
            data = b""
        if name == "openat" and "O_CREAT" not in arguments and "O_TRUNC" not in arguments:
            continue
        if name == "openat" and "O_TRUNC" in arguments:
            name = "openat:truncate"
        inside = [str(Path(one).relative_to(folder)) for one in paths if one.startswith(f"{folder}/")]
        if inside or (name == "fsync" and paths == [str(folder)]):
            exchange = "RENAME_EXCHANGE" in arguments
            calls.append((f"{name}:exchange" if exchange else name, inside or ["."], data))
    return calls


def _unhex(text):
    return bytes.fromhex(text.replace("\\x", ""))


class Disk:
    """Names and contents, with what is certain to be on the disk beside what is only in memory."""

    def __init__(self, files):
        self.files = dict(files)  # path: [content, how much of it is synced]
        self.places = {}  # where the next write goes, if not to the end

    def apply(self, name, paths, data):
        first = paths[0]
        if name == "openat":
            self.files.setdefault(first, [b"", 0])
        elif name == "openat:truncate":
            self.files[first] = [b"", 0]
            self.places.pop(first, None)
        elif name in ("write", "pwrite64"):
            content, synced = self.files[first]
            place = self.places.get(first, len(content))
            self.files[first] = [content[:place] + data + content[place + len(data) :], min(synced, place)]
            if first in self.places:
                self.places[first] += len(data)
        elif name == "lseek":
            self.places[first] = data
        elif name == "fsync" and first in self.files:
            self.files[first] = [self.files[first][0], len(self.files[first][0])]
        elif name in ("unlink", "unlinkat"):
            self.files.pop(first, None)
        elif name.endswith(":exchange"):
            swapped = {first: paths[1], paths[1]: first}
            self.files = {self._moved(path, swapped): content for path, content in self.files.items()}
        elif name.startswith("rename"):
            self.files = {self._moved(path, {first: paths[1]}): content for path, content in self.files.items()}

    @staticmethod
    def _moved(path, moves):
        for old, new in moves.items():
            if path == old or path.startswith(f"{old}/"):
                return new + path[len(old) :]
        return path

    def lost(self, luck=None):
        """The disk without what was not synced; with `luck`, with a part of it."""
        kept = {}
        for path, (content, synced) in self.files.items():
            length = synced if luck is None else luck.randint(synced, len(content))
            zeros = luck is not None and luck.random() < 0.3
            kept[path] = [content[:length] + bytes(len(content) - length) * zeros, length]
        return Disk(kept)

    def visible(self):
        """What a reader may see: hidden names are nobody's business."""
        return {path: content for path, (content, _) in self.files.items() if not path.startswith(".")}

    def write(self, folder):
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        for path, (content, _) in self.files.items():
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_bytes(content)


NAMES = ("rename", "renameat", "renameat2", "renameat2:exchange", "unlink", "unlinkat", "link", "linkat")


# --- what is saved ----------------------------------------------------------------------------------------------------

TEXTS = [" ".join(f"w{(i * j) % 7 + 5 * (i % 2)}" for j in range(1, 15)) for i in range(1, 17)]
SETTINGS: dict[str, Any] = {"vector_size": 4, "min_count": 1, "threads": 1, "window": 2}


class Scenario:
    """Something that is saved over what was there: `state` tells the two apart, and raises where it is neither."""

    needs: tuple[str, ...] = ()

    def prepare(self, path):
        raise NotImplementedError

    def write(self, path):
        raise NotImplementedError

    def state(self, path):
        raise NotImplementedError


class SavedModel(Scenario):
    def prepare(self, path):
        a_model(0).save(path)

    def write(self, path):
        a_model(1).save(path, overwrite=True)

    def state(self, path):
        model = Model.load(path, verify=True, mmap=False)
        generation = model.provenance["generation"]
        assert model.words.names == a_model(generation).words.names
        assert (model.docs.vectors[:, generation] == 1).all()
        return generation


class SavedCheckpoint(Scenario):
    """A run that goes on from its first epoch, and saves after each of the others."""

    def prepare(self, path):
        def stop(progress):
            if progress.phase == "training" and progress.epoch == 2:
                raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            self._train(path, progress=stop)
        assert self.state(path) == 0

    def write(self, path):
        self._train(path, resume=True)

    def _train(self, path, **how):
        spherevec.train(TEXTS, checkpoint=path, checkpoint_every="1e", epochs=3, workdir=path.parent, **how, **SETTINGS)

    def state(self, path):
        found = checkpoint.load(path)
        assert found is not None and all(np.isfinite(table).all() for table in found.tables.values())
        return int(found.position.epoch == 3)


class UpdatedModel(Scenario):
    """An update in place, with its own checkpoints beside it."""

    def prepare(self, path):
        spherevec.train(TEXTS, epochs=2, **SETTINGS).save(path)
        (path.parent / "more.txt").write_text("w1 w2 fresh fresh\nw3 fresh w4\n")

    def write(self, path):
        line = ["update", str(path), str(path.parent / "more.txt"), "--out", str(path), "--force", "--quiet"]
        assert main([*line, "--threads", "1", "--epochs", "2", "--checkpoint-every", "1e"]) == 0

    def state(self, path):
        model = Model.load(path, verify=True, mmap=False)
        beside = path.with_name("m.checkpoint")
        if checkpoint.find(beside):
            assert checkpoint.load(beside) is not None
        return {16: 0, 18: 1}[len(model.docs)]


class SavedTopics(Scenario):
    def prepare(self, path):
        model = spherevec.train(TEXTS, epochs=2, **SETTINGS)
        model.save(path.with_name("model"))
        model.topics(k=2, threads=1).save(path)

    def write(self, path):
        line = ["topics", str(path.with_name("model")), "--k", "2", "--seed", "3", "--threads", "1", "--out", str(path)]
        assert main([*line, "--force", "--quiet"]) == 0

    def state(self, path):
        load_topics = importlib.import_module("spherevec.topics.persistence").load_topics
        found = load_topics(path, Model.load(path.with_name("model"), mmap=False))
        assert len((path / "assignments.csv").read_text().splitlines()) == 17
        assert len(json.loads((path / "topics.json").read_text())["topics"]) == len(found)
        return int((path / "report.html").exists())  # which the old folder did not have


class SavedPage(Scenario):
    def prepare(self, path):
        spherevec.train(TEXTS, epochs=1, **SETTINGS).save(path.with_name("model"))
        path.write_text("an old page")

    def write(self, path):
        line = ["explore", str(path.with_name("model")), "--out", str(path), "--force", "--quiet", "--threads", "1"]
        assert main(line) == 0

    def state(self, path):
        text = path.read_text()
        assert text == "an old page" or (text.startswith("<!") and text.rstrip().endswith("</html>"))
        return int(text != "an old page")


class Exports(Scenario):
    """Other files and folders that commands write, over older ones; each by itself is the old or the new."""

    needs = ("pyarrow",)
    formats = ("word2vec", "npy", "parquet", "projector")  # a text, two files, a library's own writer, a folder

    def prepare(self, path):
        for name, seed in (("old", 1), ("new", 2)):
            spherevec.train(TEXTS, epochs=1, seed=seed, **SETTINGS).save(path.with_name(f"model-{name}"))
        (path.parent / "texts.txt").write_text("w1 w2\nw3 w4 w5\n")
        for name in ("new", "old"):
            self._write(path, name)
            path.with_name(name).mkdir()
            for one in path.parent.glob("m-*"):
                copy = shutil.copytree if one.is_dir() else shutil.copyfile
                copy(one, path.with_name(name) / one.name)

    def _write(self, path, which):
        model = str(path.with_name(f"model-{which}"))
        lines = [["export", model, "--words", f"{path}-{name}", "--format", name] for name in self.formats]
        texts = ["infer", model, str(path.with_name("texts.txt")), "--threads", "1"]
        lines.append([*texts, "--out", f"{path}-vectors.npy", "--ids", f"{path}-ids.txt"])
        for line in lines:
            assert main([*line, "--force"]) == 0, line

    def write(self, path):
        self._write(path, "new")

    def state(self, path):
        places = (path.parent, path.with_name("old"), path.with_name("new"))
        now, old, new = ({one.name: contents(one) for one in place.glob("m-*")} for place in places)
        assert now.keys() == new.keys()
        assert [name for name in now if now[name] not in (old[name], new[name])] == []
        return int(now == new)


def contents(path):
    """The bytes of a file, or of all files of a folder by name."""
    return path.read_bytes() if path.is_file() else {file.name: file.read_bytes() for file in path.iterdir()}


SCENARIOS = {
    "model": SavedModel(),
    "checkpoint": SavedCheckpoint(),
    "update": UpdatedModel(),
    "topics": SavedTopics(),
    "page": SavedPage(),
    "exports": Exports(),
}


@pytest.mark.parametrize("name", list(SCENARIOS))
def test_every_moment_is_survived(tmp_path, name):
    if shutil.which("strace") is None:
        pytest.skip("needs strace")
    scenario = SCENARIOS[name]
    for module in scenario.needs:
        pytest.importorskip(module)
    place, replay = tmp_path.resolve() / "place", tmp_path / "replay"
    place.mkdir()
    scenario.prepare(place / "m")
    there = {str(path.relative_to(place)): path.read_bytes() for path in place.rglob("*") if path.is_file()}
    before = {path: [content, len(content)] for path, content in there.items()}
    calls = recorded(name, place)
    assert {"openat:truncate", "write", "fsync"} <= {call for call, _, _ in calls}, "not what was recorded"
    assert any(call.startswith(("renameat2", "rename")) for call, _, _ in calls)
    luck, known, states = random.Random(1), {}, []

    def state(disk):
        """What a reader finds on a disk; each content is looked at once."""
        seen = disk.visible()
        key = hashlib.sha256(
            repr(sorted((path, hashlib.sha256(data).digest()) for path, data in seen.items())).encode()
        )
        if key.digest() not in known:
            disk.write(replay)
            known[key.digest()] = scenario.state(replay / "m")
        return known[key.digest()]

    for moment in range(len(calls) + 1):
        ordered, behind = Disk(before), Disk(before)
        # The changes of names since the last sync of the folder that they were made in are lost.
        synced = max(
            (i for i, (call, at, _) in enumerate(calls[:moment]) if call == "fsync" and at == ["."]), default=-1
        )
        for number, (call, paths, data) in enumerate(calls[:moment]):
            ordered.apply(call, paths, data)
            if number <= synced or call not in NAMES:
                behind.apply(call, paths, data)
        disks = [ordered, ordered.lost(), behind, ordered.lost(luck), ordered.lost(luck)]
        states += [state(disk) for disk in disks]
    real = {str(path.relative_to(place)): path.read_bytes() for path in place.rglob("*") if path.is_file()}
    assert ordered.visible() == {path: content for path, content in real.items() if not path.startswith(".")}
    assert states[0] == 0 and states[-5] == 1 and set(states) == {0, 1}
