"""A run outlives its log, its terminal and its signals.

The processes signal themselves at the phase in question: nothing here depends on the clock.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import numpy as np
import pytest

import spherevec
from spherevec.cli import main
from spherevec.model import Model
from spherevec.training import checkpoint
from warm import run_command as command
from warm import run_script

SETTINGS = ["--vector-size", "8", "--min-count", "1", "--threads", "1", "--epochs", "3", "--window", "2"]
CODES = {signal.SIGINT: "interrupted", signal.SIGTERM: "terminated", signal.SIGHUP: "hung up"}

# Runs the command line, and sends itself signals when a function has been called so many times, before or after it.
RUNNER = """
    import importlib, os, signal, sys
    from spherevec.cli import main

    place, when, nth, numbers, arguments = sys.argv[1], sys.argv[2], int(sys.argv[3]), sys.argv[4], sys.argv[5:]
    module, _, name = place.rpartition(".")
    owner = importlib.import_module(module.partition(":")[0])
    if ":" in module:
        owner = getattr(owner, module.partition(":")[2])
    real, calls = getattr(owner, name), 0

    def storm():
        for number in numbers.split(","):
            os.kill(os.getpid(), int(number))

    def signalled(*args, **kwargs):
        global calls
        calls += 1
        if calls == nth and when == "before":
            storm()
        result = real(*args, **kwargs)
        if calls == nth and when == "after":
            storm()
        return result

    setattr(owner, name, signalled)
    for number in (signal.SIGINT,):
        signal.signal(number, signal.default_int_handler)
    sys.exit(main(arguments))
