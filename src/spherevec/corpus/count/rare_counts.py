"""Words that are too rare for a vector, with their counts: when more text comes, some of them are not rare any more.

Memory and disk are bounded: of very many rare words only the most frequent are kept.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from spherevec.corpus.count.ranking import CountedWords
from spherevec.errors import FormatError
from spherevec.storage.tensors import read_tensors, write_tensors
from spherevec.storage.text_column import TextColumn

MOST_WORDS = 250_000  # some 4 MB


class RareCounts:
    """Distinct words and how often each occurred, the most frequent first, equal counts by spelling.

    >>> rare = RareCounts.of({"heron": 2, "egret": 4})
    >>> rare.count("heron"), rare.count("stork"), list(rare.words)
    (2, 0, ['egret', 'heron'])
    """

    def __init__(self, words: TextColumn, counts: NDArray[np.int64]) -> None:
        if len(words) != len(counts):
            raise FormatError(f"{len(words)} rare words do not fit {len(counts)} counts; copy the file again")
        self.words, self.counts = words, counts

    @classmethod
    def of(cls, counts: Mapping[str, int], most: int = MOST_WORDS) -> RareCounts:
        """Keep the most frequent of these words."""
        kept = sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))[:most]
        return cls(TextColumn.of(word for word, _ in kept), np.array([count for _, count in kept], np.int64))

    @classmethod
    def left_out(cls, counted: CountedWords, numbers: NDArray[np.int32], most: int = MOST_WORDS) -> RareCounts:
        """The words of a counted text that were given no number.

        Args:
            numbers: (distinct words,) -1 for those left out.
        """
        counts = counted.counts
        places = np.flatnonzero((numbers < 0) & (counts > 0))
        if len(places) > most:
            bound = np.partition(counts[places], len(places) - most)[len(places) - most]
            places = places[counts[places] >= bound]
        kept = counted.ranked(places)[:most]
        return cls(counted.at(kept), counts[kept])

    @classmethod
    def open(cls, path: Path, *, memory_map: bool = True, opened: BinaryIO | None = None) -> RareCounts:
        """Open a saved list without reading its words."""
        tensors = read_tensors(path, memory_map=memory_map, opened=opened)
        try:
            return cls(TextColumn(tensors["offsets"], tensors["bytes"]), tensors["counts"])
        except KeyError as error:
            raise FormatError(f"{path}: holds no array {error}; copy it again") from None

    @property
    def tensors(self) -> dict[str, NDArray[Any]]:
        """The arrays of the file."""
        return {"offsets": self.words.offsets, "bytes": self.words.arena, "counts": self.counts}

    def save(self, path: Path) -> None:
        write_tensors(path, self.tensors)

    def __len__(self) -> int:
        return len(self.words)

    def count(self, word: str) -> int:
        """How often a word occurred; 0 where it is not known."""
        row = self.words.find(word)
        return 0 if row is None else int(self.counts[row])

    def as_dict(self) -> dict[str, int]:
        return dict(zip(self.words, self.counts.tolist(), strict=True))

    def merged(self, more: Mapping[str, int], without: Iterable[str] = (), most: int = MOST_WORDS) -> RareCounts:
        """These and more occurrences, less the words that are rare no longer."""
        total: dict[str, Any] = self.as_dict()
        for word, count in more.items():
            total[word] = total.get(word, 0) + count
        for word in without:
            total.pop(word, None)
        return RareCounts.of(total, most)
