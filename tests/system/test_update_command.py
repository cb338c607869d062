"""`spherevec update` as people call it: other processes, killed processes, one folder for two."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

import spherevec
from spherevec.cli import main

WORDS = [f"{name}{i}" for name in ("sea", "sky", "ash") for i in range(20)]


def lines(n, first, last, seed, key):
    rng = np.random.default_rng(seed)
    rows = ({"key": f"{key}{i}", "text": " ".join(rng.choice(WORDS[first:last], 30)), "team": "x"} for i in range(n))
    return "".join(json.dumps(row) + "\n" for row in rows)


FIELDS = ["--text-field", "text", "--id-field", "key", "--keep", "team"]


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "old.jsonl").write_text(lines(80, 0, 40, 1, "a"))
    (tmp_path / "new.jsonl").write_text(lines(40, 20, 60, 2, "b"))
    settings = ["--vector-size", "16", "--epochs", "10", "--threads", "1", "--quiet"]
    assert main(["train", str(tmp_path / "old.jsonl"), "--out", str(tmp_path / "model"), *FIELDS, *settings]) == 0
    return tmp_path


def test_a_model_grows_on_the_command_line(folder, capsys):
    command = ["update", str(folder / "model"), str(folder / "new.jsonl"), *FIELDS, "--threads", "1"]
    assert main([*command, "--out", str(folder / "second")]) == 0
    told = capsys.readouterr().err
    assert "new words: 'ash" in told and "updated in" in told
    assert "fields: team (category)" in told
    assert "40 added; 20 new words" in told and "mean cosine to before" in told and "Train anew" in told
    grown = spherevec.load(folder / "second", verify=True)
    assert len(grown.docs) == 120 and grown.documents.row_of("b3") == 83
    assert grown.documents.column("team").tolist() == ["x"] * 120
    # The same once more, in place: nothing is added twice.
    again = ["update", str(folder / "second"), str(folder / "new.jsonl"), *FIELDS, "--out", str(folder / "second")]
    assert main([*again, "--force", "--add-only"]) == 0
    told = capsys.readouterr().err
    assert "nothing new" in told and "updated in" not in told
    assert main(["info", str(folder / "second")]) == 0
    assert "updates      1, the last added 40 documents" in capsys.readouterr().out
    assert len(spherevec.load(folder / "second").docs) == 120


def test_what_cannot_be_done_is_told_in_one_line(folder, capsys):
    where = ["--out", str(folder / "second")]
    assert main(["update", str(folder / "nowhere"), str(folder / "new.jsonl"), *FIELDS, *where]) == 2
    assert (
        main(["update", str(folder / "model"), str(folder / "new.jsonl"), *FIELDS, "--pretokenized", "--quiet", *where])
        == 2
    )
    told = capsys.readouterr().err.splitlines()
    assert len(told) == 2 and "no such model folder" in told[0] and "split by 'words-0.2" in told[1]
    assert not (folder / "second").exists()


def test_a_link_to_itself_is_no_place_for_a_model(folder, capsys):
    (folder / "loop").symlink_to("loop")
    for model, out in (("model", "loop"), ("loop", "second")):
        assert main(["update", str(folder / model), str(folder / "new.jsonl"), "--out", str(folder / out)]) == 2
        told = capsys.readouterr().err
        assert told.count("\n") == 1 and "loop" in told, told


def test_a_killed_update_leaves_the_old_model_and_a_second_at_once_is_refused(folder):
    before = {file.name: file.read_bytes() for file in (folder / "model").iterdir()}
    command = [sys.executable, "-m", "spherevec", "update", str(folder / "model"), str(folder / "new.jsonl"), *FIELDS]
    command += ["--out", str(folder / "model"), "--force", "--threads", "1"]
    first = subprocess.Popen([*command, "--epochs", "100000"], stderr=subprocess.PIPE, text=True)
    try:
        while not (line := first.stderr.readline()).startswith("training"):
            assert line, "ended before it trained"
        second = subprocess.run([*command, "--epochs", "1"], stderr=subprocess.PIPE, text=True)
        assert second.returncode != 0 and "model" in second.stderr.splitlines()[-1]
        time.sleep(0.1)
    finally:
        first.send_signal(signal.SIGKILL)
        first.wait()
        first.stderr.close()
    assert {file.name: file.read_bytes() for file in (folder / "model").iterdir()} == before
    # The dead one stands in nobody's way.
    assert subprocess.run([*command, "--epochs", "1", "--quiet"]).returncode == 0
    assert len(spherevec.load(folder / "model").docs) == 120


def test_kept_topics_follow_an_update_and_what_is_new_is_told(folder, capsys):
    model, grown = str(folder / "model"), str(folder / "second")
    assert main(["topics", model, "--k", "2", "--keep", "--quiet", "--threads", "1"]) == 0
    (folder / "new.jsonl").write_text(lines(60, 40, 60, 2, "b") + lines(40, 0, 20, 3, "c"))
    capsys.readouterr()
    assert main(["update", model, str(folder / "new.jsonl"), *FIELDS, "--threads", "1", "--out", grown]) == 0
    told = capsys.readouterr().err
    assert "new topic: 2 ash" in told
    assert main(["topics", grown, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert [topic["number"] for topic in found["topics"]][:3] == [0, 1, 2]


def test_a_guess_says_that_it_is_one(folder, capsys):
    model = str(folder / "model")
    assert main(["search", model, "seaa3", "--json", "--mode", "dense"]) == 0
    answer = json.loads(capsys.readouterr().out)[0]
    assert answer["guessed"]["seaa3"].startswith("sea") and "guessed from spelling: 'seaa3'" in answer["note"]
    assert main(["search", model, "seaa3", "--no-subwords", "--mode", "dense"]) == 2
    assert "known to the model" in capsys.readouterr().err
    assert main(["neighbors", model, "seaa3"]) == 2
    capsys.readouterr()
    assert main(["neighbors", model, "seaa3", "--subwords", "--json"]) == 0
    told = capsys.readouterr()
    assert json.loads(told.out)[0]["guessed"] is True and "a guess from its spelling" in told.err
    (folder / "misspelled.txt").write_text("seaa3 seaa4 skyy1\nsea1\n")
    for name, more in (("plain", []), ("guessed", ["--subwords"])):
        arguments = ["infer", model, str(folder / "misspelled.txt"), "--out", str(folder / f"{name}.npy"), *more]
        assert main(arguments) == 0
        assert "75.0% of the tokens unknown" in capsys.readouterr().err
    plain, guessed = (np.load(folder / f"{name}.npy") for name in ("plain", "guessed"))
    assert np.array_equal(plain[1], guessed[1]) and not np.array_equal(plain[0], guessed[0])


# One process compiles once and forks for every kill. An audit hook counts what the update does to files, and the child
# ends itself by SIGKILL at the given count, at work on that very call.
KILLED_ANYWHERE = """
import json, os, shutil, signal, sys
from pathlib import Path
from spherevec import load
from spherevec.cli import main

