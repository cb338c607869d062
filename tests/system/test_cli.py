"""The real command line, in processes of its own."""

import gzip
import json
import os
import pty
import re
import resource
import shutil
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import fields
from pathlib import Path

import click
import numpy as np
import pytest

from spherevec.cli import cli
from spherevec.config import RECIPES, TrainConfig
from spherevec.model import Model
from warm import run_command

SPHEREVEC = str(Path(sys.executable).with_name("spherevec"))
# Small enough to train in a moment, large enough for three topics to show.
SETTINGS = (
    "--vector-size",
    "16",
    "--epochs",
    "40",
    "--window",
    "5",
    "--sample",
    "0",
    "--alpha",
    "0.05",
    "--threads",
    "1",
)
DOCUMENTS, TOPICS, TOPIC_WORDS = 240, 3, 20


def run(*arguments, **options):
    if not options:
        return run_command(*arguments)
    command = [SPHEREVEC, *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=900, **options)


def succeed(*arguments, **options):
    done = run(*arguments, **options)
    assert done.returncode == 0, done.stderr
    return done


def topics_text() -> str:
    """Documents of one topic each, in turn; the words of topic t are t0, t1, …: the first letter tells the topic."""
    rng = np.random.default_rng(0)
    lines = []
    for document in range(DOCUMENTS):
        letter = "abc"[document % TOPICS]
        lines.append(" ".join(f"{letter}{n}" for n in rng.integers(TOPIC_WORDS, size=30)))
    return "\n".join(lines) + "\n"


@pytest.fixture(scope="session")
def corpus(tmp_path_factory):
    path = tmp_path_factory.mktemp("corpus") / "topics.txt"
    path.write_text(topics_text())
    return path


@pytest.fixture(scope="session")
def trained(corpus, tmp_path_factory):
    """The model folder and the finished process that trained it."""
    folder = tmp_path_factory.mktemp("models") / "model"
    return folder, succeed("train", corpus, "--out", folder, *SETTINGS)


@pytest.fixture(scope="session")
def model(trained):
    return trained[0]


@pytest.fixture(scope="session")
def data(tmp_path_factory):
    """Files to measure words with."""
    folder = tmp_path_factory.mktemp("data")
    (folder / "wordsim353.csv").write_text("Word 1,Word 2,Human (mean)\na1,a2,9\na1,b2,1\nb1,b3,8\nc1,zz,5\n")
    (folder / "men.txt").write_text("a1 a2 50\na1 c2 3\n")
    (folder / "simlex999.txt").write_text("word1\tword2\tPOS\tSimLex999\nzz\tyy\tN\t9\n")
    (folder / "google-analogies.txt").write_text(": capital\na1 a2 a3 a4\n: gram1\nzz a2 a3 a4\n")
    return folder


def one_error_line(done) -> str:
    """The line that a failed command ends with, after nothing but progress."""
    assert done.returncode == 2, (done.returncode, done.stderr)
    assert done.stdout == ""
    *before, last = done.stderr.splitlines()
    assert last.startswith("spherevec: error: ")
    assert all(line.startswith(("reading", "compiling", "training", "finishing")) for line in before), done.stderr
    return last


def test_training_talks_on_standard_error_only(trained):
    folder, done = trained
    assert done.stdout == ""
    lines = done.stderr.splitlines()
    phases = dict.fromkeys(line.split()[0].rstrip(",") for line in lines)  # a slow machine tells of one several times
    assert list(phases)[:2] == ["reading", "compiling"]
    assert any(line.startswith("training, epoch ") and "tokens/s" in line for line in lines)
    assert lines[-1].startswith(f"{folder}: 60 words, 240 documents, dimension 16")


def test_quiet_training_says_nothing_but_json(corpus, tmp_path):
    done = succeed("train", corpus, "--out", tmp_path / "m", *SETTINGS, "--epochs", "1", "--quiet", "--json")
    assert done.stderr == ""
    about = json.loads(done.stdout)
    assert about["documents"] == DOCUMENTS and len(about["record"]) == 1


def test_quiet_training_tells_its_result_and_what_looks_wrong(tmp_path):
    (tmp_path / "one.txt").write_text("a b c " * 20)
    out = tmp_path / "m"
    done = succeed("train", tmp_path / "one.txt", "--out", out, "--epochs", "1", "--vector-size", "8", "--quiet")
    assert done.stdout == ""
    assert done.stderr.splitlines() == [
        "warning: there is only one document; in a text file each line is one, in a table each row",
        next(line for line in done.stderr.splitlines() if line.startswith(f"{out}: 3 words, 1 document,")),
    ]
    about = succeed("info", out).stdout
    assert "1 epoch over 60 kept tokens: as given" in about and "chosen by the length of the text" in about
    assert "anisotropy" in about and "violated" not in about and "mean_resultant_length" not in about


