"""A table in several files is one array, without a copy."""

import gc
import math
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import spherevec
from spherevec.errors import FormatError
from spherevec.storage.shards import SHARD_EDGE, read_shards, shard_names, sharded
from spherevec.storage.tensors import read_tensors, write_tensors


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
