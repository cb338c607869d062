"""What topics are made of: von Mises–Fisher components with one concentration, several to a topic.

A topic is seldom round: "sports" holds football and tennis. Its components are small round clusters, and its
probability is the sum of theirs.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from spherevec.errors import CorpusError
from spherevec.search.neighbors import check_finite
from spherevec.topics.graph import Labels, Rows
from spherevec.topics.level import mean_directions

_BLOCK = 4096
# Concentrations that are tried when probabilities are calibrated.
_CONCENTRATIONS = np.geomspace(3, 100, 22)


@dataclass(frozen=True)
class Components:
    """Directions of components and the topics that they belong to.

    Attributes:
        mean: (d,), the mean of all document vectors, which is taken off before directions are compared.
        directions: (c, d), unit rows.
        weights: (c,), the share of the documents in each; they sum to 1.
        topic_of: (c,), the topic that each belongs to, from 0.
        concentration: how sharply all of them gather; it sets how sure probabilities are.
    """

    mean: NDArray[np.float32]
    directions: Rows
    weights: NDArray[np.float32]
    topic_of: Labels
    concentration: float

    @property
    def n_topics(self) -> int:
        return int(self.topic_of.max()) + 1

    def probabilities(self, vectors: NDArray[np.floating]) -> NDArray[np.float32]:
        """The probability of each topic for each document vector (n, d), shape (n, k)."""
        blocks = [np.empty((0, self.n_topics), np.float32)]
        for rows in self._blocks(vectors):
            logs = self.concentration * (rows @ self.directions.T) + np.log(np.maximum(self.weights, 1e-30))
            logs -= logs.max(axis=1, keepdims=True)
            blocks.append(np.asarray(summed_by_topic(np.exp(logs), self.topic_of), np.float32))
        found = np.concatenate(blocks)
        return np.asarray(found / np.maximum(found.sum(axis=1, keepdims=True), 1e-30), np.float32)

    def fits(self, vectors: NDArray[np.floating], topics: Labels) -> NDArray[np.float32]:
        """The highest cosine of each document to a component of its topic, shape (n,)."""
        found, low = np.empty(len(vectors), np.float32), 0
        for rows in self._blocks(vectors):
            cosines = rows @ self.directions.T
            own = self.topic_of[None, :] == topics[low : low + len(rows), None]
            found[low : low + len(rows)] = np.where(own, cosines, -1).max(axis=1)
            low += len(rows)
        return found

    def directions_of_topics(self) -> Rows:
        """The direction of each topic, the weighted mean of its components, shape (k, d)."""
        sums = summed_by_topic((self.weights[:, None] * self.directions).T, self.topic_of).T
        lengths = np.linalg.norm(sums, axis=1, keepdims=True)
        return np.asarray(sums / np.where(lengths > 0, lengths, 1), np.float32)

    def regrouped(self, new_topic_of: Labels) -> Components:
        """The same components, in other topics."""
        return replace(self, topic_of=np.asarray(new_topic_of, np.int64))

    def _blocks(self, vectors: NDArray[np.floating]) -> Iterator[Rows]:
        for low in range(0, len(vectors), _BLOCK):
            yield centered(np.asarray(vectors[low : low + _BLOCK], np.float32), self.mean)


def centered(vectors: Rows, mean: NDArray[np.float32]) -> Rows:
    """Unit rows after `mean` is taken off; a row equal to the mean becomes zero."""
    rows = vectors - mean
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    return np.asarray(rows / np.where(lengths > 1e-6, lengths, np.inf), np.float32)


def mean_of(vectors: NDArray[np.floating]) -> NDArray[np.float32]:
    """The mean of the rows, summed in float64; an error if all rows are alike."""
    total = np.zeros(vectors.shape[1])
    for low in range(0, len(vectors), _BLOCK):
        total += vectors[low : low + _BLOCK].sum(axis=0, dtype=np.float64)
    if not np.isfinite(total).all():
        check_finite(vectors)
    mean = np.asarray(total / len(vectors), np.float32)
    if np.linalg.norm(mean) > 1 - 1e-5:
        raise CorpusError("all documents have the same vector: there are no topics; check the text, or train longer")
    return mean


def summed_by_topic(values: NDArray[np.floating], topic_of: Labels) -> NDArray[np.float64]:
    """Sums over the columns of each topic: (n, c) → (n, k)."""
    order = np.argsort(topic_of, kind="stable")
    starts = np.searchsorted(topic_of[order], np.arange(int(topic_of.max()) + 1))
    return np.asarray(np.add.reduceat(values[:, order], starts, axis=1), np.float64)


def calibrated_concentration(rows: Rows, leaves: Labels, topic_of: Labels, judges: Labels, seed: int) -> float:
    """The concentration that makes probabilities come true, by temperature scaling on two halves.

    The components of one half of the rows give each row of the other half a probability for the topic that it is
    judged by; the concentration with the highest likelihood is taken.

    Args:
        rows: (n, d), unit rows.
        leaves: (n,), the component of each row.
        topic_of: (c,), the topic of each component.
        judges: (n,), a topic of each row, found in as independent a way as can be had.
    """
    order = np.random.default_rng([seed, 3]).permutation(len(rows))
    half = len(rows) // 2
    losses = np.zeros(len(_CONCENTRATIONS))
    for fitted, judged in ((order[:half], order[half:]), (order[half:], order[:half])):
        known = np.unique(leaves[fitted])
        judged = judged[np.isin(judges[judged], topic_of[known])]
        if len(judged) == 0:
            continue
        directions = mean_directions(rows[fitted], np.searchsorted(known, leaves[fitted]))
        weights = np.bincount(np.searchsorted(known, leaves[fitted])) / len(fitted)
        cosines = rows[judged] @ directions.T
        own = topic_of[known][None, :] == judges[judged][:, None]
        for i, concentration in enumerate(_CONCENTRATIONS):
            logs = concentration * cosines + np.log(weights)
            likely = np.exp(logs - logs.max(axis=1, keepdims=True))
            share = np.where(own, likely, 0).sum(axis=1) / likely.sum(axis=1)
            losses[i] -= np.log(np.maximum(share, 1e-12)).sum()
    return float(_CONCENTRATIONS[int(np.argmin(losses))])
