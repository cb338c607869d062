"""A source that the workers read: in parts, counted everywhere at once, and numbered alike in the end."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from spherevec.config import default_min_count
from spherevec.corpus import EncodedCorpus, Vocabulary
from spherevec.corpus.count import encoded
from spherevec.corpus.count.encoded import finish_corpus, write_numbers
from spherevec.corpus.count.summary import CorpusSummary
from spherevec.corpus.count.vocabulary import MOST_WORDS, CountedWords, RareCounts, RareWords, choose_words
from spherevec.corpus.read.options import ReadOptions
from spherevec.corpus.table.records import Arrays, joined_columns
from spherevec.corpus.tokenize.tokenizer import TokenizerLike, tokenizer_of
from spherevec.distributed.cluster import WorkerPool, threads_a_worker
from spherevec.distributed.exchange import Layout
from spherevec.distributed.pieces import Piece, find_parts, source_columns
from spherevec.distributed.worker import EncodedPart, PartAbout
from spherevec.errors import ConfigError, CorpusError
from spherevec.storage.os_errors import explain_os_errors
from spherevec.storage.tensors import write_tensors
from spherevec.storage.text_column import TextColumn

BUCKET = 1_000_000  # words that are counted at a time: no process holds all


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
    splitter = tokenizer_of(tokenizer).with_elisions("keep")
    # Part p is read by worker p modulo their number, round by round.
    rounds = [parts[start : start + pool.workers] for start in range(0, len(parts), pool.workers)]
    arguments = splitter, threads_a_worker(pool.ray, pool.workers), reading
    abouts: list[PartAbout] = []
    for done, some in enumerate(rounds, 1):
        abouts += _read_round(pool, some, arguments)
        if progress:
            progress(done, len(rounds))
    read = [about.summary for about in abouts]
    raw_tokens = sum(one.tokens for one in read)
    min_count = default_min_count(raw_tokens) if min_count is None else min_count
    buckets = max(1, -(-sum(one.distinct_words or 0 for one in read) // BUCKET))
    counted = (
        choose(CountedWords.merged(pool.do("counts", bucket, buckets))[0], min_count) for bucket in range(buckets)
    )
    vocabulary, rare_counts, distinct = vocabulary_of(counted, min_count, max_vocab)
    sent = pool.put(vocabulary)
    renumbered = (pool.do("renumber", step, sent, logged=True)[: len(some)] for step, some in enumerate(rounds))
    n_tokens, n_unknown, tables = _write_parts(folder, chain.from_iterable(renumbered))
    with explain_os_errors(writing=folder, kind=CorpusError):
        rare_counts.save(folder / encoded.RARE_COUNTS)
        columns = joined_columns(tables, reading.kept)
        columns |= source_columns(columns, parts, [about.rows for about in abouts])
        write_tensors(folder / encoded.DOCUMENTS, columns)
    summary = CorpusSummary.total(
        read,
        unknown_documents=n_unknown,
        dropped_tokens=raw_tokens - n_tokens,
        distinct_words=distinct,
        kept_words=len(vocabulary),
        min_count=min_count,
        notes=(*notes, *(note for one in read for note in one.notes)),
    )
    finish_corpus(folder, vocabulary, splitter, n_tokens, summary.documents, summary)
    corpus = EncodedCorpus.open(folder)
    corpus.tokenizer, corpus.reading = splitter, reading.remembered
    return corpus, Layout(pool.workers, [one.documents for one in read])


def _read_round(pool: WorkerPool, parts: Sequence[list[Piece]], arguments: Sequence[Any]) -> list[PartAbout]:
    def step(number: int) -> Any:
        return pool.call(number, "read_part", parts[number] if number < len(parts) else [], *arguments)

    return pool.ask(step, again=step)[: len(parts)]


def _write_parts(folder: Path, parts: Iterable[EncodedPart]) -> tuple[int, int, list[tuple[int, Arrays]]]:
    """Write the numbers of all parts on the driver's machine, as if that had read the text.

    Returns how many tokens there are, how many documents without a known word, and the table of each part.
    """
    folder.mkdir(parents=True, exist_ok=True)
    n_documents = n_unknown = 0
    tables: list[tuple[int, Arrays]] = []

    def blocks(rare: RareWords) -> Iterator[tuple[NDArray[np.int32], NDArray[np.int64]]]:
        nonlocal n_documents, n_unknown
        for part in parts:
            rare.add(np.ascontiguousarray(part.hashes), (part.rows + n_documents).astype(np.int32))
            tables.append((len(part.lengths), part.columns))
            n_documents += len(part.lengths)
            n_unknown += part.unknown
            yield part.ids, np.cumsum(part.lengths)

    with RareWords(folder) as rare:
        n_tokens, _ = write_numbers(folder, blocks(rare))
        rare.write(folder / encoded.RARE)
    return n_tokens, n_unknown, tables
