"""Growing tables of distinct words, fed with blocks of UTF-8 text by the compiled tokenizer, and several as one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from spherevec.corpus.count.vocabulary import CountedWords
from spherevec.corpus.read.guard import newlines_in
from spherevec.corpus.tokenize import scanner_kernel
from spherevec.corpus.tokenize import tokenizer_kernel as kernel
from spherevec.corpus.tokenize.characters import ID_MASK, character_tables
from spherevec.corpus.tokenize.cleaning import clean_block, normalise_block, segmented_block
from spherevec.corpus.tokenize.options import TokenizerOptions
from spherevec.corpus.tokenize.tokenizer import Tokenizer
from spherevec.errors import CorpusError
from spherevec.storage.text_column import TextColumn
from spherevec.threads import in_order

_FIRST_WORDS = 1 << 14
_MOST_WORDS = ID_MASK  # ids are int32, and one bit marks punctuation


class TokenizedBlock(NamedTuple):
    """The words of one block, as numbers of a table."""

    ids: npt.NDArray[np.int32]  # (n,), with `BREAK_BIT` after punctuation
    ends: npt.NDArray[np.int64]  # (newlines,), how many ids came before each newline
    broken: bool  # whether punctuation stands behind the last word, or anywhere if there is no word


class WordTable:
    """Distinct words in the order of their first occurrence; the layout is described in the kernel's file.

    Args:
        tokenizer: one that is compiled.
    """

    def __init__(self, tokenizer: Tokenizer, first_words: int = _FIRST_WORDS) -> None:
        assert tokenizer.compiled
        self._options = options = tokenizer.options
        if options is not None:
            choices = TokenizerOptions.choices()
            rules = [choices[name].index(getattr(options, name)) for name in scanner_kernel.RULES]
            tables = character_tables(options.lowercase, options.emoji, options.unspaced != "bigrams")
            self._rules = *tables, np.array(rules, np.int64)
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

    def counted(self) -> CountedWords:
        """All words, with their counts."""
        used = int(self._starts[self._n_words])
        return CountedWords(TextColumn(self._starts[: self._n_words + 1], self._arena[:used]), self.counts)

    @property
    def slots(self) -> npt.NDArray[np.int64]:
        """Where the words are found by their hashes."""
        return self._slots

    def feed(self, block: bytes, newlines: int | None = None) -> TokenizedBlock:
        """Count the words of a block; `newlines` is how many it has, where that is known."""
        block = self._prepared(block)
        data = np.frombuffer(block, np.uint8)
        self._reserve_arena(2 * len(data) + 16)  # pairs of characters are written twice, the rest lengthens less
        ids = np.empty(len(data) // 2 + 2, np.int32)
        ends = np.empty(newlines_in(block) if newlines is None else newlines, np.int64)
        cursor = np.zeros(7, np.int64)
        cursor[kernel.N_WORDS], cursor[kernel.WORD_END], cursor[kernel.COVERED] = self._n_words, -1, -1
        finished = False
        while not finished:
            table = self._slots, self._starts, self._counts, self._arena, ids, ends, cursor
            if self._options is None:
                finished = scanner_kernel.split_block(data, *table)
            else:
                finished = scanner_kernel.scan_block(data, *self._rules, *table)
            self._n_words = int(cursor[kernel.N_WORDS])
            if not finished:
                self._reserve_words(1)
        return TokenizedBlock(ids[: cursor[kernel.N_IDS]], ends, bool(cursor[kernel.BROKEN]))

    def _prepared(self, block: bytes) -> bytes:
        """The block as the kernel wants it, with the same newlines."""
        if self._options is None:
            return block
        block = normalise_block(clean_block(block) if self._options.html else block)
        return segmented_block(block) if self._options.unspaced == "segment" else block

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


_HASH_BITS = 31  # of a word's hash in a table
_WORTH_THREADS = 1 << 17  # words of all tables; each thread costs some megabytes


class MergedWords:
    """The distinct words of several tables, and where those of each table are among them.

    Args:
        tables: two or more; where there are many words, each gets a thread.

    Attributes:
        counted: all words, in no particular order.
    """

    def __init__(self, tables: Sequence[WordTable]) -> None:
        worth = sum(map(len, tables)) > _WORTH_THREADS
        self._workers = len(tables) if worth else 1
        bits = (4 * len(tables) - 1).bit_length()  # a few parts for each thread, so that none waits long for another
        self._parts, self._shift = 1 << bits, _HASH_BITS - bits
        counted = [table.counted() for table in tables]
        self._hashes = [np.empty(len(table), np.int64) for table in tables]
        self._renumbered = [np.empty(len(table), np.int32) for table in tables]
        orders = [np.empty(len(table), np.int32) for table in tables]
        edges = np.zeros((len(tables), self._parts + 1), np.int64)

        def sort(_: int, t: int) -> None:
            kernel.sort_by_hash(tables[t].slots, self._shift, self._hashes[t], orders[t], edges[t])

        def merge(_: int, part: int) -> CountedWords:
            some = [order[edge[part] : edge[part + 1]] for order, edge in zip(orders, edges, strict=True)]
            return self._merged(counted, some)

        for _ in in_order(range(len(tables)), sort, self._workers):
            pass
        merged = list(in_order(range(self._parts), merge, self._workers))
        sizes = np.array([len(part.counts) for part in merged], np.int64)
        self._bases = np.cumsum(sizes) - sizes
        ends = np.cumsum([len(part.words.arena) for part in merged])
        starts = [part.words.offsets[:-1] + end - len(part.words.arena) for part, end in zip(merged, ends, strict=True)]
        words = TextColumn(np.concatenate([*starts, ends[-1:]]), np.concatenate([part.words.arena for part in merged]))
        self.counted = CountedWords(words, np.concatenate([part.counts for part in merged]))

    def _merged(self, counted: Sequence[CountedWords], some: Sequence[npt.NDArray[np.int32]]) -> CountedWords:
        """One part: some words of each table."""
        most = sum(map(len, some))
        size = sum(kernel.bytes_of(words, table.words.offsets) for words, table in zip(some, counted, strict=True))
        slots = np.zeros(1 << max(1, 2 * most - 1).bit_length(), np.int64)
        starts, counts, arena = np.zeros(most + 1, np.int64), np.empty(most, np.int64), np.empty(size, np.uint8)
        found = 0
        for words, table, hashes, renumbered in zip(some, counted, self._hashes, self._renumbered, strict=True):
            found = kernel.merge_part(
                words, table.words.offsets, table.counts, table.words.arena, hashes,
                slots, starts, counts, arena, renumbered, found,
            )  # fmt: skip
        return CountedWords(TextColumn(starts[: found + 1], arena[: starts[found]]), counts[:found])

    def numbers_of_tables(self, numbers: npt.NDArray[np.int32]) -> list[npt.NDArray[np.int32]]:
        """What `numbers`, (all words,), says of the words of each table."""
        found = [np.empty(len(renumbered), np.int32) for renumbered in self._renumbered]

        def work(_: int, t: int) -> None:
            places = self._renumbered[t]
            kernel.final_numbers(self._hashes[t], self._shift, self._bases, places, numbers, found[t])

        for _ in in_order(range(len(found)), work, self._workers):
            pass
        return found

    @property
    def places(self) -> list[npt.NDArray[np.int32]]:
        """Where the words of each table are among all words; after `numbers_of_tables`."""
        return self._renumbered
