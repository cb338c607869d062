"""Words in the order of their counts and their spelling, without a string for each."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

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
