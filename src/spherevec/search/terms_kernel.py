"""Compiled loops over the words of documents: counting them, turning the counts into postings."""

from __future__ import annotations

from typing import Any

from spherevec.compiling import njit
from spherevec.engine.cpu.fit_kernels import sort_words


@njit(nogil=True, cache=True)
def count_words(ids: Any, offsets: Any, words: Any, counts: Any, ends: Any) -> Any:
    """The distinct words of each document in ascending order, and how often each occurs.

    Args:
        ids: the words of all documents; offsets: (n + 1,) where each begins in `ids`.
        words, counts: get the answers back to back.
        ends: (n,) gets where each document's answers end.
    """
    filled = 0
    for document in range(len(ends)):
        start, length = offsets[document], offsets[document + 1] - offsets[document]
        own = words[filled : filled + length]  # there is room: a document has no more words than tokens
        for place in range(length):
            own[place] = ids[start + place]
        sort_words(own, length)
        previous = -1
        for word in own:
            if word == previous:
                counts[filled - 1] += 1
            else:
                words[filled] = word
                counts[filled] = 1
                filled += 1
                previous = word
        ends[document] = filled
    return filled


@njit(nogil=True, cache=True)
def fill_postings(
    starts: Any, words: Any, counts: Any, first_row: Any, low: Any, cursors: Any, rows: Any, often: Any
) -> None:
    """Sort the counts of some documents into the postings of words `low` … `low` + len(cursors).

    Args:
        starts: (n + 1,) where each document begins in `words`, which are those of these documents alone.
        first_row: the row of the first of them.
        cursors: the next free place of each word; moved on.
        rows, often: get the row and the count, at most 255, of each posting.
    """
    high = low + len(cursors)
    for document in range(len(starts) - 1):
        for i in range(starts[document] - starts[0], starts[document + 1] - starts[0]):
            word = words[i]
            if low <= word < high:
                place = cursors[word - low]
                rows[place] = first_row + document
                often[place] = min(counts[i], 255)
                cursors[word - low] = place + 1
