"""Counted words, and the vocabulary: the words that a model knows, and how often each occurred."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from spherevec.corpus.tokenize.phrases import PhraseFinder, phrases_of
from spherevec.errors import CorpusError
from spherevec.storage.text_column import TextColumn


class CountedWords(NamedTuple):
    """Distinct words and how often each occurred."""

    words: TextColumn
    counts: npt.NDArray[np.int64]  # (words,)

    def ranked(self, places: npt.NDArray[np.intp]) -> npt.NDArray[np.intp]:
        """Some places, the most frequent words first; equal counts in the order of their UTF-8 bytes.

        Example:
            >>> counted = CountedWords(TextColumn.of(["b", "a", "c"]), np.array([1, 1, 2]))
            >>> counted.ranked(np.arange(3)).tolist()
            [2, 1, 0]
        """
        from spherevec.corpus.count import merge_kernel as kernel

        falling = -self.counts[places]
        keys = np.empty(len(places), np.uint64)
        kernel.prefixes(places, self.words.offsets, self.words.arena, keys)
        order = np.lexsort((keys, falling))
        kernel.settle_ties(order, falling, keys, places, self.words.offsets, self.words.arena)
        return places[order]

    def at(self, places: npt.NDArray[np.intp]) -> TextColumn:
        """The words at some places, as a column of their own."""
        from spherevec.corpus.count import merge_kernel as kernel

        offsets = np.zeros(len(places) + 1, np.int64)
        np.cumsum(self.words.offsets[places + 1] - self.words.offsets[places], out=offsets[1:])
        arena = np.empty(offsets[-1], np.uint8)
        kernel.copy_words(places, self.words.offsets, self.words.arena, offsets, arena)
        return TextColumn(offsets, arena)


@dataclass(frozen=True, eq=False)
class Vocabulary:
    """Words with their counts, the most frequent first; equal counts in the order of their UTF-8 bytes."""

    words: list[str]
    counts: npt.NDArray[np.int64]  # (words,)
    phrases: bool = False  # whether entries of several words are phrases, to be found in every text

    def __len__(self) -> int:
        return len(self.words)

    def __contains__(self, word: object) -> bool:
        return word in self.word_to_id

    @cached_property
    def word_to_id(self) -> dict[str, int]:
        return {word: i for i, word in enumerate(self.words)}

    @cached_property
    def phrase_finder(self) -> PhraseFinder | None:
        """Finds the vocabulary's phrases in texts; None where it has none."""
        found, numbers = phrases_of(self.word_to_id) if self.phrases else ([], [])
        return PhraseFinder(found, numbers, len(self)) if found else None

    @cached_property
    def _slots(self) -> tuple[npt.NDArray[np.int64], TextColumn]:
        """Where words are found by their hashes, and their letters; the layout is that of a table of words."""
        from spherevec.corpus.count import merge_kernel as kernel

        column = TextColumn.of(self.words)
        slots = np.zeros(1 << max(1, 2 * len(self) - 1).bit_length(), np.int64)
        kernel.index_words(column.offsets, column.arena, slots)
        return slots, column

    def ids_of(self, words: TextColumn) -> npt.NDArray[np.int32]:
        """The ids of many words, (n,), -1 for those that are not there.

        Example:
            >>> Vocabulary(["the", "cat"], np.array([2, 1])).ids_of(TextColumn.of(["cat", "dog"])).tolist()
            [1, -1]
        """
        from spherevec.corpus.count import merge_kernel as kernel

        slots, column = self._slots
        ids = np.empty(len(words), np.int32)
        kernel.find_words(words.offsets, words.arena, slots, column.offsets, column.arena, ids)
        return ids

    def index(self, word: str) -> int:
        """The id of `word`; `KeyError` where the vocabulary does not hold it."""
        return self.word_to_id[word]


def choose_words(
    counted: CountedWords, min_count: int, max_vocab: int | None
) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.int32]]:
    """The places of the words of a counted text that are kept, by rank, and the id of each word, -1 for the others."""
    counts = counted.counts
    if not len(counts):
        raise CorpusError("the text holds no words; check that it is the right file and the right tokenizer")
    kept = np.flatnonzero(counts >= min_count)
    if not len(kept):
        raise CorpusError(
            f"no word occurs {min_count} times: there are {len(counts)} distinct words and the most frequent occurs "
            f"{counts.max()} times; lower min_count (--min-count)"
        )
    chosen = counted.ranked(kept)[:max_vocab]
    if len(chosen) == 1:
        raise CorpusError(
            f"only one word, {counted.at(chosen)[0]!r}, occurs {min_count} times or more: nothing to compare it with; "
            "give more text or lower min_count (--min-count)"
        )
    numbers = np.full(len(counts), -1, np.int32)
    numbers[chosen] = np.arange(len(chosen), dtype=np.int32)
    return chosen, numbers
