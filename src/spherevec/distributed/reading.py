"""A source that the workers read: in parts, counted everywhere at once, and numbered alike in the end."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from spherevec.config import default_min_count
from spherevec.corpus import EncodedCorpus, Vocabulary, encode
from spherevec.corpus.count import encoded
from spherevec.corpus.count.encoded import Part, finish_corpus, rewrite
from spherevec.corpus.count.summary import CorpusSummary
from spherevec.corpus.count.vocabulary import MOST_WORDS, CountedWords, RareCounts, RareWords, choose_words
from spherevec.corpus.read.options import ReadOptions
from spherevec.corpus.read.pieces import Piece, find_parts, source_columns, staged_pieces
from spherevec.corpus.table.records import Arrays, joined_columns
from spherevec.corpus.tokenize.tokenizer import TokenizerLike, tokenizer_of
from spherevec.distributed.cluster import threads_a_worker
from spherevec.distributed.layout import Layout
from spherevec.errors import ConfigError, CorpusError
from spherevec.storage.os_errors import explain_os_errors
from spherevec.storage.tensors import write_tensors
from spherevec.storage.text_column import TextColumn

if TYPE_CHECKING:
    from spherevec.distributed.worker_pool import WorkerPool

BUCKET = 1_000_000  # words that are counted at a time: no process holds all


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
    """Reads parts into a folder of the worker's machine, with all their words; numbers them when all are counted."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._parts: list[EncodedCorpus | None] = []
        self._words: list[tuple[TextColumn, NDArray[np.uint64]]] = []

    def read_part(self, pieces: list[Piece], tokenizer: Any, threads: int, reading: ReadOptions) -> PartAbout:
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
        return merge_counts(found)

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
        rows = (np.searchsorted(corpus.offsets, dropped, "right") - 1).astype(np.int32)
        columns = {name: np.array(array) for name, array in (corpus.document_columns or {}).items()}
        unknown = int(np.count_nonzero((np.diff(corpus.offsets) > 0) & (lengths == 0)))
        return EncodedPart(ids, lengths, hashes[corpus.ids[dropped]], rows, columns, unknown)

    def forget_parts(self) -> None:
        """Remove what was read; the documents are kept elsewhere by now."""
        for number, corpus in enumerate(self._parts):
            if corpus is not None:
                corpus.close()
            shutil.rmtree(self._folder / f"part-{number}", ignore_errors=True)
        self._parts, self._words = [], []


def merge_counts(parts: Sequence[CountedWords]) -> CountedWords:
    """The sum of several counts."""
    total: dict[str, int] = {}
    for part in parts:
        for word, count in zip(part.words, part.counts.tolist(), strict=True):
            total[word] = total.get(word, 0) + count
    return CountedWords(TextColumn.of(total), np.fromiter(total.values(), np.int64, len(total)))


def choose(counted: CountedWords, min_count: int) -> tuple[CountedWords, int]:
    """What is needed of a bucket: the words that are kept, the most frequent of the others, and how many there were."""
    often = counted.counts >= min_count
    others = counted.ranked(np.flatnonzero(~often))[:MOST_WORDS]
    places = np.concatenate([np.flatnonzero(often), others])
    return CountedWords(counted.at(places), counted.counts[places]), len(counted.counts)


def vocabulary_of(
    buckets: Iterable[tuple[CountedWords, int]], min_count: int, max_vocab: int | None
) -> tuple[Vocabulary, RareCounts, int]:
    """The vocabulary of a text whose words were counted in buckets, its rare words, and how many distinct it has."""
    chosen, sizes = zip(*buckets, strict=True)
    words = TextColumn.of(word for bucket in chosen for word in bucket.words)
    counted = CountedWords(words, np.concatenate([bucket.counts for bucket in chosen]))
    places, numbers = choose_words(counted, min_count, max_vocab)
    vocabulary = Vocabulary(list(counted.at(places)), counted.counts[places])
    return vocabulary, RareCounts.left_out(counted, numbers), sum(sizes)


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
    reader = _SourceReader(pool, parts, splitter, threads_a_worker(pool.ray, pool.workers), reading)
    abouts = reader.read(progress)
    read = [about.summary for about in abouts]
    raw_tokens = sum(one.tokens for one in read)
    min_count = default_min_count(raw_tokens) if min_count is None else min_count
    buckets = max(1, -(-sum(one.distinct_words or 0 for one in read) // BUCKET))
    counted = (choose(merge_counts(pool.do("counts", bucket, buckets)), min_count) for bucket in range(buckets))
    vocabulary, rare_counts, distinct = vocabulary_of(counted, min_count, max_vocab)
    written = _write_parts(folder, reader.renumbered(vocabulary))
    with explain_os_errors(writing=folder, kind=CorpusError):
        rare_counts.save(folder / encoded.RARE_COUNTS)
        columns = joined_columns(written.tables, reading.kept)
        columns |= source_columns(columns, parts, [about.rows for about in abouts])
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
    """Has parts read: part p by worker p modulo their number, round by round.

    Args:
        arguments: of `PartReader.read_part`, besides the pieces.
    """

    def __init__(self, pool: WorkerPool, parts: Sequence[list[Piece]], *arguments: Any) -> None:
        self._pool, self._arguments = pool, arguments
        self._rounds = [parts[start : start + pool.workers] for start in range(0, len(parts), pool.workers)]
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