folder, arguments = Path(sys.argv[1]), json.loads(sys.argv[2])
EVENTS = {"open", "os.rename", "os.mkdir", "os.rmdir", "os.remove", "os.chmod", "os.link", "os.truncate"}

def bits(model):
    tables = (model.words, model.inputs, model.contexts, model.docs)
    return [table.vectors.tobytes() for table in tables] + [list(model.documents.ids)]

def update(kill_at=None):
    '''Update the model in place in a child; the exit status, and how often it touched a file.'''
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        count = 0
        def hook(event, given):
            nonlocal count
            if event in EVENTS and str(folder) in str(given[0]):
                count += 1
                if count == kill_at:
                    os.kill(os.getpid(), signal.SIGKILL)
        sys.addaudithook(hook)
        code = main(arguments)
        os.write(writer, str(count).encode())
        os._exit(code)
    os.close(writer)
    said = os.read(reader, 100)
    os.close(reader)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), int(said or 0)

def fresh():
    for left in folder.iterdir():
        if left.name.startswith(("model", ".model")):
            shutil.rmtree(left) if left.is_dir() else left.unlink()
    shutil.copytree(folder / "kept", folder / "model")

old = bits(load(folder / "kept"))
fresh()
assert main(arguments) == 0  # compiles, so that the children need not
fresh()
code, events = update()
assert code == 0, code
whole = bits(load(folder / "model", verify=True))
assert len(whole[-1]) > len(old[-1])
found = {"old": 0, "new": 0}
for kill_at in sorted({1 + events * step // 24 for step in range(24)} | {events - step for step in range(8)}):
    fresh()
    code, _ = update(kill_at)
    assert code == -signal.SIGKILL, (kill_at, code)
    after = bits(load(folder / "model", verify=True))
    assert after in (old, whole), f"killed at {kill_at} of {events}: neither the old model nor the new one"
    found["old" if after == old else "new"] += 1
    code, _ = update()
    assert code == 0 and bits(load(folder / "model", verify=True)) == whole, f"killed at {kill_at}, gone on: other bits"
print(json.dumps(found))
"""


def test_killed_at_any_moment_the_old_model_stays_and_the_update_goes_on_to_the_same_bits(folder):
    (folder / "model").rename(folder / "kept")
    command = ["update", str(folder / "model"), str(folder / "new.jsonl"), *FIELDS, "--out", str(folder / "model")]
    command += ["--force", "--resume", "--checkpoint-every", "1e", "--deterministic", "--threads", "1", "--quiet"]
    done = subprocess.run(
        [sys.executable, "-c", KILLED_ANYWHERE, folder, json.dumps(command)], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr[-2000:]
    found = json.loads(done.stdout)
    assert found["old"] > 15 and found["new"] >= 1
