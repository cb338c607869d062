"""Named topics: each word of a name is a direction on the sphere, and names spread from there.

A mixture of von Mises–Fisher components starts at the words of the names and is weakly pulled back to them. Its
probabilities then spread over the graph of nearest neighbours, so that a document follows the documents around it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from spherevec.search.neighbors import nearest_neighbors
from spherevec.topics.components import Components, calibrated_concentration, centered, mean_of, summed_by
from spherevec.topics.graph import Labels, Rows, neighbor_graph
from spherevec.topics.level import NEIGHBORS, choose_counts, levels_of, mean_directions, sample_of
from spherevec.topics.names import NameDirections
from spherevec.topics.partition import MOST_ROWS, partition, split_into_components

if TYPE_CHECKING:
    from scipy.sparse import csr_array

_CONCENTRATION = 10.0
# Few, since a component that goes on drifts to what is common near its word.
_ITERATIONS = 3
# How strongly a component is pulled back to its word, in lengths of a mean of unit rows.
_PULL = 0.1
# A name whose words occur more often has more documents: its prior grows with this power of the count of its words,
# and inside a name each word has a share by that power.
_PRIOR_OF_NAME, _PRIOR_OF_WORD = 0.25, 0.5
# A document keeps a share of its own probabilities, and takes the rest from its neighbours, again and again. The more
# names there are, the smaller are their regions, and the shorter the way: this share a name, between two bounds; and
# the steps times the share.
_KEPT_BY_NAME, _LEAST_KEPT, _MOST_KEPT, _WAY = 0.03 / 8, 0.03, 0.3, 1.2
# A name gets at most so many times the documents that it had before; steps to get there, and their length.
_MOST_GROWTH, _SCALINGS, _SCALING = 2.0, 60, 0.2
# Words nearest to a word of a name, which together say the same in another way.
_OTHERS = 10
# Sets of words drawn at random that names are compared with, and the share of these that a name must beat.
_DRAWS, _SURE = 200, 0.95
_RESOLUTION = 32.0


def named_components(
    vectors: NDArray[np.floating],
    names: NameDirections,
    n_names: int,
    vocabulary: Rows,
    *,
    only_names: bool,
    k: int | None,
    seed: int,
    threads: int = 0,
) -> Components:
    """The components of names, topics 0 to `n_names` − 1, and of what fits none, the topics after them.

    Args:
        vectors: (n, d), documents.
        names: the directions of the words of the names.
        vocabulary: (w, d), input vectors of all words.
        only_names: every document gets a name.
        k: how many topics there are without names, from which those beside the names come; None chooses.
    """
    mean = mean_of(vectors)
    rows = centered(np.asarray(vectors[sample_of(len(vectors), MOST_ROWS, seed)], np.float32), mean)
    rows = rows[np.any(rows != 0, axis=1)]
    starts, owners = centered(names.directions, mean), names.owners
    vocabulary = centered(vocabulary, mean)
    graph = neighbor_graph(rows, NEIGHBORS, threads)
    beside = np.full(len(rows), -1)
    if not only_names:
        count = k if k is not None else choose_counts(levels_of(rows, seed, threads), len(vectors))[0]
        found, _ = partition(graph, rows, count, seed)
        beside = _without_name(found, rows, starts, owners, vocabulary, seed)
    named = beside < 0
    groups = beside + n_names
    judges = groups.copy()
    if named.any():
        own_graph = graph if named.all() else graph[named][:, named]
        prior = priors(owners, names.counts)
        chances = summed_by(_mixture(rows[named], starts, owners, prior), owners)
        groups[named] = np.argmax(spread(own_graph, chances), axis=1)
        others = summed_by(_mixture(rows[named], in_other_words(starts, vocabulary), owners, prior), owners)
        judges[named] = np.argmax(others, axis=1)
    return _as_components(graph, rows, groups, judges, starts, owners, mean, seed)


def priors(owners: Labels, counts: NDArray[np.float64]) -> NDArray[np.float64]:
    """The prior of each word of the names, (c,), by how often it occurs; they sum to 1."""
    inside = counts**_PRIOR_OF_WORD
    inside /= np.bincount(owners, inside)[owners]
    found = inside * np.bincount(owners, counts)[owners] ** _PRIOR_OF_NAME
    return np.asarray(found / found.sum())


def spread(graph: csr_array, chances: NDArray[np.float64]) -> NDArray[np.float64]:
    """Probabilities (n, k), up to a factor a row, after they have spread over the graph (n, n).

    Spreading favours large names over small ones beside them; names are scaled back to the sizes they had before, and
    no name is the likeliest of more than twice as many documents as it had.
    """
    from scipy.sparse import diags_array

    degrees = np.asarray(graph.sum(axis=1), np.float64).ravel()
    steps = diags_array(1 / np.where(degrees > 0, degrees, 1)) @ graph
    kept = float(np.clip(_KEPT_BY_NAME * chances.shape[1], _LEAST_KEPT, _MOST_KEPT))
    found = chances
    for _ in range(int(_WAY / kept)):
        found = (1 - kept) * (steps @ found) + kept * chances
    sizes = np.maximum(chances.mean(axis=0), 1e-12)
    logs = np.log(np.maximum(found, 1e-30)) + np.log(sizes / np.maximum(found.mean(axis=0), 1e-30))
    for _ in range(_SCALINGS):
        likeliest = np.bincount(np.argmax(logs, axis=1), minlength=len(sizes)) / len(logs)
        over = np.log(np.maximum(likeliest / sizes, 1e-12) / _MOST_GROWTH)
        if over.max() <= 0:
            break
        logs -= _SCALING * np.maximum(over, 0)
    return np.asarray(np.exp(logs))


def in_other_words(starts: Rows, vocabulary: Rows) -> Rows:
    """The mean direction of the words nearest to each of the directions `starts` (c, d), the nearest left out."""
    nearest, _ = nearest_neighbors(starts, vocabulary, min(_OTHERS + 1, len(vocabulary)))
    if nearest.shape[1] < 2:
        return starts
    means = np.array([vocabulary[row[1:]].mean(axis=0) for row in nearest])
    return np.asarray(means / np.maximum(np.linalg.norm(means, axis=1, keepdims=True), 1e-12), np.float32)


def _mixture(rows: Rows, starts: Rows, owners: Labels, prior: NDArray[np.float64]) -> NDArray[np.float64]:
    """Probabilities (n, c) under a mixture that starts at `starts` (c, d), by expectation-maximisation.

    The weights stay at `prior` (c,), so that no name swallows the others. A component that has come nearer to a word of
    another name than to its own returns to its word.
    """
    foreign = owners[:, None] != owners
    directions = starts
    for _ in range(_ITERATIONS):
        logs = _CONCENTRATION * (rows @ directions.T) + np.log(prior)
        chances = np.exp(logs - logs.max(axis=1, keepdims=True))
        chances /= chances.sum(axis=1, keepdims=True)
        sizes = chances.sum(axis=0)
        moved = (chances.T @ rows) / np.maximum(sizes, 1)[:, None] + _PULL * starts
        directions = np.asarray(moved / np.maximum(np.linalg.norm(moved, axis=1, keepdims=True), 1e-12), np.float32)
        nearness = directions @ starts.T
        lost = np.where(foreign, nearness, -1).max(axis=1) > np.diagonal(nearness)
        directions[lost] = starts[lost]
    return np.asarray(chances, np.float64)


def _without_name(found: Labels, rows: Rows, starts: Rows, owners: Labels, vocabulary: Rows, seed: int) -> Labels:
    """For each row the number of its found topic, from 0, where no name fits that topic, and −1 where one does.

    A name fits a topic when it is nearer than nearly all sets of as many words drawn at random are.
    """
    directions = mean_directions(rows, found)
    random = np.random.default_rng([seed, 4])
    drawn = vocabulary[random.integers(0, len(vocabulary), (_DRAWS, len(starts)))]
    by_chance = np.array([(directions @ words.T).max(axis=1) for words in drawn])
    least = np.quantile(by_chance, _SURE, axis=0)
    nearest = (directions @ starts.T).max(axis=1)
    fits = nearest >= least
    # Each name has at least the topic that it is nearest to.
    fits[np.argmax(directions @ starts.T, axis=0)] = True
    numbers = np.where(fits, -1, np.cumsum(~fits) - 1)
    return np.asarray(numbers[found], np.int64)


def _as_components(
    graph: csr_array,
    rows: Rows,
    groups: Labels,
    judges: Labels,
    starts: Rows,
    owners: Labels,
    mean: NDArray[np.float32],
    seed: int,
) -> Components:
    """Components of the groups (n,); a name without any document is left with the directions of its words.

    Probabilities are calibrated by `judges` (n,), what each document would be called without its neighbours, by other
    words than those of the names: where the two differ one of them is wrong, as labels would show.
    """
    used, compact = np.unique(groups, return_inverse=True)
    leaves = split_into_components(graph, rows, np.asarray(compact, np.int64), _RESOLUTION, seed)
    topic_of = np.zeros(int(leaves.max()) + 1, np.int64)
    topic_of[leaves] = groups
    concentration = calibrated_concentration(rows, leaves, topic_of, judges, seed)
    directions = mean_directions(rows, leaves)
    weights = np.bincount(leaves) / len(leaves)
    empty = ~np.isin(owners, used)
    return Components(
        mean,
        np.concatenate([directions, starts[empty]]),
        np.asarray(np.concatenate([weights, np.full(int(empty.sum()), 1e-6)]), np.float32),
        np.concatenate([topic_of, owners[empty]]),
        concentration,
    )