def test_settings_not_given_are_the_recipes(corpus, tmp_path):
    out = tmp_path / "m"
    succeed("train", corpus, "--out", out, "--recipe", "paper", "--vector-size", "8", "--epochs", "1", "--words-only")
    config = json.loads(succeed("info", out, "--json").stdout)["config"]
    given = {"vector_size": 8, "epochs": 1, "documents": False}
    expected = {**TrainConfig().as_dict(), **RECIPES["paper"], **given, "threads": config["threads"]}
    assert config == expected


def test_every_setting_is_an_option_with_its_help():
    train = cli.get_command(click.Context(cli), "train")
    options = {option.name: option for option in train.params}
    for spec in fields(TrainConfig):
        assert options[spec.name].default is None
        assert spec.metadata["help"] in options[spec.name].help
    spellings = {spelling for option in options.values() for spelling in (*option.opts, *option.secondary_opts)}
    promised = (
        "--out --recipe --vector-size --window --negative --objective --sample --alpha --epochs --min-count --threads"
    )
    promised += " --seed --device --order --pretokenized --text-field --documents --no-documents --words-only"
    assert set(promised.split()) <= spellings


def test_pretokenized_words_stay_as_they_are(tmp_path):
    (tmp_path / "text").write_text("New_York! is-big\n" * 5)
    succeed(
        "train", tmp_path / "text", "--out", tmp_path / "m", "--pretokenized", "--epochs", "1", "--vector-size", "4"
    )
    assert set(Model.load(tmp_path / "m").words) == {"New_York!", "is-big"}


def test_neighbors_answers_each_word_by_itself(model):
    found = json.loads(succeed("neighbors", model, "a1", "b2", "--top", "3", "--doc", "4", "--json").stdout)
    loaded = Model.load(model)
    expected = [
        ("a1", loaded.words.most_similar("a1", topn=3)),
        ("b2", loaded.words.most_similar("b2", topn=3)),
        ("4", loaded.docs.most_similar(4, topn=3)),
    ]
    assert [(one["query"], [(n["key"], n["cosine"]) for n in one["neighbors"]]) for one in found] == expected
    assert all(n["key"].startswith("a") for n in found[0]["neighbors"])

    plain = succeed("neighbors", model, "a1", "b2", "--top", "3").stdout
    lists = [block.splitlines() for block in plain.strip().split("\n\n")]
    assert [lines[0] for lines in lists] == ["a1", "b2"]
    assert [line.split()[1] for line in lists[0][1:]] == [key for key, _ in expected[0][1]]


def test_documents_of_a_folder_are_found_by_name(tmp_path):
    texts = tmp_path / "texts"
    texts.mkdir()
    for n, line in enumerate(topics_text().splitlines()[:60]):
        (texts / f"{'abc'[n % 3]}-{n:02}.txt").write_text(line)
    succeed("train", texts, "--out", tmp_path / "m", *SETTINGS)
    found = json.loads(succeed("neighbors", tmp_path / "m", "--doc", "a-00.txt", "--json").stdout)
    expected = Model.load(tmp_path / "m").docs.most_similar("a-00.txt")
    assert [(n["key"], n["cosine"]) for n in found[0]["neighbors"]] == expected
    assert all((texts / key).is_file() and key != "a-00.txt" for key, _ in expected)


def test_analogy_is_the_models(model):
    found = json.loads(succeed("analogy", model, "a1", "a2", "b3", "--top", "2", "--json").stdout)
    assert [(n["key"], n["cosine"]) for n in found[0]["neighbors"]] == Model.load(model).words.analogy(
        "a1", "a2", "b3", topn=2
    )


def test_a_file_of_names_beside_exported_vectors_is_named(model, tmp_path):
    done = succeed("export", model, "--docs", tmp_path / "d.npy", "--words", tmp_path / "w.txt", "--json")
    names = tmp_path / "d.labels.txt"
    assert f"docs as npy, their names in {names}\n" in done.stderr and names.is_file()
    assert [one.get("labels") for one in json.loads(done.stdout)] == [str(names), None]


