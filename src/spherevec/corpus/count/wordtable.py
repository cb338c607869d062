"""A growing table of distinct words, fed with blocks of UTF-8 text by the compiled tokeniser."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from spherevec.corpus.count.ranking import CountedWords
from spherevec.corpus.read.limits import newlines_in
from spherevec.corpus.tokenize import tokenizer_kernel as kernel
from spherevec.corpus.tokenize.compiled import block_tokenizer
from spherevec.corpus.tokenize.marks import ID_MASK, Fed
from spherevec.corpus.tokenize.tokenizer import Tokenizer
from spherevec.errors import CorpusError
from spherevec.storage.text_column import TextColumn

_FIRST_WORDS = 1 << 14
_MOST_WORDS = ID_MASK  # ids are int32, and one bit marks punctuation


class WordTable:
    """Distinct words in the order of their first occurrence; the layout is described in the kernel's file."""

    def __init__(self, tokenizer: Tokenizer, first_words: int = _FIRST_WORDS) -> None:
        self._tokenizer = block_tokenizer(tokenizer.name, tokenizer.options)
        self._n_words = 0
        self._slots = np.zeros(2 * first_words, np.int64)
        self._starts = np.zeros(first_words + 1, np.int64)
        self._counts = np.zeros(first_words, np.int64)
        self._arena = np.empty(0, np.uint8)

    def __len__(self) -> int:
        return self._n_words

    @property
    def counts(self) -> npt.NDArray[np.int64]:
        return self._counts[: self._n_words]

    def words_at(self, places: npt.NDArray[np.intp]) -> list[str]:
        arena = self._arena.data
        starts, stops = self._starts[places].tolist(), self._starts[places + 1].tolist()
        return [str(arena[start:stop], "utf-8") for start, stop in zip(starts, stops, strict=True)]

    def counted(self) -> CountedWords:
        """All words, with their counts."""
        used = int(self._starts[self._n_words])
        return CountedWords(TextColumn(self._starts[: self._n_words + 1], self._arena[:used]), self.counts)

    @property
    def slots(self) -> npt.NDArray[np.int64]:
        """Where the words are found by their hashes."""
        return self._slots

    def feed(self, block: bytes, newlines: int | None = None) -> Fed:
        """Count the words of a block; `newlines` is how many it has, where that is known."""
        block = self._tokenizer.prepared(block)
        data = np.frombuffer(block, np.uint8)
        self._reserve_arena(2 * len(data) + 16)  # pairs of characters are written twice, the rest lengthens less
        ids = np.empty(len(data) // 2 + 2, np.int32)
        ends = np.empty(newlines_in(block) if newlines is None else newlines, np.int64)
        cursor = np.zeros(7, np.int64)
        cursor[kernel.N_WORDS], cursor[kernel.WORD_END], cursor[kernel.COVERED] = self._n_words, -1, -1
        finished = False
        while not finished:
            finished = self._tokenizer.run(
                data, self._slots, self._starts, self._counts, self._arena, ids, ends, cursor
            )
            self._n_words = int(cursor[kernel.N_WORDS])
            if not finished:
                self._reserve_words(1)
        return Fed(ids[: cursor[kernel.N_IDS]], ends, bool(cursor[kernel.BROKEN]))

    def _reserve_arena(self, more: int) -> None:
        used = int(self._starts[self._n_words])
        if used + more > len(self._arena):
            arena = np.empty(max(used + more, 2 * used), np.uint8)
            arena[:used] = self._arena[:used]
            self._arena = arena

    def _reserve_words(self, more: int) -> None:
        capacity = len(self._counts)
        while capacity < self._n_words + more:
            capacity *= 2
        if capacity == len(self._counts):
            return
        if capacity > _MOST_WORDS:
            raise CorpusError(f"more than {_MOST_WORDS} distinct words; check that the tokenizer fits the text")
        self._starts = np.concatenate([self._starts, np.zeros(capacity + 1 - len(self._starts), np.int64)])
        self._counts = np.concatenate([self._counts, np.zeros(capacity - len(self._counts), np.int64)])
        slots = np.zeros(2 * capacity, np.int64)
        kernel.rehash(self._slots, slots)
        self._slots = slots
