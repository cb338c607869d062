"""Known words are held back in proportion to what is known of them."""

from __future__ import annotations

import numpy as np

from spherevec.config import TrainConfig
from spherevec.training.word_update import WordPrior

FULL = np.uint32(2**32 - 1)


class Tables:
    """A backend's tables."""

    def __init__(self, **tables):
        self.tables = tables

    def read(self, table, start, stop):
        return self.tables[table][start:stop].copy()

    def load(self, table, start, rows):
        self.tables[table][start : start + len(rows)] = rows


def unit(n, dim, seed):
    rows = np.random.default_rng(seed).standard_normal((n, dim)).astype(np.float32)
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def prior_of(old, before, new, **config):
    settings = TrainConfig(epochs=10, **config)
    return WordPrior({"inputs": old, "contexts": old}, before, new, np.full(len(old), FULL), settings)


def test_a_frequent_word_goes_to_the_mean_of_its_witnesses():
    old, moved = unit(3, 5, 0), unit(4, 5, 1)
    before, new = np.array([10_000, 30_000, 10_000]), np.array([10_000, 10_000, 0])
    backend = Tables(inputs=moved.copy(), contexts=moved.copy())
    prior_of(old, before, new).pull(backend, 0)
    for table in backend.tables.values():
        for row, share in enumerate((2 / 3, 6 / 7)):  # an old occurrence counts twice
            mixed = share * old[row].astype(np.float64) + (1 - share) * moved[row]
            assert np.allclose(table[row], mixed / np.linalg.norm(mixed), atol=1e-6)
        assert table[2].tobytes() == old[2].tobytes()  # not in the new text: as it was, to the last bit
        assert table[3].tobytes() == moved[3].tobytes()  # a new word has no prior


def test_small_steps_earn_small_pulls():
    old = unit(2, 4, 0)
    prior = prior_of(old, np.array([5, 5000]), np.array([5, 5000]), alpha=0.01)
    first, last = prior.shares(0), prior.shares(9)
    assert 0 < last[0] < first[0] < 2 / 3
    assert np.isclose(first[1], 2 / 3)
    assert np.isclose(first[0], 2 / 3 * (1 - np.exp(-20 * 0.01 * 0.95 * 15)), rtol=1e-6)


def test_opposite_directions_leave_the_old_one():
    old = unit(1, 4, 0)
    backend = Tables(inputs=-old, contexts=-old)
    prior_of(old, np.array([10_000]), np.array([10_000])).pull(backend, 0)
    assert np.allclose(backend.tables["inputs"], old, atol=1e-6)