def test_exported_vectors_come_back_by_import(model, tmp_path):
    file, again = tmp_path / "vectors", tmp_path / "again"
    done = succeed("export", model, "--words", file, "--docs", tmp_path / "docs", "--format", "word2vec-bin")
    assert done.stdout == "" and (tmp_path / "docs").read_bytes().startswith(b"240 16\n")
    succeed("import", file, "--out", again)
    before, after = Model.load(model), Model.load(again)
    assert after.words.index_to_key == before.words.index_to_key
    np.testing.assert_allclose(after.words.vectors, before.words.vectors, atol=1e-6)
    assert "no, imported" in succeed("info", again).stdout


def test_info_tells_settings_and_record(model):
    plain = succeed("info", model).stdout
    assert re.search(r"objective +vmf", plain) and "anisotropy" in plain
    about = json.loads(succeed("info", model, "--json").stdout)
    assert about["vector_size"] == 16 and len(about["record"]) == 40


def test_evaluate_words(model, data):
    for name, covered, total in (("wordsim353.csv", 3, 4), ("men.txt", 2, 2), ("simlex999.txt", 0, 1)):
        found = json.loads(succeed("evaluate", "similarity", model, "--pairs", data / name, "--json").stdout)
        assert (found["name"], found["covered"], found["total"]) == (name, covered, total)
        assert found["spearman"] == pytest.approx(1) if name == "men.txt" else True
    assert found["spearman"] is None  # JSON has no NaN
    done = succeed("evaluate", "analogy", model, "--questions", data / "google-analogies.txt", "--json")
    analogies = json.loads(done.stdout)
    assert [(one["name"], one["covered"]) for one in analogies][:2] == [("capital", 1), ("gram1", 0)]
    vectors = Model.load(model).words
    for name, method in (("accuracy", "add"), ("accuracy_3cosmul", "mul")):
        assert analogies[0][name] == (vectors.analogy("a1", "a2", "a3", topn=1, method=method)[0][0] == "a4")


def test_evaluate_documents_with_labels_of_ones_own(model, tmp_path):
    labels, split = tmp_path / "labels.txt", tmp_path / "split.txt"
    labels.write_text("".join(f"topic {'abc'[n % TOPICS]}\n" for n in range(DOCUMENTS)))
    split.write_text("".join("test\n" if n % 5 == 0 else "train\n" for n in range(DOCUMENTS)))
    clustering = json.loads(succeed("evaluate", "clustering", model, "--labels", labels, "--json").stdout)
    assert clustering["data_set"] == str(labels) and clustering["nmi"]["mean"] > 0.9
    once = json.loads(
        succeed("evaluate", "classification", model, "--labels", labels, "--split", split, "--json").stdout
    )
    often = json.loads(succeed("evaluate", "classification", model, "--labels", labels, "--json").stdout)
    assert len(once["micro_f1"]["values"]) == 1 and len(often["micro_f1"]["values"]) == 10
    assert once["macro_f1"]["mean"] > 0.95 < often["macro_f1"]["mean"]


def test_evaluate_refuses_what_does_not_fit(model, tmp_path):
    labels = tmp_path / "labels.txt"
    labels.write_text("a\nb\n")
    wrong = {
        ("clustering",): "clustering needs --labels FILE",
        ("similarity",): "similarity needs --pairs FILE",
        ("clustering", "--labels", labels): "has 2 lines, but the model has 240 documents",
        ("clustering", "--labels", labels, "--split", labels): "--split goes with classification, not with clustering",
        ("classification", "--labels", tmp_path / "none"): "none: no such file",
        ("similarity", "--pairs", labels): "line 1: expected two words and a score, not 'a'",
        ("analogy", "--questions", labels): "line 1: expected ': section' or four words, not 'a'",
        (
            "similarity",
            "--labels",
            labels,
        ): "--labels goes with clustering, classification and topics, not with similarity",
    }
    for (task, *options), message in wrong.items():
        assert message in one_error_line(run("evaluate", task, model, *options))


