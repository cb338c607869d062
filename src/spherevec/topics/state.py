"""What topics are made of, as plain values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from spherevec.topics import views
from spherevec.topics.components import Assignment, Components
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
    """A broader level: k topics in fewer groups.

    Attributes:
        group_of: (k,), the group that each topic is part of, from 0.
        numbers: of the groups.
        titles: that were given, None for groups that are called after their words.
    """

    group_of: Labels
    numbers: list[int]
    titles: list[str | None]


@dataclass(frozen=True)
class TopicState:
    """All that topics are made of, besides the model; edits make a new one of it.

    Attributes:
        components: the directions that the topics are made of.
        numbers: the number of each topic.
        titles: that were given, None for topics that are called after their words.
        above: broader levels, the nearest first.
        levels: how well each number of topics was supported, if that was measured.
        title_with: how other titles are made: a name of `spherevec.topics.titles.TITLES`, or a function.
    """

    components: Components
    numbers: list[int]
    titles: list[str | None]
    above: tuple[Grouping, ...] = ()
    levels: tuple[Level, ...] = ()
    title_with: Any = DEFAULT


@dataclass(frozen=True)
class Computed:
    """What was computed of topics before, so that it need not be computed again.

    Attributes:
        assignment: of the documents; None where only words are known.
        known: (n,), which documents hold a word that the model knows.
        words: the ten best words of each topic, on each level, the finest first.
        examples: rows of typical documents of each topic, on the finest level.
    """

    assignment: Assignment | None
    known: NDArray[np.bool_]
    words: list[list[list[str]]]
    examples: list[list[int]]
