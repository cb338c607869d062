"""What real machines do to a run: full disks, closed folders, files that change, too little memory, no cache.

Each ends in one clear line, and what was there before is still there.
"""

import os
import random
import resource
import shutil
import subprocess
import sys
import tempfile
import textwrap

import numpy as np
import pytest

import spherevec
from helpers import longest_file, small_disk, steady_memory, unprivileged
from spherevec.cli import main
from spherevec.corpus import encode
from spherevec.errors import CorpusError, SpherevecError
from spherevec.io import FORMATS
from spherevec.model import Model

QUICK = ["--epochs", "1", "--quiet", "--threads", "2", "--vector-size", "50", "--min-count", "1"]


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A corpus of 30,000 words, and a model of it."""
    folder = tmp_path_factory.mktemp("faults")
    luck = random.Random(1)
    lines = [" ".join(f"word{luck.randrange(300)}" for _ in range(30)) for _ in range(1000)]
    (folder / "corpus.txt").write_text("\n".join(lines) + "\n")
    assert main(["train", str(folder / "corpus.txt"), "--out", str(folder / "m"), *QUICK]) == 0
    return folder


@pytest.fixture(scope="module")
def all_outputs(place):
    """A folder in which every command has left its output."""
    assert main(["export", str(place / "m"), "--words", str(place / "words.txt")]) == 0
    for arguments in commands(place, place / "out"):
        assert main(arguments) == 0, arguments
    return place / "out"


@pytest.fixture
def written(all_outputs, tmp_path, capsys):
    shutil.copytree(all_outputs, tmp_path / "out")
    capsys.readouterr()
    return tmp_path / "out"


def content(folder):
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def commands(place, out):
    """Every command that writes, with its output in the folder `out`."""
    corpus, model = str(place / "corpus.txt"), str(place / "m")
    exports = [
        ["export", model, "--words", f"{out}/{name}-words", "--docs", f"{out}/{name}-docs", "--format", name, "--force"]
        for name in FORMATS
    ]
    return [
        ["train", corpus, "--out", f"{out}/m", "--force", *QUICK],
        ["infer", model, corpus, "--out", f"{out}/v.npy", "--force"],
        ["topics", model, "--k", "3", "--out", f"{out}/topics", "--force", "--quiet"],
        ["import", str(place / "words.txt"), "--out", f"{out}/imported", "--force"],
        *exports,
    ]


def fails_in_one_line(arguments, capsys, says):
    code = main(arguments)
    error = capsys.readouterr().err
    assert code == 2, (arguments, error)
    assert error.startswith("spherevec: error: ") and error.count("\n") == 1, (arguments, error)
    assert any(words in error for words in says), (arguments, error)


# --- full disks -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [100, 1500])
def test_no_write_that_fails_costs_what_was_there(place, written, capsys, size):
    """Not one byte gets through, or half of a small file."""
    before = content(written)
    for arguments in commands(place, written):
        with longest_file(size):
            fails_in_one_line(arguments, capsys, ["File too large"])
        assert content(written) == before, arguments


def test_a_disk_that_is_full_loses_nothing(place, written, tmp_path, capsys):
    old = content(place / "m")
    sizes = ["16k", "160k", "300k", "900k", "1200k", "2000k"]
    reached = set()
    for size in sizes:
        with small_disk(tmp_path / "disk", size) as disk:
            code = main(commands(place, disk)[0])
            lines = capsys.readouterr().err.splitlines()
            # One line besides warnings: the error, or the model that was saved.
            error = "\n".join(line for line in lines if "warning: " not in line)
            assert code in (0, 2) and len(error.splitlines()) == 1, error
            stopped = "model" if f"{disk / 'm'}: cannot write" in error else "corpus"
            reached.add(stopped if code else "saved")
            # Where the model finds no room, its checkpoint may: then nothing of the training is lost.
            kept = ["m.checkpoint"] if "run the same again with --resume" in error else []
            assert [entry.name for entry in disk.iterdir()] == (kept if code else ["m"])
            if code == 0:
                Model.load(disk / "m", verify=True)
    assert {"corpus", "model", "saved"} <= reached, "no size stopped the corpus, or none the model"
    with small_disk(tmp_path / "disk", "40k") as disk:
        (disk / "filler").write_bytes(bytes(40 * 1024))
        for arguments in commands(place, disk)[1:]:
            fails_in_one_line(arguments, capsys, ["No space left on device"])
            assert [entry.name for entry in disk.iterdir()] == ["filler"], arguments
    assert content(place / "m") == old


def test_a_disk_without_room_for_the_model_is_told_before_training(place, tmp_path, capsys):
    """1,600 vectors of 2,000 numbers are 15 MB; the text alone would fit."""
    with small_disk(tmp_path / "disk", "4m") as disk:
        arguments = ["train", str(place / "corpus.txt"), "--out", str(disk / "m"), *QUICK, "--vector-size", "2000"]
        fails_in_one_line(arguments, capsys, ["the model needs 15.20 MB (1,900 vectors of 2000 numbers of 4 bytes), "])
        assert list(disk.iterdir()) == []


# --- closed and vanishing folders -------------------------------------------------------------------------------------


def test_a_folder_that_is_closed_to_us_is_told(place, written, tmp_path, capsys):
    closed = tmp_path / "closed"
    closed.mkdir(mode=0o555)
    place.parent.chmod(0o755)
    place.chmod(0o755)
    with unprivileged(tmp_path):
        for arguments in commands(place, closed):
            fails_in_one_line(arguments, capsys, ["Permission denied"])
    assert list(closed.iterdir()) == []


def test_a_read_only_disk_is_told(place, written, tmp_path, capsys):
    with small_disk(tmp_path / "disk", "40m") as disk:
        shutil.copytree(written, disk, dirs_exist_ok=True)
        before = content(disk)
        subprocess.run(["mount", "-o", "remount,ro", str(disk)], check=True)
        for arguments in commands(place, disk):
            fails_in_one_line(arguments, capsys, ["Read-only file system"])
        assert content(disk) == before


def test_a_working_folder_that_goes_while_text_is_read_is_told(tmp_path):
    work = tmp_path / "work"
    work.mkdir()

    def remove(progress):
        if progress.phase == "reading":
            shutil.rmtree(work, ignore_errors=True)

    with pytest.raises(SpherevecError, match=r"spherevec.*No such file or directory") as caught:
        spherevec.train(["some words to read"] * 30, workdir=work, progress=remove, epochs=1, threads=1)
    assert "\n" not in str(caught.value)


def test_a_working_folder_that_goes_while_training_does_no_harm(tmp_path):
    """Nobody can cut short or change the numbers that are trained on: they have no name any more."""
    seen = []

    def remove(progress):
        if progress.phase == "training":
            seen.extend(path.name for path in tmp_path.rglob("*.bin"))
            shutil.rmtree(tmp_path, ignore_errors=True)

    settings = {"epochs": 3, "threads": 1, "min_count": 1, "vector_size": 20}
    texts = ["some words to read", "and some more of them"] * 300
    model = spherevec.train(texts, workdir=tmp_path, progress=remove, **settings)
    assert seen and "ids.bin" not in seen and "offsets.bin" not in seen
    assert np.array_equal(model.words.vectors, spherevec.train(texts, **settings).words.vectors)


REMOVING = """
import shutil, sys
from spherevec.cli import display, main
real = display._line_reporter
def removing():
    report = real()
    def remove(progress):
        if progress.phase == "training":
            shutil.rmtree(sys.argv[1], ignore_errors=True)
        report(progress)
    return remove
