"""Counts of words, merged as a tree; dealt into buckets by their hashes, so that no process holds all words."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from spherevec.corpus import Vocabulary
from spherevec.corpus.rare_counts import MOST_WORDS, RareCounts
from spherevec.corpus.vocabulary import ranked
from spherevec.errors import CorpusError
from spherevec.storage.text_column import TextColumn

BUCKET = 1_000_000  # words that a process holds at a time, and a few times that while two buckets are merged


class Counts(NamedTuple):
    """Distinct words and how often each occurs, as arrays, which travel without being copied."""

    offsets: NDArray[np.int64]
    arena: NDArray[np.uint8]
    counts: NDArray[np.int64]

    @classmethod
    def of(cls, counts: dict[str, int]) -> Counts:
        words = TextColumn.of(counts)
        return cls(words.offsets, words.arena, np.fromiter(counts.values(), np.int64, len(counts)))

    def items(self) -> Iterable[tuple[str, int]]:
        return zip(TextColumn(self.offsets, self.arena), self.counts.tolist(), strict=True)


class Chosen(NamedTuple):
    """What is left of a bucket: the words that are kept, and the most frequent of the others."""

    kept: Counts
    rare: Counts
    distinct: int


def merge_counts(*parts: Counts) -> Counts:
    """The sum of several counts."""
    total = dict(parts[0].items())
    for part in parts[1:]:
        for word, count in part.items():
            total[word] = total.get(word, 0) + count
    return Counts.of(total)


def choose(counts: Counts, min_count: int) -> Chosen:
    """Part the words of a bucket."""
    total = dict(counts.items())
    kept = {word: count for word, count in total.items() if count >= min_count}
    rare = RareCounts.of({word: count for word, count in total.items() if count < min_count})
    return Chosen(Counts.of(kept), Counts(rare.words.offsets, rare.words.arena, rare.counts), len(total))


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
    chosen: Iterable[Chosen], min_count: int, max_vocab: int | None
) -> tuple[Vocabulary, RareCounts, int]:
    """The vocabulary of a text whose words were counted in buckets, its rare words, and how many distinct it has."""
    kept: dict[str, int] = {}
    rare: dict[str, int] = {}
    distinct = 0
    for bucket in chosen:
        kept.update(bucket.kept.items())
        distinct += bucket.distinct
        rare.update(bucket.rare.items())
        if len(rare) > 2 * MOST_WORDS:
            rare = RareCounts.of(rare).as_dict()
    if not distinct:
        raise CorpusError("the text holds no words; check that it is the right file and the right tokenizer")
    words, counts = list(kept), np.fromiter(kept.values(), np.int64, len(kept))
    order = ranked(words, counts)
    if len(order[:max_vocab]) < 2:
        raise CorpusError(
            f"fewer than two of {distinct} distinct words occur {min_count} times; lower min_count (--min-count)"
        )
    rare.update({words[place]: int(counts[place]) for place in order[len(order) if max_vocab is None else max_vocab :]})
    order = order[:max_vocab]
    return Vocabulary([words[place] for place in order.tolist()], counts[order]), RareCounts.of(rare), distinct
