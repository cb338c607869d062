"""An index that grows and shrinks, against one that is built anew."""

from __future__ import annotations

import numpy as np
import pytest

from spherevec.errors import ConfigError, FormatError
from spherevec.model.index import GrowingIndex
from spherevec.model.neighbors import AnnIndex, top_k

pytest.importorskip("usearch")


def unit(n, dim, seed=0):
    rows = np.random.default_rng(seed).standard_normal((n, dim)).astype(np.float32)
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def recall(index, vectors, queries, k=10):
    exact, _ = top_k(queries, vectors, k)
    found, _ = index.search(queries, k, threads=1)
    return np.mean([len({*a} & {*b}) / k for a, b in zip(exact.tolist(), found.tolist(), strict=True)])


def test_ten_changes_leave_an_index_as_good_as_new():
    rng = np.random.default_rng(1)
    vectors = unit(1500, 24)
    index = GrowingIndex.build(vectors, threads=1)
    for step in range(10):
        # A tenth is removed, a tenth is replaced, a fifth is added.
        kept = np.sort(rng.permutation(len(vectors))[: len(vectors) * 9 // 10])
        origin = kept.copy()
        origin[rng.permutation(len(kept))[: len(kept) // 10]] = -1
        origin = np.concatenate([origin, np.full(len(kept) // 5, -1)])
        fresh = unit(np.count_nonzero(origin < 0), 24, seed=step + 2)
        new = np.empty((len(origin), 24), np.float32)
        new[origin >= 0], new[origin < 0] = vectors[origin[origin >= 0]], fresh
        index, vectors = index.moved(new, origin, threads=1), new
        assert len(index) == len(vectors) and index.fits(vectors)
    queries = unit(100, 24, seed=99)
    assert recall(index, vectors, queries) > recall(GrowingIndex.build(vectors, threads=1), vectors, queries) - 0.03


def test_cosines_belong_to_the_rows():
    vectors = unit(300, 16)
    index = GrowingIndex.build(vectors, threads=1).moved(vectors[100:], np.arange(100, 300), threads=1)
    rows, cosines = index.search(vectors[150:151], 5, threads=1)
    assert rows[0, 0] == 50
    assert np.allclose(cosines[0], vectors[100:][rows[0]] @ vectors[150], atol=2e-3)


def test_an_index_on_disk_stays_as_it_is(tmp_path):
    vectors = unit(200, 8)
    GrowingIndex.build(vectors, threads=1).save(tmp_path / "index")
    mapped = GrowingIndex.load(tmp_path / "index", np.arange(200))
    before = (tmp_path / "index").read_bytes()
    smaller = mapped.moved(vectors[:50], np.arange(50), threads=1)
    assert (len(mapped), len(smaller)) == (200, 50)
    assert mapped.fits(vectors) and not smaller.fits(vectors)
    assert (tmp_path / "index").read_bytes() == before


def test_what_does_not_fit_is_refused():
    vectors = unit(20, 8)
    with pytest.raises(ConfigError, match="19 origins do not fit 20 vectors"):
        GrowingIndex.build(vectors, threads=1).moved(vectors, np.arange(19))
    with pytest.raises(FormatError, match="20 vectors does not fit 19 rows"):
        GrowingIndex(AnnIndex.build(vectors, threads=1), np.arange(19))
