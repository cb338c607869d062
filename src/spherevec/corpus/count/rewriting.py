"""Encoded documents in the words of another vocabulary."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from spherevec.corpus.count import encoded
from spherevec.corpus.count.encoded import EncodedCorpus
from spherevec.corpus.count.encoder import write_words
from spherevec.corpus.count.vocabulary import Vocabulary
from spherevec.corpus.tokenize.marks import BREAK_BIT

_TOKENS_AT_ONCE = 1 << 20

Numbers = NDArray[np.int32]


class Part(NamedTuple):
    """Some documents of a corpus, in the order given."""

    corpus: EncodedCorpus
    numbers: Numbers  # (its words,) their ids in the other vocabulary, -1 to leave a word out
    documents: NDArray[np.int64]


def rewrite(parts: Sequence[Part], vocabulary: Vocabulary, folder: Path) -> EncodedCorpus:
    """Documents of one or several corpora as one corpus in the words of `vocabulary`, whose counts stay as they are.

    Args:
        parts: what to take; one at least.
        folder: where to put the corpus; new or empty.
    """
    folder.mkdir(parents=True, exist_ok=True)
    n_tokens = n_documents = n_raw = 0
    with (folder / encoded.IDS).open("wb") as ids_file, (folder / encoded.OFFSETS).open("wb") as ends_file:
        ends_file.write(np.zeros(1, encoded.OFFSET_TYPE).data)
        for part in parts:
            for ids, lengths, breaks in numbered(part):
                kept, bounds = renumbered(part.numbers[ids], lengths, vocabulary, breaks)
                ids_file.write(kept.astype(encoded.ID_TYPE).data)
                ends_file.write((bounds[1:] + n_tokens).astype(encoded.OFFSET_TYPE).data)
                n_tokens += len(kept)
                n_documents += len(lengths)
                n_raw += len(ids)
    first = parts[0].corpus
    about = {
        "format": encoded.FORMAT,
        "tokenizer": first.tokenizer.description(),
        "phrases": vocabulary.phrases,
        "raw_tokens": n_raw,
        "n_tokens": n_tokens,
        "n_documents": n_documents,
        "summary": first.summary.as_dict(),
    }
    write_words(folder, about, vocabulary)
    return EncodedCorpus.open(folder)


def renumbered(
    numbers: Numbers, lengths: NDArray[np.int64], vocabulary: Vocabulary, breaks: NDArray[np.bool_] | None = None
) -> tuple[Numbers, NDArray[np.int64]]:
    """The ids of some documents without the words that are left out, with the phrases of the vocabulary.

    Args:
        numbers: (n,) ids, -1 for a word that is left out; no phrase spans it.
        lengths: (documents,) of each, together n.
        breaks: (n,) whether punctuation stands before each word, which no phrase spans; None where there is none.

    Returns:
        The ids, and where each document begins and the last ends, (documents + 1,).
    """
    there = numbers >= 0
    bounds = np.concatenate([[0], np.cumsum(there)])[np.concatenate([[0], np.cumsum(lengths)])]
    finder = vocabulary.phrase_finder
    if finder is None:
        return numbers[there], bounds
    # A word that is left out is a break for the next one that stays, and so is a break before it.
    marked = ~there if breaks is None else ~there | breaks
    broken = np.diff(np.cumsum(marked)[there], prepend=0) > 0
    kept, new_bounds, _ = finder.apply(np.where(broken, numbers[there] | BREAK_BIT, numbers[there]), bounds)
    return kept, new_bounds


def numbered(part: Part) -> Iterator[tuple[Numbers, NDArray[np.int64], NDArray[np.bool_] | None]]:
    """The words of some documents at a time in the numbers of their own corpus, the documents' lengths, and breaks."""
    offsets = part.corpus.offsets
    lengths = offsets[part.documents + 1] - offsets[part.documents]
    edges = np.searchsorted(np.cumsum(lengths), np.arange(0, int(lengths.sum()) + _TOKENS_AT_ONCE, _TOKENS_AT_ONCE))
    bounds = sorted({0, len(lengths), *edges.tolist()})
    for first, last in pairwise(bounds):
        own = lengths[first:last]
        starts = np.repeat(offsets[part.documents[first:last]] - (np.cumsum(own) - own), own)
        places = starts + np.arange(len(starts))
        breaks = part.corpus.breaks
        yield np.asarray(part.corpus.ids[places]), own, None if breaks is None else np.asarray(breaks[places])
        part.corpus.drop_pages()
