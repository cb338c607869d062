"""What the kernels draw: the same as plain integers say, and with the right frequencies."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise

import numpy as np
import pytest
from scipy import stats

import oracle
from spherevec.compiling import njit
from spherevec.engine.cpu import kernels as kernel
from spherevec.engine.sampling import alias_table, keep_probabilities
from spherevec.errors import ConfigError


@njit(cache=False)
def mix(bits):
    return kernel.mix(bits)


@njit(cache=False)
def visited_unit(position, count, key):
    return kernel.visited_unit(position, count, key)


@njit(cache=False)
def sample_negative(random, corpus):
    return kernel.sample_negative(random, corpus)


@njit(cache=False)
def sample_window(random, window, batch, extra):
    return kernel.sample_window(random, window, batch, extra)


@njit(cache=False)
def is_kept(word, place, key, keep_probability):
    return kernel.is_kept(word, place, key, keep_probability)


KEYS = [1, 2, 0xDEADBEEF, 2**63 + 12345, 2**64 - 1]
BITS = [int(bits) for bits in np.random.default_rng(0).integers(0, 2**64, size=300, dtype=np.uint64)] + [
    0,
    1,
    2**64 - 1,
]


def order(count, key):
    return [visited_unit(position, count, np.uint64(key)) for position in range(count)]


def test_mix_is_splitmix64s():
    # The published first outputs of splitmix64 for the seed 1234567.
    states = [(1234567 + (i + 1) * 0x9E3779B97F4A7C15) % 2**64 for i in range(3)]
    published = [6457827717110365317, 3203168211198807973, 9817491932198370423]
    assert [mix(np.uint64(state)) for state in states] == published
    assert [oracle.mix(state) for state in states] == published
    assert [mix(np.uint64(bits)) for bits in BITS] == [oracle.mix(bits) for bits in BITS]


@pytest.mark.parametrize("key", KEYS)
@pytest.mark.parametrize("count", [1, 2, 3, 4, 5, 17, 1000, 4097])
def test_an_order_visits_every_unit_once(count, key):
    visited = order(count, key)
    assert sorted(visited) == list(range(count))
    assert visited[:50] == [oracle.visited_unit(position, count, key) for position in range(min(count, 50))]


def test_orders_of_billions_of_units_stay_inside():
    count = 3_000_000_001
    visited = {visited_unit(position, count, np.uint64(7)) for position in range(1000)}
    assert len(visited) == 1000
    assert min(visited) >= 0
    assert count // 2 < max(visited) < count


def test_orders_of_two_epochs_share_no_more_places_than_chance():
    first, second = order(1000, 5), order(1000, 6)
    assert sum(a == b for a, b in zip(first, second, strict=True)) < 10
    assert abs(np.corrcoef(first, second)[0, 1]) < 0.1
    assert abs(np.corrcoef(first[:-1], first[1:])[0, 1]) < 0.1


def places_of_units(count, bins, keys):
    """How often a unit of each bin came at a place of each bin, (bins, bins)."""
    seen = np.zeros((bins, bins))
    for key in range(1, keys + 1):
        visited = np.array(order(count, oracle.mix(key)))
        np.add.at(seen, (np.arange(count) * bins // count, visited * bins // count), 1)
    return seen


@pytest.mark.parametrize(("count", "bins", "keys"), [(2, 2, 2000), (4, 4, 2000), (1000, 10, 60), (4097, 17, 15)])
def test_every_unit_comes_equally_often_at_every_place(count, bins, keys):
    seen = places_of_units(count, bins, keys)
    expected = seen.mean()
    # Rows and columns are bound to their sums, which leaves (bins - 1)**2 degrees of freedom.
    statistic = ((seen - expected) ** 2 / expected).sum() * (bins - 1) / bins
    assert stats.chi2.sf(statistic, (bins - 1) ** 2) > 1e-3


@pytest.mark.parametrize("count", [3, 5, 17])
def test_orders_of_a_handful_of_units_are_nearly_fair(count):
    # Four rounds on a few bits cannot reach every order equally often.
    seen = places_of_units(count, count, 3000)
    assert np.abs(seen / seen.mean() - 1).max() < 0.5


def table_probabilities(share, other):
    """Probability of every word, from the tables alone."""
    own = share.astype(np.float64) / 2**32
    probabilities = own.copy()
    np.add.at(probabilities, other, 1 - own)
    return probabilities / len(share)


COUNTS = {
    "two": [1, 1],
    "uneven": [10**12, 1],
    "zipf": (10**7 / np.arange(1, 5001)).astype(np.int64).tolist(),
    "one giant": [2**60, *[1] * 999],
    "all equal": [7] * 1000,
    "two levels": [100] * 3 + [1] * 500,
}


@pytest.mark.parametrize("counts", COUNTS.values(), ids=COUNTS)
def test_alias_table_holds_the_three_quarter_power_of_the_counts(counts):
    share, other = alias_table(np.array(counts, np.int64))
    weights = np.array(counts, np.float64) ** 0.75
    # Shares have 32 bits, and a word can stand in many slots, each rounded on its own.
    np.testing.assert_allclose(
        table_probabilities(share, other), weights / weights.sum(), rtol=0, atol=2.0**-31
    )  # fmt: skip
    assert share.dtype == np.uint32
    assert other.dtype == np.int32
    assert other.min() >= 0
    assert other.max() < len(counts)


def test_alias_table_of_random_counts():
    rng = np.random.default_rng(9)
    for _ in range(50):
        counts = (1 + rng.pareto(0.7, size=rng.integers(2, 300))).astype(np.int64)
        weights = counts**0.75
        np.testing.assert_allclose(table_probabilities(*alias_table(counts)), weights / weights.sum(), atol=2.0**-31)


def test_alias_table_of_one_word_is_refused():
    with pytest.raises(ConfigError, match="at least two"):
        alias_table(np.array([5]))


def sampled_corpus(probability, other):
    """A corpus of which only the alias table matters."""
    nothing = np.zeros(0, np.int64)
    return kernel.Corpus(
        np.zeros(0, np.int32), nothing, nothing.reshape(0, 2), np.zeros(0, np.uint32), probability, other
    )


def test_negatives_are_sampled_by_the_table():
    counts = np.array([1000, 300, 300, 80, 10, 1, 1])
    share, other = alias_table(counts)
    corpus = sampled_corpus(share, other)
    bits = np.random.default_rng(1).integers(0, 2**64, size=20_000, dtype=np.uint64)
    negatives = [sample_negative(random, corpus) for random in bits]
    weights = counts**0.75
    assert stats.chisquare(np.bincount(negatives, minlength=7), len(bits) * weights / weights.sum()).pvalue > 1e-3
    assert negatives[:2000] == [oracle.sample_negative(int(random), share, other) for random in bits[:2000]]


@pytest.mark.parametrize("random", [0, 2**32 - 1, 2**32, 2**64 - 1])
def test_extreme_bits_sample_a_word(random):
    share, other = alias_table(np.array([3, 2, 1]))
    corpus = sampled_corpus(share, other)
    assert sample_negative(np.uint64(random), corpus) == oracle.sample_negative(random, share, other)
    assert 0 <= sample_negative(np.uint64(random), corpus) < 3


@pytest.mark.parametrize("sample", [1e-5, 1e-4, 1e-3, 0.1, 1.0])
def test_keep_shares_are_the_formula(sample):
    counts = np.array([10**9, 10**6, 5000, 100, 1, 1], np.int64)
    shares = keep_probabilities(counts, sample)
    for count, share in zip(counts.tolist(), shares.tolist(), strict=True):
        # word2vec's rule: sqrt(t / f) + t / f for a word of frequency f.
        frequency = count / counts.sum()
        naive = min(1.0, (sample / frequency) ** 0.5 + sample / frequency)
        assert share / 2**32 == pytest.approx(naive, rel=1e-9, abs=2.0**-31)


def test_sample_zero_keeps_every_word():
    shares = keep_probabilities(np.array([10**9, 1]), 0.0)
    assert all(is_kept(0, place, np.uint64(3), shares) for place in range(2000))


@pytest.mark.parametrize("share", [0.01, 0.3, 0.95])
def test_kept_words_are_as_many_as_their_share(share):
    keep_probability = np.array([share * 2**32], np.uint32)
    for key in (1, 2):
        kept = [is_kept(0, place, np.uint64(key), keep_probability) for place in range(20_000)]
        assert stats.binomtest(sum(kept), len(kept), share).pvalue > 1e-3
        # Neighbouring places decide for themselves.
        both = sum(a and b for a, b in pairwise(kept))
        assert stats.binomtest(both, len(kept) - 1, share**2).pvalue > 1e-3
        assert kept[:1000] == [oracle.is_kept(0, place, key, keep_probability) for place in range(1000)]


REACHES = [(1, 1, 0), (1, 4, 1), (2, 4, 1), (10, 1, 0), (10, 4, 1), (10, 4, 0), (5, 3, 1), (5, 8, 1), (7, 16, 1)]


@pytest.mark.parametrize(("window", "batch", "extra"), REACHES)
def test_reach_is_fair_and_fills_batches(window, batch, extra):
    # All residues of both halves of the random bits, each equally often: exact probabilities.
    rounds = int(np.lcm.reduce(np.arange(1, window + 1)))
    seen = Counter()
    for high in range(window):
        for low in range(rounds):
            seen[sample_window(np.uint64((high << 32) + low), window, batch, extra)] += 1
    pairs = np.zeros((window + 1, window + 1))
    for (before, after), times in seen.items():
        pairs[before, after] = times
    assert pairs[0].sum() == pairs[:, 0].sum() == 0
    np.testing.assert_array_equal(pairs[1:].sum(axis=1), rounds)  # before: uniform in 1..window
    for before in range(1, window + 1):
        full = [after for after in range(1, window + 1) if (before + after + extra) % batch == 0]
        chosen = np.flatnonzero(pairs[before])
        np.testing.assert_array_equal(chosen, full or np.arange(1, window + 1))
        assert np.ptp(pairs[before, chosen]) == 0
    mean_after = (pairs.sum(axis=0) * np.arange(window + 1)).sum() / pairs.sum()
    assert abs(mean_after - (window + 1) / 2) <= 0.5
    for bits in BITS:
        assert sample_window(np.uint64(bits), window, batch, extra) == oracle.sample_window(bits, window, batch, extra)
