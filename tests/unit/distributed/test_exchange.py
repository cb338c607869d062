"""What workers have moved, added up: beside an obvious twin, row by row."""

import numpy as np
import pytest

from spherevec import sphere
from spherevec.distributed.exchange import RowDeltas, apply_delta, merged


def some(rng, rows, dim=6):
    numbers = np.sort(rng.choice(40, rows, replace=False)).astype(np.int32)
    way = rng.normal(size=(rows, dim)).astype(np.float32) / 50
    steps = rng.integers(1, 500, rows).astype(np.int32)
    return RowDeltas(numbers, steps, way.astype(np.float16))


def ways(moved):
    return moved.delta.astype(np.float32)


def twin(parts, rate):
    """Row by row, in the order of the workers."""
    result = {}
    for row in sorted({int(row) for part in parts for row in part.rows}):
        holders = [(part, int(np.flatnonzero(part.rows == row)[0])) for part in parts if row in part.rows]
        steps = [int(part.steps[at]) for part, at in holders]
        weight = (1 - np.exp(-rate * sum(steps))) / sum(1 - np.exp(-rate * one) for one in steps)
        result[row] = weight * sum(ways(part)[at] for part, at in holders), sum(steps)
    return result


def test_ways_are_added_up_as_the_shards_of_one_machine_are():
    rng = np.random.default_rng(3)
    parts = [some(rng, rows) for rows in (30, 5, 22)]
    found = merged([{"inputs": part} for part in parts], 0.02)["inputs"]
    expected = twin(parts, 0.02)
    for one, other in zip(found, merged([{"inputs": part} for part in parts], 0.02, threads=3)["inputs"], strict=True):
        np.testing.assert_array_equal(one, other)
    assert found.rows.tolist() == list(expected)
    for row, steps, way in zip(found.rows.tolist(), found.steps.tolist(), ways(found), strict=True):
        np.testing.assert_allclose(way, expected[row][0], rtol=2**-11, atol=1e-7)
        assert steps == expected[row][1]


def test_few_steps_add_up_and_many_are_averaged():
    way, rows = np.full((1, 2), 0.25, np.float16), np.zeros(1, np.int32)
    once, often = (RowDeltas(rows, np.array([steps], np.int32), way) for steps in (1, 10**6))
    assert ways(merged([{"inputs": once}] * 2, 1e-6)["inputs"])[0, 0] == pytest.approx(0.5, rel=1e-3)
    assert ways(merged([{"inputs": often}] * 2, 0.01)["inputs"])[0, 0] == pytest.approx(0.25, rel=1e-3)


def test_rows_stay_on_the_sphere():
    rng = np.random.default_rng(0)
    start = sphere.normalize(rng.normal(size=(40, 6))).astype(np.float32)
    moved = some(rng, 25)
    expected = sphere.normalize(start[moved.rows] + ways(moved))
    tables = [np.pad(start, ((0, 0), (0, 2))) for _ in range(2)]  # padded, as on the driver
    ended = [apply_delta(table, moved, threads) for table, threads in zip(tables, (1, 3), strict=True)]
    np.testing.assert_allclose(ended[0], expected, atol=1e-6)
    np.testing.assert_array_equal(ended[0], ended[1])
    for table in tables:
        np.testing.assert_array_equal(table[moved.rows, :6], ended[0])
        others = np.setdiff1d(np.arange(40), moved.rows)
        np.testing.assert_array_equal(table[others, :6], start[others])


def test_a_row_that_has_not_moved_stays():
    start = sphere.normalize(np.ones((1, 3))).astype(np.float32)
    moved = RowDeltas(np.zeros(1, np.int32), np.ones(1, np.int32), np.zeros((1, 3), np.float16))
    np.testing.assert_allclose(apply_delta(start.copy(), moved), start, atol=1e-7)
