"""Checkpoints: killed, interrupted and resumed runs end where undisturbed ones do."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import asdict
from pathlib import Path

import numpy as np
import pytest

import spherevec
from helpers import devices, digest, random_documents, small_disk
from spherevec import Model, TrainConfig
from spherevec.corpus import encode
from spherevec.engine import schedule
from spherevec.engine.cpu import rounds
from spherevec.engine.figures import Sums
from spherevec.errors import ConfigError, FormatError, SpherevecError
from spherevec.storage import checksums, files
from spherevec.storage.tensors import read_tensors, write_tensors
from spherevec.training import checkpoint, run, trainer
from spherevec.training.checkpoint import Position, SaveInterval
from warm import run_command

DOCUMENTS = random_documents(200, longest=100)
SETTINGS = {"vector_size": 12, "window": 3, "min_count": 1, "epochs": 4, "sample": 1e-2, "threads": 1}


@pytest.fixture(autouse=True)
def many_blocks(monkeypatch):
    """Ten blocks an epoch, a checkpoint after each, and documents fitted in five ranges."""
    monkeypatch.setattr(schedule, "DEVICES", devices(block_tokens=900, refit_tokens=2000))
    monkeypatch.setattr(run, "TICK", 0.001)


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    return encode(DOCUMENTS, tmp_path_factory.mktemp("corpus") / "encoded", min_count=1)


def train(corpus, folder, **settings):
    arguments = {"checkpoint": folder, "checkpoint_every": "0.0001s", "resume": True} | settings
    return spherevec.train(corpus, **SETTINGS | arguments)


def one_line(error):
    message = str(error.value)
    assert "\n" not in message
    return message


# --- how often --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "every"),
    [
        ("90s", SaveInterval(seconds=90)),
        ("10m", SaveInterval(seconds=600)),
        ("1.5h", SaveInterval(seconds=5400)),
        ("2e", SaveInterval(epochs=2)),
        ("off", None),
    ],
)
def test_times_and_epochs(text, every):
    assert SaveInterval.parse(text) == every


@pytest.mark.parametrize("text", ["10", "m", "", "0s", "0.0m", "0e", "-1m", "1.5e", "10 m", "never", 5, None])
def test_other_intervals_are_quoted(text, corpus):
    with pytest.raises(ConfigError) as error:
        spherevec.train(corpus, **SETTINGS, checkpoint_every=text)
    assert one_line(error).startswith(
        "checkpoint_every must be a time such as 90s, 10m or 2h, epochs such as 2e, or off"
    )
    assert one_line(error).endswith(f"not {text!r}")


def saves(corpus, folder, monkeypatch, every):
    """The positions at which a run saves itself."""
    seen = []
    monkeypatch.setattr(checkpoint.Saver, "write", lambda self, position: seen.append(position))
    spherevec.train(corpus, **SETTINGS, checkpoint=folder, checkpoint_every=every)
    return seen


def test_short_runs_save_nothing_unless_asked(corpus, tmp_path, monkeypatch):
    assert saves(corpus, tmp_path / "c", monkeypatch, "10m") == []
    assert saves(corpus, tmp_path / "c", monkeypatch, "off") == []


def test_every_second_epoch(corpus, tmp_path, monkeypatch):
    seen = saves(corpus, tmp_path / "c", monkeypatch, "2e")
    assert [(position.epoch, position.trained, position.refitted) for position in seen] == [(2, None, 0), (4, None, 0)]


def test_time_counts_within_epochs_and_while_documents_are_fitted(corpus, tmp_path, monkeypatch):
    train = run.train_blocks

    def train_blocks(training, count, tick):
        if tick():
            training.stop()  # before the threads have begun, however fast they are
        train(training, count, tick)

    monkeypatch.setattr(run, "train_blocks", train_blocks)
    seen = saves(corpus, tmp_path / "c", monkeypatch, "0.0000001s")
    assert any(position.trained for position in seen)
    assert [position.epoch for position in seen] == sorted(position.epoch for position in seen)
    refitted = [position.refitted for position in seen if position.refitted]
    assert len(refitted) > 3 and refitted == sorted(refitted)


def test_positions_survive_json():
    entry = {"epoch": 1, "loss": 0.1 + 0.2}
    position = Position(1, 7, Sums(loss=1 / 3), 0.7, (entry,), refitted=6)
    assert Position.from_dict(json.loads(json.dumps(asdict(position)))) == position
    assert Position.from_dict(json.loads(json.dumps(asdict(Position())))) == Position()


def shares_of_neighbours(model):
    """Of the nearest words of each word, and documents of each document, how many are of its topic; chance is 1/6."""
    from helpers import TOPICS

    numbers = np.array([int(word[1:]) for word in model.words])
    tables = ((model.words.vectors, numbers % TOPICS), (model.docs.vectors, np.arange(len(model.docs)) % TOPICS))
    shares = []
    for vectors, topics in tables:
        cosines = vectors @ vectors.T
        np.fill_diagonal(cosines, -2)
        shares.append(f"{(topics[np.argsort(-cosines)[:, :5]] == topics[:, None]).mean():.4f}")
    return ",".join(shares)


def text_of_topics():
    from helpers import written_text

    return written_text()[0]


# What killed runs train on, and what is told of their models.
TOLD = {"digest": (lambda: DOCUMENTS, digest), "neighbours": (text_of_topics, shares_of_neighbours)}
QUALITY_TOLERANCE = 0.03  # without kills, the figures of four runs lay within 0.005


# --- killed -----------------------------------------------------------------------------------------------------------

# Trains in child processes of a process that has everything loaded, so that twenty of them start in no time. Each is
# killed a random while after it has made progress; of four, one is killed in the middle of an epoch, and one whether it
# has made progress or not. One that has saved something of the next epoch waits to be killed, and no thread goes far
# into an epoch before it is asked to stop for saving: no machine is so fast, or so busy, that a run ends before.
KILLING = """
import atexit, json, os, random, signal, sys, threading, time
from test_checkpoint import *
folder, settings, kills = Path(sys.argv[1]), json.loads(sys.argv[2]), int(sys.argv[3])
schedule.DEVICES = devices(block_tokens=900, refit_tokens=2000)
schedule.ROUND_TOKENS, run.TICK = 5000, 0.001
texts, told = TOLD[sys.argv[5]]
corpus = encode(texts(), folder / "encoded", min_count=1)
settings = SETTINGS | {"epochs": 5 + kills} | settings
print(told(spherevec.train(corpus, **settings)), flush=True)
saved = folder / "c"
chance = random.Random(int(sys.argv[4]))

