"""A source that the workers read: in parts, counted everywhere at once, and numbered alike in the end."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from spherevec.config import default_min_count
from spherevec.corpus import EncodedCorpus, Vocabulary
from spherevec.corpus.count import encoded
from spherevec.corpus.count.rare import RareCounts, RareWords
from spherevec.corpus.count.summary import CorpusSummary
from spherevec.corpus.count.writing import write_words
from spherevec.corpus.read.options import ReadOptions
from spherevec.corpus.read.pieces import Piece, find_parts, source_columns
from spherevec.corpus.table.records import Arrays, KeptField, columns_role, joined_columns
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
    threads: int,
    progress: Callable[[int, int | None], object] | None = None,
    phrases: bool = False,
    ids: Any = False,
    **reading: Any,
) -> tuple[EncodedCorpus, Layout] | None:
    """Encode a source on the workers, which keep what they have read; None where the driver had better read it.

    The arguments are those of `spherevec.corpus.encode`. The corpus in `folder` is a copy on the driver's machine.
    """
    assert not phrases
    notes: list[str] = []
    parts = find_parts(source, pool.workers, reading.get("encoding", "auto"), notes)
    if parts is None:
        return None
    if ids is not False:
        raise ConfigError("ids= is for Python objects; files have fields: name one (id_field=NAME)")
    splitter = tokenizer_of(tokenizer)
    workers = pool.workers
    rounds = [parts[start : start + workers] for start in range(0, len(parts), workers)]
    how = (splitter, threads_a_worker(pool.ray, workers), reading)

    def pieces(number: int, step: int) -> list[Piece]:
        return rounds[step][number] if number < len(rounds[step]) else []

    done = 0

    def read_again(number: int) -> None:
        for step in range(done):
            pool.ray.get(pool.call(number, "read_part", pieces(number, step), *how))

    def read(number: int) -> Any:
        return pool.call(number, "read_part", pieces(number, done), *how)

    pool.bring_up = read_again
    abouts: list[PartAbout] = []
    for step in range(len(rounds)):
        abouts += pool.ask(read)[: len(rounds[step])]
        done += 1
        if progress:
            progress(done, len(rounds))
    distinct = sum(about.summary.distinct_words or 0 for about in abouts)
    if min_count is None:
        min_count = default_min_count(sum(about.summary.tokens for about in abouts))
    chosen = _counted(pool, max(1, -(-distinct // BUCKET)), min_count)
    vocabulary, rare, total = vocabulary_of(chosen, min_count, max_vocab)
    sent = pool.put(vocabulary)

    numbered = 0

    def numbered_parts() -> Iterator[EncodedPart]:
        nonlocal numbered
        for numbered, some in enumerate(rounds):
            yield from pool.do("renumber", numbered, sent)[: len(some)]

    def renumber_again(number: int) -> None:
        read_again(number)
        for step in range(numbered):
            pool.ray.get(pool.call(number, "renumber", step, sent))

    pool.bring_up = renumber_again
    notes += [note for about in abouts for note in about.summary.notes]
    figures = {"min_count": min_count, "distinct_words": total, "notes": notes}
    keep = ReadOptions(**reading).kept
    corpus = _gather(folder, numbered_parts(), abouts, parts, vocabulary, rare, splitter, figures, keep)
    sizes = [about.summary.documents for about in abouts]
    return corpus, Layout(workers, sizes)


def _counted(pool: WorkerPool, buckets: int, min_count: int) -> Iterator[Any]:
    """What is left of each bucket of words, one after the other."""
    for bucket in range(buckets):
        counts = pool.do("counts", bucket, buckets)
        total = merged_as_a_tree(counts, lambda number, *parts: pool.merge(number, merge_counts, *parts))
        yield pool.ray.get(pool.merge(bucket, choose, total, min_count))


def _gather(
    folder: Path,
    parts: Iterable[EncodedPart],
    abouts: Sequence[PartAbout],
    pieces: Sequence[Sequence[Piece]],
    vocabulary: Vocabulary,
    rare_counts: RareCounts,
    tokenizer: Tokenizer,
    figures: Mapping[str, Any],
    keep: Sequence[KeptField],
) -> EncodedCorpus:
    """Write an encoded corpus on the driver's machine, as if that had read the text.

    Args:
        parts: in the order of the text.
        figures: `min_count`, `distinct_words` and `notes`.
        keep: further fields of the documents.
    """
    folder.mkdir(parents=True, exist_ok=True)
    n_tokens = n_documents = unknown = 0
    tables: list[tuple[int, Arrays]] = []
    with RareWords(folder) as rare:
        with (
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
                unknown += part.unknown
        with explain_os_errors(writing=folder, kind=CorpusError):
            rare.write(folder / encoded.RARE)
            rare_counts.save(folder / encoded.RARE_COUNTS)
            columns = joined_columns(tables, keep)
            if columns_role(columns, 0) != "id":
                columns |= source_columns(pieces, [about.rows for about in abouts])
            write_tensors(folder / encoded.DOCUMENTS, columns)
    raw_tokens = sum(about.summary.tokens for about in abouts)
    summary = CorpusSummary(
        n_documents,
        sum(about.summary.empty for about in abouts),
        unknown,
        raw_tokens,
        raw_tokens - n_tokens,
        figures["distinct_words"],
        len(vocabulary),
        figures["min_count"],
        tuple(figures["notes"]),
    )
    about = {
        "format": encoded.FORMAT,
        "tokenizer": tokenizer.description(),
        "phrases": False,
        "raw_tokens": raw_tokens,
        "n_tokens": n_tokens,
        "n_documents": n_documents,
        "summary": summary.as_dict(),
    }
    write_words(folder, about, vocabulary)
    corpus = EncodedCorpus.open(folder)
    corpus.tokenizer = tokenizer
    return corpus
