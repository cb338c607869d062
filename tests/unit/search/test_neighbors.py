"""Search against twins that compute every cosine and sort them all."""

from __future__ import annotations

import tracemalloc
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spherevec.errors import ConfigError, FormatError
from spherevec.search import neighbors
from spherevec.search.neighbors import ByteVectors, best_rows, exact_products, nearest_multiplicative, nearest_neighbors


def unit(n, dim, seed=0):
    rows = np.random.default_rng(seed).standard_normal((n, dim)).astype(np.float32)
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def on_grid(n, dim, seed):
    """Unit rows of which many are equal, so that ties are common."""
    rows = np.random.default_rng(seed).integers(-1, 2, (n, dim)).astype(np.float32)
    rows[:, 0] = 1
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def naive_best(scores, k, exclude):
    """Rows and scores (q, k), best first, then by row; -1 and -inf where nothing is left."""
    scores = scores.astype(np.float64)
    for query, rows in enumerate(exclude):
        scores[query, list(rows)] = -np.inf
    order = np.lexsort((np.broadcast_to(np.arange(scores.shape[1]), scores.shape), -scores))[:, :k]
    best = np.take_along_axis(scores, order, axis=1)
    return np.where(np.isfinite(best), order, -1), best


def brute_force(queries, vectors, k, exclude):
    """Every scalar product in float64, one after another, then sorted by score and row."""
    scores = np.array([[np.sum(row * query) for row in vectors.astype(np.float64)] for query in queries.astype(float)])
    return naive_best(scores.reshape(len(queries), len(vectors)), k, exclude)