def threads_wait_for_saving():
    train = run.train_blocks
    def train_few(training, *others):
        training.stop()  # each thread trains one block
        train(training, *others)
    run.train_blocks = train_few

def start(waits=None):
    child = os.fork()
    if child == 0:
        save = checkpoint.Saver.save
        def save_and_wait(self, position):
            save(self, position)
            while waits and waits(position):
                time.sleep(1)
        checkpoint.Saver.save = save_and_wait
        if waits:
            threads_wait_for_saving()
        model = spherevec.train(corpus, **settings, checkpoint=saved, checkpoint_every="0.0001s", resume=True)
        (folder / "digest").write_text(told(model) + " " + json.dumps([epoch["pairs"] for epoch in model.record]))
        os._exit(0)
    children.add(child)
    return child

children = set()

@atexit.register
def kill_all():
    for child in children:
        os.kill(child, signal.SIGKILL)

def position():
    found = checkpoint.load(saved)  # complete, by its checksums, or not there
    return None if found is None else found.position

def kill(child, is_time):
    deadline = time.monotonic() + 900
    while not is_time():
        if os.waitpid(child, os.WNOHANG)[0]:
            children.remove(child)
            raise AssertionError("finished before it was killed")
        assert time.monotonic() < deadline
        time.sleep(0.001)
    os.kill(child, signal.SIGKILL)
    children.remove(child)
    assert os.WTERMSIG(os.waitpid(child, 0)[1]) == signal.SIGKILL

def told_position():
    try:  # alone, while another process may be writing
        return json.loads((saved / checkpoint.MANIFEST).read_bytes())["position"]
    except (OSError, ValueError):
        return {}

def changed():
    return saved.stat().st_ctime_ns if saved.exists() else 0

places = []
for number in range(kills):
    epoch = places[-1].epoch if places and places[-1] else 0
    before, child = changed(), start(lambda position: position.epoch > epoch and position.trained)
    ends = time.monotonic() + chance.uniform(0, 0.1)
    def is_time():
        if number % 4 == 1:
            found = told_position()
            return found.get("epoch", 0) > epoch and bool(found["trained"])
        return time.monotonic() > ends and (number % 4 == 3 or changed() != before)
    kill(child, is_time)
    places.append(position())