def bad_inputs():
    text = topics_text().encode()
    return {
        "missing": (None, (), "no such file or folder"),
        "empty": (b"", (), "is empty"),
        "binary": (bytes(range(256)) * 10, (), "looks binary"),
        "truncated.gz": (gzip.compress(text, mtime=0)[:200], (), "truncated"),
        "not-gzip.gz": (text, (), "not a valid .gz file"),
        "mixed.txt": (text + "é\n".encode() + "café\n".encode("latin-1"), (), "line 242: not valid utf-8 (byte 0xe9)"),
        "ragged.csv": (b"id,text\n1,a,b\n", ("--text-field", "text"), "line 2: 3 cells, but the header has 2"),
        "table.csv": (b"title,body\nx,a b c\n", ("--text-field", "text"), "'text'"),
        "text.txt": (text, ("--text-field", "text"), "--text-field text needs a table"),
        "rare.txt": (
            b"each word occurs once\n",
            (),
            "no word occurs twice: the most frequent of 4 distinct words occurs once",
        ),
        "one-word.txt": (b"word " * 10, (), "only one word, 'word'"),
        "spaces.txt": (b" \n" * 10, (), "holds no words"),
        "dimension": (text, ("--vector-size", "1"), "--vector-size"),
        "infinite": (text, ("--alpha", "nan"), "--alpha must be a number, not nan"),
        "joint": (text, ("--objective", "joint", "--words-only"), "needs documents"),
        "encoding": (text, ("--encoding", "klingon"), "klingon"),
        "recipe": (text, ("--recipe", "secret"), "'secret' is not one of"),
    }


def side_by_side(check, cases):
    """Run `check` on all cases, a process on each core; a failure names its case."""
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        running = {case: pool.submit(check, case) for case in cases}
    failures = {case: str(future.exception()) for case, future in running.items() if future.exception()}
    assert not failures, "\n".join(f"{case}: {failure}" for case, failure in failures.items())


def test_bad_input_ends_in_one_line(tmp_path):
    def check(name):
        content, arguments, message = bad_inputs()[name]
        folder = tmp_path / name
        folder.mkdir()
        corpus = folder / name
        if content is not None:
            corpus.write_bytes(content)
        before = set(folder.iterdir())
        line = one_error_line(run("train", corpus, "--out", folder / "m", *arguments))
        assert message in line
        assert set(folder.iterdir()) == before

    side_by_side(check, bad_inputs())


# {model} has documents, {words} has none, {taken} is a text file, {tmp} an existing folder.
WRONG_COMMANDS = {
    "frobnicate": "No such command 'frobnicate'",
    "train": "Missing argument 'CORPUS...'",
    "train {taken} --out {tmp}": "give --force",
    "train {taken} --out {taken}": "is a file; choose another name",
    "train {taken} --out {taken} --force": "is a file",
    "train {taken} --out {tmp} --force": "which would be lost",
    "info {tmp}/none": "no such model folder",
    "info {tmp}": "{tmp}",
    "info {taken}": "a file, not the folder of a model",
    "search {words} a1": "this model has no documents",
    "neighbors {model}": "give a word",
    "neighbors {model} a111": "no vector for 'a111'; did you mean",
    "neighbors {model} 17": "that is the id of a document: use --doc 17",
    "neighbors {model} --doc 240": "no document has the id '240'; ids are from 0 to 239",
    "neighbors {model} --doc none": "no document has the id 'none'",
    "neighbors {words} --doc 1": "without documents",
    "analogy {model} a1 zz9 b1": "no vector for 'zz9'",
    "topics {words} --out {tmp}/l": "without documents",
    "topics {model} --quiet --k 241 --out {tmp}/l": "from 1 to 240, the number of documents, not 241",
    "topics {model} --out {taken}": "--force",
    "export {model}": "nothing to export",
    "export {model} --words {taken}": "--force",
    "export {model} --words {tmp}/x --docs {tmp}/x": "a file name each",
    "export {words} --docs {tmp}/d": "has no docs",
    "export {model} --words {tmp}/w --format x": "'word2vec'",
    "export {model} --docs {tmp}/d.csv": "vectors are not written as .csv; write .parquet or .npy",
    "import {taken} --out {tmp}/m": "{taken}",
    "import {tmp}/none --out {tmp}/m": "no such file",
    "topics {model} --n-topics 3": "No such option: --n-topics; here it is called --k",
    "neighbors {model} a1 --topn 3": "No such option: --topn; here it is called --top",
    "train {taken} --output {tmp}/m": "No such option: --output; here it is called --out",
    "train {taken} --lr 1": "No such option: --lr; here it is called --alpha",
    "evaluate similarity {model} --pairs {tmp}/none": "no such file",
    "evaluate beauty {model}": "'beauty' is not one of",
    "demo --corpus {tmp}/none": "no such file or folder",
}


