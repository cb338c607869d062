"""A table in several files is one array, without a copy."""

import gc
import math
import subprocess
import sys
from functools import partial
from pathlib import Path

import numpy as np
import pytest

import spherevec
from spherevec.errors import FormatError
from spherevec.storage import checksums
from spherevec.storage.memory import discard, drop_pages
from spherevec.storage.parallel_writes import write_files
from spherevec.storage.shards import SHARD_EDGE, read_shards, shard_names, sharded
from spherevec.storage.tensors import read_tensors, tensor_bytes, write_tensors


def opened(folder, count):
    return [(folder / name, (folder / name).open("rb")) for name in shard_names("docs")[:count]]


def closing(files, **how):
    try:
        return read_shards(files, **how)
    finally:
        for _, file in files:
            file.close()


def write_shards(folder, name, table, shards):
    """Write a table in shards; returns the rows of each."""
    files = sharded(name, table, shards)
    for file, tensors in files.items():
        write_tensors(folder / file, tensors, SHARD_EDGE)
    return [len(tensors["vectors"]) for tensors in files.values()]


@pytest.mark.parametrize(("rows", "width", "shards"), [(20_000, 100, 4), (9_000, 64, 3), (50_000, 7, 2), (5, 3, 4)])
def test_shards_are_one_table(tmp_path, rows, width, shards):
    table = np.random.default_rng(0).normal(size=(rows, width)).astype(np.float32)
    sizes = write_shards(tmp_path, "docs", table, shards)
    assert sum(sizes) == rows and len(sizes) <= max(shards, math.ceil(rows / sizes[0]))
    for how in ({}, {"memory_map": False}):
        found = closing(opened(tmp_path, len(sizes)), **how)
        np.testing.assert_array_equal(found, table)
        assert not found.flags.writeable
    # Others read each file by itself.
    start = sizes[0]
    np.testing.assert_array_equal(read_tensors(tmp_path / "docs-000.safetensors")["vectors"], table[:start])


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="maps files behind one another on Linux alone")
def test_opening_takes_no_memory_and_lets_go_of_it(tmp_path):
    table = np.zeros((200_000, 64), np.float32)
    sizes = write_shards(tmp_path, "docs", table, 3)
    found = closing(opened(tmp_path, len(sizes)))
    maps = Path("/proc/self/maps").read_text()
    assert sum(str(tmp_path) in line for line in maps.splitlines()) == len(sizes)
    part = found[100:110]
    del found
    gc.collect()
    assert part.sum() == 0  # a view holds the pages
    del part
    gc.collect()
    assert str(tmp_path) not in Path("/proc/self/maps").read_text()


def test_shards_that_are_cut_elsewhere_are_read(tmp_path):
    table = np.arange(30, dtype=np.float32).reshape(10, 3)
    for name, rows in zip(shard_names("docs"), (table[:3], table[3:]), strict=False):
        write_tensors(tmp_path / name, {"vectors": rows})
    np.testing.assert_array_equal(closing(opened(tmp_path, 2)), table)


def test_damaged_shards_are_refused(tmp_path):
    write_shards(tmp_path, "docs", np.zeros((40_000, 8), np.float32), 2)
    path = tmp_path / "docs-001.safetensors"
    path.write_bytes(path.read_bytes()[:-100])
    with pytest.raises(FormatError, match="truncated"):
        closing(opened(tmp_path, 2))
    write_tensors(path, {"vectors": np.zeros((3, 9), np.float32)})
    with pytest.raises(FormatError, match="do not fit"):
        closing(opened(tmp_path, 2))


@pytest.mark.process
def test_a_model_in_shards_is_a_model(tmp_path):
    texts = [f"alpha beta gamma delta word{i % 40} other{i % 13}" for i in range(3000)]
    model = spherevec.train(texts, vector_size=64, epochs=1, min_count=1, progress=False)
    model.save(tmp_path / "model", shards=4)
    assert len(list((tmp_path / "model").glob("docs-*"))) > 1
    again = spherevec.load(tmp_path / "model")
    np.testing.assert_array_equal(again.docs.vectors, model.docs.vectors)
    assert again.search("alpha word3")[0].id == model.search("alpha word3")[0].id
    np.testing.assert_array_equal(again.infer(texts[:5]), model.infer(texts[:5]))
    # It replaces itself, and a plain one replaces it.
    again.save(tmp_path / "model", overwrite=True)
    assert not list((tmp_path / "model").glob("docs-*"))
    done = subprocess.run([sys.executable, "-m", "spherevec", "check", str(tmp_path / "model")], capture_output=True)
    assert done.returncode == 0


def test_files_written_together_are_what_was_given(tmp_path):
    table = np.random.default_rng(0).normal(size=(300_000, 2)).astype(np.float32)
    contents = {
        "large": partial(tensor_bytes, "large", {"vectors": table}),
        "small": lambda: [b"some", b"", memoryview(b" words")],
        "empty": list,
    }
    entries = write_files(tmp_path, contents)
    for name in contents:
        with (tmp_path / name).open("rb") as file:
            assert entries[name] == checksums.entry(file)
    np.testing.assert_array_equal(read_tensors(tmp_path / "large")["vectors"], table)
    assert (tmp_path / "small").read_bytes() == b"some words"
    with pytest.raises(ZeroDivisionError):
        write_files(tmp_path, {"large": contents["large"], "bad": lambda: [bytes(1 // 0)]})


def test_pages_that_are_dropped_are_read_again(tmp_path):
    numbers = np.arange(100_000, dtype=np.int64)
    numbers.tofile(tmp_path / "n")
    mapped = np.memmap(tmp_path / "n", np.int64, "r")
    for array in (mapped, mapped[777:50_001], mapped[5:5], numbers, numbers[3:]):
        drop_pages(array)
    np.testing.assert_array_equal(mapped, numbers)
    discard(numbers[60_000:])
    np.testing.assert_array_equal(numbers[:60_000], mapped[:60_000])