kill(start(lambda position: position.refitted), lambda: told_position().get("refitted", 0) > 0)
assert position().refitted > 0
child = start()
assert os.waitpid(child, 0)[1] == 0
children.remove(child)
places = [place for place in places if place]
print(len({(place.epoch, place.trained) for place in places}), sum(bool(place.trained) for place in places))
print((folder / "digest").read_text())
"""


def killed(folder, kills, told="digest", **settings):
    """What is `TOLD` of an undisturbed run and of one that is killed so often, and the pairs of the latter by epoch."""
    script = [sys.executable, "-c", KILLING, str(folder), json.dumps(settings), str(kills), "7", told]
    done = subprocess.run(script, capture_output=True, text=True, cwd=Path(__file__).parent, timeout=900)
    assert done.returncode == 0, done.stderr
    undisturbed, places, within, result, *pairs = done.stdout.split(maxsplit=4)
    assert int(places) >= kills / 2 and int(within) >= kills / 5  # in the middle of an epoch
    # One process may have died while it wrote, and one leftover of it may remain; not one of each.
    leftovers = [path.name for path in folder.iterdir() if path.name not in ("encoded", "c", "digest")]
    assert len(leftovers) <= 1, leftovers
    return undisturbed, result, json.loads(pairs[0])


@pytest.mark.process
def test_twenty_kills_change_no_bit(tmp_path):
    undisturbed, result, _ = killed(tmp_path, 20)
    assert result == undisturbed


@pytest.mark.process
@pytest.mark.parametrize(
    "settings",
    [
        {"deterministic": True, "threads": 2},
        {"objective": "hinge", "batch": 1, "negative": 2, "order": "file"},
    ],
    ids=["deterministic, two threads", "paper's hinge, file order"],
)
def test_kills_change_no_bit_of_other_runs(tmp_path, settings):
    undisturbed, result, _ = killed(tmp_path, 6, **settings)
    assert result == undisturbed


@pytest.mark.process
@pytest.mark.parametrize("order", ["shuffled", "file"])
def test_with_two_threads_kills_lose_no_block_and_repeat_none(tmp_path, corpus, order):
    _, _, pairs = killed(tmp_path, 4, threads=2, order=order)
    alone = spherevec.train(corpus, **SETTINGS | {"epochs": 9, "order": order})
    assert pairs == [epoch["pairs"] for epoch in alone.record]


@pytest.mark.process
def test_with_two_threads_kills_cost_no_quality(tmp_path):
    """Steps are so small that every epoch counts: with half of them, words find half as many of their topic."""
    settings = {"threads": 2, "alpha": 0.0005, "window": 5, "sample": 0.0}
    undisturbed, result, _ = killed(tmp_path, 4, "neighbours", **settings)
    half = shares_of_neighbours(spherevec.train(text_of_topics(), **SETTINGS | settings | {"epochs": 4}))
    whole, after_kills, of_half = (np.array(told.split(","), float) for told in (undisturbed, result, half))
    assert np.abs(after_kills - whole).max() < QUALITY_TOLERANCE
    assert of_half[0] < whole[0] - 5 * QUALITY_TOLERANCE, "it would not show if half of the training were lost"


# --- interrupted ------------------------------------------------------------------------------------------------------


def interrupted(corpus, folder, is_time, **settings):
    """Train until `is_time` says of the progress that it is time; returns the notes of the interruption."""

    def interrupt(progress):
        if is_time(progress):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt) as caught:
        train(corpus, folder, progress=interrupt, checkpoint_every="10m", **settings)
    return getattr(caught.value, "__notes__", [])


@pytest.mark.parametrize("settings", [{}, {"deterministic": True, "threads": 3}], ids=str)
def test_an_interruption_saves_first_and_changes_no_bit(corpus, tmp_path, settings):
    expected = spherevec.train(corpus, **SETTINGS | settings)
    folder = tmp_path / "c"
    for share in (0.1, 0.4, 0.6):
        notes = interrupted(corpus, folder, lambda progress, at=share: (progress.done or 0) > at, **settings)
        assert notes[0].startswith("saved in epoch ") and str(folder) in notes[0] and "--resume" in notes[0]
    notes = interrupted(
        corpus, folder, lambda progress: progress.phase == "finishing" and progress.done > 0.3, **settings
    )
    assert notes[0].startswith("saved after the last epoch")
    assert checkpoint.load(folder).position.refitted > 0
    seen = []
    resumed = train(corpus, folder, progress=seen.append, **settings)
    assert digest(resumed) == digest(expected)
    assert resumed.parameters == expected.parameters
    where = next(progress for progress in seen if progress.phase == "resuming")
    assert (where.done, where.epoch, where.epochs) == (1.0, 4, 4)
    for ours, theirs in zip(resumed.record, expected.record, strict=True):
        assert {**ours, "seconds": 0, "tokens_per_second": 0} == {**theirs, "seconds": 0, "tokens_per_second": 0}


def test_where_a_run_goes_on_is_told(corpus, tmp_path):
    interrupted(corpus, tmp_path / "c", lambda progress: (progress.done or 0) > 0.5)
    seen = []
    train(corpus, tmp_path / "c", progress=seen.append)
    phases = [progress.phase for progress in seen]
    assert list(dict.fromkeys(phases)) == ["compiling", "resuming", "training", "finishing"]
    resuming = seen[phases.index("resuming")]
    assert 0.5 <= resuming.done < 1 and resuming.epoch - 1 <= resuming.done * 4 <= resuming.epoch
    training = [progress for progress in seen if progress.phase == "training"]
    assert all(0.5 < progress.done <= 1 for progress in training) and training[-1].seconds_left == 0


@pytest.mark.parametrize("phase", ["compiling", "reading"])
def test_an_interruption_before_training_saves_nothing(tmp_path, phase):
    assert interrupted(DOCUMENTS, tmp_path / "c", lambda progress: progress.phase == phase) == []
    assert list(tmp_path.iterdir()) == []


def test_an_interruption_while_saving_saves_again(corpus, tmp_path, monkeypatch):
    write, calls = checkpoint.write_tensors, []

    def interrupted_once(path, tensors):
        calls.append(path)
        write(path, tensors)
        if len(calls) == 3:
            raise KeyboardInterrupt

    monkeypatch.setattr(checkpoint, "write_tensors", interrupted_once)
    with pytest.raises(KeyboardInterrupt) as caught:
        train(corpus, tmp_path / "c")
    assert len(calls) == 4 and caught.value.__notes__[0].startswith("saved in epoch ")
    assert digest(train(corpus, tmp_path / "c")) == digest(spherevec.train(corpus, **SETTINGS))
    assert [path.name for path in tmp_path.iterdir()] == ["c"]


def test_an_interruption_while_the_model_is_built_leaves_a_checkpoint(corpus, tmp_path, monkeypatch):
    """The vectors have left the backend by then, and nobody has saved them."""
    build = trainer.build_model

    def interrupted_build(*arguments):
        signal.raise_signal(signal.SIGINT)
        return build(*arguments)

    with monkeypatch.context() as patched, pytest.raises(KeyboardInterrupt) as caught:
        patched.setattr(trainer, "build_model", interrupted_build)
        train(corpus, tmp_path / "c", checkpoint_every="10m")
    assert caught.value.__notes__[0].startswith("saved after the last epoch")
    assert digest(train(corpus, tmp_path / "c")) == digest(spherevec.train(corpus, **SETTINGS))


def test_a_model_that_cannot_be_saved_leaves_a_checkpoint(corpus, tmp_path):
    def finish(model):
        raise OSError(28, "No space left on device")

    with pytest.raises(OSError, match="No space left") as caught:
        train(corpus, tmp_path / "c", checkpoint_every="10m", finish=finish)
    assert caught.value.__notes__[0].startswith("saved after the last epoch")
    assert digest(train(corpus, tmp_path / "c")) == digest(spherevec.train(corpus, **SETTINGS))


@pytest.mark.process
def test_what_a_killed_run_left_of_its_text_is_removed(tmp_path):
    left = tmp_path / ".spherevec.partial-killed"
    left.mkdir()
    (left / "ids.bin").write_bytes(bytes(1000))
    spherevec.train(DOCUMENTS, **SETTINGS | {"epochs": 1}, workdir=tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_a_diverged_run_is_never_saved(corpus, tmp_path, monkeypatch):
    interrupted(corpus, tmp_path / "c", lambda progress: (progress.done or 0) > 0.2)
    before = (tmp_path / "c" / checkpoint.MANIFEST).read_bytes()

    def diverge(worker, workers, round_, inputs, contexts, documents, corpus, scratch, plan, *settings):
        contexts.table[0] = np.nan
        time.sleep(0.01)
        round_.cells[rounds.DONE] = len(plan.edges)

    monkeypatch.setattr(rounds, "train_rounds", diverge)
    with pytest.raises(SpherevecError, match="diverged"):
        train(corpus, tmp_path / "c")
    (note,) = interrupted(corpus, tmp_path / "c", lambda progress: (progress.done or 0) > 0.3)
    assert note.startswith("not saved: the vectors diverged")
    assert (tmp_path / "c" / checkpoint.MANIFEST).read_bytes() == before


@pytest.fixture(scope="module")
def text(tmp_path_factory):
    path = tmp_path_factory.mktemp("text") / "text.txt"
    path.write_text("\n".join(" ".join(words) for words in random_documents(400, longest=300)))
    return path


# Waits for a signal, once it has told that it trains.
WAITING = """
import sys
from spherevec.cli import display, main
real = display._line_reporter
def waiting():
    report = real()
    def until_signalled(progress):
        report(progress)
        if progress.phase == "training":
            sys.stdin.readline()
    return until_signalled
