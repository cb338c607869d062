"""Runs copied on threads, against slices of NumPy."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from spherevec.engine import gather as module
from spherevec.engine.gather import gather


@pytest.mark.parametrize("threads", [1, 3])
def test_gathered_runs_are_slices(monkeypatch, threads):
    monkeypatch.setattr(module, "LEAST_TOKENS", 16)
    rng = np.random.default_rng(3)
    ids = rng.integers(0, 1000, 5000).astype(np.int32)
    for count in (0, 1, 200):
        starts = rng.integers(0, 4900, count)
        runs = np.column_stack([starts, starts + rng.integers(0, 90, count)]).astype(np.int64)
        expected = np.concatenate([ids[:0], *(ids[start:stop] for start, stop in runs)])
        out = np.empty(len(expected), np.int32)
        with ThreadPoolExecutor(threads) as pool:
            gather(ids, runs, out, pool, threads)
        assert out.tolist() == expected.tolist()
