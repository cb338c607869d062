"""A source that the workers read: in parts, counted everywhere at once, and numbered alike in the end."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from spherevec.config import default_min_count
from spherevec.corpus import EncodedCorpus
from spherevec.corpus.options import ReadOptions
from spherevec.corpus.tokenizer import TokenizerLike, tokenizer_of
from spherevec.distributed.cluster import threads_a_worker
from spherevec.distributed.counting import BUCKET, choose, merge_counts, merged_as_a_tree, vocabulary_of
from spherevec.distributed.crew import Crew
from spherevec.distributed.gathering import gather
from spherevec.distributed.layout import Layout
from spherevec.distributed.parts import Piece, find_parts
from spherevec.distributed.reading import EncodedPart, PartAbout
from spherevec.errors import ConfigError


def read_on_workers(
    crew: Crew,
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
    parts = find_parts(source, crew.workers, reading.get("encoding", "utf-8"), notes)
    if parts is None:
        return None
    if ids is not False:
        raise ConfigError("ids= is for Python objects; files have fields: name one (id_field=NAME)")
    splitter = tokenizer_of(tokenizer)
    workers = crew.workers
    rounds = [parts[start : start + workers] for start in range(0, len(parts), workers)]
    how = (splitter, threads_a_worker(crew.ray, workers), reading)

    def pieces(number: int, step: int) -> list[Piece]:
        return rounds[step][number] if number < len(rounds[step]) else []

    done = 0

    def read_again(number: int) -> None:
        for step in range(done):
            crew.ray.get(crew.call(number, "read_part", pieces(number, step), *how))

    def read(number: int) -> Any:
        return crew.call(number, "read_part", pieces(number, done), *how)

    crew.bring_up = read_again
    abouts: list[PartAbout] = []
    for step in range(len(rounds)):
        abouts += crew.ask(read)[: len(rounds[step])]
        done += 1
        if progress:
            progress(done, len(rounds))
    distinct = sum(about.summary.distinct_words or 0 for about in abouts)
    if min_count is None:
        min_count = default_min_count(sum(about.summary.tokens for about in abouts))
    chosen = _counted(crew, max(1, -(-distinct // BUCKET)), min_count)
    vocabulary, rare, total = vocabulary_of(chosen, min_count, max_vocab)
    sent = crew.put(vocabulary)

    numbered = 0

    def encoded() -> Iterator[EncodedPart]:
        nonlocal numbered
        for numbered, some in enumerate(rounds):
            yield from crew.do("renumber", numbered, sent)[: len(some)]

    def renumber_again(number: int) -> None:
        read_again(number)
        for step in range(numbered):
            crew.ray.get(crew.call(number, "renumber", step, sent))

    crew.bring_up = renumber_again
    notes += [note for about in abouts for note in about.summary.notes]
    figures = {"min_count": min_count, "distinct_words": total, "notes": notes}
    keep = ReadOptions(**reading).kept
    corpus = gather(folder, encoded(), abouts, parts, vocabulary, rare, splitter, figures, keep)
    sizes = [about.summary.documents for about in abouts]
    return corpus, Layout(workers, sizes)


def _counted(crew: Crew, buckets: int, min_count: int) -> Iterator[Any]:
    """What is left of each bucket of words, one after the other."""
    for bucket in range(buckets):
        counts = crew.do("counts", bucket, buckets)
        total = merged_as_a_tree(counts, lambda number, *parts: crew.merge(number, merge_counts, *parts))
        yield crew.ray.get(crew.merge(bucket, choose, total, min_count))