display._line_reporter = waiting
sys.exit(main(sys.argv[1:]))
"""


@pytest.mark.process
@pytest.mark.parametrize(
    ("number", "code", "word"), [(signal.SIGINT, 130, "interrupted"), (signal.SIGTERM, 143, "terminated")]
)
def test_the_command_line_saves_says_so_and_goes_on(text, tmp_path, number, code, word):
    command = ["train", str(text), "--out", "m", "--vector-size", "8", "--min-count", "1", "--threads", "1"]
    command += ["--epochs", "15"]
    process = subprocess.Popen(
        [sys.executable, "-c", WAITING, *command], cwd=tmp_path, stdin=subprocess.PIPE, stderr=subprocess.PIPE,
        text=True, preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )  # fmt: skip
    while not (line := process.stderr.readline()).startswith("training"):
        assert line, "ended before it trained"
    process.send_signal(number)
    last = process.stderr.read().splitlines()[-1]
    assert process.wait(timeout=900) == code
    assert last.startswith(f"spherevec: {word}; saved in epoch ")
    assert last.endswith(" of 15 in m.checkpoint; run the same again with --resume to go on")
    assert [path.name for path in tmp_path.iterdir()] == ["m.checkpoint"]
    if number == signal.SIGTERM:
        return

    def again(*options):
        return run_command(*command, *options, cwd=tmp_path)

    done = again()
    assert done.returncode == 2
    assert done.stderr == (
        "spherevec: error: m.checkpoint: holds an unfinished training; "
        "give --resume to go on with it, or --force to start over\n"
    )
    about = json.loads((tmp_path / "m.checkpoint" / checkpoint.MANIFEST).read_text())
    done = again("--resume")
    assert done.returncode == 0, done.stderr
    assert f"resuming, epoch {about['position']['epoch'] + 1} of 15" in done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["m"]
    assert len(Model.load(tmp_path / "m").record) == 15


@pytest.mark.process
def test_the_command_line_starts_over(text, tmp_path):
    command = ["train", str(text), "--out", "m", "--vector-size", "8", "--epochs", "1", "--threads", "1"]
    done = run_command(*command, "--resume", cwd=tmp_path)
    assert done.returncode == 0
    assert done.stderr.splitlines()[0] == "m.checkpoint: no checkpoint there; starting from the beginning"
    (tmp_path / "m.checkpoint").mkdir()
    (tmp_path / "m.checkpoint" / checkpoint.MANIFEST).write_text("{}")
    done = run_command(*command, "--force", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["m"]


# --- refused ----------------------------------------------------------------------------------------------------------


@pytest.fixture
def half(corpus, tmp_path):
    """A checkpoint of half a run."""
    interrupted(corpus, tmp_path / "c", lambda progress: (progress.done or 0) > 0.5)
    return tmp_path / "c"


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({"alpha": 0.02}, "alpha: 0.01 then, 0.02 now"),
        ({"negative": 3, "seed": 2}, "(negative: 5 then, 3 now; seed: 1 then, 2 now)"),
        ({"epochs": 5}, "(epochs: 4 then, 5 now)"),
        ({"deterministic": False}, "deterministic: None then, False now"),
        ({"vector_size": 14}, "vector_size: 12 then, 14 now"),
        ({"documents": False}, "documents: True then, False now"),
        ({"sample": None}, "sample: 0.01 then"),
    ],
)
def test_other_settings_are_refused_by_name(corpus, half, settings, says):
    with pytest.raises(ConfigError) as error:
        train(corpus, half, **settings)
    assert says in one_line(error) and str(half) in one_line(error) and "remove the folder" in one_line(error)


def test_another_number_of_threads_is_welcome(corpus, half):
    assert len(train(corpus, half, threads=2).record) == 4


def changed(documents, how):
    documents = [list(document) for document in documents]
    if how == "one more":
        documents.append(["w1"])
    elif how == "another word":
        document = next(document for document in documents if "w1" in document and "w2" in document)
        first, second = document.index("w1"), document.index("w2")
        document[first], document[second] = "w2", "w1"
    else:
        documents.reverse()
    return documents


@pytest.mark.parametrize(
    ("how", "says"),
    [
        ("one more", "documents: 200 then, 201 now"),
        ("another word", "as many words as before, but different ones or in a different order"),
        ("reversed", "as many words as before, but different ones or in a different order"),
    ],
)
def test_another_text_is_refused(half, tmp_path, how, says):
    with pytest.raises(ConfigError) as error:
        train(changed(DOCUMENTS, how), half)
    assert "the text has changed" in one_line(error) and says in one_line(error)


def test_settings_that_shape_the_text_are_named_before_it(half):
    with pytest.raises(ConfigError, match=r"other settings \(min_count: 1 then, 3 now\)"):
        train(DOCUMENTS, half, min_count=3)


def test_an_unfinished_run_is_not_written_over(corpus, half):
    with pytest.raises(ConfigError) as error:
        train(corpus, half, resume=False)
    assert "holds an unfinished training; give resume=True (--resume)" in one_line(error)


def test_resuming_nothing_starts_from_the_beginning(corpus, tmp_path):
    assert digest(train(corpus, tmp_path / "c")) == digest(spherevec.train(corpus, **SETTINGS))
    with pytest.raises(ConfigError, match="needs checkpoint"):
        spherevec.train(corpus, **SETTINGS, resume=True)


@pytest.mark.parametrize("resume", [True, False])
def test_a_folder_of_something_else_is_refused_at_once(corpus, tmp_path, resume):
    (tmp_path / "c").mkdir()
    (tmp_path / "c" / "thesis.tex").touch()
    with pytest.raises(SpherevecError, match=r"holds 'thesis.tex', which would be lost"):
        train(corpus, tmp_path / "c", resume=resume)


def flip(path):
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)


DAMAGES = {
    "a flipped bit": lambda folder: flip(folder / checkpoint.VECTORS),
    "cut off": lambda folder: os.truncate(folder / checkpoint.VECTORS, 1000),
    "no vectors": lambda folder: (folder / checkpoint.VECTORS).unlink(),
    "half a description": lambda folder: os.truncate(folder / checkpoint.MANIFEST, 1000),
    "no description": lambda folder: (folder / checkpoint.MANIFEST).write_text("[]"),
    "from the future": lambda folder: rewrite(folder, format_version=9),
    "impossible position": lambda folder: rewrite(folder, position=asdict(Position(2, 999))),
    "no position": lambda folder: rewrite(folder, position=3),
    "deep": lambda folder: (folder / checkpoint.MANIFEST).write_text("[" * 100_000),
    "a link": lambda folder: link(folder / checkpoint.VECTORS),
}


def link(path):
    path.rename(path.parent / "x")
    path.symlink_to("x")


def rewrite(folder, **values):
    about = json.loads((folder / checkpoint.MANIFEST).read_text())
    (folder / checkpoint.MANIFEST).write_text(json.dumps(about | values))


def with_settings(folder, change):
    """Let the settings in a checkpoint or model be others, as another release would have written them."""
    path = next(path for path in (folder / checkpoint.MANIFEST, folder / "model.json") if path.exists())
    about = json.loads(path.read_text())
    change(about["config"])
    path.write_text(json.dumps(checksums.with_checksum(about)))


def test_a_setting_that_is_newer_than_a_checkpoint_has_its_default(corpus, half):
    with_settings(half, lambda settings: [settings.pop(name) for name in ("refit", "step", "phrases")])
    assert digest(train(corpus, half)) == digest(spherevec.train(corpus, **SETTINGS))


def test_an_unknown_setting_of_a_checkpoint_is_refused_by_name(corpus, half):
    with_settings(half, lambda settings: settings.update(sorcery=3))
    with pytest.raises(FormatError, match=r"unknown setting 'sorcery'.*newer release") as error:
        train(corpus, half)
    assert str(half) in one_line(error) and "damaged" not in one_line(error)


def test_the_settings_of_a_model_are_completed_or_refused(corpus, tmp_path):
    model = spherevec.train(corpus, **SETTINGS)
    model.save(tmp_path / "m")
    with_settings(tmp_path / "m", lambda settings: settings.pop("refit"))
    assert spherevec.load(tmp_path / "m").config == model.config
    with_settings(tmp_path / "m", lambda settings: settings.update(sorcery=3))
    with pytest.raises(FormatError, match=r"unknown setting 'sorcery'"):
        spherevec.load(tmp_path / "m")


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_checkpoint_is_refused(corpus, half, damage):
    DAMAGES[damage](half)
    with pytest.raises(FormatError) as error:
        train(corpus, half)
    assert str(half) in one_line(error)


def lacking(name):
    return lambda about: [epoch.pop(name) for epoch in about["position"]["record"]]


def of_last_epoch(**figures):
    return lambda about: about["position"]["record"][-1].update(figures)


# What would end a run after the last epoch, or come into its model.
CRAFTED = {
    "seconds as text": (
        of_last_epoch(seconds="9"),
        r"position\.record\[1\]\.seconds must be a number from 0 to 1e\+09",
    ),
    "endless seconds": (of_last_epoch(seconds=1e300), r"seconds must be a number from 0 to"),
    "loss null": (of_last_epoch(loss=None), r"position\.record\[1\]\.loss must be a finite number"),
    "a figure that is a list": (of_last_epoch(pairs=[]), r"position\.record\[1\]\.pairs must be a finite number"),
    "other names": (of_last_epoch(sorcery=3), r"position\.record has rows with different names"),
    "a huge bias": (
        lambda about: about["biases"].update(words=-1e30),
        r"biases\.words must be a number from -1e\+09 to",
    ),
    "no loss": (lacking("loss"), r"position\.record\[0\] lacks 'loss'"),
    "no seconds": (lacking("seconds"), r"position\.record\[0\] lacks 'seconds'"),
}


@pytest.mark.parametrize("craft", CRAFTED)
def test_what_no_run_has_written_is_refused_by_name(corpus, half, craft):
    change, says = CRAFTED[craft]
    about = json.loads((half / checkpoint.MANIFEST).read_text())
    change(about)
    (half / checkpoint.MANIFEST).write_text(json.dumps(checksums.with_checksum(about)))
    with pytest.raises(FormatError, match=rf"damaged checkpoint \(.*{says}") as error:
        train(corpus, half)
    assert str(half) in one_line(error)


TENSORS = {
    "another type": lambda rows: rows.astype(np.float64),
    "no numbers": lambda rows: rows * np.float32(np.nan),
    "infinite": lambda rows: rows / np.float32(0),
    "huge": lambda rows: rows * np.float32(1e20),
    "zero": lambda rows: rows * np.float32(0),
    "no unit vectors": lambda rows: rows * np.float32(1.001),
}


@pytest.mark.parametrize("change", TENSORS)
@pytest.mark.parametrize("table", ["inputs", "contexts", "docs"])
@pytest.mark.filterwarnings("ignore:divide by zero", "ignore:invalid value")
def test_vectors_that_no_run_has_written_are_refused(corpus, tmp_path, table, change):
    """After the last epoch nothing would make unit vectors of them; before it, NaN would be called divergence."""
    folder = tmp_path / "c"
    train(corpus, folder)
    tables = {name: rows.copy() for name, rows in read_tensors(folder / checkpoint.VECTORS).items()}
    write_tensors(folder / checkpoint.VECTORS, tables | {table: TENSORS[change](tables[table])})
    about = json.loads((folder / checkpoint.MANIFEST).read_text())
    with (folder / checkpoint.VECTORS).open("rb") as file:
        about["files"][checkpoint.VECTORS] = checksums.entry(file)
    (folder / checkpoint.MANIFEST).write_text(json.dumps(checksums.with_checksum(about)))
    with pytest.raises(FormatError, match=rf"damaged checkpoint \('?{table}") as error:
        train(corpus, folder)
    assert str(folder) in one_line(error)


def test_a_checkpoint_waiting_under_its_other_name_is_found(corpus, half):
    """Where the system cannot swap two folders in one step, a crash may leave the old one aside."""
    expected = digest(spherevec.train(corpus, **SETTINGS))
    half.rename(files.previous_version(half))
    assert checkpoint.find(half) == files.previous_version(half)
    seen = []
    assert digest(train(corpus, half, progress=seen.append, checkpoint_every="off")) == expected
    assert "resuming" in [progress.phase for progress in seen]
    checkpoint.remove(half)
    assert checkpoint.find(half) is None


# --- a full disk ------------------------------------------------------------------------------------------------------

FULL_DISK = """
import resource, sys, warnings
from test_checkpoint import *
schedule.DEVICES, run.TICK = devices(block_tokens=900), 0.001
warnings.simplefilter("always")
folder, limit = Path(sys.argv[1]), int(sys.argv[2])
corpus = encode(DOCUMENTS, Path(sys.argv[3]), min_count=1)
def interrupt(progress):
    if (progress.done or 0) > 0.3:
        raise KeyboardInterrupt
