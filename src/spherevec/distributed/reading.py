"""What a worker reads: its parts are encoded one by one with all their words, and renumbered when all are counted."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from spherevec.corpus import EncodedCorpus, Vocabulary, encode
from spherevec.corpus.count.summary import CorpusSummary
from spherevec.corpus.count.vocabulary import CountedWords
from spherevec.corpus.count.writing import Part, rewrite
from spherevec.corpus.read.options import ReadOptions
from spherevec.corpus.read.pieces import Piece, staged_pieces
from spherevec.distributed.counting import merge_counts
from spherevec.storage.text_column import TextColumn


class PartAbout(NamedTuple):
    """What the driver hears of a part that was read: what it holds, and how many documents each of its pieces has."""

    summary: CorpusSummary
    rows: list[int]


class EncodedPart(NamedTuple):
    """A part in the words of the whole text, as the driver gets it."""

    ids: NDArray[np.int32]
    lengths: NDArray[np.int64]
    hashes: NDArray[np.uint64]  # of dropped words, and the document that each stands in
    rows: NDArray[np.int32]
    columns: Mapping[str, NDArray[Any]]  # of the table of documents
    unknown: int  # documents that have words, but none that is kept


class PartReader:
    """Reads parts into a folder of the worker's machine."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._parts: list[EncodedCorpus | None] = []
        self._words: list[tuple[TextColumn, NDArray[np.uint64]]] = []

    def read(self, pieces: list[Piece], tokenizer: Any, threads: int, reading: ReadOptions) -> PartAbout:
        """Read a part: all its words are kept for now, each under a number of this part."""
        number = len(self._parts)
        with staged_pieces(pieces, self._folder) as stage:
            corpus = None
            if stage.given:
                target = self._folder / f"part-{number}"
                shutil.rmtree(target, ignore_errors=True)
                corpus = encode(stage.given, target, min_count=1, tokenizer=tokenizer, threads=threads, reading=reading)
        self._parts.append(corpus)
        words = TextColumn.of(corpus.vocabulary.words if corpus else [])
        self._words.append((words, words.hashes()))
        if corpus is None:
            return PartAbout(CorpusSummary(0, 0, 0, 0, 0, 0), [0] * len(pieces))
        summary = corpus.summary.with_(notes=tuple(stage.renamed(note) for note in corpus.summary.notes))
        return PartAbout(summary, stage.rows(corpus.document_columns or {}, corpus.n_documents))

    def counts(self, bucket: int, buckets: int) -> CountedWords:
        """How often each word occurs in all parts, of one of `buckets` sets of words."""
        found = [CountedWords(TextColumn.of([]), np.zeros(0, np.int64))]
        for corpus, (words, hashes) in zip(self._parts, self._words, strict=True):
            if corpus is not None:
                places = np.flatnonzero(hashes % np.uint64(buckets) == bucket)
                counts = corpus.vocabulary.counts[places]
                found.append(CountedWords(CountedWords(words, counts).at(places), counts))
        return merge_counts(*found)

    def renumbered(self, part: int, vocabulary: Vocabulary) -> EncodedPart:
        """A part in the words of the whole text."""
        corpus, (words, hashes) = self._parts[part], self._words[part]
        if corpus is None:
            none = np.zeros(0, np.int32)
            return EncodedPart(none, np.zeros(0, np.int64), np.zeros(0, np.uint64), none, {}, 0)
        numbers = vocabulary.ids_of(words)
        folder = self._folder / "renumbered"
        with rewrite([Part(corpus, numbers, np.arange(corpus.n_documents))], vocabulary, folder) as new:
            ids, lengths = np.array(new.ids), np.diff(new.offsets)
        shutil.rmtree(folder)
        dropped = np.flatnonzero(numbers[corpus.ids] < 0)
        rows = np.searchsorted(corpus.offsets, dropped, "right") - 1
        before = np.diff(corpus.offsets)
        columns = {name: np.array(array) for name, array in (corpus.document_columns or {}).items()}
        return EncodedPart(
            ids,
            lengths,
            hashes[corpus.ids[dropped]],
            rows.astype(np.int32),
            columns,
            int(np.count_nonzero((before > 0) & (lengths == 0))),
        )

    def forget(self) -> None:
        """Remove what was read; the documents are kept elsewhere by now."""
        for number, corpus in enumerate(self._parts):
            if corpus is not None:
                corpus.close()
            shutil.rmtree(self._folder / f"part-{number}", ignore_errors=True)
        self._parts, self._words = [], []
