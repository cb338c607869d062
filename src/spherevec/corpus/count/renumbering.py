"""Spilled blocks with their final ids, in the order of the text, worked on by several threads."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from spherevec.corpus.count.rare import RareWords
from spherevec.corpus.count.spill import Spill, SpilledBlock
from spherevec.corpus.count.writing import NumberedBlock
from spherevec.corpus.tokenize.marks import BREAK_BIT, ID_MASK
from spherevec.threads import in_order

Ids = npt.NDArray[np.int32]
Ends = npt.NDArray[np.int64]


def renumbered(ids: Ids, ends: Ends, numbers: Ids, marks: bool) -> NumberedBlock:
    """Ids as their numbers, without those that have none; see the kernel."""
    from spherevec.corpus.tokenize import tokenizer_kernel as kernel

    new_ids = np.empty(len(ids) + 1, np.int32)  # one more, where the kernel puts a dropped last word
    new_ends = np.empty_like(ends)
    return new_ids[: kernel.renumber(ids, ends, numbers, marks, new_ids, new_ends)], new_ends


class _Block(NamedTuple):
    """A renumbered block, apart from what the block before it decides."""

    ids: Ids
    ends: Ends
    n_raw: int
    raw_ends: Ends
    last_is_dropped: bool
    rare: npt.NDArray[np.uint64]  # hashes of its dropped words
    rare_rows: npt.NDArray[np.int64]  # the documents that these stand in, counted from the first of the block
    n_empty: int  # documents without words, the first left out
    n_unknown: int  # documents without words that are kept, the first left out


class NumberedBlocks:
    """The spilled blocks in the order of the text, with their final ids; to be gone through once.

    Args:
        numbers: for each worker, the id of each of its words, -1 for those that are dropped.
        places: for each worker, where its words are in `hashes`; None where they are in order.
        hashes: 64 bits for each word.
        marks: keep the marks of punctuation.
        threads: how many to use.

    Attributes:
        n_kept: how many words were kept; this and the others once all blocks were asked for.
        n_empty, n_unknown: how many documents have no words, and how many none that is kept.
    """

    def __init__(
        self,
        spilled: Sequence[SpilledBlock],
        spills: Sequence[Spill],
        numbers: Sequence[Ids],
        places: Sequence[Ids] | None,
        hashes: npt.NDArray[np.uint64],
        rare: RareWords,
        marks: bool,
        threads: int,
    ) -> None:
        self._spilled, self._spills, self._numbers, self._places = spilled, spills, numbers, places
        self._hashes, self._rare, self._marks, self._threads = hashes, rare, marks, threads
        self.n_kept = self.n_empty = self.n_unknown = 0

    def __iter__(self) -> Iterator[NumberedBlock]:
        n_documents = raw_length = length = 0  # the latter two of the document that the last block ended in
        broken = True  # punctuation or a dropped word stands at the end of the last block
        for spilled, block in zip(self._spilled, in_order(self._spilled, self._work, self._threads), strict=True):
            ids, ends, raw_ends = block.ids, block.ends, block.raw_ends
            if self._marks and broken and len(ids):
                ids[0] |= BREAK_BIT
            broken = spilled.broken or block.last_is_dropped or (broken and not block.n_raw)
            if len(ends):
                raw_length, length = raw_length + int(raw_ends[0]), length + int(ends[0])
                self.n_empty += block.n_empty + (raw_length == 0)
                self.n_unknown += block.n_unknown + (raw_length > 0 and length == 0)
                raw_length, length = block.n_raw - int(raw_ends[-1]), len(ids) - int(ends[-1])
            else:
                raw_length, length = raw_length + block.n_raw, length + len(ids)
            self.n_kept += len(ids)
            self._rare.add(block.rare, (n_documents + block.rare_rows).astype(np.int32))
            n_documents += len(ends)
            yield ids, ends

    def _work(self, _: int, spilled: SpilledBlock) -> _Block:
        raw_ids, raw_ends = self._spills[spilled.worker].read(spilled)
        numbers = self._numbers[spilled.worker]
        ids, ends = renumbered(raw_ids, raw_ends, numbers, self._marks)
        raw_ids &= ID_MASK
        dropped = np.flatnonzero(numbers[raw_ids] < 0)
        words = raw_ids[dropped]
        raw_lengths, lengths = np.diff(raw_ends), np.diff(ends)
        return _Block(
            ids,
            ends,
            len(raw_ids),
            raw_ends,
            bool(len(raw_ids)) and bool(numbers[raw_ids[-1]] < 0),
            self._hashes[words if self._places is None else self._places[spilled.worker][words]],
            np.searchsorted(raw_ends, dropped, "right"),
            int(np.count_nonzero(raw_lengths == 0)),
            int(np.count_nonzero((raw_lengths > 0) & (lengths == 0))),
        )
