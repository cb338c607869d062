"""Titles of topics: a table of ways to make them.

To add one, write a function that takes a `TopicContent` and returns a title, or words of which a title is made, and put
it into `TITLES`.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from operator import attrgetter

import numpy as np

from spherevec.errors import ConfigError
from spherevec.topics.words import TopicContent, said_by_phrase

_TITLE_WORDS = 3
# Words that a title is made of where topics are alike in the first three.
_MOST_WORDS = 6
# What a document outside the topic costs, in documents inside; the share of the topic's documents that a word must add,
# or else a frequent word takes its place.
_COST, _LEAST_ADDED = 2.0, 0.05
_FEWEST_WRITTEN = 2
_SENTENCE_END = ".!?:;\"'“”«»([{-–—|>*#"


Title = Callable[[TopicContent], str | Sequence[str]]


def coverage(topic: TopicContent) -> list[str]:
    """Words one after another, each by the documents that it adds inside the topic less those outside.

    Where no word adds enough, the next is chosen by all the documents that hold it.
    """
    if not topic.candidates:
        return topic.words
    n_inside = int(topic.inside.sum())
    n_outside = len(topic.inside) - n_inside
    worth_of_document = np.where(topic.inside, 1 / max(n_inside, 1), -_COST / max(n_outside, 1))
    uncovered = np.ones(len(topic.inside))
    chosen: list[int] = []
    allowed = ~said_by_phrase(topic.candidates, topic.holds.T @ topic.inside)
    while len(chosen) < _MOST_WORDS and allowed.any():
        worth = topic.holds.T @ (worth_of_document * uncovered)
        if worth[allowed].max() < _LEAST_ADDED:
            worth = topic.holds.T @ worth_of_document
        worth = np.where(allowed, worth * np.where(worth > 0, topic.weights, 1), -np.inf)
        best = int(np.argmax(worth))
        if worth[best] <= 0 and len(chosen) >= _TITLE_WORDS:
            break
        chosen.append(best)
        uncovered[topic.holds.indices[topic.holds.indptr[best] : topic.holds.indptr[best + 1]]] = 0
        allowed &= ~topic.forms[best]
    return [topic.candidates[place] for place in chosen]


DEFAULT = "coverage"
TITLES: dict[str, Title] = {
    "coverage": coverage,
    "distinctive": attrgetter("words"),
    "nearest": attrgetter("nearest"),
}


def title_function(titles: str | Title) -> Title:
    """The way to make titles that is meant: a name of the table, or a function."""
    if callable(titles):
        return titles
    if titles not in TITLES:
        raise ConfigError(f"titles must be one of {', '.join(TITLES)}, or a function of a topic, not {titles!r:.40}")
    return TITLES[titles]


def titles_of(
    topics: Sequence[str | Sequence[str]],
    numbers: Sequence[int],
    taken: Sequence[str] = (),
    spell: Callable[[str], str] = str,
) -> list[str]:
    """A title for each topic, no two alike: topics with the same words in front take more of them.

    Args:
        topics: the title of each topic, or its words, the best first.
        numbers: of the topics; they tell topics apart that are the same in all words.
        taken: titles that others have.
        spell: gives a word as it is usually written.

    >>> titles_of([["hockey", "team", "nhl", "game"], ["nhl", "team", "hockey", "cup"], ["car"]], [0, 1, 2])
    ['hockey, team, nhl, game', 'nhl, team, hockey, cup', 'car']
    """
    for one, number in zip(topics, numbers, strict=True):
        words = [one] if isinstance(one, str) else one
        if not isinstance(words, Sequence) or not all(isinstance(word, str) for word in words):
            raise ConfigError(f"titles= must return a text or a list of words, not {one!r:.40} (topic {number})")
    listed = [[one.strip()] if isinstance(one, str) else [spell(word) for word in one] for one in topics]
    lengths = [min(_TITLE_WORDS, len(words)) for words in listed]
    while True:
        fronts = [frozenset(words[:length]) for words, length in zip(listed, lengths, strict=True)]
        often = Counter(fronts)
        longer = [
            i for i, words in enumerate(listed)
            if lengths[i] < len(words) and (often[fronts[i]] > 1 or ", ".join(words[: lengths[i]]) in taken)
        ]  # fmt: skip
        if not longer:
            break
        for i in longer:
            lengths[i] += 1
    titles: list[str] = []
    for words, length, number, front in zip(listed, lengths, numbers, fronts, strict=True):
        title = ", ".join(words[:length])
        alike = often[front] > 1 or title in taken or not title
        titles.append(f"{title} (topic {number})" if alike and title else title or f"topic {number}")
    return titles


def usual_spelling(word: str, texts: Iterable[str]) -> str:
    """A word, which is stored in lower case, as it is usually written in texts that hold it.

    The start of a sentence and headlines do not count, where every word may begin with a capital.
    """
    spaced = re.escape(word).replace(chr(92) + " ", r"[ -]")
    pattern = re.compile(rf"(\S)\s+(?<!\w)({spaced})(?!\w)", re.IGNORECASE)
    written: Counter[str] = Counter()
    for text in filter(_is_prose, texts):
        written.update(found for before, found in pattern.findall(text) if before not in _SENTENCE_END)
    best, count = max(written.items(), key=lambda item: (item[1], item[0] == word, item[0]), default=(word, 0))
    return best if count >= _FEWEST_WRITTEN and 2 * count > written.total() else word


def _is_prose(text: str) -> bool:
    """Whether most words begin with no capital, unlike in a headline; many scripts have none."""
    initials = [word[0] for word in text.split() if word[0].isalpha()]
    return 2 * sum(map(str.isupper, initials)) < len(initials)