"""

# Where, when, the how many-eth call, and what is there afterwards.
PHASES = {
    "reading": ("spherevec.training.runtime.encode", "before", 1, "nothing"),
    "preparing": ("spherevec.training.runtime.prepare", "after", 1, "nothing"),
    "training": ("spherevec.training.run.train_blocks", "before", 2, "checkpoint"),
    "saving a checkpoint": ("spherevec.training.checkpoint.write_tensors", "after", 1, "checkpoint"),
    "a checkpoint in its place": ("spherevec.training.checkpoint:checksums.entry", "after", 1, "checkpoint"),
    "fitting documents": ("spherevec.training.run.refit_plan", "before", 1, "checkpoint"),
    "building": ("spherevec.training.trainer.build_model", "before", 1, "model"),
    "writing the model": ("spherevec.model.folder.write_files", "after", 1, "model"),
    "describing the model": ("spherevec.model.folder._encoded_manifest", "after", 1, "model"),
    "removing the checkpoint": ("spherevec.training.checkpoint.remove", "before", 1, "model"),
}


@pytest.fixture(scope="module")
def text(tmp_path_factory):
    luck = random.Random(3)
    path = tmp_path_factory.mktemp("signals") / "text.txt"
    path.write_text("\n".join(" ".join(f"w{luck.randrange(40)}" for _ in range(20)) for _ in range(60)))
    return path


@pytest.fixture(scope="module")
def whole(text, tmp_path_factory):
    """What a run gives that nobody disturbs."""
    out = tmp_path_factory.mktemp("whole") / "m"
    done = command("train", text, "--out", out, *SETTINGS)
    assert done.returncode == 0, done.stderr
    return Model.load(out)


@pytest.fixture(scope="module")
def unfinished(text, tmp_path_factory):
    """The checkpoint of a run that was terminated."""
    out = tmp_path_factory.mktemp("unfinished") / "m"
    assert signalled("training", [signal.SIGTERM], "train", text, "--out", out, *SETTINGS)[0].returncode == 143
    return out.with_name("m.checkpoint")


def signalled(phase, numbers, *arguments):
    place, when, nth, left = PHASES[phase]
    storm = ",".join(str(int(n)) for n in numbers)
    return run_script(textwrap.dedent(RUNNER), place, when, nth, storm, *arguments), left


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def same(ours, theirs):
    return all(
        np.array_equal(getattr(ours, table).vectors, getattr(theirs, table).vectors)
        for table in ("words", "contexts", "docs")
    )


ONCE, STORM = [signal.SIGTERM], [signal.SIGINT] * 20
MIXED = [signal.SIGHUP, signal.SIGTERM, signal.SIGINT, signal.SIGINT]


CASES = list(zip(PHASES, [ONCE, STORM, MIXED] * 4, strict=False))


@pytest.mark.parametrize(("phase", "numbers"), CASES, ids=list(PHASES))
def test_signals_at_any_phase_lose_nothing(text, whole, tmp_path, phase, numbers):
    out = tmp_path / "m"
    arguments = ["train", text, "--out", out, "--checkpoint-every", "1e", *SETTINGS]
    done, left = signalled(phase, numbers, *arguments)
    # Signals that come together are delivered in the order of their numbers.
    assert done.returncode in {128 + number for number in numbers}, done.stderr
    last = done.stderr.splitlines()[-1]
    assert last.startswith(f"spherevec: {CODES[signal.Signals(done.returncode - 128)]}; ")
    assert "Traceback" not in done.stderr
    if left == "nothing":
        assert last.endswith("what was there before is untouched") and names(tmp_path) == []
    elif left == "checkpoint":
        assert "saved" in last and names(tmp_path) == ["m.checkpoint"]
        assert checkpoint.load(tmp_path / "m.checkpoint") is not None
    else:
        assert "complete" in last and names(tmp_path) == ["m"]
        assert same(Model.load(out, verify=True), whole)
    assert main([*map(str, arguments), "--resume"]) == 0
    assert same(Model.load(out, verify=True), whole) and names(tmp_path) == ["m"]


UPDATE_PHASES = ("reading more", "training more", "growing", "writing the model", "removing the checkpoint")
PHASES |= {
    "reading more": ("spherevec.training.runtime.encode", "after", 1, "nothing"),
    "training more": ("spherevec.training.run.train_blocks", "before", 2, "checkpoint"),
    "growing": ("spherevec.training.update:Update.with_words", "before", 1, "model"),
}


@pytest.fixture(scope="module")
def more(tmp_path_factory):
    path = tmp_path_factory.mktemp("more") / "more.txt"
    luck = random.Random(4)
    path.write_text("\n".join(" ".join(f"w{luck.randrange(50)}" for _ in range(20)) for _ in range(30)))
    return path


@pytest.fixture(scope="module")
def grown(whole, more, tmp_path_factory):
    """A model, and what an update makes of it that nobody disturbs."""
    place = tmp_path_factory.mktemp("grown")
    whole.save(place / "old")
    done = command("update", place / "old", more, "--out", place / "new", "--threads", "1", "--epochs", "3")
    assert done.returncode == 0, done.stderr
    return place / "old", Model.load(place / "new")


@pytest.mark.parametrize("phase", UPDATE_PHASES)
def test_signals_at_any_phase_of_an_update_lose_nothing(grown, more, tmp_path, phase):
    old, expected = grown
    out = tmp_path / "m"
    arguments = ["update", old, more, "--out", out, "--checkpoint-every", "1e", "--threads", "1", "--epochs", "3"]
    done, left = signalled(phase, MIXED, *arguments)
    assert done.returncode in {128 + number for number in MIXED}, done.stderr
    last = done.stderr.splitlines()[-1]
    assert "Traceback" not in done.stderr
    if left == "nothing":
        assert last.endswith("what was there before is untouched") and names(tmp_path) == []
    elif left == "checkpoint":
        assert "saved" in last and names(tmp_path) == ["m.checkpoint"]
    else:
        assert "complete" in last and names(tmp_path) == ["m"]
    # A retry loop goes on, and ends.
    assert main([*map(str, arguments), "--resume"]) == 0
    assert same(Model.load(out, verify=True), expected) and names(tmp_path) == ["m"]
    assert main([*map(str, arguments), "--resume"]) == 0
    assert main([*map(str, arguments)]) == 2


def test_a_retry_loop_ends(text, whole, tmp_path):
    """`until spherevec train … --resume; do :; done`, with a signal in the first round."""
    arguments = ["train", text, "--out", tmp_path / "m", *SETTINGS, "--resume"]
    done, _ = signalled("training", [signal.SIGTERM], *arguments)
    assert done.returncode == 143
    assert command(*arguments).returncode == 0
    before = (tmp_path / "m" / "model.json").read_bytes()
    again = command(*arguments)
    assert again.returncode == 0 and "the run is finished, nothing to resume" in again.stderr
    assert (tmp_path / "m" / "model.json").read_bytes() == before
    assert command(*arguments[:-1]).returncode == 2  # without --resume it is in the way, as ever


def test_a_run_killed_between_its_model_and_its_checkpoint_is_finished(text, whole, tmp_path):
    arguments = ["train", text, "--out", tmp_path / "m", "--checkpoint-every", "1e", *SETTINGS]
    done, _ = signalled("removing the checkpoint", [signal.SIGKILL], *arguments)
    assert done.returncode == -signal.SIGKILL
    assert {"m", "m.checkpoint"} < set(names(tmp_path))
    again = command(*arguments, "--resume")
    assert again.returncode == 0 and "finished" in again.stderr, again.stderr
    assert "m.checkpoint" not in names(tmp_path) and same(Model.load(tmp_path / "m"), whole)


def test_another_unfinished_run_is_not_taken_for_the_finished_one(text, tmp_path):
    arguments = ["train", text, "--out", tmp_path / "m", *SETTINGS]
    assert command(*arguments).returncode == 0
    other = [*arguments, "--seed", "7", "--force"]
    assert signalled("training", [signal.SIGTERM], *other)[0].returncode == 143
    refused = command(*arguments, "--seed", "7", "--resume")
    assert refused.returncode == 2 and "already exists" in refused.stderr
    assert {"m", "m.checkpoint"} == set(names(tmp_path))
    assert command(*other, "--resume").returncode == 0
    assert names(tmp_path) == ["m"] and Model.load(tmp_path / "m").config["seed"] == 7


def test_ignored_signals_stay_ignored(text, whole, tmp_path):
    """As under nohup."""
    ignore = "import signal; signal.signal(signal.SIGHUP, signal.SIG_IGN)\n"
    place, when, nth, _ = PHASES["training"]
    where = [place, when, nth, int(signal.SIGHUP)]
    done = run_script(ignore + textwrap.dedent(RUNNER), *where, "train", text, "--out", tmp_path / "m", *SETTINGS)
    assert done.returncode == 0, done.stderr
    assert same(Model.load(tmp_path / "m"), whole)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_infer_leaves_no_half_of_a_file(text, tmp_path, number, whole):
    whole.save(tmp_path / "m")
    where = ["spherevec.model.inference.encode_texts", "after", 1, int(number)]
    done = run_script(textwrap.dedent(RUNNER), *where, "infer", tmp_path / "m", text, "--out", tmp_path / "v.npy")
    assert done.returncode == 128 + number and names(tmp_path) == ["m"], done.stderr


# --- the log ----------------------------------------------------------------------------------------------------------


def test_a_closed_log_ends_nothing(text, whole, tmp_path):
    """Standard error is a pipe that nobody reads any more, or is not open at all."""
    read, write = os.pipe()
    os.close(read)
    line = [sys.executable, "-m", "spherevec", "train", str(text), "--out", str(tmp_path / "m"), *SETTINGS]
    assert subprocess.run(line, stderr=write).returncode == 0
    os.close(write)
    assert same(Model.load(tmp_path / "m"), whole)
    closed = subprocess.run(["sh", "-c", '"$@" 2>&-', "sh", *line[:-8], *line[-8:], "--force"], stdout=subprocess.PIPE)
    assert closed.returncode == 0 and same(Model.load(tmp_path / "m"), whole)


def test_a_full_disk_under_the_log_ends_nothing(text, whole, tmp_path):
    if not Path("/dev/full").exists():
        pytest.skip("no full device")
    line = [sys.executable, "-m", "spherevec", "train", str(text), "--out", str(tmp_path / "m"), *SETTINGS]
    with Path("/dev/full").open("w") as full:
        assert subprocess.run(line, stderr=full).returncode == 0
    assert same(Model.load(tmp_path / "m"), whole)


def test_a_callback_that_fails_is_warned_about_once(text, whole):
    seen = []

    def fails(progress):
        seen.append(progress)
        raise OSError("no space left")

    settings = {"vector_size": 8, "min_count": 1, "threads": 1, "epochs": 3, "window": 2}
    with pytest.warns(UserWarning, match="progress cannot be reported .OSError: no space left.") as warned:
        model = spherevec.train(text, progress=fails, **settings)
    assert len([one for one in warned if "progress" in str(one.message)]) == 1 and len(seen) > 3
    assert same(model, whole)


def test_warnings_as_errors_change_no_result(text, whole, tmp_path):
    script = """
        import sys, warnings
        import spherevec
        warnings.simplefilter("error")
        def fails(progress): raise OSError("no space left")
        settings = dict(vector_size=8, min_count=1, threads=1, epochs=3, window=2)
        model = spherevec.train(sys.argv[1], progress=fails, **settings)
        model.save(sys.argv[2])
        model.infer(["w1 w2"]); model.words.most_similar("w1"); repr(model)
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(script), text, tmp_path / "m"], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert "warning: progress cannot be reported" in done.stderr
    assert same(Model.load(tmp_path / "m"), whole)