try:
    train(corpus, folder / "c", progress=interrupt)
except KeyboardInterrupt as interruption:
    assert interruption.__notes__[0].startswith("saved"), interruption.__notes__
before = checkpoint.load(folder / "c").position
if limit:
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
else:
    (folder / "ballast").write_bytes(bytes(100_000))
    try:
        with (folder / "rest").open("wb", buffering=0) as rest:
            while True:
                rest.write(bytes(4096))
    except OSError:
        pass
with warnings.catch_warnings(record=True) as seen:
    model = train(corpus, folder / "c")
assert checkpoint.load(folder / "c").position == before
assert not list(folder.glob(".c.partial-*"))
messages = {str(one.message) for one in seen}
# Where no file may grow, the words of the documents cannot be kept either.
unkept = {message for message in messages if message.startswith("the words of the documents are not kept")}
assert len(unkept) == bool(limit), messages
# A disk that is full is seen before training, too.
foreseen = {message for message in messages if "checkpoints need" in message}
assert len(foreseen) == (not limit), messages
print(len(messages - unkept - foreseen), (messages - unkept - foreseen).pop())
print(digest(model) == digest(spherevec.train(corpus, **SETTINGS)))
"""


def full_disk(folder, encoded, limit):
    script = [sys.executable, "-c", FULL_DISK, str(folder), str(limit), str(encoded)]
    done = subprocess.run(script, capture_output=True, text=True, cwd=Path(__file__).parent, timeout=900)
    assert done.returncode == 0, done.stderr
    warning, same = done.stdout.splitlines()
    assert warning.startswith("1 checkpoint not saved, training goes on: ")
    assert same == "True"
    return warning


@pytest.mark.process
def test_a_file_that_cannot_grow_costs_a_warning_not_the_run(tmp_path):
    assert "cannot write: File too large; raise the limit" in full_disk(tmp_path, tmp_path / "encoded", 2000)


@pytest.mark.process
def test_a_full_disk_costs_a_warning_not_the_run(tmp_path):
    with small_disk(tmp_path / "disk", "300k") as disk:
        assert "cannot write: No space left on device; free some space there" in full_disk(disk, tmp_path / "e", 0)


def test_an_interruption_that_cannot_be_saved_says_so(corpus, tmp_path, monkeypatch):
    def full(path, tensors):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(checkpoint, "write_tensors", full)
    (note,) = interrupted(corpus, tmp_path / "c", lambda progress: (progress.done or 0) > 0.3)
    assert note.startswith("not saved: ") and "No space left on device" in note
    assert not list(tmp_path.iterdir())


def test_config_round_trips_through_a_checkpoint(corpus, half):
    saved = checkpoint.load(half)
    assert TrainConfig.from_mapping(saved.config) == TrainConfig(**SETTINGS)
