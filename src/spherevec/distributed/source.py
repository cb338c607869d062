"""A source that the workers read: in parts, counted everywhere at once, and numbered alike in the end."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from spherevec.config import default_min_count
from spherevec.corpus import EncodedCorpus, Vocabulary
from spherevec.corpus.count import encoded
from spherevec.corpus.count.rare import RareWords
from spherevec.corpus.count.summary import CorpusSummary
from spherevec.corpus.count.writing import finish_corpus
from spherevec.corpus.read.options import ReadOptions
from spherevec.corpus.read.pieces import Piece, find_parts, source_columns
from spherevec.corpus.table.records import Arrays, columns_role, joined_columns
from spherevec.corpus.tokenize.tokenizer import Tokenizer, TokenizerLike, tokenizer_of
from spherevec.distributed.cluster import threads_a_worker
from spherevec.distributed.counting import BUCKET, choose, merge_counts, merged_as_a_tree, vocabulary_of
from spherevec.distributed.layout import Layout
from spherevec.distributed.reading import EncodedPart, PartAbout
from spherevec.distributed.worker_pool import WorkerPool
from spherevec.errors import ConfigError, CorpusError
from spherevec.storage.os_errors import explain_os_errors
from spherevec.storage.tensors import write_tensors


def read_on_workers(
    pool: WorkerPool,
    source: Any,
    folder: Path,
    *,
    min_count: int | None,
    max_vocab: int | None,
    tokenizer: TokenizerLike,
    reading: ReadOptions,
    progress: Callable[[int, int | None], object] | None = None,
) -> tuple[EncodedCorpus, Layout] | None:
    """Encode a source on the workers, which keep what they have read; None where the driver had better read it.

    The arguments are those of `spherevec.corpus.encode`. The corpus in `folder` is a copy on the driver's machine.
    """
    notes: list[str] = []
    parts = find_parts(source, pool.workers, reading.encoding, notes)
    if parts is None:
        return None
    if reading.has_ids:
        raise ConfigError("ids= is for Python objects; files have fields: name one (id_field=NAME)")
    splitter = tokenizer_of(tokenizer)
    reader = _SourceReader(pool, parts, splitter, reading)
    abouts = reader.read(progress)
    read = [about.summary for about in abouts]
    raw_tokens = sum(one.tokens for one in read)
    min_count = default_min_count(raw_tokens) if min_count is None else min_count
    buckets = max(1, -(-sum(one.distinct_words or 0 for one in read) // BUCKET))
    vocabulary, rare_counts, distinct = vocabulary_of(reader.counted(buckets, min_count), min_count, max_vocab)
    written = _write_parts(folder, reader.renumbered(vocabulary))
    with explain_os_errors(writing=folder, kind=CorpusError):
        rare_counts.save(folder / encoded.RARE_COUNTS)
        columns = joined_columns(written.tables, reading.kept)
        if columns_role(columns, 0) != "id":
            columns |= source_columns(parts, [about.rows for about in abouts])
        write_tensors(folder / encoded.DOCUMENTS, columns)
    summary = CorpusSummary(
        written.n_documents,
        sum(one.empty for one in read),
        written.n_unknown,
        raw_tokens,
        raw_tokens - written.n_tokens,
        distinct,
        len(vocabulary),
        min_count,
        (*notes, *(note for one in read for note in one.notes)),
    )
    finish_corpus(folder, vocabulary, splitter, written.n_tokens, written.n_documents, summary)
    corpus = EncodedCorpus.open(folder)
    corpus.tokenizer, corpus.reading = splitter, reading.remembered
    return corpus, Layout(pool.workers, [one.documents for one in read])


class _SourceReader:
    """Reads the parts of a source on the workers: part p on worker p modulo their number, round by round."""

    def __init__(
        self, pool: WorkerPool, parts: Sequence[list[Piece]], tokenizer: Tokenizer, reading: ReadOptions
    ) -> None:
        self._pool = pool
        self._rounds = [parts[start : start + pool.workers] for start in range(0, len(parts), pool.workers)]
        self._arguments = (tokenizer, threads_a_worker(pool.ray, pool.workers), reading)
        self._read = self._renumbered = 0  # rounds that are done

    def read(self, progress: Callable[[int, int | None], object] | None) -> list[PartAbout]:
        """Have all parts read."""
        self._pool.bring_up = self._read_again
        abouts: list[PartAbout] = []
        for some in self._rounds:
            abouts += self._pool.ask(lambda number: self._read_part(number, self._read))[: len(some)]
            self._read += 1
            if progress:
                progress(self._read, len(self._rounds))
        return abouts

    def counted(self, buckets: int, min_count: int) -> Iterator[Any]:
        """What is left of each bucket of words, one after the other."""
        pool = self._pool
        for bucket in range(buckets):
            counts = pool.do("counts", bucket, buckets)
            total = merged_as_a_tree(counts, lambda number, *parts: pool.merge(number, merge_counts, *parts))
            yield pool.ray.get(pool.merge(bucket, choose, total, min_count))

    def renumbered(self, vocabulary: Vocabulary) -> Iterator[EncodedPart]:
        """The parts in the words of the whole text, which the workers keep, too."""
        sent = self._pool.put(vocabulary)

        def renumber_again(number: int) -> None:
            self._read_again(number)
            for step in range(self._renumbered):
                self._pool.ray.get(self._pool.call(number, "renumber", step, sent))

        self._pool.bring_up = renumber_again
        for step, some in enumerate(self._rounds):
            self._renumbered = step
            yield from self._pool.do("renumber", step, sent)[: len(some)]

    def _read_part(self, number: int, step: int) -> Any:
        pieces = self._rounds[step][number] if number < len(self._rounds[step]) else []
        return self._pool.call(number, "read_part", pieces, *self._arguments)

    def _read_again(self, number: int) -> None:
        for step in range(self._read):
            self._pool.ray.get(self._read_part(number, step))


class _Written(NamedTuple):
    """What was written of the parts of a text."""

    n_tokens: int
    n_documents: int
    n_unknown: int  # documents that have words, but none that is kept
    tables: list[tuple[int, Arrays]]  # of the documents of each part


def _write_parts(folder: Path, parts: Iterable[EncodedPart]) -> _Written:
    """Write the numbers of all parts on the driver's machine, as if that had read the text."""
    folder.mkdir(parents=True, exist_ok=True)
    n_tokens = n_documents = n_unknown = 0
    tables: list[tuple[int, Arrays]] = []
    with (
        RareWords(folder) as rare,
        explain_os_errors(writing=folder, kind=CorpusError),
        (folder / encoded.IDS).open("wb") as ids,
        (folder / encoded.OFFSETS).open("wb") as ends,
    ):
        ends.write(np.zeros(1, encoded.OFFSET_TYPE).data)
        for part in parts:
            ids.write(part.ids.astype(encoded.ID_TYPE, copy=False).data)
            ends.write((np.cumsum(part.lengths) + n_tokens).astype(encoded.OFFSET_TYPE).data)
            rare.add(np.ascontiguousarray(part.hashes), (part.rows + n_documents).astype(np.int32))
            tables.append((len(part.lengths), part.columns))
            n_tokens += len(part.ids)
            n_documents += len(part.lengths)
            n_unknown += part.unknown
        rare.write(folder / encoded.RARE)
    return _Written(n_tokens, n_documents, n_unknown, tables)