display._line_reporter = removing
sys.exit(main(sys.argv[2:]))
"""


def test_an_output_folder_that_goes_while_training_is_made_again(place, tmp_path):
    out = tmp_path / "deep" / "m"
    command = [sys.executable, "-c", REMOVING, out.parent, "train", place / "corpus.txt", "--out", out, *QUICK[3:]]
    done = subprocess.run([*map(str, command), "--epochs", "2"], capture_output=True, text=True)
    if done.returncode == 0:
        Model.load(out, verify=True)
    else:
        assert done.returncode == 2 and not out.exists(), done.stderr


@pytest.mark.parametrize("temporary", ["/proc/nowhere", None])
def test_no_folder_for_temporary_files_is_told(temporary, tmp_path, monkeypatch):
    if temporary is None:
        # As on a system where none of the usual places can be written.
        monkeypatch.setattr(tempfile, "_candidate_tempdir_list", lambda: ["/proc/nowhere"])
    monkeypatch.setattr(tempfile, "tempdir", temporary)
    with pytest.raises(SpherevecError, match=r"no folder for temporary files: .*; choose another place \(TMPDIR"):
        spherevec.train(["a b c"] * 9, epochs=1)
    spherevec.train(["a b c"] * 9, epochs=1, min_count=1, workdir=tmp_path)
    with pytest.raises(SpherevecError, match=r"/proc/nowhere: cannot be worked in: .*; choose another place"):
        spherevec.train(["a b c"] * 9, epochs=1, workdir="/proc/nowhere")


# --- a corpus that changes --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("ending", [".txt", ".csv", ".parquet"])
@pytest.mark.parametrize("change", ["truncated", "longer", "other"])
def test_a_corpus_that_changes_while_it_is_read_is_told(tmp_path, ending, change):
    path = tmp_path / f"t{ending}"
    if ending == ".parquet":
        pyarrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
        parquet.write_table(pyarrow.table({"t": ["some words"] * 5000}), path, row_group_size=50)
    else:
        path.write_text("t\n" + "some words\n" * 5000)
    os.utime(path, (1, 1))
    changed = []

    def disturb(done, total):
        if not changed:
            with path.open("r+b") as file:
                if change == "truncated":
                    file.truncate(path.stat().st_size // 2)
                else:
                    file.seek(0, os.SEEK_END if change == "longer" else os.SEEK_SET)
                    file.write(b"PAR1" if ending == ".parquet" else b"t\nx")
            changed.append(True)

    field = None if ending == ".txt" else "t"
    with pytest.raises(CorpusError, match=r"changed while it was read|cannot be read as Parquet"):
        encode(path, tmp_path / "out", min_count=1, text_field=field, progress=disturb, block_size=1000)
    assert not (tmp_path / "out").exists()


def test_a_corpus_that_is_replaced_while_it_is_read_is_read_to_its_end(tmp_path):
    path = tmp_path / "t.txt"
    path.write_text("some words\n" * 5000)

    def replace(done, total):
        (tmp_path / "new").write_text("others\n")
        (tmp_path / "new").replace(path)

    corpus = encode(path, tmp_path / "out", min_count=1, progress=replace, block_size=1000)
    assert corpus.n_documents == 5000


# --- too little memory ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("megabytes", [40, 200, 350])
def test_too_little_memory_is_told(place, tmp_path, megabytes):
    command = [sys.executable, "-m", "spherevec", "train", place / "corpus.txt", "--out", tmp_path / "m", *QUICK]
    done = subprocess.run(
        [str(part) for part in command],
        capture_output=True,
        text=True,
        env=steady_memory(),
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (megabytes << 20, megabytes << 20)),
    )
    assert done.returncode == 2, done.stderr
    assert done.stderr.startswith("spherevec: error: not enough memory") and done.stderr.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


def test_vectors_that_do_not_fit_are_told(place, tmp_path):
    script = """
        import resource, sys
        import spherevec
        spherevec.train(["a b c"] * 20, epochs=1, min_count=1, threads=1)
        used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (used + (200 << 20),) * 2)
        from spherevec.cli import main
        sys.exit(main(sys.argv[1:]))
    """
    lines = "\n".join(["a b c"] * 20_000)
    (tmp_path / "many.txt").write_text(lines)
    command = [
        "train",
        tmp_path / "many.txt",
        "--out",
        tmp_path / "m",
        "--epochs",
        "1",
        "--vector-size",
        "4096",
        "--threads",
        "1",
    ]
    command = [sys.executable, "-c", textwrap.dedent(script), *map(str, command), "--threads", "1"]
    done = subprocess.run(command, capture_output=True, text=True, env=steady_memory())
    assert done.returncode == 2 and "not enough memory for 20,006 vectors of dimension 4096" in done.stderr, done.stderr
    assert sorted(path.name for path in tmp_path.iterdir()) == ["many.txt"]


# --- the cache of compiled kernels ------------------------------------------------------------------------------------

KERNEL = """
    from spherevec.compiling import njit

    @njit(nogil=True, cache=True)
    def double(x):
        return 2 * x

    assert double(21) == 42
    print(sum(double.stats.cache_hits.values()) if hasattr(double, "stats") else 0)
