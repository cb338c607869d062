"""Every command owns what it writes, from the first check to the last rename; spreadsheets may open what it wrote."""

from __future__ import annotations

import csv
import json
import os
import subprocess
import sys

import numpy as np
import pytest

import spherevec
from spherevec.cli import main
from spherevec.errors import ConfigError
from spherevec.io import export_vectors
from spherevec.model import KeyedVectors, Model
from spherevec.storage.csv_file import guarded, write_csv

HOLDER = """
import sys
from spherevec.storage.locks import owned
with owned(sys.argv[1], run=True):
    print("held", flush=True)
    sys.stdin.read()
"""
# Ids and words from strangers: formulas, escape sequences, line breaks, a direction mark, half a character.
STRANGE = ['=HYPERLINK("http://x")', "a\nb", "\x1b[31mred", "a\u202eb", "-5", "@SUM(A1)", "+1+1", "plain"]


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    folder = tmp_path_factory.mktemp("owned")
    rng = np.random.default_rng(1)
    words = [f"w{i}" for i in range(12)]
    records = [
        {"id": id, "text": " ".join(rng.choice(words[6 * (i % 2) :][:6], 20)), "title": id}
        for i, id in enumerate(STRANGE)
    ]
    (folder / "corpus.jsonl").write_text("".join(json.dumps(record) + "\n" for record in records))
    fields = {"text_field": "text", "id_field": "id", "title_field": "title"}
    model = spherevec.train(folder / "corpus.jsonl", min_count=1, vector_size=8, epochs=2, threads=1, **fields)
    model.save(folder / "m")
    export_vectors(model.words, folder / "words.txt")
    return folder


def commands(place, out):
    """Every command that writes, and the output that it must own."""
    model, corpus = str(place / "m"), str(place / "corpus.jsonl")
    fields = ["--text-field", "text", "--id-field", "id"]
    return {
        "train": (["train", corpus, *fields, "--out", f"{out}/t", "--epochs", "1", "--min-count", "1"], "t"),
        "update": (["update", model, corpus, *fields, "--out", f"{out}/u", "--add-only"], "u"),
        "import": (["import", str(place / "words.txt"), "--out", f"{out}/i"], "i"),
        "export": (["export", model, "--words", f"{out}/w.txt"], "w.txt"),
        "npy": (["export", model, "--words", f"{out}/p", "--format", "npy"], "p"),
        "infer": (["infer", model, corpus, *fields, "--out", f"{out}/v.npy"], "v.npy"),
        "ids": (["infer", model, corpus, *fields, "--out", f"{out}/v2.npy", "--ids", f"{out}/ids.txt"], "ids.txt"),
        "explore": (["explore", model, "--out", f"{out}/page.html"], "page.html"),
        "topics": (["topics", model, "--k", "2", "--out", f"{out}/topics"], "topics"),
    }


@pytest.mark.parametrize("name", ["train", "update", "import", "export", "npy", "infer", "ids", "explore", "topics"])
def test_an_output_that_another_process_owns_is_refused_at_once(place, tmp_path, capsys, name):
    arguments, output = commands(place, tmp_path)[name]
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(tmp_path / output)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    try:
        assert holder.stdout.readline() == "held\n"
        assert main(arguments) == 2
        error = capsys.readouterr().err
        assert f"process {holder.pid} is writing it" in error and error.count("\n") == 1
        assert [path.name for path in tmp_path.iterdir()] == [f".{output}.lock"]
    finally:
        holder.communicate()
    assert main(arguments) == 0
    assert main(arguments) == 2 and "already exists" in capsys.readouterr().err


def test_a_model_that_is_changed_in_place_is_owned_from_reading_to_writing(place, tmp_path, capsys):
    Model.load(place / "m").save(tmp_path / "m")
    command = ["topics", str(tmp_path / "m"), "--k", "2", "--keep"]
    line = [sys.executable, "-c", HOLDER, str(tmp_path / "m")]
    holder = subprocess.Popen(line, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        assert holder.stdout.readline() == "held\n"
        assert main(command) == 2
        assert capsys.readouterr().err.count("is writing it") == 1
    finally:
        holder.communicate()
    assert main(command) == 0
    Model.load(tmp_path / "m", verify=True)


# --- spreadsheets -----------------------------------------------------------------------------------------------------


def cells(path):
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.reader(file))


def test_tables_hold_what_was_there_and_guard_against_formulas_where_asked(place, tmp_path, capsys):
    model = str(place / "m")
    assert main(["topics", model, "--k", "2", "--out", str(tmp_path / "plain")]) == 0
    assert [row[0] for row in cells(tmp_path / "plain" / "assignments.csv")[1:]] == STRANGE
    assert main(["topics", model, "--k", "2", "--out", str(tmp_path / "safe"), "--guard-formulas"]) == 0
    expected = ["'" + STRANGE[0], *STRANGE[1:5], "'@SUM(A1)", "'+1+1", "plain"]
    assert [row[0] for row in cells(tmp_path / "safe" / "assignments.csv")[1:]] == expected
    spherevec.load(model).topics(k=2).save(tmp_path / "python", guard_formulas=True)
    assert cells(tmp_path / "python" / "assignments.csv") == cells(tmp_path / "safe" / "assignments.csv")
    assert capsys.readouterr().out.count("\x1b") == 0


