"""The tables of all workers as one, brought together in parts by the hashes of words, each part by one thread.

What comes out does not depend on how the text was divided among workers: numbers are given by count and spelling.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from spherevec.corpus.count import merge_kernel as kernel
from spherevec.corpus.count.ranking import CountedWords
from spherevec.corpus.count.wordtable import WordTable
from spherevec.storage.text_column import TextColumn
from spherevec.threads import in_order

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