def test_wrong_command_ends_in_one_line(model, tmp_path):
    words = tmp_path / "words"
    Model(Model.load(model).words).save(words)

    def check(command):
        folder = tmp_path / str(list(WRONG_COMMANDS).index(command))
        folder.mkdir()
        taken = folder / "taken.txt"
        taken.write_text("mine and mine alone\n")
        places = {"model": model, "words": words, "taken": taken, "tmp": folder}
        line = one_error_line(run(*(word.format(**places) for word in command.split())))
        assert WRONG_COMMANDS[command].format(**places) in line
        assert taken.read_text() == "mine and mine alone\n"
        assert list(folder.iterdir()) == [taken]

    side_by_side(check, WRONG_COMMANDS)


def test_an_existing_model_is_refused_before_training_and_replaced_by_force(corpus, model, tmp_path):
    out = shutil.copytree(model, tmp_path / "m")
    manifest = (out / "model.json").read_bytes()
    done = run("train", corpus, "--out", out, "--epochs", "100000")
    assert "already exists" in one_error_line(done) and "reading" not in done.stderr
    assert (out / "model.json").read_bytes() == manifest
    succeed("train", corpus, "--out", out, "--vector-size", "8", "--epochs", "1", "--force")
    assert Model.load(out).vector_size == 8


def test_a_folder_that_cannot_be_written_is_refused_before_training(corpus, tmp_path):
    folder = tmp_path / "locked"
    folder.mkdir(mode=0o555)
    if os.access(folder, os.W_OK):  # as root; nobody can create files in /proc
        folder = Path("/proc")
        if not folder.is_dir():
            pytest.skip("needs a user other than root, or /proc")
    done = run("train", corpus, "--out", folder / "m", "--epochs", "100000")
    assert f"{folder / 'm'}: cannot write" in one_error_line(done) and "reading" not in done.stderr


def test_a_disk_that_fills_up_keeps_the_old_model(corpus, model, tmp_path):
    """Files may not grow beyond 400 kB: the encoded corpus fits, the vectors of 60 words and 240 documents do not."""
    out = shutil.copytree(model, tmp_path / "m")
    before = {file.name: file.read_bytes() for file in out.iterdir()}

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (400_000, 400_000))

    arguments = ("--vector-size", "2048", "--epochs", "1", "--force")
    line = one_error_line(run("train", corpus, "--out", out, *arguments, preexec_fn=limit))
    assert f"{out}: cannot write: File too large" in line
    assert {file.name: file.read_bytes() for file in out.iterdir()} == before
    assert list(tmp_path.iterdir()) == [out]


def test_full_standard_output_is_one_line(model):
    if not Path("/dev/full").exists():
        pytest.skip("needs /dev/full")
    with Path("/dev/full").open("w") as full:
        done = subprocess.run([SPHEREVEC, "info", model], stdout=full, stderr=subprocess.PIPE, text=True, timeout=900)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert "No space left on device" in done.stderr


def test_a_closed_pipe_is_quiet(model):
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run([SPHEREVEC, "info", model], stdout=writer, stderr=subprocess.PIPE, text=True, timeout=900)
    os.close(writer)
    assert (done.returncode, done.stderr) == (141, "")


def test_closed_streams_change_nothing(model):
    without_stderr = subprocess.run(["sh", "-c", f"'{SPHEREVEC}' info '{model}' 2>&-"], capture_output=True, text=True)
    assert without_stderr.stdout.startswith("words        60\n")
    without_stdout = subprocess.run(["sh", "-c", f"'{SPHEREVEC}' info '{model}' >&-"], capture_output=True, text=True)
    assert (without_stdout.returncode, without_stdout.stderr) == (0, "")


