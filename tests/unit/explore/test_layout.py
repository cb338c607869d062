"""The globe: neighbours stay near, the result does not depend on threads, small worlds work."""

from __future__ import annotations

import numpy as np
import pytest

from page_helpers import clustered, unit_rows
from spherevec.errors import ConfigError
from spherevec.explore import kernels, layout
from spherevec.explore.layout import (
    descend,
    first_places,
    place_on_globe,
    scale_at,
)


@pytest.fixture(scope="module")
def world():
    return clustered(900, 20, 9, np.random.default_rng(1))


@pytest.mark.parametrize("landmarks", [300, 50_000])
def test_documents_of_a_cluster_lie_together(world, monkeypatch, landmarks):
    monkeypatch.setattr(layout, "LANDMARKS", landmarks)
    docs, labels, centres = world
    places = place_on_globe(docs, topics=centres, seed=1, threads=1, epochs=150)
    cosines = places.docs @ places.docs.T
    np.fill_diagonal(cosines, -2)
    nearest = labels[np.argsort(-cosines, axis=1)[:, :10]]
    assert (nearest == labels[:, None]).mean() > 0.97
    # Each topic lies amid its own documents.
    assert (labels[np.argmax(places.topics @ places.docs.T, axis=1)] == np.arange(9)).all()


@pytest.mark.parametrize("landmarks", [1_000, 50_000])
def test_the_places_are_the_same_for_any_number_of_threads(world, monkeypatch, landmarks):
    monkeypatch.setattr(layout, "LANDMARKS", landmarks)
    docs, _, centres = world
    many = np.concatenate([docs] * 5 + [docs[:100]])  # enough rows for several slices
    one, three = (place_on_globe(many, docs[:50], centres, seed=3, threads=t, epochs=8) for t in (1, 3))
    for name in ("docs", "words", "topics"):
        assert np.array_equal(getattr(one, name), getattr(three, name))
    other = place_on_globe(many, docs[:50], centres, seed=4, threads=2, epochs=8)
    assert not np.array_equal(one.docs, other.docs)


@pytest.mark.parametrize("n", [0, 1, 2, 3, 17])
def test_small_worlds(n):
    rng = np.random.default_rng(0)
    places = place_on_globe(unit_rows(n, 6, rng), unit_rows(5, 6, rng), unit_rows(2, 6, rng), epochs=10)
    for group, count in ((places.docs, n), (places.words, 5), (places.topics, 2)):
        assert group.shape == (count, 3)
        assert group.dtype == np.float32
        np.testing.assert_allclose(np.linalg.norm(group, axis=1), 1, atol=1e-5)


def test_identical_documents_have_places():
    places = place_on_globe(np.tile(np.eye(1, 4, dtype=np.float32), (50, 1)), epochs=20)
    assert np.isfinite(places.docs).all()


def test_nothing_to_place():
    assert place_on_globe(np.zeros((0, 4), np.float32)).docs.shape == (0, 3)


def test_wrong_arguments():
    rows = np.eye(3, dtype=np.float32)
    with pytest.raises(ConfigError, match="words have dimension 2, documents have 3"):
        place_on_globe(rows, rows[:, :2])
    with pytest.raises(ConfigError, match="epochs must be at least 1, not 0"):
        place_on_globe(rows, epochs=0)


def _twin(places, n, starts, links, scale, mean, rate, repulsion):
    """One step with exact sums, in plain NumPy."""
    new = np.empty_like(places)
    for i, x in enumerate(places):
        force = np.zeros(3)
        near = links[starts[i] : starts[i + 1]]
        for y in places[near]:
            force += (y - x) / (1 + ((y - x) ** 2).sum() / scale**2) / len(near)
        for j in range(n):
            if j != i:
                q = 1 / (1 + ((places[j] - x) ** 2).sum() / scale**2)
                force += repulsion * q**2 * (x - places[j]) / (mean * n)
        step = rate * (force - force @ x * x)
        length = np.linalg.norm(step)
        step *= min(1, 3 * scale / length) if length else 1
        new[i] = (x + step) / np.linalg.norm(x + step)
    return new


