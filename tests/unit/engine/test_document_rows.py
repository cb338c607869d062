"""Document vectors that do not fit into memory: mapped to a file, the same to the last bit, and gone with the model."""

import copy
import mmap
import os
import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import numpy as np
import pytest

import spherevec
from helpers import devices, digest, linux, longest_file, random_documents, small_disk, steady_memory
from spherevec import Model, TrainConfig
from spherevec.corpus import encode
from spherevec.engine import schedule
from spherevec.engine.cpu import backend as cpu
from spherevec.engine.cpu import document_rows as document_table
from spherevec.engine.cpu.vector_ops import padded_rows
from spherevec.errors import TrainingError
from spherevec.storage import files, memory
from spherevec.training import finishing
from spherevec.training import run as workers
from spherevec.training.finishing import fill_empty_documents
from spherevec.training.runtime import prepare

DOCUMENTS = random_documents(200, longest=100)  # every tenth is empty
SETTINGS = {"vector_size": 20, "window": 3, "min_count": 1, "epochs": 3, "sample": 1e-2, "threads": 1}


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    return encode(DOCUMENTS, tmp_path_factory.mktemp("corpus") / "encoded", min_count=1)


@pytest.fixture
def no_memory(monkeypatch):
    """Nothing is available but the disk, also where temporary files lie in memory."""
    monkeypatch.setattr(cpu, "available_memory", lambda: 0.0)
    monkeypatch.setattr(document_table, "lies_in_memory", lambda folder: False)


def lies_in_a_file(array):
    """Whether a map stands behind an array."""
    while isinstance(array, np.ndarray):
        array = array.base
    return isinstance(array.obj if isinstance(array, memoryview) else array, mmap.mmap)


def child(script, *arguments):
    """A command that runs a script beside this file."""
    return [str(part) for part in (sys.executable, "-c", textwrap.dedent(script), Path(__file__).parent, *arguments)]


# --- the same bits ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"vector_size": 32},  # without padding
        {"objective": "hinge", "batch": 1},
        {"objective": "joint", "order": "file"},
        {"refit": False},
        {"documents": False},
        {"deterministic": True, "threads": 2},
    ],
    ids=str,
)
def test_a_file_changes_no_bit(corpus, tmp_path, monkeypatch, settings):
    monkeypatch.setattr(schedule, "CHUNK_ROWS", 64)
    monkeypatch.setattr(finishing, "COPIED_ROWS", 64)  # several of them
    in_memory = spherevec.train(corpus, **SETTINGS | settings)
    monkeypatch.setattr(document_table, "SHARE_OF_MEMORY", 0.0)
    monkeypatch.setattr(document_table, "lies_in_memory", lambda folder: False)
    on_disk = spherevec.train(corpus, **SETTINGS | settings, workdir=tmp_path)
    assert digest(on_disk) == digest(in_memory)
    if on_disk.docs is not None:
        assert lies_in_a_file(on_disk.docs.vectors) and not lies_in_a_file(in_memory.docs.vectors)
    on_disk.check()


@pytest.mark.parametrize("settings", [{}, {"deterministic": True, "threads": 2}], ids=str)
def test_through_checkpoints_too(corpus, tmp_path, monkeypatch, settings):
    """Saved from a file and restored to memory, and the other way round."""
    monkeypatch.setattr(schedule, "DEVICES", devices(block_tokens=900, refit_tokens=2000))
    monkeypatch.setattr(workers, "TICK", 0.001)
    monkeypatch.setattr(document_table, "lies_in_memory", lambda folder: False)
    expected = digest(spherevec.train(corpus, **SETTINGS | settings))
    resumable = SETTINGS | settings | {"checkpoint": tmp_path / "c", "resume": True, "workdir": tmp_path / "work"}

    def interrupted_when(is_time):
        def interrupt(progress):
            if is_time(progress):
                raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt) as caught:
            spherevec.train(corpus, **resumable, progress=interrupt)
        assert caught.value.__notes__[0].startswith("saved")

    for number, share in enumerate((0.2, 0.5, 0.8)):
        monkeypatch.setattr(document_table, "SHARE_OF_MEMORY", 0.5 if number == 1 else 0.0)
        interrupted_when(lambda progress, share=share: (progress.done or 0) > share)
    interrupted_when(lambda progress: progress.phase == "finishing" and progress.done > 0.3)
    model = spherevec.train(corpus, **resumable)
    assert lies_in_a_file(model.docs.vectors)
    assert digest(model) == expected


