"""Counts of words, merged as a tree; dealt into buckets by their hashes, so that no process holds all words."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from spherevec.corpus import Vocabulary
from spherevec.corpus.count.rare import MOST_WORDS, RareCounts
from spherevec.corpus.count.vocabulary import CountedWords, choose_words
from spherevec.storage.text_column import TextColumn

BUCKET = 1_000_000  # words that a process holds at a time, and a few times that while two buckets are merged


def merge_counts(*parts: CountedWords) -> CountedWords:
    """The sum of several counts."""
    total = dict(zip(parts[0].words, parts[0].counts.tolist(), strict=True))
    for part in parts[1:]:
        for word, count in zip(part.words, part.counts.tolist(), strict=True):
            total[word] = total.get(word, 0) + count
    return CountedWords(TextColumn.of(total), np.fromiter(total.values(), np.int64, len(total)))


def choose(counted: CountedWords, min_count: int) -> tuple[CountedWords, int]:
    """What is needed of a bucket: the words that are kept, the most frequent of the others, and how many there were."""
    often = counted.counts >= min_count
    others = counted.ranked(np.flatnonzero(~often))[:MOST_WORDS]
    places = np.concatenate([np.flatnonzero(often), others])
    return CountedWords(counted.at(places), counted.counts[places]), len(counted.counts)


def merged_as_a_tree(parts: list[Any], merge: Callable[..., Any], width: int = 2) -> Any:
    """One from several, a few at a time, level by level; `parts` and results may be references.

    Args:
        merge: gets the number of the merge in its level, and the parts.
    """
    while len(parts) > 1:
        parts = [
            merge(number, *parts[start : start + width]) if start + 1 < len(parts) else parts[start]
            for number, start in enumerate(range(0, len(parts), width))
        ]
    return parts[0]


def vocabulary_of(
    buckets: Iterable[tuple[CountedWords, int]], min_count: int, max_vocab: int | None
) -> tuple[Vocabulary, RareCounts, int]:
    """The vocabulary of a text whose words were counted in buckets, its rare words, and how many distinct it has."""
    chosen, sizes = zip(*buckets, strict=True)
    words = TextColumn.of(word for bucket in chosen for word in bucket.words)
    counted = CountedWords(words, np.concatenate([bucket.counts for bucket in chosen]))
    places, numbers = choose_words(counted, min_count, max_vocab)
    vocabulary = Vocabulary(list(counted.at(places)), counted.counts[places])
    return vocabulary, RareCounts.left_out(counted, numbers), sum(sizes)