def nearly_equal(n, dim, seed):
    """Unit rows of three kinds: equal to another, different from another in the last bit, and of their own."""
    random = np.random.default_rng(seed)
    kinds = unit(max(1, n // 4), dim, seed)
    rows = kinds[random.integers(0, len(kinds), n)]
    touched = random.random((n, dim)) < random.choice([0, 0.3])
    return np.where(touched, np.nextafter(rows, np.float32(2)), rows).astype(np.float32)


@given(
    n=st.integers(1, 60),
    q=st.integers(1, 5),
    k=st.integers(1, 70),
    dim=st.integers(2, 40),
    width=st.integers(1, 50),
    most=st.integers(1, 50),
    seed=st.integers(0, 1000),
    make=st.sampled_from([on_grid, nearly_equal]),
    data=st.data(),
)
@settings(max_examples=300)
def test_search_is_brute_force_in_float64(n, q, k, dim, width, most, seed, make, data):
    """Equal vectors, vectors that differ in the last bit, blocks of any size: the same rows in the same order."""
    vectors = make(n, dim, seed)
    queries = vectors[np.random.default_rng(seed).integers(0, n, q)]
    exclude = data.draw(st.lists(st.lists(st.integers(0, n - 1), max_size=n), min_size=q, max_size=q))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(neighbors, "_SCORES_PER_BLOCK", width)  # many blocks from few vectors
        patch.setattr(neighbors, "_ROWS_RESCORED", most)
        rows, cosines = nearest_neighbors(queries, vectors, k, exclude)
    assert rows.dtype == np.int64 and cosines.dtype == np.float32
    expected_rows, expected = brute_force(queries, vectors, min(k, n), exclude)
    np.testing.assert_allclose(cosines, expected, atol=1e-6)
    # Two sums in float64 may differ in the last bit; rows may change places within that and no further.
    exact = np.einsum("nd,qd->qn", vectors.astype(np.float64), queries.astype(np.float64))
    for found, wanted, scores in zip(rows, expected_rows, exact, strict=True):
        filled = found >= 0
        np.testing.assert_array_equal(filled, wanted >= 0)
        np.testing.assert_allclose(scores[found[filled]], scores[wanted[filled]], rtol=0, atol=1e-15)
        for first, second in pairwise(found[filled]):
            assert scores[first] > scores[second] - 1e-15
            assert first < second or not np.array_equal(vectors[first], vectors[second])


def test_equal_cosines_come_in_the_order_of_their_rows(monkeypatch):
    vectors = np.tile(unit(5, 8), (40, 1))
    for width in (3, 50, 1 << 22):
        for k in (1, 12, 39, 41):
            monkeypatch.setattr(neighbors, "_SCORES_PER_BLOCK", width)
            rows, _ = nearest_neighbors(vectors[:1], vectors, k)
            assert rows[0][:40].tolist() == list(range(0, 200, 5))[:k]


def test_rounding_in_float32_loses_no_neighbour():
    """A thousand vectors whose cosines differ by less than float32 can tell, among ten thousand."""
    random, dim = np.random.default_rng(1), 300
    query = unit(1, dim)[0]
    vectors = unit(10_000, dim, seed=2)
    vectors[::10] = query + random.standard_normal((1000, dim)) * 1e-4
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    rows, _ = nearest_neighbors(query[None], vectors, 100)
    exact = vectors.astype(np.float64) @ query.astype(np.float64)
    assert rows[0].tolist() == np.lexsort((np.arange(len(exact)), -exact))[:100].tolist()


def test_damaged_numbers_are_told_and_not_left_out():
    vectors = unit(1000, 8)
    vectors[17, 3] = np.nan
    for search in (
        lambda: nearest_neighbors(unit(2, 8), vectors, 3),
        lambda: nearest_multiplicative(unit(2, 8), unit(1, 8), vectors, 3),
    ):
        with pytest.raises(FormatError, match="vector 17 holds NaN"):
            search()
    with pytest.raises(ConfigError, match="query is not finite"):
        nearest_neighbors(vectors[17:18], unit(10, 8), 3)


def test_exact_rows_on_vectors_without_ties():
    vectors, queries = unit(5000, 30), unit(300, 30, seed=1)
    rows, cosines = nearest_neighbors(queries, vectors, 10)
    expected_rows, expected = naive_best(queries.astype(np.float64) @ vectors.T.astype(np.float64), 10, [])
    np.testing.assert_array_equal(rows, expected_rows)
    np.testing.assert_allclose(cosines, expected, atol=1e-6)


def test_a_query_alone_gets_what_it_gets_in_a_batch():
    vectors, queries = unit(3000, 20), unit(50, 20, seed=1)
    rows, cosines = nearest_neighbors(queries, vectors, 5)
    for query in range(0, 50, 7):
        alone_rows, alone = nearest_neighbors(queries[query : query + 1], vectors, 5)
        np.testing.assert_array_equal(alone_rows[0], rows[query])
        np.testing.assert_array_equal(alone[0], cosines[query])


@pytest.mark.parametrize("width", [7, 1 << 13])
@pytest.mark.parametrize("exclude", [[], [3], [5, 6]])
def test_multiplicative_equals_its_formula(monkeypatch, width, exclude):
    monkeypatch.setattr(neighbors, "_ROWS_RESCORED", width)
    vectors, positive, negative = unit(200, 6), unit(2, 6, seed=1), unit(1, 6, seed=2)
    rows, scores = nearest_multiplicative(positive, negative, vectors, 9, exclude)
    similar, unlike = (1 + positive @ vectors.T) / 2, (1 + negative @ vectors.T) / 2
    formula = similar.prod(axis=0) / (unlike.prod(axis=0) + 1e-3)
    expected_rows, expected = naive_best(formula[None], 9, [exclude])
    np.testing.assert_array_equal(rows, expected_rows[0])
    np.testing.assert_allclose(scores, expected[0], rtol=1e-4)


def test_memory_does_not_grow_with_the_number_of_scores():
    vectors, queries = unit(100_000, 4), unit(1000, 4, seed=1)
    tracemalloc.start()
    try:
        nearest_neighbors(queries, vectors, 10)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 100e6  # all scores together would take 400 MB


def test_read_only_vectors_are_fine():
    vectors = unit(100, 5)
    vectors.flags.writeable = False
    assert nearest_neighbors(vectors[:3], vectors, 1)[0][:, 0].tolist() == [0, 1, 2]


@pytest.mark.parametrize(("shape", "k"), [((3, 4), 1), ((5,), 1), ((3, 5), 0)])
def test_what_does_not_fit_is_refused(shape, k):
    with pytest.raises(ConfigError):
        nearest_neighbors(np.ones(shape, np.float32), unit(10, 5), k)


def of_all_norms(n, dim, seed):
    """Rows of tiny, huge and no length, of one coordinate, duplicates and near duplicates of others."""
    random = np.random.default_rng(seed)
    rows = nearly_equal(n, dim, seed)
    rows *= random.choice([0.0, 1e-40, 1e-20, 1e-3, 1.0, 1e3, 1e18], (n, 1), p=[0.1, 0.05, 0.05, 0.2, 0.4, 0.1, 0.1])
    alone = random.random(n) < 0.1
    rows[alone, 1:] = 0
    return rows.astype(np.float32)


@given(
    n=st.integers(1, 300),
    q=st.integers(1, 9),
    topn=st.integers(1, 90),
    dim=st.integers(2, 40),
    width=st.sampled_from([64, 128, 192]),
    most=st.integers(1, 50),
    seed=st.integers(0, 1000),
    make=st.sampled_from([on_grid, nearly_equal, of_all_norms, unit]),
    with_extra=st.booleans(),
    with_rows=st.booleans(),
    data=st.data(),
)
@settings(max_examples=300, deadline=None)
def test_bytes_find_what_float64_finds(n, q, topn, dim, width, most, seed, make, with_extra, with_rows, data):
    """The same rows in the same order, whatever the vectors, filters and blocks."""
    random = np.random.default_rng(seed)
    vectors = make(n, dim, seed)
    queries = make(q, dim, seed + 1) if data.draw(st.booleans()) else vectors[random.integers(0, n, q)]
    extra = random.choice([0, 0.25, 1e-7], (q, n)).astype(np.float32) if with_extra else None
    rows = np.flatnonzero(random.random(n) < 0.7) if with_rows else None
    exclude = data.draw(st.lists(st.lists(st.integers(0, n - 1), max_size=3), min_size=q, max_size=q))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(neighbors, "_ROWS_PER_SCAN", width)
        patch.setattr(neighbors, "_ROWS_RESCORED", most)
        patch.setattr(neighbors, "_FEW", n)
        patch.setattr(neighbors, "_FIRST_ROWS", 64 * data.draw(st.integers(1, 2)))
        patch.setattr(neighbors, "_CANDIDATES_PER_SCAN", data.draw(st.integers(64, 150)))
        found = list(
            best_rows(queries, vectors, topn, rows=rows, extra=extra, exclude=exclude, in_bytes=ByteVectors.of(vectors))
        )
    for number, (best, scores) in enumerate(found):
        expected = exact_products(vectors, queries[number]) + (0 if extra is None else extra[number])
        allowed = np.setdiff1d(np.arange(n) if rows is None else rows, exclude[number])
        order = allowed[np.lexsort((allowed, -expected[allowed]))][:topn]
        assert best.tolist() == order.tolist()
        np.testing.assert_array_equal(scores, expected[order])


def test_bytes_keep_their_promise_about_errors():
    vectors = np.concatenate([of_all_norms(2000, 30, 1), unit(500, 30)])
    in_bytes = ByteVectors.of(vectors)
    rows = in_bytes.blocks.transpose(0, 2, 1).reshape(-1, in_bytes.blocks.shape[1])[: len(vectors), :30]
    restored = rows.astype(np.float64) * in_bytes.scales.astype(np.float64)[:, None]
    assert np.all(np.linalg.norm(vectors.astype(np.float64) - restored, axis=1) <= in_bytes.errors)
    assert in_bytes.errors[2000:].max() < 0.02


def test_bytes_leave_few_rows_to_score_again(monkeypatch):
    """Of 30,000 vectors, the bound leaves about one in a hundred."""
    vectors, queries = unit(30_000, 50), unit(20, 50, seed=1)
    scored = []
    monkeypatch.setattr(neighbors, "exact_products", lambda rows, query: scored.append(len(rows)) or rows @ query)
    neighbors.nearest_neighbors(queries, vectors, 10, in_bytes=ByteVectors.of(vectors))
    assert sum(scored) / len(queries) < 600


def test_bytes_of_damaged_vectors_and_queries_are_refused():
    vectors = unit(100, 8)
    in_bytes = ByteVectors.of(vectors)
    damaged = vectors.copy()
    damaged[17, 3] = np.inf
    with pytest.raises(FormatError, match="vector 17 holds NaN or infinity"):
        ByteVectors.of(damaged)
    with pytest.raises(ConfigError, match="query is not finite"):
        nearest_neighbors(damaged[17:18], vectors, 3, in_bytes=in_bytes)