def test_a_model_on_disk_does_what_others_do(corpus, tmp_path, no_memory):
    model = spherevec.train(corpus, **SETTINGS, workdir=tmp_path / "work")
    assert lies_in_a_file(model.docs.vectors)
    assert list((tmp_path / "work").iterdir()) == []  # nothing to clean up, while it is used
    model.save(tmp_path / "m")
    stored = Model.load(tmp_path / "m", verify=True)
    assert digest(stored) == digest(model)
    assert model.docs.most_similar(4) == stored.docs.most_similar(4)
    twin = copy.deepcopy(model)
    del model
    assert digest(twin) == digest(stored)


def test_empty_documents_get_the_direction_of_the_others(monkeypatch):
    monkeypatch.setattr(finishing, "COPIED_ROWS", 4)
    rng = np.random.default_rng(1)
    vectors = rng.standard_normal((11, 5)).astype(np.float32)
    lengths = np.array([2, 0, 1, 3, 1, 1, 1, 1, 0, 0, 5])  # none, one and two of a chunk are empty
    expected = vectors.copy()
    mean = vectors[lengths > 0].astype(np.float64).sum(axis=0)
    expected[lengths == 0] = mean / np.linalg.norm(mean)
    fill_empty_documents(vectors, np.concatenate([[0], np.cumsum(lengths)]))
    assert np.allclose(vectors, expected, atol=1e-6) and np.array_equal(vectors[lengths > 0], expected[lengths > 0])
    before = vectors.copy()
    fill_empty_documents(vectors, np.zeros(12, np.int64))  # all are
    assert np.array_equal(vectors, before)


# --- where they lie ---------------------------------------------------------------------------------------------------


def test_half_of_what_is_available_is_the_limit(tmp_path, monkeypatch):
    monkeypatch.setattr(document_table, "lies_in_memory", lambda folder: False)
    size = 100 * 32 * 4  # rows of 20 numbers are padded to 32
    within, beyond = (document_table.document_rows(100, 20, 2 * size - less, tmp_path) for less in (0, 1))
    assert not lies_in_a_file(within) and lies_in_a_file(beyond)
    for table in (within, beyond):
        twin = padded_rows(100, 20)
        assert table.shape == twin.shape and table.dtype == twin.dtype and table.strides == twin.strides
        assert table.ctypes.data % 64 == 0 and not table.any()
        assert table.flags.c_contiguous and table.flags.writeable and table.flags.aligned


def test_words_are_counted_first(corpus, tmp_path, monkeypatch):
    """What is left for documents is what the other two tables do not take."""
    monkeypatch.setattr(document_table, "lies_in_memory", lambda folder: False)
    config = TrainConfig(**SETTINGS).resolved(corpus.n_tokens, len(corpus.vocabulary))
    data = prepare(corpus, config)
    words, documents = 2 * len(corpus.vocabulary) * 32 * 4, corpus.n_documents * 32 * 4
    for more, mapped in ((0, False), (-1, True)):
        monkeypatch.setattr(cpu, "available_memory", lambda more=more: float(words + 2 * documents + more))
        backend = cpu.CpuBackend(data, config, tmp_path)
        assert lies_in_a_file(backend._tables["docs"]) == mapped


@linux
def test_the_file_has_no_name_and_all_its_blocks(tmp_path):
    size = 64 << 20
    with files.unnamed_file(tmp_path, size) as file:
        about = os.fstat(file.fileno())
        assert about.st_nlink == 0 and list(tmp_path.iterdir()) == []
        assert about.st_size == size and about.st_blocks * 512 >= size
        with mmap.mmap(file.fileno(), size) as mapped:
            assert mapped[:10] == bytes(10) == mapped[-10:]


