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
        from spherevec.corpus import merge_kernel as kernel

        falling = -self.counts[places]
        keys = np.empty(len(places), np.uint64)
        kernel.prefixes(places, self.words.offsets, self.words.arena, keys)
        order = np.lexsort((keys, falling))
        kernel.settle_ties(order, falling, keys, places, self.words.offsets, self.words.arena)
        return places[order]

    def at(self, places: npt.NDArray[np.intp]) -> TextColumn:
        """The words at some places, as a column of their own."""
        starts, sizes = self.words.offsets[places], np.diff(self.words.offsets)[places]
        offsets = np.zeros(len(places) + 1, np.int64)
        np.cumsum(sizes, out=offsets[1:])
        # Where each byte comes from: the word's start, and how far it stands behind that.
        own = np.repeat(starts - offsets[:-1], sizes) + np.arange(offsets[-1])
        return TextColumn(offsets, self.words.arena[own])
