"""The words of documents, counted by sorting on the device."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np


class DocumentWords(NamedTuple):
    """The different words of N documents, one document after another: M in all, on the device."""

    starts: Any  # (N + 1,) int64, where those of each document begin
    documents: Any  # (M,) int64
    words: Any  # (M,) int32, ascending in each document
    times: Any  # (M,) int64, how often each occurs there


def document_words(cupy: Any, ids: Any, offsets: Any) -> DocumentWords:
    """Count the words of documents.

    Args:
        offsets: (N + 1,) of the documents in `ids`.
    """
    first, last = int(offsets[0]), int(offsets[-1])
    documents = cupy.searchsorted(offsets, cupy.arange(first, last), side="right") - 1
    pairs = documents << 32 | ids[first:last]
    pairs.sort()
    places = cupy.flatnonzero(cupy.concatenate([cupy.ones(1, bool), pairs[1:] != pairs[:-1]])[: len(pairs)])
    times = cupy.diff(cupy.concatenate([places, cupy.asarray([len(pairs)])]))
    documents, words = pairs[places] >> 32, (pairs[places] & 0xFFFFFFFF).astype(np.int32)
    return DocumentWords(cupy.searchsorted(documents, cupy.arange(len(offsets))), documents, words, times)


def count_words(cupy: Any, ids: Any, offsets: Any, n_words: int) -> dict[str, Any]:
    """The counts of `spherevec.search.terms.count_terms`, by document and by word, on the device."""
    starts, documents, words, times = document_words(cupy, ids, offsets)
    order = cupy.argsort(words, kind="stable")  # the documents of a word ascend
    return {
        "starts": starts,
        "words": words,
        "counts": times.astype(np.int32),
        "places": cupy.searchsorted(words[order], cupy.arange(n_words + 1)),
        "rows": documents[order].astype(np.int32),
        "often": cupy.minimum(times, 255).astype(np.uint8)[order],
    }
