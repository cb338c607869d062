"""What topics are made of: von Mises–Fisher components with one concentration, several to a topic.

A topic is seldom round: "sports" holds football and tennis. Its components are small round clusters, and its
probability is the sum of theirs.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import permutations
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from spherevec.errors import CorpusError
from spherevec.search.neighbors import check_finite
from spherevec.topics.graph import Labels, Rows, group_of_labels, halves, membership

_BLOCK = 4096
# Concentrations that are tried when probabilities are calibrated.
_CONCENTRATIONS = np.geomspace(3, 100, 22)


class Assignment(NamedTuple):
    """Where n documents belong."""

    labels: Labels  # (n,), the topic of each, −1 for none
    probability: NDArray[np.float32]  # (n,), of that topic
    second: Labels  # (n,), the likeliest other topic, −1 where there is none

    @classmethod
    def empty(cls, n: int) -> Assignment:
        return cls(np.full(n, -1), np.zeros(n, np.float32), np.full(n, -1))


@dataclass(frozen=True)
class Components:
    """Directions of components and the topics that they belong to.

    A document belongs to the likeliest cell, and inside it to the topic of the nearest component. Cells are the topics
    as they were found. Merged topics span several cells and a split topic is part of one, so that an edit moves no
    other document.
    """

    # (d,), the mean of all document vectors, which is taken off before directions are compared
    mean: NDArray[np.float32]
    directions: Rows  # (c, d), unit rows
    weights: NDArray[np.float32]  # (c,), the share of the documents in each; they sum to 1
    topic_of: Labels  # (c,), the topic that each belongs to, from 0; −1 for no topic
    concentration: float  # how sharply all of them gather; it sets how sure probabilities are
    cell_of: Labels | None = None  # (c,), the cell that each belongs to, from 0; by default the topic

    @property
    def n_topics(self) -> int:
        return int(self.topic_of.max()) + 1

    @property
    def cells(self) -> Labels:
        """(c,), the cell of each component, without gaps."""
        found = self.topic_of if self.cell_of is None else self.cell_of
        return np.asarray(np.unique(found, return_inverse=True)[1], np.int64)

    def probabilities(self, vectors: NDArray[np.floating]) -> NDArray[np.float32]:
        """The probability of each topic for each document vector (n, d), shape (n, k)."""
        found = np.empty((len(vectors), self.n_topics), np.float32)
        for rows, likely in self._likelihoods(vectors):
            found[rows] = summed_by(likely, self.topic_of)
        return found

    def assign(self, vectors: NDArray[np.floating]) -> Assignment:
        """The topic of each document vector (n, d), its probability, and the likeliest other topic."""
        found, cells = Assignment.empty(len(vectors)), self.cells
        shared = np.array([len(np.unique(self.topic_of[cells == cell])) > 1 for cell in range(int(cells.max()) + 1)])
        topic_of_cell = np.zeros(len(shared), np.int64)
        topic_of_cell[cells] = self.topic_of
        for rows, likely in self._likelihoods(vectors):
            best = np.argmax(summed_by(likely, cells), axis=1)
            labels = topic_of_cell[best]
            several = np.flatnonzero(shared[best])
            if len(several):
                # Likelihood over weight rises with the cosine.
                near = np.where(cells == best[several, None], likely[several] / np.maximum(self.weights, 1e-30), -1)
                labels[several] = self.topic_of[np.argmax(near, axis=1)]
            chances = np.asarray(summed_by(likely, self.topic_of), np.float32)
            known = np.flatnonzero(labels >= 0)
            found.labels[rows] = labels
            found.probability[rows][known] = chances[known, labels[known]]
            if self.n_topics > 1:
                chances[known, labels[known]] = -1
                found.second[rows] = np.argmax(chances, axis=1)
        return found

    def fits(self, vectors: NDArray[np.floating], topics: Labels) -> NDArray[np.float32]:
        """The highest cosine of each document to a component of its topic, shape (n,)."""
        found = np.empty(len(vectors), np.float32)
        for part, rows in self._blocks(vectors):
            own = self.topic_of[None, :] == topics[part, None]
            found[part] = np.where(own, rows @ self.directions.T, -1).max(axis=1)
        return found

    def sums_of_topics(self) -> NDArray[np.float64]:
        """The weighted sum of the components of each topic, shape (k, d)."""
        return summed_by((self.weights[:, None] * self.directions).T, self.topic_of).T

    def directions_of_topics(self) -> Rows:
        """The direction of each topic, the weighted mean of its components, shape (k, d)."""
        return np.asarray(unit(self.sums_of_topics()), np.float32)

    def regrouped(self, new_topic_of: Labels) -> Components:
        """The same components and cells, in other topics."""
        return replace(self, topic_of=np.asarray(new_topic_of, np.int64), cell_of=self.cells)

    def joined(self, topics: NDArray[np.bool_], inside: Labels) -> Components:
        """The components without some of the topics (k,): each component of these joins the topic of the nearest other.

        Topics join those of their own group `inside` (k,), of which one stays. The topics left are numbered anew, in
        their order.
        """
        leaving, group = topics[self.topic_of], inside[self.topic_of]
        cosines = np.where(leaving | (group[:, None] != group), -np.inf, self.directions @ self.directions.T)
        nearest = np.where(leaving, np.argmax(cosines, axis=1), np.arange(len(group)))
        return replace(self, topic_of=(np.cumsum(~topics) - 1)[self.topic_of[nearest]])

    def _likelihoods(self, vectors: NDArray[np.floating]) -> Iterator[tuple[slice, NDArray[np.float32]]]:
        """The probability of each component for some of the vectors at a time, (n, c)."""
        for part, rows in self._blocks(vectors):
            logs = self.concentration * (rows @ self.directions.T) + np.log(np.maximum(self.weights, 1e-30))
            likely = np.exp(logs - logs.max(axis=1, keepdims=True))
            if not np.isfinite(likely.sum()):
                check_finite(vectors[part], part.start)
            yield part, likely / likely.sum(axis=1, keepdims=True)

    def _blocks(self, vectors: NDArray[np.floating]) -> Iterator[tuple[slice, Rows]]:
        for low in range(0, len(vectors), _BLOCK):
            part = slice(low, low + _BLOCK)
            yield part, centered(np.asarray(vectors[part], np.float32), self.mean)


def centered(vectors: Rows, mean: NDArray[np.float32] | float = 0.0) -> Rows:
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


def mean_directions(rows: Rows, labels: Labels) -> Rows:
    """The direction of the sum of the rows with each label, (k, d); zero where they cancel out."""
    return np.asarray(unit(np.asarray(membership(labels, dtype=np.float32).T @ rows, np.float64)), np.float32)


def unit(vectors: NDArray[Any]) -> NDArray[Any]:
    """One vector or rows of length 1; zero stays zero."""
    lengths = np.linalg.norm(vectors, axis=-1, keepdims=True)
    return np.asarray(vectors / np.where(lengths > 0, lengths, 1))


def summed_by(values: NDArray[np.floating], group_of: Labels) -> NDArray[np.float64]:
    """Sums over the columns of each group, which are numbered from 0, −1 for none: (n, c) → (n, groups)."""
    order = np.argsort(group_of, kind="stable")[np.count_nonzero(group_of < 0) :]
    present, starts = np.unique(group_of[order], return_index=True)
    sums = np.zeros((len(values), int(group_of.max()) + 1))
    sums[:, present] = np.add.reduceat(values[:, order], starts, axis=1)
    return sums


def components_of(
    rows: Rows, leaves: Labels, topics: Labels, judges: Labels, mean: NDArray[np.float32], seed: int
) -> Components:
    """The components `leaves` (n,) of unit rows (n, d), whose probabilities are calibrated by temperature scaling.

    The components of one half of the rows give each row of the other half a probability for the topic that it is
    judged by, `judges` (n,), found as independently as possible; the likeliest concentration is taken.
    """
    topic_of = group_of_labels(leaves, topics)
    losses = np.zeros(len(_CONCENTRATIONS))
    for fitted, judged in permutations(halves(len(rows), [seed, 3])):
        known, component = np.unique(leaves[fitted], return_inverse=True)
        judged = judged[np.isin(judges[judged], topic_of[known])]
        if len(judged) == 0:
            continue
        cosines = rows[judged] @ mean_directions(rows[fitted], component).T
        weights = np.bincount(component) / len(fitted)
        own = topic_of[known][None, :] == judges[judged][:, None]
        for i, concentration in enumerate(_CONCENTRATIONS):
            logs = concentration * cosines + np.log(weights)
            likely = np.exp(logs - logs.max(axis=1, keepdims=True))
            share = np.where(own, likely, 0).sum(axis=1) / likely.sum(axis=1)
            losses[i] -= np.log(np.maximum(share, 1e-12)).sum()
    concentration = float(_CONCENTRATIONS[int(np.argmin(losses))])
    shares = np.asarray(np.bincount(leaves) / len(leaves), np.float32)
    return Components(mean, mean_directions(rows, leaves), shares, topic_of, concentration)
