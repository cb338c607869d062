"""Files of arrays: written in parallel with their checksums, mapped, and let go of."""

from functools import partial

import numpy as np
import pytest

from spherevec.storage import checksums
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