"""


def cache_hits(tmp_path, before="", **environment):
    """Compile and call a kernel in a process of its own; whether it came from the cache."""
    (tmp_path / "kernel.py").write_text(textwrap.dedent(KERNEL))
    os.utime(tmp_path / "kernel.py", (1, 1))
    command = [sys.executable, "-c", f"import sys; sys.path.insert(0, sys.argv[1])\n{before}\nimport kernel", tmp_path]
    done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, **environment})
    assert done.returncode == 0, done.stderr
    return int(done.stdout)


def test_kernels_are_cached(tmp_path):
    cache = {"NUMBA_CACHE_DIR": str(tmp_path / "cache")}
    assert cache_hits(tmp_path, **cache) == 0
    assert cache_hits(tmp_path, **cache) == 1
    for file in (tmp_path / "cache").rglob("*.nb*"):
        file.write_bytes(file.read_bytes()[:40])  # a crash of the machine before it was on disk
    assert cache_hits(tmp_path, **cache) == 0
    assert cache_hits(tmp_path, **cache) == 1, "a damaged cache is not mended"


def test_kernels_work_where_no_cache_can_be_kept(tmp_path):
    """Neither the folder that is asked for, nor that of the package, nor the home folder can be written."""
    nowhere = {"NUMBA_CACHE_DIR": "/proc/nowhere", "HOME": "/proc/nowhere", "XDG_CACHE_HOME": "/proc/nowhere"}
    only = {"NUMBA_CACHE_LOCATOR_CLASSES": "UserProvidedCacheLocator"}
    assert cache_hits(tmp_path, **nowhere, **only) == 0


def test_kernels_work_where_the_cache_is_full(tmp_path):
    full = "import resource, signal; resource.setrlimit(resource.RLIMIT_FSIZE, (50, 50))"
    assert cache_hits(tmp_path, full, NUMBA_CACHE_DIR=str(tmp_path / "cache"), PYTHONDONTWRITEBYTECODE="1") == 0


# --- killed -----------------------------------------------------------------------------------------------------------


# Forks a process for each place where a command is to be killed, before or after it has been there.
KILLED = """
import importlib, itertools, os, signal, sys
from spherevec.cli import main
from spherevec.model import Model
out, *arguments = sys.argv[1:]
assert main([*arguments, "--seed", "1"]) == 0  # everything is loaded and compiled
places = [
    "spherevec.training.runtime.encode", "spherevec.training.run.train_blocks",
    "spherevec.training.trainer.build_model", "spherevec.model.folder.write_files",
    "spherevec.storage.checksums._written", "spherevec.storage.files._exchange",
    "spherevec.training.checkpoint.remove",
]
for number, (place, when) in enumerate(itertools.product(places, ("before", "after"))):
    child = os.fork()
    if child == 0:
        module, _, name = place.rpartition(".")
        owner = importlib.import_module(module)
        real = getattr(owner, name)
        def killed(*args, **kwargs):
            if when == "after":
                real(*args, **kwargs)
            os.kill(os.getpid(), signal.SIGKILL)
        setattr(owner, name, killed)
        os._exit(main([*arguments, "--seed", str(number + 2)]))
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), Model.load(out, verify=True).config["seed"])
"""


def test_a_killed_command_leaves_the_old_model_or_the_new_one(place, tmp_path):
    """SIGKILL at every phase of a whole `train --force`: the new model is there from the moment of its renaming."""
    out = tmp_path / "m"
    shutil.copytree(place / "m", out)
    command = ["train", place / "corpus.txt", "--out", out, "--force", *QUICK, "--threads", "1"]
    command = [*map(str, command), "--checkpoint-every", "off"]
    done = subprocess.run([sys.executable, "-c", KILLED, out, *command], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    ends = [tuple(map(int, line.split())) for line in done.stdout.splitlines()]
    renamed = [13, 14, 15]  # killed right after, and before and after the checkpoint would have gone
    assert ends == [(-9, 1)] * 11 + [(-9, seed) for seed in renamed]
    assert main(command) == 0
    assert Model.load(out, verify=True).config["seed"] == 1
    assert [path.name for path in tmp_path.iterdir()] == ["m"], "what killed processes left is not cleaned up"