# --- what is there is lost by nobody ----------------------------------------------------------------------------------


def test_force_drops_no_unfinished_run_before_there_is_another(text, unfinished, tmp_path):
    arguments = ["train", text, "--out", tmp_path / "m", *SETTINGS]
    shutil.copytree(unfinished, tmp_path / "m.checkpoint")
    before = (tmp_path / "m.checkpoint" / "checkpoint.json").read_bytes()
    wrong = [
        ["train", tmp_path / "nowhere.txt", *arguments[2:], "--force"],
        [*arguments, "--force", "--alpha", "-1"],
        [*arguments, "--force", "--min-count", "1000"],
        [*arguments, "--force", "--checkpoint-every", "never"],
    ]
    for one in wrong:
        assert main([*map(str, one), "--quiet"]) == 2
        assert (tmp_path / "m.checkpoint" / "checkpoint.json").read_bytes() == before
    assert main([*map(str, arguments), "--resume"]) == 0


def test_a_second_run_is_refused_at_once(text, tmp_path):
    """The first waits, in its first report, until the second has been refused."""
    script = """
        import sys
        from spherevec.cli import display, main
        real = display._line_reporter
        def waiting():
            report = real()
            def first(progress):
                print("running", flush=True); sys.stdin.readline(); report(progress)
            return first
        display._line_reporter = waiting
        sys.exit(main(sys.argv[1:]))
    """
    arguments = ["train", str(text), "--out", str(tmp_path / "m"), *SETTINGS]
    with subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(script), *arguments], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as first:
        assert first.stdout.readline() == b"running\n"
        for more in ([], ["--force"], ["--resume"]):
            second = command(*arguments, *more)
            assert second.returncode == 2 and second.stderr.count("\n") == 1
            assert f"process {first.pid} is writing it" in second.stderr
        first.stdin.close()
        assert first.stdout.read() is not None
    assert first.returncode == 0 and names(tmp_path) == ["m"]


@pytest.mark.parametrize(
    "damage",
    [
        {"position": {"epoch": "1"}},
        {"position": None},
        {"sums": {"tokens": None}},
        {"biases": {"words": "x", "documents": 0.0}},
        {"biases": {"words": 0.0, "documents": True}},
        {"files": {}},
        {"config": [1]},
        {"corpus": {"documents": 10**400}},
    ],
    ids=lambda damage: next(iter(damage)),
)
@pytest.mark.parametrize("sealed", [True, False])
def test_a_crafted_checkpoint_is_refused_in_one_line(text, unfinished, tmp_path, capsys, damage, sealed):
    from spherevec.storage import checksums

    out = tmp_path / "m"
    shutil.copytree(unfinished, tmp_path / "m.checkpoint")
    path = tmp_path / "m.checkpoint" / "checkpoint.json"
    about = {**json.loads(path.read_text()), **damage}
    path.write_text(json.dumps(checksums.with_checksum(about) if sealed else about))
    assert main(["train", str(text), "--out", str(out), *SETTINGS, "--resume", "--quiet"]) == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1 and "damaged checkpoint" in error, error
    assert "--" not in error, "no option is meant"
