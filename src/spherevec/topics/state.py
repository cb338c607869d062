"""What topics are made of, as plain values."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from spherevec.topics import views
from spherevec.topics.components import Components
from spherevec.topics.graph import Labels
from spherevec.topics.levels import Level
from spherevec.topics.titles import DEFAULT


@dataclass(frozen=True)
class Topic:
    """One topic.

    Attributes:
        number: stays when other topics are merged, split or renamed.
        title: short, from its words, or given.
        words: the best words, the best first.
        size: documents that belong to it.
        given: whether the title was given by the user.
        parent: the number of the broader topic that it is part of, None where there is no broader level.
        children: the numbers of the finer topics below it; empty, or at least two.
    """

    number: int
    title: str
    words: list[str]
    size: int
    given: bool
    parent: int | None = None
    children: tuple[int, ...] = ()

    _repr_html_ = views.topic_html


class KeptTitle(str):
    """A title made of words that stays while its topic does. Nobody gave it: a topic that is split gets another."""


def is_given(title: str | None) -> bool:
    """Whether a title of a `TopicState` was given by the user."""
    return title is not None and not isinstance(title, KeptTitle)


class DocumentTopic(NamedTuple):
    """A document and its topic; −1 and an empty name for a document without a known word."""

    id: str
    title: str
    topic: int
    name: str
    parent: int
    probability: float


@dataclass(frozen=True)
class Grouping:
    """A broader level: k topics in fewer groups."""

    group_of: Labels  # (k,), the group that each topic is part of, from 0
    numbers: list[int]  # of the groups
    titles: list[str | None]  # that were given or kept, None for groups that are called after their words


@dataclass(frozen=True)
class TopicState:
    """All that topics are made of, besides the model; edits make a new one of it."""

    components: Components  # the directions that the topics are made of
    numbers: list[int]  # the number of each topic
    titles: list[str | None]  # that were given or kept, None for topics that are called after their words
    above: tuple[Grouping, ...] = ()  # broader levels, the nearest first
    levels: tuple[Level, ...] = ()  # how well each number of topics was supported, if that was measured
    title_method: Any = DEFAULT  # how other titles are made: a name of `spherevec.topics.titles.TITLES`, or a function

    def with_more_topics(self, components: Components, count: int, beside: int | None = None) -> TopicState:
        """The state with topics behind the others, of new components.

        They belong to the broader topics of the topic at the position `beside`; None makes each one of its own.
        """

        def more(numbers: list[int]) -> list[int]:
            return [*numbers, *range(max(numbers) + 1, max(numbers) + 1 + count)]

        def wider(one: Grouping) -> Grouping:
            if beside is not None:
                return replace(one, group_of=np.append(one.group_of, [one.group_of[beside]] * count))
            group_of = np.append(one.group_of, len(one.numbers) + np.arange(count))
            return Grouping(group_of, more(one.numbers), [*one.titles, *[None] * count])

        titles = [*self.titles, *[None] * count]
        above = tuple(map(wider, self.above))
        return replace(self, components=components, numbers=more(self.numbers), titles=titles, above=above)
