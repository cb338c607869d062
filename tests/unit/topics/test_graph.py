"""The neighbour graph, its communities and the tree, each against an obvious twin."""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score

from spherevec.sphere import normalize
from spherevec.topics.components import Components, mean_directions, summed_by
from spherevec.topics.graph import aggregated, communities, nearest_rows, neighbor_graph, within
from spherevec.topics.levels import choose_counts, measure_levels
from spherevec.topics.partition import find_components, merge_order, merged, partition, stable_partition


def clusters(n_topics: int, each: int, seed: int = 0, noise: float = 0.25) -> tuple[np.ndarray, np.ndarray]:
    random = np.random.default_rng(seed)
    centers = normalize(random.standard_normal((n_topics, 20)))
    labels = np.repeat(np.arange(n_topics), each)
    rows = normalize(centers[labels] + noise * random.standard_normal((len(labels), 20)))
    return np.asarray(rows, np.float32), labels


def test_the_graph_joins_nearest_rows() -> None:
    rows, _ = clusters(3, 20)
    graph = neighbor_graph(rows, 4, threads=1).toarray()
    cosines = rows @ rows.T
    np.fill_diagonal(cosines, -2)
    wanted = np.zeros_like(graph)
    for i, row in enumerate(cosines):
        for j in np.argsort(-row, kind="stable")[:4]:
            wanted[i, j] += max(row[j], 0)
            wanted[j, i] += max(row[j], 0)
    np.testing.assert_allclose(graph, wanted, atol=1e-6)


@pytest.mark.parametrize("threads", [1, 3])
def test_the_rows_nearest_to_others(threads: int) -> None:
    rows, _ = clusters(3, 200)
    found, cosines = nearest_rows(rows[100:400], rows[:150], 7, threads)
    wanted = rows[100:400] @ rows[:150].T
    assert found.tolist() == np.argsort(-wanted, axis=1, kind="stable")[:, :7].tolist()
    np.testing.assert_allclose(cosines, -np.sort(-wanted, axis=1)[:, :7], atol=1e-6)


def test_the_graph_is_the_same_with_any_number_of_threads() -> None:
    rows, _ = clusters(4, 300)
    first, second = (neighbor_graph(rows, 15, threads) for threads in (1, 3))
    assert (first != second).nnz == 0


def modularity(weights: np.ndarray, labels: np.ndarray, resolution: float) -> float:
    degrees, total = weights.sum(axis=1), weights.sum()
    same = labels[:, None] == labels
    return float(((weights / total - resolution * np.outer(degrees, degrees) / total**2) * same).sum())


def test_communities_cannot_be_bettered_by_moving_one_node() -> None:
    rows, truth = clusters(5, 30)
    graph = neighbor_graph(rows, 8, threads=1)
    found = communities(graph, 1.0, seed=1)
    weights = graph.toarray()
    best = modularity(weights, found, 1.0)
    assert best >= modularity(weights, truth, 1.0) - 1e-9
    for node, other in [(0, 1), (40, 2), (100, 0)]:
        moved = found.copy()
        moved[node] = other
        assert modularity(weights, moved, 1.0) <= best + 1e-9


def test_aggregated_and_within_keep_the_weights() -> None:
    rows, truth = clusters(3, 20)
    graph = neighbor_graph(rows, 5, threads=1)
    assert aggregated(graph, truth).sum() == pytest.approx(graph.sum())
    assert within(graph, truth).sum() == pytest.approx(np.trace(aggregated(graph, truth).toarray()))


@pytest.mark.parametrize("n_topics", [4, 9])
def test_the_number_of_topics_is_found(n_topics: int) -> None:
    rows, truth = clusters(n_topics, 80)
    components, above, levels = find_components(rows, None, seed=1, threads=1)
    assert not above
    assert components.n_topics == n_topics
    assert adjusted_rand_score(truth, components.probabilities(rows).argmax(axis=1)) > 0.9
    assert max(level.gain for level in levels) > 0.9


def test_a_cloud_and_a_few_rows_have_one_topic_or_few() -> None:
    random = np.random.default_rng(1)
    few = np.asarray(normalize(random.standard_normal((30, 20))), np.float32)
    assert choose_counts(measure_levels(few, 1, 1), 30) == [1]


@pytest.mark.parametrize("k", [1, 2, 5, 17, 60])
def test_the_number_of_topics_can_be_set(k: int) -> None:
    rows, _ = clusters(6, 20)
    labels, _ = partition(neighbor_graph(rows, 15, threads=1), rows, k, seed=1)
    assert sorted(set(labels.tolist())) == list(range(k))


def test_merging_loses_as_little_as_can_be() -> None:
    random = np.random.default_rng(2)
    sums = random.standard_normal((6, 5))
    merges = merge_order(sums)
    alive = {i: sums[i] for i in range(6)}
    for step, (a, b) in enumerate(merges.tolist()):
        losses = {
            pair: sum(np.linalg.norm(alive[i]) for i in pair) - np.linalg.norm(alive[pair[0]] + alive[pair[1]])
            for pair in combinations(alive, 2)
        }
        assert losses[min(a, b), max(a, b)] == pytest.approx(min(losses.values()))
        alive[6 + step] = alive.pop(a) + alive.pop(b)
        alive = dict(sorted(alive.items()))
    for k in range(1, 7):
        assert len(set(merged(sums, k).tolist())) == k


def test_probabilities_are_sums_over_components() -> None:
    rows, truth = clusters(4, 10)
    topic_of = np.array([0, 1, 1, 0])
    components = Components(
        np.zeros(20, np.float32), mean_directions(rows, truth), np.full(4, 0.25, np.float32), topic_of, 10.0
    )
    likely = np.exp(10 * rows @ mean_directions(rows, truth).T)
    wanted = np.stack([likely[:, [0, 3]].sum(axis=1), likely[:, [1, 2]].sum(axis=1)], axis=1)
    np.testing.assert_allclose(components.probabilities(rows), wanted / wanted.sum(axis=1, keepdims=True), rtol=1e-4)
    np.testing.assert_allclose(summed_by(likely, topic_of), wanted, rtol=1e-5)


def test_what_most_runs_agree_about_depends_less_on_the_seed() -> None:
    random = np.random.default_rng(3)
    middles = normalize(random.standard_normal((12, 8)))
    rows = np.asarray(normalize(middles[np.arange(600) % 12] + 0.45 * random.standard_normal((600, 8))), np.float32)
    graph = neighbor_graph(rows, threads=1)

    def agreement(find: Callable[..., tuple[Any, float]]) -> float:
        found = [find(graph, rows, 6, seed)[0] for seed in (1, 2, 3, 4)]
        assert all(len(np.unique(labels)) == 6 for labels in found)
        return float(np.mean([adjusted_rand_score(a, b) for a, b in combinations(found, 2)]))

    assert agreement(stable_partition) > agreement(partition) + 0.05


def test_many_topics_inside_broader_ones_do_not_begin_with_single_documents(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = np.asarray(normalize(np.random.default_rng(1).standard_normal((300, 8))), np.float32)
    inside, merged_from = np.arange(300) % 2, []

    def recorded(sums: np.ndarray, group_of: np.ndarray | None = None) -> np.ndarray:
        merged_from.append(len(sums))
        return merge_order(sums, group_of)

    monkeypatch.setattr("spherevec.topics.partition.merge_order", recorded)
    graph = neighbor_graph(rows, 15, threads=1)
    labels, _ = partition(graph, rows, 60, 1, inside)
    assert len(np.unique(labels)) == 60 and merged_from[0] < 90
    assert len({(label, group) for label, group in zip(labels, inside, strict=True)}) == 60
