"""The tree of topics: broader and finer ones, which two merge first, second, …, and the topics at any cut."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from spherevec.topics.graph import Labels

if TYPE_CHECKING:
    from spherevec.topics.result import Topics
    from spherevec.topics.state import Topic

_WORDS_SHOWN = 4


class Branch(NamedTuple):
    """A topic in a tree."""

    depth: int  # 0 for the broadest
    topic: Topic
    finest: bool  # whether it is a topic of the finest level, whose number the topics go by


class TopicTree:
    """The topics as a tree: it prints and draws as one, and iterates over its branches from top to bottom.

    Args:
        topics: the finest level.
    """

    def __init__(self, topics: Topics) -> None:
        self.topics = topics

    def __iter__(self) -> Iterator[Branch]:
        return _branches(self.topics)

    def __str__(self) -> str:
        lines = []
        for depth, topic, finest in self:
            number = f"{topic.number}: " if finest else ""
            words = further_words(topic, _WORDS_SHOWN)
            more = f" · {', '.join(words)}" if words else ""
            lines.append(f"{'   ' * depth}{number}{topic.title} ({topic.size:,}){more}")
        return "\n".join(lines)

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        return self.topics._repr_html_()

    def merges(self) -> list[tuple[int, int]]:
        """Pairs of topics in the order of their merging; the i-th merge makes the node max(numbers) + 1 + i."""
        numbers = self.topics.numbers
        next_node = max(numbers) + 1
        names = [*numbers, *range(next_node, next_node + len(numbers))]
        return [(names[a], names[b]) for a, b in merge_order(self.topics.components.sums_of_topics()).tolist()]

    def plot(self) -> Any:
        """A matplotlib figure; see `Topics.plot_tree`."""
        return self.topics.plot_tree()


def _branches(topics: Topics) -> Iterator[Branch]:
    if not topics.state.above:
        yield from (Branch(0, topic, True) for topic in topics)
        return
    parents = topics.parents
    for depth, topic, nearest in _branches(parents):
        if not nearest:
            yield Branch(depth, topic, False)
        elif topic.children:
            yield Branch(depth, topic, False)
            yield from (Branch(depth + 1, topics[number], True) for number in topic.children)
        else:
            yield Branch(depth, next(one for one in topics if one.parent == topic.number), True)


def further_words(topic: Topic, topn: int) -> list[str]:
    """The best words of a topic that its title does not hold."""
    from spherevec.corpus.tokenize.function_words import same_word

    said = [word.strip().lower() for word in topic.title.split(",")]
    return [word for word in topic.words if not any(same_word(word, other) for other in said)][:topn]


def merge_order(sums: NDArray[np.floating], group_of: Labels | None = None) -> NDArray[np.int64]:
    """Pairs of topics in the order of their merging, (k − 1, 2), or fewer where groups keep them apart.

    Two topics merge that lose least: the length of a topic's sum of unit rows measures how well its direction stands
    for its documents, and a merged topic's sum is shorter than the two together (Ward's method on the sphere). The
    topic that the i-th merge makes has the number k + i.

    Args:
        sums: (k, d), the sum of the rows of each topic.
        group_of: (k,), only topics of one group merge; all of them by default.
    """
    products = np.asarray(sums, np.float64) @ np.asarray(sums, np.float64).T
    k = len(products)
    numbers, alive = np.arange(k), np.ones(k, np.bool_)
    group_of = np.zeros(k, np.int64) if group_of is None else group_of
    losses = np.full((k, k), np.inf)
    for i in range(k):
        losses[i] = losses[:, i] = _losses(products, i, alive & (group_of == group_of[i]))
    merges = np.empty((max(k - 1, 0), 2), np.int64)
    for step in range(k - 1):
        first, second = sorted(divmod(int(np.argmin(losses)), k))
        if not np.isfinite(losses[first, second]):
            return merges[:step]
        merges[step] = numbers[first], numbers[second]
        products[first] += products[second]
        products[:, first] += products[:, second]
        alive[second] = False
        numbers[first] = k + step
        losses[second] = losses[:, second] = np.inf
        losses[first] = losses[:, first] = _losses(products, first, alive & (group_of == group_of[first]))
    return merges


def _losses(products: NDArray[np.float64], topic: int, alive: NDArray[np.bool_]) -> NDArray[np.float64]:
    """What merging `topic` with each other living one would lose, (k,); infinite for itself."""
    squares = np.maximum(np.diagonal(products), 0)
    together = np.sqrt(np.maximum(squares + squares[topic] + 2 * products[topic], 0))
    losses = np.where(alive, np.sqrt(squares) + np.sqrt(squares[topic]) - together, np.inf)
    losses[topic] = np.inf
    return np.asarray(losses)


def cut(merges: NDArray[np.int64], k: int, n_leaves: int | None = None) -> Labels:
    """The group of each leaf when `k` groups are left, numbered from 0 in the order of their first leaf.

    Args:
        n_leaves: how many there are, where they do not all merge.
    """
    n_leaves = len(merges) + 1 if n_leaves is None else n_leaves
    group = np.arange(n_leaves)
    members: dict[int, list[int]] = {leaf: [leaf] for leaf in range(n_leaves)}
    for step, (a, b) in enumerate(merges[: n_leaves - k].tolist()):
        members[n_leaves + step] = members.pop(a) + members.pop(b)
    for leaves in members.values():
        group[leaves] = min(leaves)
    return np.asarray(np.unique(group, return_inverse=True)[1], np.int64)
