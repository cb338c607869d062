"""Crash consistency: the system calls of a save are recorded, and replayed up to every moment.

Three disks are tried at every moment: one that has kept everything in order, one that has kept names but lost all data
that was not synced, and one that has kept data but lost all changes of names that were not synced. On each, what was
there before loads, or what was to come.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path

import numpy as np
import pytest

from spherevec.model import KeyedVectors, Model

WRITER = """
    import sys
    from test_crash_consistency import a_model
    a_model(1).save(sys.argv[1], overwrite=True)
"""
CALLS = (
    "openat,write,pwrite64,rename,renameat,renameat2,mkdir,mkdirat,unlink,unlinkat,rmdir,fsync,ftruncate,link,linkat"
)
LINE = re.compile(r"^(?:\d+ +)?(\w+)\((.*)\) += (-?\d+)")
STRING = re.compile(r'"((?:\\x[0-9a-f]{2})*)"')
DESCRIPTOR = re.compile(r"^(?:AT_FDCWD|(\d+))<((?:\\x[0-9a-f]{2}|[^>])*)>")


def a_model(generation):
    rows = np.zeros((30, 8), np.float32)
    rows[:, generation] = 1
    words = KeyedVectors([f"{generation} {i}" for i in range(30)], rows, np.full(30, generation + 1))
    return Model(words, words, KeyedVectors(None, rows), provenance={"generation": generation})


def recorded(folder):
    """The calls of a save that changed something below `folder`: (name, paths, data)."""
    log = folder.with_name("strace.log")
    path = os.pathsep.join([str(Path(__file__).parent), *sys.path])
    script = [sys.executable, "-B", "-c", textwrap.dedent(WRITER), str(folder / "m")]
    command = ["strace", "-f", "-y", "-xx", "-s", "10000000", "-e", f"trace={CALLS}", "-o", str(log), *script]
    done = subprocess.run(command, env={**os.environ, "PYTHONPATH": path}, capture_output=True, text=True)
    if done.returncode and "ptrace" in done.stderr:
        pytest.skip("may not trace processes here")
    assert done.returncode == 0, done.stderr
    calls = []
    for line in log.read_text().splitlines():
        found = LINE.match(line)
        if not found or int(found[3]) < 0:
            continue
        name, arguments = found[1], found[2]
        strings = [bytes.fromhex(text.replace("\\x", "")) for text in STRING.findall(arguments)]
        held = DESCRIPTOR.match(arguments)
        base = os.fsdecode(_unhex(held[2])) if held else ""
        if name in ("write", "pwrite64", "fsync", "ftruncate"):
            paths, data = [base], strings[0] if name in ("write", "pwrite64") else b""
        else:
            held_all = re.findall(r"(?:AT_FDCWD|\d+)<((?:\\x[0-9a-f]{2})*)>", arguments)
            bases = [_unhex(text).decode() for text in held_all] + [""] * len(strings)
            paths = [str(Path(base, os.fsdecode(one))) for base, one in zip(bases, strings, strict=False)]
            data = b""
        if name == "openat" and "O_CREAT" not in arguments:
            continue
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

    def apply(self, name, paths, data):
        first = paths[0]
        if name == "openat":
            self.files.setdefault(first, [b"", 0])
        elif name in ("write", "pwrite64"):
            self.files[first] = [self.files[first][0] + data, self.files[first][1]]
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

    def write(self, folder, lose_data):
        shutil.rmtree(folder, ignore_errors=True)
        for path, (content, synced) in self.files.items():
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_bytes(content[:synced] if lose_data else content)


NAMES = ("rename", "renameat", "renameat2", "renameat2:exchange", "unlink", "unlinkat", "link", "linkat")


def test_every_moment_of_a_save_is_survived(tmp_path):
    if shutil.which("strace") is None:
        pytest.skip("needs strace")
    place = tmp_path.resolve() / "place"
    place.mkdir()
    a_model(0).save(place / "m")
    before = {str(path.relative_to(place)): [path.read_bytes()] * 2 for path in (place / "m").iterdir()}
    before = {path: [content, len(content)] for path, (content, _) in before.items()}
    calls = recorded(place)
    assert {"openat", "write", "fsync", "renameat2:exchange"} <= {name for name, _, _ in calls}, "not what was recorded"
    seen = []
    for moment in range(len(calls) + 1):
        ordered, behind = Disk(before), Disk(before)
        for name, paths, data in calls[:moment]:
            ordered.apply(name, paths, data)
        # The changes of names since the last sync of the folder that they were made in are lost.
        syncs = [i for i, (name, paths, _) in enumerate(calls[:moment]) if name == "fsync" and paths == ["."]]
        synced = max(syncs, default=-1)
        for number, (name, paths, data) in enumerate(calls[:moment]):
            if number <= synced or name not in NAMES:
                behind.apply(name, paths, data)
        for disk, lose_data in ((ordered, False), (ordered, True), (behind, False)):
            disk.write(tmp_path / "replay", lose_data)
            model = Model.load(tmp_path / "replay" / "m", verify=True, mmap=False)
            generation = model.provenance["generation"]
            assert model.words.names == a_model(generation).words.names
            assert (model.docs.vectors[:, generation] == 1).all()
            seen.append(generation)
    assert len(calls) > 25
    assert seen[0] == 0 and seen[-1] in (0, 1) and seen[-3] == 1 and set(seen) == {0, 1}
