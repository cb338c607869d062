"""A thread's copies of the most frequent rows, against NumPy."""

from __future__ import annotations

import numpy as np
import pytest

from helpers import devices
from spherevec.compiling import njit
from spherevec.config import TrainConfig
from spherevec.corpus import encode
from spherevec.engine import schedule
from spherevec.engine.cpu import backend as cpu
from spherevec.engine.cpu import rounds
from spherevec.engine.cpu.overlay_ops import OwnRows, count_move, row_of
from spherevec.engine.cpu.rounds import OWN_STEPS
from spherevec.engine.cpu.vector_ops import padded_rows
from spherevec.training.runtime import prepare

DIM, WORDS, OWN = 20, 12, 5


def unit(rows):
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


@pytest.fixture
def table():
    rows = padded_rows(WORDS, DIM)
    rows[:, :DIM] = unit(np.random.default_rng(1).normal(size=(WORDS, DIM)))
    return rows


@njit(cache=False)
def bring_together(rows, least, share):
    rounds.bring_together(rows, least, share)


def own_rows(table):
    rows = OwnRows(table, padded_rows(OWN, DIM), np.zeros(OWN + 1, np.int32), padded_rows(OWN, DIM), OWN)
    bring_together(rows, 0, np.float32(0.0))
    return rows


def learn(rows, where, seed, steps=3):
    """Turn copies elsewhere, as `steps` steps of training would."""
    rows.copies[where, :DIM] = unit(rows.copies[where, :DIM] + np.random.default_rng(seed).normal(0, 0.05, DIM))
    rows.moves[where] += steps


@pytest.mark.parametrize("share", [1.0, 0.3])
def test_what_two_threads_learned_is_added_up(table, share):
    start = table.copy()
    first, second = own_rows(table), own_rows(table)
    learn(first, [0, 2], 2)
    learn(second, [2, 4], 3)
    expected = start.astype(np.float64)
    for rows in (first, second):
        learned = rows.copies.astype(np.float64) - start[:OWN]
        expected[:OWN] = unit(expected[:OWN] + share * learned)
    bring_together(first, 1, np.float32(share))
    bring_together(second, 1, np.float32(share))
    np.testing.assert_allclose(table, expected, atol=1e-6)
    assert np.array_equal(table[OWN:], start[OWN:])
    for rows in (second, first):  # the first sees what the second has learned when it comes to the table again
        bring_together(rows, 0, np.float32(share))
        assert np.array_equal(rows.copies, table[:OWN]) and np.array_equal(rows.start, table[:OWN])
        assert not rows.moves.any()


@njit(cache=False)
def count_moves(rows, row, times):
    for _ in range(times):
        count_move(rows, row)
    return row_of(rows, row, rows.table.shape[1])


def test_a_copy_goes_to_the_table_after_some_steps(table):
    rows, before = own_rows(table), table.copy()
    learn(rows, [1], 4, steps=0)
    assert count_moves(rows, 1, OWN_STEPS - 1) == rows.copies[1:].ctypes.data
    bring_together(rows, OWN_STEPS, np.float32(1.0))
    assert np.array_equal(table, before) and rows.moves[1] == OWN_STEPS - 1
    moved = rows.copies[1].copy()
    count_moves(rows, 1, 1)
    bring_together(rows, OWN_STEPS, np.float32(1.0))
    np.testing.assert_allclose(table[1], moved, atol=1e-6)
    assert rows.moves[1] == 0 and np.array_equal(rows.start[1], table[1])
    assert count_moves(rows, OWN, 1) == table[OWN:].ctypes.data  # a rare word is trained in place


@pytest.mark.parametrize("recipe", ["default", "paper"])
def test_training_with_copies_is_training(recipe, monkeypatch, tmp_path):
    """One of two threads does all the work: its copies change where rows lie, and nothing else."""
    rng = np.random.default_rng(5)
    texts = [" ".join(f"w{word}" for word in rng.zipf(1.5, 60) % 50) for _ in range(60)]
    tables = []
    with encode(texts, tmp_path / "encoded", min_count=1) as corpus:
        for threads, own in ((1, 0), (2, 20)):
            monkeypatch.setattr(cpu, "OWN_ROWS", own)
            monkeypatch.setattr(cpu, "SETTLING", 1e-9)  # nobody else learns: nothing is damped
            monkeypatch.setattr(schedule, "DEVICES", devices(block_tokens=900))  # so that several threads have work
            config = TrainConfig.recipe(recipe, vector_size=16, epochs=1, threads=threads, sample=1e-3)
            data = prepare(corpus, config)
            backend = cpu.CpuBackend(data, config)
            backend.fill()
            backend.begin(schedule.epoch_blocks(data, config, 0)).train(0)
            tables.append({name: backend.read(name, 0, 50) for name in ("inputs", "contexts", "docs")})
    for name, plain in tables[0].items():
        np.testing.assert_allclose(tables[1][name], plain, atol=2e-5)
