"""Files from strangers: bombs are refused, text is shown and not obeyed, damage does not go unnoticed."""

from __future__ import annotations

import contextlib
import gzip
import json
import os
import re
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest

import spherevec
from helpers import grows
from spherevec.cli import main
from spherevec.cli.exit import _BOTH_SPELLINGS
from spherevec.corpus import read_documents
from spherevec.corpus.read.streams import Meter, open_stream
from spherevec.errors import CorpusError, FormatError
from spherevec.model import KeyedVectors, Model
from spherevec.storage import checksums
from spherevec.terminal import visible, visible_json

HOSTILE = [
    "\x1b]52;c;aGk=\x07",
    "a\nb",
    "\u202eexe.txt",
    "\x9b31m",
    "plain",
    "tab\there",
    "end\x85",
    "\ud800half",
    "=1+1",
]
OBEYED = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff\ud800-\udfff]")


def unit(n, dim=4):
    rows = np.random.default_rng(1).standard_normal((n, dim)).astype(np.float32)
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


@pytest.fixture(scope="module")
def hostile(tmp_path_factory):
    """A model of which every text tries to talk to the terminal."""
    folder = tmp_path_factory.mktemp("hostile") / "m"
    count = len(HOSTILE)
    words = KeyedVectors(HOSTILE, unit(count), np.arange(count, 0, -1))
    docs = KeyedVectors([f"{name}.txt" for name in HOSTILE], unit(count))
    model = Model(words, words, docs, provenance={"\x1b[31mkey": "\x1b[32mvalue\nline"}, record=[{"\x07": 1.0}])
    model.save(folder)
    return folder


COMMANDS = [
    ["info", "MODEL"],
    ["check", "MODEL"],
    ["neighbors", "MODEL", "plain"],
    ["neighbors", "MODEL", "--doc", "plain.txt"],
    ["neighbors", "MODEL", "\x1b[31mred"],
    ["analogy", "MODEL", "plain", "=1+1", "a\nb"],
    ["topics", "MODEL", "--k", "2", "--quiet"],
]


@pytest.mark.parametrize("arguments", COMMANDS, ids=lambda arguments: arguments[0])
@pytest.mark.parametrize("as_json", [False, True])
def test_text_is_shown_and_not_obeyed(hostile, tmp_path, capsysbinary, arguments, as_json):
    place = {"MODEL": str(hostile), "OUT": str(tmp_path / "out")}
    main([place.get(one, one) for one in arguments] + (["--json"] if as_json else []))
    out, err = (stream.decode("utf-8") for stream in capsysbinary.readouterr())
    assert not OBEYED.search(out), repr(out)
    assert not OBEYED.search(err) and err.count("\n") <= 1, repr(err)
    if as_json and out:
        assert json.loads(out)


ON_A_TERMINAL = """
import sys
from spherevec.cli import main
assert sys.stdout.isatty() and sys.stderr.isatty()
for line in eval(sys.argv[1]):
    main(line)
"""


def test_text_is_not_obeyed_on_a_real_terminal_either(hostile, tmp_path):
    """With the progress bar of a training on a file whose name is a command to the terminal."""
    import pty

    text = tmp_path / "\x1b]0;title\x07.txt"
    text.write_text("\x9b31mred \u202eexe plain\n" * 9)
    place = {"MODEL": str(hostile), "OUT": str(tmp_path / "out")}
    lines = [[place.get(one, one) for one in arguments] for arguments in COMMANDS]
    few = ["--epochs", "1", "--vector-size", "4", "--min-count", "1"]
    lines.append(["train", str(text), "--out", str(tmp_path / "\x1b[35mm"), *few])
    child, terminal = pty.fork()
    if child == 0:
        os.environ["TERM"] = "xterm-256color"
        os.execv(sys.executable, [sys.executable, "-c", ON_A_TERMINAL, repr(lines)])
    shown = b""
    with contextlib.suppress(OSError):  # the end of a terminal
        while data := os.read(terminal, 1 << 16):
            shown += data
    os.close(terminal)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0, shown
    answer = shown.decode("utf-8")
    assert "\\x1b]52" in answer and "documents, dimension 4" in answer
    assert not any(name in answer for name in ("\x1b[31mred", "\x1b[31mkey", "\x1b[32mvalue", "\x1b[35mm"))
    ours = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]|\r", "", answer)  # colours and moves of the progress bar
    assert not OBEYED.search(ours), repr(ours)