def test_interrupted_training_without_checkpoints_leaves_nothing_behind(corpus, tmp_path):
    process = subprocess.Popen(
        [SPHEREVEC, "train", corpus, "--out", tmp_path / "m", "--epochs", "100000", "--checkpoint-every", "off"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )
    while not process.stderr.readline().startswith("training"):
        assert process.poll() is None
    assert list(tmp_path.iterdir())  # the encoded text, beside where the model would be
    process.send_signal(signal.SIGINT)
    stdout, stderr = process.communicate(timeout=900)
    assert process.returncode == 130
    assert (stdout, [line for line in stderr.splitlines() if not line.startswith("training")]) == (
        "",
        ["spherevec: interrupted; what was there before is untouched"],
    )
    assert list(tmp_path.iterdir()) == []


def test_the_authors_files_come_in_with_their_documents(tmp_path):
    (tmp_path / "words.txt").write_text("3 2\n</s> 1.0 0.0 \nsun 0.6 0.8 \nmoon 0.0 1.0 \n")
    (tmp_path / "documents.txt").write_text("2 2\n0 0.8 0.6 \n1 1.0 0.0 \n")
    succeed(
        "import",
        tmp_path / "words.txt",
        "--docs",
        tmp_path / "documents.txt",
        "--format",
        "jose",
        "--out",
        tmp_path / "m",
    )
    about = json.loads(succeed("info", tmp_path / "m", "--json").stdout)
    assert (about["words"], about["documents"]) == (3, 2)
    answers = succeed("neighbors", tmp_path / "m", "--doc", "0", "--top", "1").stdout
    assert "1" in answers


def test_folders_on_the_way_to_the_model_are_made(corpus, tmp_path):
    succeed("train", corpus, "--out", tmp_path / "new" / "deep" / "m", "--epochs", "1", "--vector-size", "8", "--quiet")
    assert [path.name for path in (tmp_path / "new" / "deep").iterdir()] == ["m"]


def test_a_terminal_gets_a_live_bar(corpus, tmp_path):
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [SPHEREVEC, "train", corpus, "--out", tmp_path / "m", *SETTINGS, "--epochs", "60"],
        stderr=theirs,
        stdout=subprocess.PIPE,
        env={**os.environ, "TERM": "xterm", "COLUMNS": "80"},
    )
    os.close(theirs)
    seen = b""
    try:
        while piece := os.read(ours, 65536):
            seen += piece
    except OSError:  # how Linux reports the end of a terminal
        pass
    os.close(ours)
    assert process.wait(timeout=900) == 0 and process.stdout.read() == b""
    shown = seen.decode()
    for words in ("of 60", "━", "% ", "left", "tokens/s · loss ", "anisotropy"):
        assert words in shown
    assert f"{tmp_path / 'm'}: 60 words" in shown.splitlines()[-1]


@pytest.mark.parametrize("arguments", [["--help"], ["train", "--help"], ["--version"], []])
def test_help_needs_no_heavy_imports(arguments):
    command = [sys.executable, "-X", "importtime", "-m", "spherevec", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=900)
    imported = {line.rpartition("|")[2].strip() for line in done.stderr.splitlines()}
    assert done.returncode == 0 and "click" in imported
    assert "spherevec" in done.stdout
    assert not imported & {"numpy", "numba", "scipy", "sklearn", "rich", "safetensors"}


def test_help_lists_the_promised_commands():
    listed = succeed("--help").stdout
    names = ["demo", "train", "neighbors", "analogy", "topics", "evaluate", "export", "import", "info"]
    for name in names:
        assert f"\n  {name} " in listed
    assert "[word2vec|word2vec-bin|" in succeed("export", "--help").stdout


def test_a_misspelled_command_is_named():
    done = run("serch", "m", "x")
    assert done.returncode == 2 and "did you mean 'search'?" in done.stderr


PRINTING = sorted(set(cli.list_commands(click.Context(cli))) - {"serve"})  # which answers over HTTP


@pytest.mark.parametrize("name", PRINTING)
def test_every_command_that_prints_takes_json_and_quiet(name):
    options = {flag for param in cli.get_command(click.Context(cli), name).params for flag in param.opts}
    assert {"--json", "--quiet"} <= options


@pytest.mark.parametrize("closed", ["<&-", ">&- <&-", "<&- >&- 2>&-"])
def test_closed_standard_streams_end_in_one_line(model, tmp_path, closed):
    lines = {f"search {model} -": "standard input holds no text", f"train - --out {tmp_path}/m": "-: is empty"}
    for line, message in lines.items():
        command = f"{SPHEREVEC} {line} {closed}"
        done = subprocess.run(command, shell=True, capture_output=True, text=True, timeout=900)
        assert done.returncode == 2
        if "2>&-" not in closed:
            assert message in one_error_line(done)
    assert not (tmp_path / "m").exists()


@pytest.mark.parametrize(
    "line", ["train {corpus} --out /", "update {model} {corpus} --out /", "import {words} --out /"]
)
def test_a_model_is_never_written_to_the_root(model, corpus, tmp_path, line):
    succeed("export", model, "--words", tmp_path / "words.txt")
    words = line.format(model=model, corpus=corpus, words=tmp_path / "words.txt").split()
    assert "is the root of the file system" in one_error_line(run(*words, "--out", "/", "--force"))