def test_the_projector_guards_against_formulas_where_asked(tmp_path):
    vectors = KeyedVectors(["=1+1", "-2", "b"], np.eye(3, dtype=np.float32))
    export_vectors(vectors, tmp_path / "p", "projector", guard_formulas=True)
    assert (tmp_path / "p" / "metadata.tsv").read_text() == "'=1+1\n-2\nb\n"
    with pytest.raises(ConfigError, match="guard_formulas is for TSV files"):
        export_vectors(vectors, tmp_path / "w", "word2vec", guard_formulas=True)
    Model(vectors).save(tmp_path / "m")
    arguments = ["export", str(tmp_path / "m"), "--words", str(tmp_path / "q"), "--guard-formulas"]
    assert main(arguments) == 2
    assert main([*arguments, "--format", "projector"]) == 0
    assert (tmp_path / "q" / "metadata.tsv").read_text() == "'=1+1\n-2\nb\n"


@pytest.mark.parametrize(
    ("cell", "safe"),
    [
        ("\t=1", "\t'=1"),
        ("\x00=1", "\x00'=1"),
        ("＝1", "'＝1"),
        ("\ufeff@x", "\ufeff'@x"),
        ("-1e5", "-1e5"),
        ("-1_0", "'-1_0"),
        ("a;=1", "a;'=1"),
        ('a, "+x', "a, \"'+x"),
        ("a\r\n=1", "a\r\n'=1"),
        ('"@x"', '"\'@x"'),
        ("a|-1;-x\t;=1", "a|-1;'-x\t;'=1"),
        ("a =1", "a =1"),
        ("", ""),
    ],
)
def test_what_a_spreadsheet_passes_over_hides_no_formula(cell, safe):
    assert guarded(cell) == safe


def test_half_characters_are_written_out(tmp_path):
    write_csv(tmp_path / "t.csv", [["id"], ["a\udc80b"]])
    assert (tmp_path / "t.csv").read_bytes() == b"id\r\na\\udc80b\r\n"


def test_odd_file_names_go_through_all_outputs(tmp_path, capsys):
    folder = tmp_path / "texts"
    folder.mkdir()
    for i, name in enumerate([b"\xff.txt", b"a\nb.txt", b"c.txt", b"d.txt"]):
        (folder / os.fsdecode(name)).write_text(f"w{i % 2} w{i % 2 + 2} w{i % 2} " * 9)
    train = ["train", str(folder), "--out", str(tmp_path / "m"), "--min-count", "1", "--epochs", "1", "--quiet"]
    assert main([*train, "--vector-size", "4"]) == 0
    model = str(tmp_path / "m")
    assert main(["topics", model, "--k", "2", "--out", str(tmp_path / "t")]) == 0
    json.loads((tmp_path / "t" / "topics.json").read_text())
    assert len(cells(tmp_path / "t" / "assignments.csv")) == 5
    out = ["--out", str(tmp_path / "v.npy"), "--ids", str(tmp_path / "ids.txt")]
    assert main(["infer", model, str(folder), *out]) == 0
    assert sorted((tmp_path / "ids.txt").read_text().split("\n")) == ["", "\\udcff.txt", "a\\nb.txt", "c.txt", "d.txt"]
    assert main(["explore", model, "--out", str(tmp_path / "p.html"), "--quiet"]) == 0
    assert main(["search", model, "w1", "--json"]) == 0
    out = capsys.readouterr().out
    assert "\x1b" not in out


def test_ids_that_occur_twice_leave_no_vectors_behind(place, tmp_path, capsys):
    (tmp_path / "twice.jsonl").write_text('{"id": "x", "text": "w1"}\n' * 2)
    arguments = ["infer", str(place / "m"), str(tmp_path / "twice.jsonl"), "--text-field", "text", "--id-field", "id"]
    assert main([*arguments, "--out", str(tmp_path / "v.npy"), "--ids", str(tmp_path / "ids.txt")]) == 2
    assert [path.name for path in tmp_path.iterdir()] == ["twice.jsonl"]


# --- descriptions -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "about",
    [
        {"provenance": {"note": [[[[[[[[[[[[1]]]]]]]]]]]]}},
        {"provenance": {"note": ["x" * 1000] * 9000}},
        {"provenance": {"note": 10**400}},
        {"record": [{"loss": 1}, {"other": 2}]},
    ],
)
def test_a_description_that_could_not_be_read_again_is_not_written(tmp_path, about):
    """Such a model was saved, and refused by every load."""
    model = Model(KeyedVectors(["a", "b"], np.eye(2, dtype=np.float32)), **about)
    with pytest.raises(ConfigError, match="the description of the model"):
        model.save(tmp_path / "m")
    assert list(tmp_path.iterdir()) == []
