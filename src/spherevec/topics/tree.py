"""The tree of topics: which two merge first, second, …, and the topics at any cut."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from spherevec.topics.graph import Labels


def merge_order(sums: NDArray[np.floating]) -> NDArray[np.int64]:
    """Pairs of topics in the order of their merging, (k − 1, 2).

    Two topics merge that lose least: the length of a topic's sum of unit rows measures how well its direction stands
    for its documents, and a merged topic's sum is shorter than the two together (Ward's method on the sphere). The
    topic that the i-th merge makes has the number k + i.

    Args:
        sums: (k, d), the sum of the rows of each topic.
    """
    products = np.asarray(sums, np.float64) @ np.asarray(sums, np.float64).T
    k = len(products)
    numbers, alive = np.arange(k), np.ones(k, np.bool_)
    losses = np.full((k, k), np.inf)
    for i in range(k):
        losses[i] = losses[:, i] = _losses(products, i, alive)
    merges = np.empty((max(k - 1, 0), 2), np.int64)
    for step in range(k - 1):
        first, second = sorted(divmod(int(np.argmin(losses)), k))
        merges[step] = numbers[first], numbers[second]
        products[first] += products[second]
        products[:, first] += products[:, second]
        alive[second] = False
        numbers[first] = k + step
        losses[second] = losses[:, second] = np.inf
        losses[first] = losses[:, first] = _losses(products, first, alive)
    return merges


def _losses(products: NDArray[np.float64], topic: int, alive: NDArray[np.bool_]) -> NDArray[np.float64]:
    """What merging `topic` with each other living one would lose, (k,); infinite for itself."""
    squares = np.maximum(np.diagonal(products), 0)
    together = np.sqrt(np.maximum(squares + squares[topic] + 2 * products[topic], 0))
    losses = np.where(alive, np.sqrt(squares) + np.sqrt(squares[topic]) - together, np.inf)
    losses[topic] = np.inf
    return np.asarray(losses)


def cut(merges: NDArray[np.int64], k: int) -> Labels:
    """The group of each leaf when `k` groups are left, numbered from 0 in the order of their first leaf."""
    n_leaves = len(merges) + 1
    group = np.arange(n_leaves)
    members: dict[int, list[int]] = {leaf: [leaf] for leaf in range(n_leaves)}
    for step, (a, b) in enumerate(merges[: n_leaves - k].tolist()):
        members[n_leaves + step] = members.pop(a) + members.pop(b)
    for leaves in members.values():
        group[leaves] = min(leaves)
    return np.asarray(np.unique(group, return_inverse=True)[1], np.int64)
