"""Every document is on one worker, and found again."""

import numpy as np
import pytest

from spherevec.config import TrainConfig
from spherevec.distributed.exchange import (
    Layout,
    check_interval,
    exchanges_an_epoch,
    split_documents,
    suggested_tokens,
)
from spherevec.errors import ConfigError


@pytest.mark.parametrize("workers", [1, 2, 5])
def test_rows_of_the_whole_are_rows_of_workers(workers):
    lengths = np.random.default_rng(0).integers(0, 50, 403)
    layout = split_documents(np.concatenate([[0], np.cumsum(lengths)]), workers)
    assert sum(layout.sizes) == 403
    held = [[] for _ in range(workers)]
    for run in layout.runs:
        assert run.local == len(held[run.worker])
        held[run.worker].extend(range(run.first, run.first + run.size))
    assert [len(rows) for rows in held] == [layout.documents(worker) for worker in range(workers)]
    assert sorted(row for rows in held for row in rows) == list(range(403))
    for start, stop in ((0, 403), (17, 18), (100, 333), (5, 5)):
        found = [held[run.worker][run.local + i] for run in layout.between(start, stop) for i in range(run.size)]
        assert found == list(range(start, stop))


def test_workers_get_as_many_tokens_from_all_over_a_sorted_text():
    lengths = np.r_[np.full(1000, 10), np.full(1000, 90)]
    layout = split_documents(np.concatenate([[0], np.cumsum(lengths)]), 4)
    for worker in range(4):
        own = [run for run in layout.runs if run.worker == worker]
        tokens = sum(lengths[run.first : run.first + run.size].sum() for run in own)
        assert tokens == pytest.approx(lengths.sum() / 4, rel=0.05)
        assert min(run.first for run in own) < 700 and max(run.first for run in own) > 1700


def test_a_worker_alone_has_one_part():
    assert split_documents(np.array([0, 3, 5]), 1) == Layout(1, [2])


def test_intervals_grow_with_the_vocabulary_and_shrink_with_the_bandwidth():
    config = TrainConfig(epochs=1)
    small, large = (suggested_tokens(words, config, 10) for words in (50_000, 5_000_000))
    assert small < large and suggested_tokens(5_000_000, config, 100) < large
    assert exchanges_an_epoch(30, 1e9, 50_000, config, 2) == 30  # never more than rounds
    assert exchanges_an_epoch(64, 1e6, 50_000, config, 2) == 4
    assert exchanges_an_epoch(64, 1e6, 50_000, config, 2, exchange_tokens=10**6) == 1
    assert exchanges_an_epoch(64, 1e6, 50_000, config, 1) == 1  # nothing to exchange
    many, few = (exchanges_an_epoch(10**6, 1e10, 500_000, config, 2, None, gbit) for gbit in (100, 1))
    assert many > 2 * few > 8


@pytest.mark.parametrize("given", [(0, 10, 1), (1.5, 10, 1), (None, 0, 1), (None, 10, float("nan")), (True, 10, 1)])
def test_what_is_no_interval_is_refused(given):
    with pytest.raises(ConfigError, match="must be"):
        check_interval(*given)
