"""Files of arrays: written in parallel with their checksums, mapped, and let go of."""

from functools import partial

import numpy as np
import pytest

from spherevec.storage import checksums, memory
from spherevec.storage.checksums import write_files
from spherevec.storage.memory import discard, drop_pages
from spherevec.storage.tensors import read_tensors, tensor_bytes


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


def test_pages_of_the_compiler_that_nobody_wrote_to_are_given_back(tmp_path, monkeypatch):
    """Its code and what stands before it, never data, nor what was relocated and then protected."""
    name = "fe:00 1 /lib/libllvmlite.so"
    (tmp_path / "maps").write_text(
        f"1000-3000 r--p 00000000 {name}\n3000-9000 r-xp 00002000 {name}\n9000-a000 r--p 00008000 {name}\n"
        f"a000-b000 rw-p 00009000 {name}\nb000-c000 r-xp 00000000 fe:00 2 /lib/libc.so\n"
    )
    advised = []
    monkeypatch.setattr(memory, "_PROCESS", tmp_path)
    monkeypatch.setattr(memory, "_advise_on", lambda *given: advised.append(given))
    memory.give_memory_back()
    assert advised == [(0x1000, 0x2000, "MADV_DONTNEED"), (0x3000, 0x6000, "MADV_DONTNEED")]
