"""How often words occur near each other: exact counts, without sorting and without spilling.

Every word's row is summed on its own, from a list of the places where the word occurs. Memory is 8 to 12 bytes a word
of the text while counting, and 8 bytes a cell that is not empty: 27 million of them for 20 million
words of Wikipedia and a window of 10.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from spherevec.corpus.count.encoded import EncodedCorpus
from spherevec.errors import ConfigError

MOST_CELLS = 400_000_000  # 3.2 GB
_PARTS = 64  # of the rows, so that threads stay busy to the end


@dataclass(frozen=True)
class Cooccurrences:
    """Symmetric counts: cells `row_starts[r]:row_starts[r + 1]` belong to row r and hold columns up to r.

    Attributes:
        row_starts: (words + 1,)
        columns: (cells,) in the order of their first occurrence near the row's word.
        counts: (cells,) sums of 1/distance.
    """

    row_starts: NDArray[np.int64]
    columns: NDArray[np.int32]
    counts: NDArray[np.float32]


def count_cooccurrences(corpus: EncodedCorpus, window: int, threads: int) -> Cooccurrences:
    """Count neighbours at most `window` words apart, within documents, each as 1/distance."""
    from experiments.peers import glove_kernel as kernel

    padded = np.empty(corpus.n_tokens + (corpus.n_documents + 1) * window, np.int32)
    kernel.pad_documents(corpus.ids, corpus.offsets, window, padded)
    # Counted here: a part of a corpus may carry the vocabulary of the whole.
    occurrences = np.bincount(corpus.ids, minlength=len(corpus.vocabulary))
    starts = np.concatenate([[0], np.cumsum(occurrences)]).astype(np.int64)
    places = np.empty(corpus.n_tokens, np.int32 if len(padded) < 2**31 else np.int64)
    kernel.list_places(padded, starts, places)
    parts = _even_parts(starts)

    distinct = np.zeros(len(corpus.vocabulary), np.int64)
    _in_threads(
        threads, parts, lambda first, last: kernel.count_cells(padded, starts, places, first, last, window, distinct)
    )
    row_starts = np.concatenate([[0], np.cumsum(distinct)]).astype(np.int64)
    cells = int(row_starts[-1])
    if cells > MOST_CELLS:
        raise ConfigError(
            f"{cells:,} pairs of words occur together and GloVe keeps at most {MOST_CELLS:,} in memory; "
            "raise min_count or lower the window"
        )
    columns, counts = np.empty(cells, np.int32), np.empty(cells, np.float32)
    _in_threads(
        threads,
        parts,
        lambda first, last: kernel.fill_cells(padded, starts, places, row_starts, first, last, window, columns, counts),
    )
    return Cooccurrences(row_starts, columns, counts)


def _even_parts(starts: NDArray[np.int64]) -> list[tuple[int, int]]:
    """Ranges of rows [first, last) with about as many occurrences each."""
    ends = np.unique(np.searchsorted(starts, np.linspace(0, starts[-1], _PARTS + 1)))
    return list(zip(ends[:-1].tolist(), ends[1:].tolist(), strict=True))


def _in_threads(threads: int, parts: list[tuple[int, int]], work: Callable[[int, int], None]) -> None:
    with ThreadPoolExecutor(threads) as pool:
        for done in [pool.submit(work, first, last) for first, last in parts]:
            done.result()
