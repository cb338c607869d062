"""Topics changed by hand: methods of `Topics`, each of which makes new topics of old ones."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from spherevec.errors import ConfigError
from spherevec.topics.graph import Labels
from spherevec.topics.partition import merged
from spherevec.topics.state import Grouping, TopicState, is_given

if TYPE_CHECKING:
    from spherevec.topics.topics import Topics


def cut(topics: Topics, k: int) -> Topics:
    """`k` broader topics: those that are most alike merge. They are numbered anew."""
    if not isinstance(k, int | np.integer) or not 1 <= k <= len(topics):
        raise ConfigError(f"a cut has between 1 and {len(topics)} topics, not {k!r:.40}; find more with topics(k=…)")
    groups = np.append(merged(topics.components.sums_of_topics(), k), -1)
    sizes = np.bincount(groups[topics.labels][topics.labels >= 0], minlength=k)
    rank = np.full(k + 1, -1)
    rank[np.argsort(-sizes, kind="stable")] = np.arange(k)
    components = topics.components.regrouped(rank[groups[topics.components.topic_of]])
    return topics.with_state(
        replace(topics.state, components=components, numbers=list(range(k)), titles=[None] * k, above=())
    )


def merge(topics: Topics, *chosen: int | str | Sequence[int | str], title: str | None = None) -> Topics:
    """One topic of several, given by numbers or titles: `merge(3, 7)`, `merge([3, 7], title="sport")`.

    It keeps the number of the first and the first title that was given.
    """
    listed = _places(topics, chosen)
    if len(set(listed)) < 2:
        given = ",".join(map(str, _flat(chosen))) or "none"
        raise ConfigError(f"merging needs two different topics, not {given:.60}; give two numbers, such as 3,7")
    first, gone = listed[0], set(listed[1:]) - {listed[0]}
    target = np.arange(len(topics))
    target[sorted(gone)] = first
    titles = list(topics.state.titles)
    own = next((titles[place] for place in listed if is_given(titles[place])), None)
    titles[first] = own if title is None else _checked_title(topics, title, listed)
    state = replace(topics.state, titles=titles)
    return topics.with_state(_regrouped(state, target, [place for place in range(len(topics)) if place not in gone]))


def drop(topics: Topics, *chosen: int | str | Sequence[int | str]) -> Topics:
    """The topics without some of them, whose documents belong to no topic then."""
    gone = set(_places(topics, chosen))
    kept = [place for place in range(len(topics)) if place not in gone]
    if not kept:
        raise ConfigError("dropping all topics leaves none; keep one at least")
    target = np.arange(len(topics))
    target[sorted(gone)] = -1
    return topics.with_state(_regrouped(topics.state, target, kept))


def split(topics: Topics, topic: int | str, parts: int = 2) -> Topics:
    """Several topics of one; the largest keeps its number, the others get new ones. No other document moves."""
    place, state = topics.place(topic), topics.state
    components = state.components
    own = np.flatnonzero(components.topic_of == place)
    if not isinstance(parts, int | np.integer) or parts < 2:
        raise ConfigError(f"a topic is split into 2 parts or more, not {parts!r:.40}")
    if parts > len(own):
        most = f"can be split into {len(own)} parts at most, not {parts}"
        if len(own) == 1:
            most = "is one round cluster, which cannot be split; ask for more topics (k)"
        raise ConfigError(f"topic {topics.numbers[place]} {most}")
    groups = merged(components.weights[own, None] * components.directions[own], parts)
    rank = np.empty(parts, np.int64)
    rank[np.argsort(-np.bincount(groups, components.weights[own]), kind="stable")] = np.arange(parts)
    part = rank[groups]
    topic_of = components.topic_of.copy()
    topic_of[own] = np.where(part == 0, place, len(topics) - 1 + part)
    titles = list(state.titles)
    titles[place] = titles[place] if is_given(titles[place]) else None
    state = replace(state, titles=titles)
    return topics.with_state(state.with_more_topics(components.regrouped(topic_of), parts - 1, beside=place))


def rename(topics: Topics, topic: int | str, title: str = "") -> Topics:
    """The same topics, one of them with another title. A broader topic is given by its title."""
    if not isinstance(topic, int | str | np.integer) or not isinstance(title, str):
        raise ConfigError(
            f"rename takes a topic and its title, such as rename(0, 'money'), not {topic!r:.40}, {title!r:.40}"
        )
    state = topics.state
    if isinstance(topic, str) and topic not in topics.titles and state.above and topic in topics.parents.titles:
        first, *rest = state.above
        titles, place = list(first.titles), topics.parents.place(topic)
        titles[place] = _checked_title(topics.parents, title, [place])
        return topics.with_state(replace(state, above=(replace(first, titles=titles), *rest)))
    titles, place = list(state.titles), topics.place(topic)
    titles[place] = _checked_title(topics, title, [place])
    return topics.with_state(replace(state, titles=titles))


def _regrouped(state: TopicState, target: Labels, kept: list[int]) -> TopicState:
    """The state with each topic moved to the topic `target`, of which those at the positions `kept` are left."""
    place = np.full(len(target) + 1, -1)
    place[kept] = np.arange(len(kept))
    topic_of = state.components.topic_of
    moved = np.where(topic_of >= 0, place[np.append(target, -1)[topic_of]], -1)
    above = []
    for one in state.above:
        # Groups that have no topic any more are left out.
        present, group_of = np.unique(one.group_of[kept], return_inverse=True)
        left = [one.numbers[group] for group in present], [one.titles[group] for group in present]
        above.append(Grouping(np.asarray(group_of, np.int64), *left))
    return replace(
        state,
        components=state.components.regrouped(moved),
        numbers=[state.numbers[i] for i in kept],
        titles=[state.titles[i] for i in kept],
        above=tuple(above),
    )


def _places(topics: Topics, chosen: Sequence[Any]) -> list[int]:
    return [topics.place(one) for one in _flat(chosen)]


def _flat(chosen: Sequence[Any]) -> list[Any]:
    """Topics given one by one, or in lists."""
    found: list[Any] = []
    for one in chosen:
        found += [one] if isinstance(one, str) or not isinstance(one, Iterable) else list(one)
    return found


def _checked_title(topics: Topics, title: str, places: Sequence[int]) -> str:
    """A title for the topics at some positions, which no other topic has."""
    title = title.strip()
    if not title:
        raise ConfigError("the title of a topic is empty; give it a word")
    taken = [place for place, other in enumerate(topics.titles) if other == title and place not in places]
    if taken:
        number = topics.numbers[taken[0]]
        raise ConfigError(f"topic {number} is called {title!r:.60} already; merge the two, or choose another title")
    return title