def test_what_is_written_out_says_the_same_in_json():
    for text in HOSTILE:
        assert json.loads(visible_json(json.dumps([text], ensure_ascii=False))) == [text]
        assert not OBEYED.search(visible(text)) and "\n" not in visible(text)
    for harmless in ("naïve", "שלום", "می‌خواهم", "👩‍🚀", "日本"):
        assert visible(harmless) == harmless and visible_json(harmless) == harmless


def test_commands_print_through_the_display_alone():
    """Which is where text is made harmless."""
    folder = Path(sys.modules["spherevec.cli"].__file__).parent
    for path in folder.rglob("*.py"):
        if path.name not in ("display.py", "options.py", "__init__.py"):
            assert not re.search(r"click\.s?echo|\bprint\(|sys\.std(out|err)\.write", path.read_text()), path


def test_json_is_utf8_in_any_locale(tmp_path):
    Model(KeyedVectors(["é", "日本"], unit(2))).save(tmp_path / "m")
    code = "import sys; from spherevec.cli import main; sys.exit(main(['neighbors', sys.argv[1], '--json', '\\xe9']))"
    environment = {**os.environ, "LC_ALL": "C", "PYTHONCOERCECLOCALE": "0", "PYTHONUTF8": "0"}
    for encoding in ("ascii", "latin-1"):
        environment["PYTHONIOENCODING"] = encoding
        done = subprocess.run([sys.executable, "-c", code, tmp_path / "m"], capture_output=True, env=environment)
        assert done.returncode == 0, done.stderr
        (answer,) = json.loads(done.stdout.decode("utf-8"))
        assert answer["query"] == "é" and answer["neighbors"][0]["key"] == "日本"


