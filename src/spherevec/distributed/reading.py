"""What a worker reads: its parts are encoded one by one with all their words, and renumbered when all are counted."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from spherevec.corpus import EncodedCorpus, Vocabulary, encode
from spherevec.corpus.rewriting import Part, rewrite
from spherevec.corpus.streams import COMPRESSED
from spherevec.distributed.counting import Counts
from spherevec.distributed.parts import Piece
from spherevec.distributed.staging import staged
from spherevec.errors import CorpusError
from spherevec.storage.text_column import TextColumn

_ENDINGS = {"text": ".txt", "html": ".html", "email": ".eml"}  # of files that are one document


class PartAbout(NamedTuple):
    """What the driver hears of a part that was read."""

    documents: int
    raw_tokens: int
    empty: int  # documents without words
    distinct: int  # words
    rows: list[int]  # documents of each piece
    notes: list[str]


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

    def read(self, pieces: list[Piece], tokenizer: Any, threads: int, reading: Mapping[str, Any]) -> PartAbout:
        """Read a part: all its words are kept for now, each under a number of this part."""
        stage = self._folder / "stage"
        stage.mkdir(exist_ok=True)
        number = len(self._parts)
        paths: list[Path | None] = []
        try:
            paths += [staged(piece, stage, place) for place, piece in enumerate(pieces)]
            there = [path for path in paths if path is not None]
            corpus = None
            if there:
                given = given_paths([piece for piece, path in zip(pieces, paths, strict=True) if path], there, stage)
                target = self._folder / f"part-{number}"
                shutil.rmtree(target, ignore_errors=True)
                corpus = encode(given, target, min_count=1, tokenizer=tokenizer, threads=threads, **reading)
        except CorpusError as error:
            named = {str(path): piece.title for piece, path in zip(pieces, paths, strict=False) if path is not None}
            raise CorpusError(_renamed(str(error), named)) from None
        finally:
            shutil.rmtree(stage, ignore_errors=True)
        self._parts.append(corpus)
        if corpus is None:
            self._words.append((TextColumn.of([]), np.zeros(0, np.uint64)))
            return PartAbout(0, 0, 0, 0, [0] * len(pieces), [])
        words = TextColumn.of(corpus.vocabulary.words)
        self._words.append((words, words.hashes()))
        rows = iter(_rows_of_sources(corpus, len(there)))
        notes = [_renamed(note, dict(zip(map(str, there), (piece.name for piece in pieces), strict=False)))
                 for note in corpus.summary.notes]  # fmt: skip
        return PartAbout(
            corpus.n_documents,
            corpus.raw_tokens,
            corpus.summary.empty,
            len(corpus.vocabulary),
            [0 if path is None else next(rows) for path in paths],
            notes,
        )

    def counts(self, bucket: int, buckets: int) -> Counts:
        """How often each word occurs in all parts, of one of `buckets` sets of words."""
        total: dict[str, int] = {}
        for corpus, (words, hashes) in zip(self._parts, self._words, strict=True):
            if corpus is None:
                continue
            for place in np.flatnonzero(hashes % np.uint64(buckets) == bucket).tolist():
                word = words[place]
                total[word] = total.get(word, 0) + int(corpus.vocabulary.counts[place])
        return Counts.of(total)

    def renumbered(self, part: int, vocabulary: Vocabulary) -> EncodedPart:
        """A part in the words of the whole text."""
        corpus, (words, hashes) = self._parts[part], self._words[part]
        if corpus is None:
            none = np.zeros(0, np.int32)
            return EncodedPart(none, np.zeros(0, np.int64), np.zeros(0, np.uint64), none, {}, 0)
        numbers = np.array([vocabulary.word_to_id.get(word, -1) for word in words], np.int32)
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


def given_paths(pieces: list[Piece], paths: list[Path], stage: Path) -> list[Path]:
    """Files of many documents as they are; those that are one document each in a folder, which says so."""
    given: list[Path] = []
    for number, (piece, path) in enumerate(zip(pieces, paths, strict=True)):
        if not piece.whole:
            given.append(path)
            continue
        if not given or given[-1].parent != stage or not given[-1].is_dir():
            given.append(stage / f"folder-{number:09}")
            given[-1].mkdir()
        packed = path.suffix.lower() if path.suffix.lower() in COMPRESSED else ""
        (given[-1] / f"{number:09}{_ENDINGS[piece.kind]}{packed}").symlink_to(path.absolute())
    return given


def _rows_of_sources(corpus: EncodedCorpus, sources: int) -> list[int]:
    """How many documents each file of a part has; 0 but for the first where that is not known, nor asked for."""
    columns = corpus.document_columns or {}
    if "sources.rows" in columns and len(columns["sources.rows"]) == sources:
        edges = [*columns["sources.rows"].tolist(), corpus.n_documents]
        return [last - first for first, last in pairwise(edges)]
    return [corpus.n_documents] + [0] * (sources - 1)


def _renamed(message: str, names: Mapping[str, str]) -> str:
    for path, name in names.items():
        message = message.replace(path, name)
    return message