def test_where_blocks_cannot_be_reserved_they_are_written(tmp_path, monkeypatch):
    monkeypatch.delattr(os, "posix_fallocate", raising=False)
    monkeypatch.setattr(files, "_ZEROS_WRITTEN", 1000)
    with files.unnamed_file(tmp_path, 12_345) as file:
        assert os.fstat(file.fileno()).st_size == 12_345
        assert os.fstat(file.fileno()).st_blocks * 512 >= 12_345


KILLED = """
    import sys, time
    sys.path.insert(0, sys.argv[1])
    from test_document_rows import *
    cpu.available_memory = lambda: 0.0
    document_table.lies_in_memory = lambda folder: False

    def wait(progress):
        if progress.phase == "training":
            print("trains", "(deleted)" in Path("/proc/self/maps").read_text(), flush=True)
            time.sleep(1000)

    with encode(DOCUMENTS, sys.argv[2], min_count=1) as corpus:
        spherevec.train(corpus, **SETTINGS, workdir=sys.argv[3], progress=wait)
"""


@pytest.mark.process
@linux
def test_a_killed_process_leaves_nothing(tmp_path):
    with subprocess.Popen(child(KILLED, tmp_path / "e", tmp_path / "w"), stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout.readline().split() == ["trains", "True"]
        process.send_signal(signal.SIGKILL)
    assert list((tmp_path / "w").iterdir()) == []


# --- bounded memory ---------------------------------------------------------------------------------------------------

# Document vectors of 98 MB, with padding, where the process may have 64 MB more than it has. The limit counts
# addresses: 8 MB for the stack of each thread, and the arena that malloc gives it. How many there are depends on
# timing, so stacks are small here, and there is one arena (`steady_memory`). OpenBLAS maps 32 MB for every product that
# finds its other buffers in use, and keeps them, so each thread has made one before.
BOUNDED = """
    import resource, sys, threading
    threading.stack_size(1 << 20)
    sys.path.insert(0, sys.argv[1])
    from test_document_rows import *

    folder = Path(sys.argv[2])
    settings = {"vector_size": 250, "epochs": 1, "refit": False, "threads": 2, "min_count": 1, "sample": 0.0}
    settings |= {"workdir": folder}
    text = folder / "text.txt"
    text.write_text("".join(f"w{i % 50} w{i % 7} w{i % 11}\\n" for i in range(100_000)) + "\\n" * 50)
    document_table.lies_in_memory = lambda folder: False
    small = folder / "small.txt"
    small.write_text("a b c\\n" * 20)
    for deterministic in (False, True):
        spherevec.train(small, **settings, deterministic=deterministic)  # all libraries, and all kernels
    square = np.ones((500, 500))
    products = [threading.Thread(target=lambda: [square @ square for _ in range(20)]) for _ in range(3)]
    for thread in products:
        thread.start()
    for thread in products:
        thread.join()
    memory.give_memory_back()
    used = int(Path("/proc/self/statm").read_text().split()[5]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_DATA, (used + (64 << 20),) * 2)
    assert 0 < memory.available_memory() <= 64 << 20

    def kilobytes(kind):
        lines = Path("/proc/self/status").read_text().splitlines()
        return int(next(line for line in lines if line.startswith(kind)).split()[1])

    peak, started = [], kilobytes("RssAnon:")
    saving = {"checkpoint": folder / "c", "checkpoint_every": "1e"}
    model = spherevec.train(text, **settings, **saving, progress=lambda p: peak.append(kilobytes("RssAnon:")))
    model.save(folder / "m")
    model.check()
    peak.append(kilobytes("RssAnon:"))
    size = model.docs.vectors.nbytes
    assert size > 95 << 20 and lies_in_a_file(model.docs.vectors)
    assert np.allclose(np.einsum("ij,ij->i", model.docs.vectors, model.docs.vectors), 1, atol=1e-5)  # all looked at
    peak.append(kilobytes("RssAnon:"))
    assert (max(peak) - started) << 10 < size // 2
    first = model.docs.vectors[::1000].copy()
    del model
    model = spherevec.train(text, **settings, **saving, resume=True)
    assert np.array_equal(model.docs.vectors[::1000], first)
    del model
    model = spherevec.train(text, **settings, deterministic=True)
    assert lies_in_a_file(model.docs.vectors)
    del model
    document_table.SHARE_OF_MEMORY = 100.0
    try:
        spherevec.train(text, **settings)
    except TrainingError as error:
        print(error)
"""


@pytest.mark.process
@linux
def test_more_document_vectors_than_memory(tmp_path):
    command = child(BOUNDED, tmp_path)
    done = subprocess.run(command, capture_output=True, text=True, timeout=900, env=steady_memory())
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("not enough memory for 100,1"), "it would have fitted into memory"
    assert done.stdout.endswith("train with documents=False\n") and done.stdout.count("\n") == 1


# --- no room ----------------------------------------------------------------------------------------------------------


def refused(corpus, folder):
    with pytest.raises(TrainingError) as caught:
        spherevec.train(corpus, **SETTINGS, workdir=folder)
    message = str(caught.value)
    assert message.startswith(
        "not enough memory for 200 document vectors of dimension 20 (0.0 GiB), and no room on disk"
    )
    assert message.endswith(
        "choose another folder (TMPDIR, or workdir), lower vector_size, or train with documents=False"
    )
    assert "\n" not in message
    return message


def test_a_full_disk_is_told_at_once(corpus, tmp_path, no_memory, monkeypatch):
    with small_disk(tmp_path / "disk", "24k") as disk, monkeypatch.context() as patched:
        patched.setattr(os, "posix_fallocate", lambda *_: pytest.fail("filled to its brim"))
        assert f"({disk}: No space left on device); free some space there" in refused(corpus, disk)
        assert list(disk.iterdir()) == []
        assert os.statvfs(disk).f_bfree == os.statvfs(disk).f_blocks
    with small_disk(tmp_path / "disk", "1m") as disk:
        model = spherevec.train(corpus, **SETTINGS, workdir=disk)
        filler = (disk / "filler").open("wb", buffering=0)
        with filler, pytest.raises(OSError, match="No space left"):
            while True:
                filler.write(bytes(4096))
        model.docs.vectors.flags.writeable = True
        model.docs.vectors[:] = 1.0  # its blocks were reserved
        assert (model.docs.vectors == 1.0).all()
        del model


def test_a_disk_that_turns_out_to_be_full_is_told(corpus, tmp_path, no_memory, monkeypatch):
    """Others may take what is free between asking and reserving."""
    usage = files.shutil.disk_usage

    def optimistic(folder):
        return usage(folder)._replace(free=1 << 40)

    with small_disk(tmp_path / "disk", "24k") as disk:
        monkeypatch.setattr(files.shutil, "disk_usage", optimistic)
        assert f"({disk}: No space left on device)" in refused(corpus, disk)
        assert list(disk.iterdir()) == []


def test_a_file_that_cannot_grow_is_told(corpus, tmp_path, no_memory):
    with longest_file(10_000):
        assert f"({tmp_path}: File too large)" in refused(corpus, tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_is_none_is_told(corpus, tmp_path, no_memory):
    (tmp_path / "file").write_text("")
    assert f"({tmp_path / 'file'}: " in refused(corpus, tmp_path / "file")


def test_memory_will_do_where_the_disk_does_not(corpus, tmp_path, monkeypatch):
    monkeypatch.setattr(document_table, "SHARE_OF_MEMORY", 0.0)
    monkeypatch.setattr(document_table, "lies_in_memory", lambda folder: False)
    with longest_file(10_000):
        assert not lies_in_a_file(spherevec.train(corpus, **SETTINGS, workdir=tmp_path).docs.vectors)


def test_a_disk_in_memory_is_none(corpus, tmp_path, monkeypatch):
    with small_disk(tmp_path / "disk", "1m") as disk:
        assert files.lies_in_memory(disk) and not files.lies_in_memory(Path("/proc"))
        monkeypatch.setattr(document_table, "SHARE_OF_MEMORY", 0.0)
        assert not lies_in_a_file(spherevec.train(corpus, **SETTINGS, workdir=disk).docs.vectors)
        monkeypatch.setattr(cpu, "available_memory", lambda: 0.0)
        assert f"({disk} lies in memory itself)" in refused(corpus, disk)


@pytest.mark.process
@linux
def test_addresses_that_run_out_are_told(corpus, tmp_path):
    """RLIMIT_AS counts those of mapped files as well: the error is that of vectors in memory."""
    script = """
        import resource, sys, threading
        threading.stack_size(1 << 20)
        sys.path.insert(0, sys.argv[1])
        from test_document_rows import *
        from spherevec.engine.backends import make_backend
        cpu.available_memory = lambda: 0.0
        document_table.lies_in_memory = lambda folder: False
        spherevec.train(DOCUMENTS, **SETTINGS, workdir=sys.argv[2])  # all libraries, and all kernels
        used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (used + (100 << 20),) * 2)
        with encode(["a b c"] * 20_000, Path(sys.argv[2]) / "e", min_count=1) as corpus:
            config = TrainConfig(vector_size=4096, threads=1, sample=1e-3)
            try:
                make_backend(prepare(corpus, config), config, sys.argv[2])
            except TrainingError as error:
                print(error)
    """
    command = child(script, tmp_path)
    done = subprocess.run(command, capture_output=True, text=True, timeout=900, env=steady_memory())
    said = "not enough memory for 20,006 vectors of dimension 4096 (0.3 GiB); lower vector_size"
    assert done.stdout.startswith(said), done.stderr


# --- how much is available --------------------------------------------------------------------------------------------


@linux
def test_memory_of_the_machine_is_that_of_the_system(monkeypatch, tmp_path):
    total = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    moment = tmp_path / "meminfo"  # others take and give back memory between two looks
    moment.write_bytes(memory._SYSTEM.read_bytes())
    monkeypatch.setattr(memory, "_SYSTEM", moment)
    assert 0 < memory.available_memory() <= memory._of_machine() <= total


def test_where_the_system_does_not_tell_all_of_it_counts(monkeypatch, tmp_path):
    monkeypatch.setattr(memory, "_SYSTEM", tmp_path / "nothing")
    assert memory._of_machine() == os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    monkeypatch.delattr(os, "sysconf")
    monkeypatch.setattr(memory, "_PROCESS", tmp_path)
    monkeypatch.setattr(memory, "_GROUPS", tmp_path)
    assert memory.available_memory() == float("inf")


def group(folder, limit_file, limit, own_pages, own):
    folder.mkdir(parents=True, exist_ok=True)
    (folder / limit_file).write_text(f"{limit}\n")
    (folder / "memory.stat").write_text(f"cache 77\n{own_pages} {own}\nfile 5000\n")


def test_the_tightest_control_group_counts(tmp_path):
    (tmp_path / "one").write_text("0::/outer/inner\n")
    group(tmp_path / "outer", "memory.max", 10_000, "anon", 4_000)
    group(tmp_path / "outer/inner", "memory.max", "max", "anon", 1_000)
    assert memory._of_groups(tmp_path / "one", tmp_path) == 6_000
    group(tmp_path / "outer/inner", "memory.max", 3_000, "anon", 1_000)
    assert memory._of_groups(tmp_path / "one", tmp_path) == 2_000
    group(tmp_path, "memory.max", 1_000, "anon", 900)  # as a container sees its own
    assert memory._of_groups(tmp_path / "one", tmp_path) == 100
    group(tmp_path.parent, "memory.max", 1, "anon", 1)  # beyond where groups are mounted
    assert memory._of_groups(tmp_path / "one", tmp_path) == 100


def test_control_groups_of_the_first_version_count(tmp_path):
    (tmp_path / "one").write_text("5:devices:/x\n4:cpu,memory:/job\n0::/\n")
    group(tmp_path / "memory/job", "memory.limit_in_bytes", 2**63 - 4096, "total_rss", 10)
    group(tmp_path / "devices/x", "memory.limit_in_bytes", 1, "total_rss", 0)
    assert memory._of_groups(tmp_path / "one", tmp_path) == float(2**63 - 4096 - 10)
    group(tmp_path / "memory/job", "memory.limit_in_bytes", 500, "total_rss", 10)
    assert memory._of_groups(tmp_path / "one", tmp_path) == 490
    (tmp_path / "memory/job/memory.stat").write_text("damaged")
    assert memory._of_groups(tmp_path / "one", tmp_path) == float("inf")
    assert memory._of_groups(tmp_path / "nowhere", tmp_path) == float("inf")
