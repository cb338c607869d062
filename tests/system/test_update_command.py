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
from helpers import posix
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
    assert "40 added; 20 new words" in told and "mean cosine to before" in told and "Train anew" in told
    grown = spherevec.load(folder / "second", verify=True)
    assert len(grown.docs) == 120 and grown.documents.row_of("b3") == 83
    assert grown.documents.column("team").tolist() == ["x"] * 120
    # The same once more, in place: nothing is added twice.
    again = ["update", str(folder / "second"), str(folder / "new.jsonl"), *FIELDS, "--out", str(folder / "second")]
    assert main([*again, "--force", "--add-only"]) == 0
    assert "nothing new" in capsys.readouterr().err
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


@posix
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


def test_an_index_is_built_kept_through_an_update_and_dropped(folder, capsys):
    pytest.importorskip("usearch")
    model, grown = str(folder / "model"), str(folder / "second")
    assert main(["index", model, "--threads", "1"]) == 0
    assert "an index of 80 documents" in capsys.readouterr().err
    command = ["update", model, str(folder / "new.jsonl"), *FIELDS, "--threads", "1", "--quiet", "--out", grown]
    assert main(command) == 0
    assert main(["check", grown]) == 0 and main(["info", grown, "--json"]) == 0
    assert json.loads(capsys.readouterr().out.split("\n", 1)[1])["index"] is True
    assert main(["search", grown, "sea3 sea4", "--mode", "dense", "--top", "3"]) == 0
    assert main(["index", grown, "--drop", "--quiet"]) == 0
    assert not spherevec.load(folder / "second").docs.indexed and spherevec.load(folder / "model").docs.indexed
