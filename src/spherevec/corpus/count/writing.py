"""Numbered blocks of text into the files of an encoded corpus, with or without phrases."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import nullcontext
from pathlib import Path

import numpy as np
import numpy.typing as npt

from spherevec.corpus.count import encoded
from spherevec.corpus.count.spill import writable
from spherevec.corpus.count.vocabulary import Vocabulary, ranked
from spherevec.corpus.tokenize.marks import BREAK_BIT, ID_MASK
from spherevec.corpus.tokenize.phrases import LEAST_COUNT, PhraseFinder, find_phrases
from spherevec.threads import in_order

MARKED, MARKED_OFFSETS = "marked.bin", "marked-offsets.bin"  # of the text before phrases, with marks of punctuation
_TOKENS_AT_ONCE = 1 << 20

NumberedBlock = tuple[npt.NDArray[np.int32], npt.NDArray[np.int64]]  # ids, and how many came before each document's end


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
        writable(folder),
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
        with writable(folder):
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
        order = ranked(words, counts)[:max_vocab]
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
