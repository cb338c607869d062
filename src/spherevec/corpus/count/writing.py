"""The files of an encoded corpus: written block by block, with phrases, or again in the words of another vocabulary."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import nullcontext
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from numpy.typing import NDArray

from spherevec.corpus.count import encoded
from spherevec.corpus.count.encoded import EncodedCorpus
from spherevec.corpus.count.reading import NumberedBlock
from spherevec.corpus.count.summary import CorpusSummary
from spherevec.corpus.count.vocabulary import CountedWords, Vocabulary
from spherevec.corpus.tokenize.characters import BREAK_BIT, ID_MASK
from spherevec.corpus.tokenize.phrases import LEAST_COUNT, PhraseFinder, find_phrases
from spherevec.corpus.tokenize.tokenizer import Tokenizer
from spherevec.errors import CorpusError
from spherevec.storage.os_errors import explain_os_errors
from spherevec.storage.text_column import TextColumn
from spherevec.threads import in_order

MARKED, MARKED_OFFSETS = "marked.bin", "marked-offsets.bin"  # of the text before phrases, with marks of punctuation


def write_numbers(
    folder: Path,
    blocks: Iterable[NumberedBlock],
    ids_name: str = encoded.IDS,
    offsets_name: str = encoded.OFFSETS,
    breaks: str | None = None,
    threads: int = 1,
) -> tuple[int, int]:
    """Write blocks one after another; returns how many words and documents were written.

    With `breaks`, the marks of punctuation go from the ids into a file of that name, one byte a word. Other threads may
    write ids, each block to its place.
    """
    n_tokens = n_documents = 0

    def placed() -> Iterator[tuple[int, npt.NDArray[np.int32]]]:
        nonlocal n_tokens, n_documents
        ends_file.write(np.zeros(1, encoded.OFFSET_TYPE).data)
        for ids, ends in blocks:
            if breaks_file is not None:
                breaks_file.write(((ids & BREAK_BIT) != 0).view(np.uint8).data)
                ids = ids & ID_MASK
            ends_file.write((ends + n_tokens).astype(encoded.OFFSET_TYPE, copy=False).data)
            before, n_tokens, n_documents = n_tokens, n_tokens + len(ids), n_documents + len(ends)
            yield before, ids.astype(encoded.ID_TYPE, copy=False)

    def write(_: int, some: tuple[int, npt.NDArray[np.int32]]) -> None:
        position, left = some[0] * encoded.ID_TYPE.itemsize, some[1].view(np.uint8).data
        while left:
            one = threads == 1
            count = ids_file.write(left) or 0 if one else os.pwrite(ids_file.fileno(), left, position)
            position, left = position + count, left[count:]

    threads = threads if hasattr(os, "pwrite") else 1
    with (
        explain_os_errors(writing=folder, kind=CorpusError),
        (folder / breaks).open("wb") if breaks else nullcontext() as breaks_file,
        (folder / ids_name).open("wb", buffering=0) as ids_file,
        (folder / offsets_name).open("wb") as ends_file,
    ):
        for _ in in_order(placed(), write, threads):
            pass
    return n_tokens, n_documents


def add_phrases(
    folder: Path,
    blocks: Iterable[NumberedBlock],
    vocabulary: Vocabulary,
    min_count: int,
    max_vocab: int | None,
    threads: int,
) -> tuple[Vocabulary, int, int]:
    """Write blocks with marks of punctuation, find their phrases, and write the text with them.

    Returns:
        The vocabulary with the phrases, and how many words and documents were written.
    """
    n_tokens, n_documents = write_numbers(folder, blocks, MARKED, MARKED_OFFSETS)
    try:
        with explain_os_errors(writing=folder, kind=CorpusError):
            ids = _mapped(folder / MARKED, encoded.ID_TYPE, n_tokens)
            offsets = _mapped(folder / MARKED_OFFSETS, encoded.OFFSET_TYPE, n_documents + 1)
        least = max(min_count, LEAST_COUNT)
        found = find_phrases(ids, offsets, vocabulary.words, vocabulary.counts, least=least, threads=threads)
        # Part of what was counted lies inside longer phrases: what is left of it may be too little.
        met = _met(found, ids, offsets, len(vocabulary))
        found = [phrase for phrase, count in zip(found, met.tolist(), strict=True) if count >= least]
        met = _met(found, ids, offsets, len(vocabulary))
        words = [*vocabulary.words, *(" ".join(vocabulary.words[word] for word in phrase) for phrase in found)]
        counts = np.concatenate([vocabulary.counts, met])
        order = CountedWords(TextColumn.of(words), counts).ranked(np.arange(len(words)))[:max_vocab]
        if max_vocab is not None:
            order = _without_orphans(order, found, len(vocabulary))
        numbers = np.full(len(words), -1, np.int32)
        numbers[order] = np.arange(len(order), dtype=np.int32)
        kept = [(phrase, place) for place, phrase in enumerate(found, len(vocabulary)) if numbers[place] >= 0]
        finder = PhraseFinder([phrase for phrase, _ in kept], [place for _, place in kept], len(vocabulary))
        n_tokens, n_documents = write_numbers(folder, _applied(finder, ids, offsets, numbers))
    finally:
        for name in (MARKED, MARKED_OFFSETS):
            (folder / name).unlink(missing_ok=True)
    return Vocabulary([words[place] for place in order.tolist()], counts[order], True), n_tokens, n_documents


def _without_orphans(order: npt.NDArray[np.intp], found: list[tuple[int, ...]], n_words: int) -> npt.NDArray[np.intp]:
    """The places that are words, or phrases all of whose words are there."""
    kept = set(order.tolist())
    whole = [place for place in order.tolist() if place < n_words or kept.issuperset(found[place - n_words])]
    return np.array(whole, np.intp)


def _mapped(path: Path, kind: np.dtype[np.signedinteger], length: int) -> npt.NDArray[np.signedinteger]:
    """A file as an array; a map of nothing is not allowed."""
    return np.memmap(path, kind, mode="r", shape=(length,)) if length else np.zeros(0, kind)


def _met(
    found: list[tuple[int, ...]], ids: npt.NDArray[np.int32], offsets: npt.NDArray[np.int64], n_words: int
) -> npt.NDArray[np.int64]:
    """How often each phrase stands in the text, those inside longer ones left out, (phrases,)."""
    finder = PhraseFinder(found, range(n_words, n_words + len(found)), n_words)
    met = np.zeros(n_words + len(found), np.int64)
    for start, stop in _document_ranges(offsets):
        met += finder.apply(ids[offsets[start] : offsets[stop]], offsets[start : stop + 1] - offsets[start])[2]
    return met[n_words:]


def _applied(
    finder: PhraseFinder, ids: npt.NDArray[np.int32], offsets: npt.NDArray[np.int64], numbers: npt.NDArray[np.int32]
) -> Iterator[NumberedBlock]:
    for start, stop in _document_ranges(offsets):
        here = ids[offsets[start] : offsets[stop]], offsets[start : stop + 1] - offsets[start]
        new_ids, new_offsets, _ = finder.apply(*here, numbers)
        yield new_ids, new_offsets[1:]


def _document_ranges(offsets: npt.NDArray[np.int64]) -> Iterator[tuple[int, int]]:
    """Ranges of documents of about a million words each."""
    start = 0
    while start < len(offsets) - 1:
        reached = int(np.searchsorted(offsets, offsets[start] + _TOKENS_AT_ONCE))
        stop = min(max(reached, start + 1), len(offsets) - 1)
        yield start, stop
        start = stop


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
    summary = first.summary.with_(tokens=n_raw)
    finish_corpus(folder, vocabulary, first.tokenizer, n_tokens, n_documents, summary)
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


def finish_corpus(
    folder: Path, vocabulary: Vocabulary, tokenizer: Tokenizer, n_tokens: int, n_documents: int, summary: CorpusSummary
) -> dict[str, Any]:
    """Write the words and counts of a corpus, then what it is, which is returned."""
    about = {
        "format": encoded.FORMAT,
        "tokenizer": tokenizer.description(),
        "phrases": vocabulary.phrases,
        "raw_tokens": summary.tokens,
        "n_tokens": n_tokens,
        "n_documents": n_documents,
        "summary": summary.as_dict(),
    }
    with explain_os_errors(writing=folder, kind=CorpusError):
        (folder / encoded.WORDS).write_text(json.dumps(vocabulary.words, ensure_ascii=False), "utf-8")
        (folder / encoded.COUNTS).write_bytes(vocabulary.counts.astype(encoded.OFFSET_TYPE).tobytes())
        (folder / encoded.ABOUT).write_text(json.dumps(about, indent=1), "utf-8")
    return about