def test_a_step_agrees_with_its_twin():
    rng = np.random.default_rng(5)
    n, m, scale, side, across = 30, 36, 0.5, 2.0, 1  # one voxel: every point is near, and all are sampled
    places = unit_rows(m, 3, rng)
    links = rng.integers(n, size=(m, 4)).astype(np.int32)
    starts = np.arange(0, 4 * m + 1, 4)
    voxels, filled = np.empty(2, np.int64), np.empty(1, np.int64)
    spots, rows = np.empty((n, 3), np.float32), np.empty(n, np.int64)
    kernels.sort_into_voxels(places, n, np.float32(side), across, voxels, filled, spots, rows)
    new, pace, affinity = np.empty_like(places), np.zeros_like(places), np.zeros(m, np.float32)
    kernels.move_points(
        places, new, pace, affinity, starts, links.reshape(-1), voxels, np.float32(side), across, spots, rows, n,
        np.float32(scale), np.float32(0.4), np.float32(1.5), np.float32(0.3), np.float32(0), np.uint64(1), 0, m,
    )  # fmt: skip
    twin = _twin(places.astype(float), n, starts, links.reshape(-1), scale, 0.4, 0.3, 1.5)
    np.testing.assert_allclose(new, twin, atol=2e-5)
    distance = ((places[:, None] - places[None, :n]) ** 2).sum(axis=2)
    expected = np.where(np.eye(m, n, dtype=bool), 0, 1 / (1 + distance / scale**2)).sum(axis=1) / n
    np.testing.assert_allclose(affinity, expected, rtol=1e-4)


def test_far_and_near_samples_together_are_unbiased():
    rng = np.random.default_rng(6)
    n, scale, side = 400, 0.3, 0.5
    across = 4
    places = unit_rows(n, 3, rng)
    starts, links = np.zeros(n + 1, np.int64), np.zeros(0, np.int32)
    voxels, filled = np.empty(across**3 + 1, np.int64), np.empty(across**3, np.int64)
    spots, rows = np.empty((n, 3), np.float32), np.empty(n, np.int64)
    kernels.sort_into_voxels(places, n, np.float32(side), across, voxels, filled, spots, rows)
    assert sorted(rows.tolist()) == list(range(n))
    total = np.zeros(n)
    for key in range(60):
        new, pace, affinity = np.empty_like(places), np.zeros_like(places), np.zeros(n, np.float32)
        kernels.move_points(
            places, new, pace, affinity, starts, links, voxels, np.float32(side), across, spots, rows, 8,
            np.float32(scale), np.float32(1), np.float32(1), np.float32(0), np.float32(0), np.uint64(key), 0, n,
        )  # fmt: skip
        total += affinity
    distance = ((places[:, None] - places[None]) ** 2).sum(axis=2)
    exact = 1 / (1 + distance / scale**2)
    np.fill_diagonal(exact, 0)
    assert abs(total.mean() / 60 / exact.mean() - 1) < 0.02


def test_descent_without_links_spreads_points():
    rng = np.random.default_rng(7)
    crowd = np.asarray([1.0, 0, 0]) + 0.05 * rng.standard_normal((200, 3))
    crowd = (crowd / np.linalg.norm(crowd, axis=1, keepdims=True)).astype(np.float32)
    spread = descend(crowd, 200, np.zeros(201, np.int64), np.zeros(0, np.int32), 1, 40, 1)
    assert np.linalg.norm(spread.mean(axis=0)) < np.linalg.norm(crowd.mean(axis=0)) - 0.3


def test_scale_falls_to_the_distance_of_neighbours():
    scales = [scale_at(progress, 10_000) for progress in (0, 0.25, 0.5, 1)]
    assert scales == sorted(scales, reverse=True)
    assert scales[-1] == pytest.approx(0.028)
    assert scale_at(0.7, 4) == pytest.approx(0.3)


def test_first_places_are_unit_rows_even_without_spread():
    for rows in (np.ones((1, 4), np.float32) / 2, np.tile(np.eye(1, 3, dtype=np.float32), (6, 1))):
        np.testing.assert_allclose(np.linalg.norm(first_places(rows, 1), axis=1), 1, atol=1e-5)
