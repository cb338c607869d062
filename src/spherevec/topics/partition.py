"""From vectors of documents to topics: a partition of the neighbour graph, and the components that stand for it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from spherevec.errors import ConfigError
from spherevec.topics.components import Components, centered, components_of, mean_directions, mean_of
from spherevec.topics.graph import (
    NEIGHBORS,
    Labels,
    Rows,
    communities,
    graph_of,
    group_of_labels,
    halves,
    in_parallel,
    nearest_rows,
    neighbor_graph,
    renumbered,
    sample_of,
    within,
)
from spherevec.topics.levels import FEWEST_ROWS, FEWEST_WITH_PARENTS, Level, choose_counts, measure_levels

if TYPE_CHECKING:
    from scipy.sparse import csr_array

# Documents in the graph, at most; the others are placed by the components.
MOST_ROWS = 20_000
# Components are looked for at this many times the resolution of the topics, and hold this many documents or more.
FINER = 16.0
_FEWEST_IN_COMPONENT = 8
_MOST_COMPONENTS = 512
# A finer level is compared with documents without structure on so many documents, in so many pairs of halves, and
# must agree by so much more inside the broad topics.
_MOST_COMPARED, _PAIRS, _LEAST_BEYOND = 4000, 2, 0.1
# Where the resolution for a number of topics is looked for: from one community to single documents.
_RESOLUTIONS = (0.01, 10_000.0)
_BISECTIONS = 16
# Neighbours in the graph of the broadest topics, which have many documents; with few, two trainings agree less.
_BROAD_NEIGHBORS = 30
# Runs that topics are what most of them agree about.
_RUNS = 20
_CLOSE = 1.3


Shuffled = Callable[[NDArray[np.int64], Labels, np.random.Generator], Rows]


class Found(NamedTuple):
    """Topics of documents, and the broader ones that they are part of."""

    components: Components
    above: list[Labels]  # (k,) each, the group of each topic, for each broader level, the nearest first
    levels: list[Level]  # measured to choose the numbers


def find_components(
    vectors: NDArray[np.floating],
    counts: Sequence[int] | None,
    seed: int,
    threads: int = 0,
    shuffled: Shuffled | None = None,
) -> Found:
    """The topics of document vectors (n, d), as many as `counts` on each level, from broad to fine; None chooses two.

    A finer level is compared with documents without structure inside the broad topics: `shuffled` gives the vectors of
    such documents in place of rows (n,) with groups (n,); without it any finer level is taken.
    """
    mean = mean_of(vectors)
    chosen = sample_of(len(vectors), MOST_ROWS, seed)
    rows = centered(np.asarray(vectors[chosen], np.float32), mean)
    apart = np.any(rows != 0, axis=1)
    chosen, rows = chosen[apart], rows[apart]
    # A text that is there many times would have no neighbours but itself, and be a topic of its own.
    first, copies = distinct(rows)
    single = rows[first]
    if counts is not None and counts[-1] > len(single):
        raise ConfigError(
            f"k={counts[-1]}, but only {len(single):,} of the documents differ; ask for at most that many topics"
        )
    columns, cosines = nearest_rows(single, single, min(_BROAD_NEIGHBORS, len(single) - 1), threads, own=True)
    graph, wide_graph = (graph_of(columns[:, :n], cosines[:, :n]) for n in (NEIGHBORS, _BROAD_NEIGHBORS))

    @cache
    def broadest(count: int) -> tuple[Labels, float]:
        return stable_partition(wide_graph, single, count, seed, threads=threads)

    def holds(broader: int, count: int) -> bool:
        if shuffled is None or len(single) < FEWEST_ROWS:
            return True
        groups, _ = broadest(broader)
        sample = sample_of(len(single), _MOST_COMPARED, seed)
        drawn = centered(shuffled(chosen[first][sample], groups[sample], np.random.default_rng([seed, 5])), mean)
        found, by_chance = in_parallel(
            lambda some: agreement_inside(some, groups[sample], count, seed), (single[sample], drawn), threads
        )
        return found > by_chance + _LEAST_BEYOND

    levels: list[Level] = []
    if counts is None or (len(counts) == 1 and counts[0] >= FEWEST_WITH_PARENTS):
        levels = measure_levels(single if len(single) >= FEWEST_ROWS else rows, seed, threads)
        counts = choose_counts(levels, len(vectors), None if counts is None else counts[0], holds)
        counts = [min(count, len(single)) for count in counts]
    topics, resolution = broadest(counts[0])
    on_levels = [topics]
    for count in counts[1:]:
        topics, resolution = stable_partition(graph, single, count, seed, topics, threads)
        on_levels.append(topics)
    above = [group_of_labels(topics, broader) for broader in reversed(on_levels[:-1])]
    leaves = split_into_components(graph, single, topics, resolution * FINER, seed)
    leaves = _at_least_two(single, leaves, topics)
    topics, leaves = topics[copies], leaves[copies]
    return Found(components_of(rows, leaves, topics, topics, mean, seed), above, levels)


def distinct(rows: Rows) -> tuple[NDArray[np.int64], Labels]:
    """Of rows that are alike to three decimals the first, in rising order, and for each row the place of its own."""
    place: dict[bytes, int] = {}
    copies = np.array([place.setdefault(row.tobytes(), len(place)) for row in np.round(rows, 3) + np.float32(0)])
    return np.unique(copies, return_index=True)[1], copies


def partition(graph: csr_array, rows: Rows, k: int, seed: int, inside: Labels | None = None) -> tuple[Labels, float]:
    """`k` communities of the graph (n, n), parts of the broader topics `inside` (n,), and a resolution that gives them.

    The resolution is bisected; where no resolution gives exactly `k`, a few communities too many merge.
    """
    if k == 1:
        return np.zeros(graph.shape[0], np.int64), 0.05
    best: tuple[Labels, float] | None = None
    # Inside broader topics small communities join others, which may leave too few: then they stay, and merge below.
    for joining in (False,) if inside is None else (True, False):
        low, high = _RESOLUTIONS
        for _ in range(_BISECTIONS if best is None else 0):
            resolution = float(np.sqrt(low * high))
            if inside is None:
                found = communities(graph, resolution, seed)
            elif joining:
                found = split_into_components(graph, rows, inside, resolution, seed)
            else:
                found = _communities_inside(graph, inside, resolution, seed)
            count = int(found.max()) + 1
            if count >= k and (best is None or count <= int(best[0].max()) + 1):
                best = found, resolution
            low, high = (resolution, high) if count < k else (low, resolution)
            # Inside broader topics, far too fine communities join others and may add up to `k`, too: look below.
            if count == k and (not joining or high < _CLOSE * low):
                break
    labels, resolution = best or (np.arange(graph.shape[0]), high)
    group_of = group_of_labels(labels, np.zeros_like(labels) if inside is None else inside)
    sums = np.zeros((len(group_of), rows.shape[1]))
    np.add.at(sums, labels, rows)
    return merged(sums, k, group_of)[labels], resolution


def stable_partition(
    graph: csr_array, rows: Rows, k: int, seed: int, inside: Labels | None = None, threads: int = 0
) -> tuple[Labels, float]:
    """As `partition`, by what several runs agree about: communities differ with the order in which nodes are visited.

    An edge weighs as much as the share of the runs that put both its ends into one community (consensus clustering,
    Lancichinetti and Fortunato 2012).
    """
    from scipy.sparse import csr_array

    first, resolution = partition(graph, rows, k, seed, inside)
    if k == 1 or not graph.nnz:
        return first, resolution
    edges = (graph if inside is None else within(graph, inside)).tocsr()
    runs = in_parallel(lambda run: communities(edges, resolution, [seed, 7, run]), range(_RUNS), threads)
    ends = edges.tocoo()
    weights = ends.data * np.mean([labels[ends.row] == labels[ends.col] for labels in runs], axis=0)
    weighted = csr_array((weights, (ends.row, ends.col)), shape=graph.shape)
    weighted.eliminate_zeros()
    return partition(weighted, rows, k, seed, inside)[0], resolution


def _communities_inside(graph: csr_array, topics: Labels, resolution: float, seed: int) -> Labels:
    """Communities inside each topic, as numbers (n,) from 0. A document without any edge inside its topic is one."""
    leaves = communities(within(graph, topics), resolution, seed)
    return renumbered(leaves * (int(topics.max()) + 1) + topics)


def split_into_components(graph: csr_array, rows: Rows, topics: Labels, resolution: float, seed: int) -> Labels:
    """Communities inside each topic, as numbers (n,) from 0; those of few documents join another of their topic."""
    n_topics = int(topics.max()) + 1
    leaves = _communities_inside(graph, topics, resolution, seed)
    sizes = np.bincount(leaves)
    topic_of = group_of_labels(leaves, topics)
    largest = np.sort(sizes)[-min(_MOST_COMPONENTS, len(sizes))]
    kept = sizes >= max(_FEWEST_IN_COMPONENT, largest)
    for topic in range(n_topics):  # the largest stays in any case
        own = np.flatnonzero(topic_of == topic)
        kept[own[np.argmax(sizes[own])]] = True
    directions = mean_directions(rows, leaves)
    cosines = directions @ directions[kept].T
    cosines[topic_of[:, None] != topic_of[kept]] = -np.inf
    target = np.where(kept, np.arange(len(sizes)), np.flatnonzero(kept)[np.argmax(cosines, axis=1)])
    return renumbered(target[leaves])


def agreement_inside(rows: Rows, groups: Labels, k: int, seed: int) -> float:
    """How well two halves of the unit rows (n, d) agree about `k` topics inside the groups (n,): the mean adjusted Rand
    index inside a group, weighted by size, over two pairs of halves."""
    from sklearn.metrics import adjusted_rand_score

    total = 0.0
    for repeat in range(_PAIRS):
        predicted = []
        for part in halves(len(rows), [seed, 6, repeat]):
            own, inside = rows[part], renumbered(groups[part])
            labels, _ = partition(neighbor_graph(own, threads=1), own, k, seed, inside)
            group_of = group_of_labels(labels, groups[part])
            cosines = rows @ mean_directions(own, labels).T
            cosines[groups[:, None] != group_of] = -np.inf
            predicted.append(np.argmax(cosines, axis=1))
        one, other = predicted
        for group in np.unique(groups):
            own = groups == group
            if np.ptp(one[own]) and np.ptp(other[own]):
                total += own.mean() * adjusted_rand_score(one[own], other[own])
    return total / _PAIRS


def _at_least_two(rows: Rows, leaves: Labels, topics: Labels) -> Labels:
    """The components (n,), two where a topic has one, so that it can be split: its halves along its longest axis."""
    leaves = leaves.copy()
    for topic in range(int(topics.max()) + 1):
        own = np.flatnonzero(topics == topic)
        if len(own) < 2 * _FEWEST_IN_COMPONENT or len(np.unique(leaves[own])) > 1:
            continue
        apart = rows[own] - rows[own].mean(axis=0)
        _, _, axes = np.linalg.svd(apart, full_matrices=False)
        side = apart @ axes[0]
        leaves[own[side > np.median(side)]] = int(leaves.max()) + 1
    return leaves


def merge_order(sums: NDArray[np.floating], group_of: Labels | None = None) -> NDArray[np.int64]:
    """Pairs of topics in the order of their merging, (k − 1, 2), or fewer where groups keep them apart.

    Two topics merge that lose least: the length of a topic's sum of unit rows measures how well its direction stands
    for its documents, and a merged topic's sum is shorter than the two together (Ward's method on the sphere). The
    topic that the i-th merge makes has the number k + i. `sums` (k, d) are the sums of the rows of each topic; with
    `group_of` (k,) only topics of one group merge.
    """
    products = np.asarray(sums, np.float64) @ np.asarray(sums, np.float64).T
    k = len(products)
    numbers, never = np.arange(k), np.eye(k, dtype=np.bool_)
    if group_of is not None:
        never |= group_of[:, None] != group_of

    def losses_of(topics: NDArray[np.int64]) -> NDArray[np.float64]:
        squares = np.maximum(np.diagonal(products), 0)
        together = np.sqrt(np.maximum(squares[topics, None] + squares + 2 * products[topics], 0))
        return np.where(never[topics], np.inf, np.sqrt(squares)[topics, None] + np.sqrt(squares) - together)

    losses = losses_of(numbers)
    merges = np.empty((max(k - 1, 0), 2), np.int64)
    for step in range(k - 1):
        first, second = sorted(divmod(int(np.argmin(losses)), k))
        if not np.isfinite(losses[first, second]):
            return merges[:step]
        merges[step] = numbers[first], numbers[second]
        products[first] += products[second]
        products[:, first] += products[:, second]
        never[second] = never[:, second] = True
        numbers[first] = k + step
        losses[second] = losses[:, second] = np.inf
        losses[first] = losses[:, first] = losses_of(np.array([first]))[0]
    return merges


def merged(sums: NDArray[np.floating], k: int, group_of: Labels | None = None) -> Labels:
    """The group of each topic when `merge_order` has left `k` groups, from 0 in the order of their first topic."""
    group = np.arange(len(sums))
    for step, pair in enumerate(merge_order(sums, group_of)[: len(sums) - k]):
        group[np.isin(group, pair)] = len(sums) + step
    _, first, group = np.unique(group, return_index=True, return_inverse=True)
    return np.asarray(np.argsort(np.argsort(first))[group], np.int64)