# --- bombs ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("text", "variable"), [("\n", "MAX_EMPTY_DOCUMENTS"), ("ab cd \n", "MAX_EXPANSION")])
def test_a_bomb_is_refused_with_the_arithmetic(tmp_path, text, variable):
    path = tmp_path / "bomb.txt.gz"
    path.write_bytes(gzip.compress(text.encode() * ((1 << 24) // len(text)), 9))
    assert path.stat().st_size < 80_000
    with pytest.raises(CorpusError, match=rf"bomb.txt.gz: .*over .*; set SPHEREVEC_{variable} higher if that is meant"):
        list(read_documents(path))


@pytest.mark.parametrize(
    ("variable", "text", "says"),
    [
        ("SPHEREVEC_MAX_DOCUMENTS", "a b\n" * 2000, "over 1,000 documents; at 408 bytes each that is over 0.0 GB"),
        ("SPHEREVEC_MAX_EMPTY_DOCUMENTS", "\n" * 4000, "over 1,000 empty documents"),
        ("SPHEREVEC_MAX_BYTES", "some words\n" * 500, "over 1,000 bytes of text"),
    ],
)
def test_bounds_can_be_set_and_are_told(tmp_path, monkeypatch, variable, text, says):
    (tmp_path / "c.txt").write_text(text)
    list(read_documents(tmp_path / "c.txt"))
    monkeypatch.setenv(variable, "1000")
    with pytest.raises(CorpusError, match=f"c.txt: {says}.*{variable}"):
        list(read_documents(tmp_path / "c.txt"))
    monkeypatch.setenv(variable, "many")
    with pytest.raises(ValueError, match=f"{variable} must be a whole number above 0, not 'many'"):
        list(read_documents(tmp_path / "c.txt"))


def test_empty_texts_of_a_table_count_as_empty_documents(tmp_path, monkeypatch):
    (tmp_path / "c.csv").write_text("id,text\n0,a b\n" + "1,\n" * 20)
    monkeypatch.setenv("SPHEREVEC_MAX_EMPTY_DOCUMENTS", "10")
    with pytest.raises(CorpusError, match="over 10 empty documents"):
        list(read_documents(tmp_path / "c.csv", text_field="text"))


def test_compressed_files_are_closed(tmp_path):
    (tmp_path / "c.txt.gz").write_bytes(gzip.compress(b"a b\n"))
    with warnings.catch_warnings():
        warnings.simplefilter("error", ResourceWarning)
        with open_stream(tmp_path / "c.txt.gz", Meter()) as stream:
            inner = stream.raw._file
            assert stream.read() == b"a b\n"
    assert inner.closed


def test_a_description_of_megabytes_is_refused(tmp_path):
    Model(KeyedVectors(["a"], unit(1))).save(tmp_path / "m")
    path = tmp_path / "m" / "model.json"
    about = json.loads(path.read_text())
    about["record"] = [{"a": 0}] * 1_000_000
    path.write_text(json.dumps(checksums.with_checksum(about)))
    with pytest.raises(FormatError, match="too large to be a model's description"):
        Model.load(tmp_path / "m")


@pytest.mark.parametrize(
    "damage",
    [
        {"record": [{"a": 1}, {"b": 2}]},
        {"record": [{"a": 1}, {}]},
        {"record": [{}, {}]},
        {"parameters": {"document_bias": None}},
        {"provenance": {"tokens": ["a"]}},
        {"provenance": {"reading": []}},
        {"provenance": {"summary": {}}},
        {"provenance": {"updates": [3]}},
        {"parameters": {"document_bias": "x"}},
        {"parameters": {"document_bias": [1]}},
        {"provenance": {"documents": {"a": [[[[[[[[[[[[1]]]]]]]]]]]]}}},
        {"config": {"vector_size": 10**400}},
    ],
    ids=str,
)
def test_a_crafted_description_is_refused_in_one_line(tmp_path, capsys, damage):
    Model(KeyedVectors(["a"], unit(1))).save(tmp_path / "m")
    path = tmp_path / "m" / "model.json"
    path.write_text(json.dumps(checksums.with_checksum({**json.loads(path.read_text()), **damage})))
    assert main(["info", str(tmp_path / "m")]) == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1 and "model.json: " in error


def test_a_long_word_in_a_message_is_looked_at_once():
    assert grows(lambda text: _BOTH_SPELLINGS.sub("", text), lambda n: "q" * n, 4000) < 24


def test_a_folder_of_a_thousand_levels_is_read_or_refused(tmp_path):
    """Deeper than Python recurses, and deeper than a path may be long."""
    folder = os.open(tmp_path, os.O_RDONLY)
    for _ in range(1300):
        os.mkdir("dddd", dir_fd=folder)
        below = os.open("dddd", os.O_RDONLY, dir_fd=folder)
        os.close(folder)
        folder = below
    os.close(folder)
    try:
        with pytest.raises(CorpusError) as caught:
            list(read_documents(tmp_path))
        assert "\n" not in str(caught.value)
    finally:
        subprocess.run(["rm", "-rf", str(tmp_path / "dddd")], check=True)


# --- damage -----------------------------------------------------------------------------------------------------------


@pytest.fixture
def damaged(tmp_path):
    """A model too large to be read whole on opening, with two bytes of a word's vector damaged between the samples."""
    count = 3000
    names = [f"w{i}" for i in range(count)]
    words = KeyedVectors(names, unit(count, 100), np.full(count, 9))
    Model(words, docs=KeyedVectors(None, unit(10, 100))).save(tmp_path / "m")
    path = tmp_path / "m" / "words.safetensors"
    content = bytearray(path.read_bytes())
    assert len(content) > checksums.SMALL_FILE
    start = len(content) - 400 * count
    # Row 60 is not in a sampled block; its first number becomes NaN.
    place = start + 400 * 60
    content[place : place + 4] = np.array([np.nan], "<f4").tobytes()
    path.write_bytes(content)
    return tmp_path / "m"


def test_damage_is_found_by_check_and_never_passed_on(damaged, tmp_path, capsys):
    assert main(["check", str(damaged)]) == 2
    assert "words.safetensors: corrupt" in capsys.readouterr().err
    Model.load(damaged)  # a sample of the file is what it was
    (tmp_path / "c.txt").write_text("w60 w61\n")
    assert main(["infer", str(damaged), str(tmp_path / "c.txt"), "--out", str(tmp_path / "v.npy")]) == 2
    assert "vector 60 holds NaN" in capsys.readouterr().err and not (tmp_path / "v.npy").exists()
    assert main(["neighbors", str(damaged), "w1"]) == 2
    assert "vector 60 holds NaN" in capsys.readouterr().err


def test_a_sound_model_is_told_so(hostile, capsys):
    assert main(["check", str(hostile)]) == 0
    assert "sound" in capsys.readouterr().out


def test_a_thousand_threads_need_no_thousand_files(tmp_path):
    (tmp_path / "c.txt").write_text("a b c d e\n" * 50)
    code = (
        "import resource, sys; resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64));"
        "from spherevec.corpus import encode; encode(sys.argv[1], sys.argv[2], min_count=1, threads=1024)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, tmp_path / "c.txt", tmp_path / "e"], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr


# --- damaged vectors --------------------------------------------------------------------------------------------------

USES = {
    "docs": [
        ["search", "MODEL", "w1 w2"],
        ["search", "MODEL", "w1", "--mode", "dense"],
        ["neighbors", "MODEL", "--doc", "3"],
        ["topics", "MODEL", "--k", "2", "--quiet"],
        ["explore", "MODEL", "--out", "OUT"],
        ["update", "MODEL", "TEXT", "--out", "OUT", "--add-only", "--quiet"],
        ["export", "MODEL", "--docs", "OUT"],
        ["check", "MODEL"],
    ],
    "words": [
        ["neighbors", "MODEL", "w1"],
        ["analogy", "MODEL", "w1", "w2", "w3"],
        ["search", "MODEL", "w1", "--among", "words"],
        ["export", "MODEL", "--words", "OUT"],
        ["update", "MODEL", "TEXT", "--out", "OUT", "--quiet"],
        ["check", "MODEL"],
    ],
    "inputs": [
        ["infer", "MODEL", "TEXT", "--out", "OUT"],
        ["search", "MODEL", "w1 w2"],
        ["explore", "MODEL", "--out", "OUT"],
    ],
}


@pytest.mark.parametrize("table", list(USES))
def test_no_command_lets_nan_pass_unnoticed(tmp_path, capsys, table):
    """A model whose checksums fit, but whose vectors hold one NaN, in every command that uses them."""
    texts = [" ".join(f"w{(i * j) % 7 + 5 * (i % 2)}" for j in range(1, 15)) for i in range(1, 17)]
    (tmp_path / "text").write_text("\n".join(texts))
    model = spherevec.train(texts, min_count=1, vector_size=4, epochs=1, threads=1)
    rows = np.array(getattr(model, table).vectors)
    rows[5, 2] = np.nan
    getattr(model, table).vectors = rows
    model.save(tmp_path / "m")
    before = sorted(path.name for path in tmp_path.iterdir())
    names = {"MODEL": str(tmp_path / "m"), "TEXT": str(tmp_path / "text"), "OUT": str(tmp_path / "out")}
    for command in USES[table]:
        assert main([names.get(part, part) for part in command]) == 2, command
        error = capsys.readouterr().err
        assert "NaN" in error and error.count("\n") == 1, (command, error)
        assert sorted(path.name for path in tmp_path.iterdir()) == before
