"""Workers without Ray: shards in one process, which exchange what they have learned by hand."""

import numpy as np
import pytest

import spherevec
from spherevec.config import TrainConfig
from spherevec.corpus import encode
from spherevec.distributed.exchange import SHARED, merged, split_documents
from spherevec.distributed.worker import Shard, Task, seed_of
from spherevec.training.runtime import training_data


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    rng = np.random.default_rng(0)
    words = [f"w{i}" for i in range(300)]
    topics = [rng.permutation(300)[:60] for _ in range(4)]
    texts = [" ".join(words[i] for i in rng.choice(topics[d % 4], 40)) for d in range(240)]
    with encode(texts, tmp_path_factory.mktemp("corpus"), min_count=1) as corpus:
        yield corpus


def shards_of(corpus, config, workers):
    layout = split_documents(corpus.offsets, workers)
    shards = []
    for worker in range(workers):
        runs = [run for run in layout.runs if run.worker == worker]
        documents = np.concatenate([np.arange(run.first, run.first + run.size) for run in runs])
        lengths = np.diff(corpus.offsets)[documents]
        ids = np.concatenate([corpus.document(document) for document in documents])
        offsets = np.concatenate([[0], np.cumsum(lengths)])
        data = training_data(ids, offsets, corpus.vocabulary.counts, config)
        shards.append(Shard(worker, workers, data, config, corpus.n_tokens))
        shards[-1].fill()
    return shards


def run(corpus, config, workers, steps=4):
    shards = shards_of(corpus, config, workers)
    for step in range(steps):
        answers = [shard.train(Task(0, step, steps, config.alpha, config.bias, config.bias))[1:] for shard in shards]
        agreed = [merged([slices[part] for slices in answers], config.alpha) for part in range(workers)]
        for shard in shards:
            shard.absorb(*agreed)
    return shards


def test_after_an_exchange_all_workers_have_the_same_words(corpus):
    config = TrainConfig(vector_size=16, deterministic=True, threads=1)
    config = config.resolved(corpus.n_tokens, len(corpus.vocabulary))
    first, second, third = run(corpus, config, 3)
    for table in SHARED:
        rows = [shard.read(table, 0, len(corpus.vocabulary)) for shard in (first, second, third)]
        np.testing.assert_array_equal(rows[0], rows[1])
        np.testing.assert_array_equal(rows[0], rows[2])
        np.testing.assert_allclose(np.linalg.norm(rows[0], axis=1), 1, atol=1e-5)


def test_the_same_seed_gives_the_same_bits_for_any_number_of_threads(corpus):
    config = TrainConfig(vector_size=16, deterministic=True, threads=1)
    config = config.resolved(corpus.n_tokens, len(corpus.vocabulary))
    one, other = run(corpus, config, 2)[0], run(corpus, config.with_(threads=3), 2)[0]
    for table in SHARED:
        words = len(corpus.vocabulary)
        np.testing.assert_array_equal(one.read(table, 0, words), other.read(table, 0, words))


@pytest.mark.parametrize("at_once", [1, 7, 1 << 16])
def test_slices_hold_every_row_that_moved_once(corpus, monkeypatch, at_once):
    """However many are compared at a time."""
    monkeypatch.setattr("spherevec.distributed.worker.CHUNK_ROWS", at_once)
    config = TrainConfig(vector_size=16, deterministic=True, threads=1)
    config = config.resolved(corpus.n_tokens, len(corpus.vocabulary))
    shard = shards_of(corpus, config, 3)[0]
    before = {table: shard.read(table, 0, len(corpus.vocabulary)) for table in SHARED}
    slices = shard.train(Task(0, 0, 4, config.alpha, config.bias, config.bias))[1:]
    for table in SHARED:
        now = shard.read(table, 0, len(corpus.vocabulary))
        for number, part in enumerate(slices):
            moved = part[table]
            assert (np.diff(moved.rows) > 0).all() and (moved.rows % 3 == number).all()
            way = now[moved.rows] - before[table][moved.rows]
            np.testing.assert_allclose(moved.delta, way, rtol=2**-11, atol=1e-7)
        rows = np.concatenate([part[table].rows for part in slices])
        assert set(np.flatnonzero((now != before[table]).any(axis=1))) <= set(rows.tolist())


def test_engines_that_count_no_steps_exchange_too(corpus):
    """As a GPU does: what has moved is found by comparing."""
    config = TrainConfig(vector_size=16, threads=1).resolved(corpus.n_tokens, len(corpus.vocabulary))
    first, second = run(corpus, config, 2)
    words = len(corpus.vocabulary)
    np.testing.assert_array_equal(first.read("inputs", 0, words), second.read("inputs", 0, words))


def test_workers_have_seeds_of_their_own():
    seeds = [seed_of(7, number) for number in range(5)]
    assert seeds[0] == 7 and len(set(seeds)) == 5 and all(0 <= seed < 2**63 for seed in seeds)


def test_without_ray_one_line_names_the_extra(monkeypatch):
    import sys

    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(spherevec.errors.MissingExtraError, match=r"spherevec\[ray\]"):
        spherevec.train(["a b c"], ray="local", workers=2)


def test_workers_without_ray_are_refused():
    with pytest.raises(spherevec.errors.ConfigError, match="threads="):
        spherevec.train(["a b c"], workers=2)
