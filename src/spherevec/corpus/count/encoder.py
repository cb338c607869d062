"""Count and encode a corpus: the text is read once, and memory holds no more of it than its distinct words.

Blocks of text go to worker threads. Each worker numbers words in a table of its own and spills the numbers to a file.
At the end the tables are merged, the final numbers are chosen, and the spilled blocks are renumbered in the order of
the text, so the result does not depend on the number of threads.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from spherevec.config import default_min_count
from spherevec.corpus.count import encoded
from spherevec.corpus.count.encoded import EncodedCorpus
from spherevec.corpus.count.reading import (
    NumberedBlocks,
    Spill,
    SpilledBlock,
    count,
    new_folder,
    tables_and_batches,
)
from spherevec.corpus.count.summary import LONG_WORD, CorpusSummary, numbers_share, unspaced_share, warnings_about
from spherevec.corpus.count.vocabulary import CountedWords, RareCounts, RareWords, Vocabulary, choose_words
from spherevec.corpus.count.word_table import WordTable, merge_tables
from spherevec.corpus.count.writing import add_phrases, finish_corpus, write_numbers
from spherevec.corpus.read.options import ReadOptions
from spherevec.corpus.read.readers import Source, open_source
from spherevec.corpus.read.streams import BLOCK_SIZE
from spherevec.corpus.tokenize.tokenizer import TOKENS, Tokenizer, TokenizerLike, tokenizer_of
from spherevec.errors import ConfigError, CorpusError
from spherevec.process import files_to_spare
from spherevec.storage.os_errors import explain_os_errors

_WORDS_LOOKED_AT = 10_000  # for warnings about what words look like


@dataclass(frozen=True)
class EncodeOptions:
    """How to count and encode a corpus that is read.

    Args:
        min_count: leave out words that occur less often; by default as `TrainConfig` says.
        max_vocab: keep at most this many of the most frequent words.
        tokenizer: "words", "whitespace", a name with options, or a function from a string to its words.
        phrases: also find multi-word terms, which become entries of the vocabulary.
        breaks: keep where punctuation stands, so that the phrases of another vocabulary can be found (`rewrite`).
        threads: how many to use; the result is the same for any number.
        block_size: bytes to read at a time.
    """

    min_count: int | None = None
    max_vocab: int | None = None
    tokenizer: TokenizerLike = "words"
    phrases: bool = False
    breaks: bool = False
    threads: int = 1
    block_size: int = BLOCK_SIZE

    def __post_init__(self) -> None:
        for name, low in (("min_count", 1), ("max_vocab", 2), ("threads", 1)):
            value = getattr(self, name)
            if value is not None and value < low:
                raise ConfigError(f"{name} must be at least {low}, not {value!r}")
        if self.phrases and self.breaks:
            raise ConfigError("breaks are kept of a text without phrases of its own; give one of phrases and breaks")

    @property
    def workers(self) -> int:
        """Each worker keeps two files open; the result is the same for any number of them."""
        return min(self.threads, max(1, files_to_spare() // 2))


def encode(
    source: Any,
    folder: str | os.PathLike[str],
    *,
    progress: Callable[[int, int | None], object] | None = None,
    **options: Any,
) -> EncodedCorpus:
    """Count and encode a corpus into `folder`, and open it.

    Args:
        source: a text file with one document a line; a folder of text files, web pages or mails, one document each; a
            table (.csv, .tsv, .jsonl, .json, .parquet, .xlsx, .ods); all but the last three may be compressed (.gz,
            .xz, .zst). A pattern (`logs/*.txt`), a list of `Path` objects, or "-" for standard input. A data frame, an
            iterable of texts or of lists of words, of (id, text) pairs with `ids=True`, of records with `text_field`.
        folder: where to put the encoded corpus; new or empty.
        progress: called now and then, from the calling thread, with the bytes of the source that are done and their
            total, None where that is not known.
        **options: fields of `EncodeOptions` (min_count, tokenizer, threads, …) and of `ReadOptions` (text_field,
            id_field, keep, …), or `reading`, a `ReadOptions`.
    """
    reading, others = ReadOptions.split(options)
    how = EncodeOptions(**others)
    how = replace(how, tokenizer=tokenizer_of(how.tokenizer))
    folder = Path(folder)
    with new_folder(folder), ExitStack() as stack:
        opened = open_source(source, reading, how.block_size, records_in=folder)
        if opened.records:
            stack.enter_context(opened.records)

        def report() -> None:
            if progress:
                progress(opened.meter.done, opened.meter.total)

        counted = _count(opened, how, folder, stack, report)
        if opened.documents is not None:
            how = replace(how, tokenizer=Tokenizer(TOKENS))
        corpus = _write(opened, counted, how, folder, stack)
    corpus.tokenizer = tokenizer_of(how.tokenizer)  # with the user's function, which no file holds
    corpus.reading = reading.remembered
    return corpus


def _write(opened: Source, counted: _Counted, how: EncodeOptions, folder: Path, stack: ExitStack) -> EncodedCorpus:
    """Choose the words, and write a counted text in them."""
    raw_tokens = sum(block.n_ids for block in counted.spilled)
    min_count = default_min_count(raw_tokens) if how.min_count is None else how.min_count
    chosen, numbers = choose_words(counted.words, min_count, how.max_vocab)
    # What is kept beside the ids is made and written while these are renumbered.
    background = stack.enter_context(ThreadPoolExecutor(1, thread_name_prefix="spherevec"))
    rare_counts = folder / encoded.RARE_COUNTS
    tasks = [background.submit(lambda: RareCounts.left_out(counted.words, numbers).save(rare_counts))]
    if opened.records:
        tasks.append(background.submit(opened.records.write, folder / encoded.DOCUMENTS))
    rare = stack.enter_context(RareWords(folder))
    numbered = counted.numbered(numbers, rare, marks=how.phrases or how.breaks, threads=how.workers)
    looks = background.submit(_looks, counted)
    words = background.submit(lambda: Vocabulary(list(counted.words.at(chosen)), counted.words.counts[chosen]))
    notes = opened.notes
    if how.phrases:
        vocabulary, n_tokens, n_documents = add_phrases(
            folder, numbered, words.result(), min_count, how.max_vocab, how.threads
        )
        notes = [*notes, f"{len(vocabulary) - len(chosen):,} phrases found"] if len(vocabulary) > len(chosen) else notes
    else:
        marks = encoded.BREAKS if how.breaks else None
        n_tokens, n_documents = write_numbers(folder, numbered, breaks=marks, threads=2 if how.workers > 2 else 1)
        vocabulary = words.result()
    summary = CorpusSummary(
        n_documents, numbered.n_empty, numbered.n_unknown, raw_tokens, raw_tokens - numbered.n_kept,
        len(counted.words.counts), len(chosen), min_count, tuple(notes),
    )  # fmt: skip
    with explain_os_errors(writing=folder, kind=CorpusError):
        rare.write(folder / encoded.RARE, how.workers)
        for task in tasks:
            task.result()
    tokenizer = tokenizer_of(how.tokenizer)
    warnings = warnings_about(summary, **looks.result(), divided=tokenizer.divides_unspaced)
    summary = summary.with_(warnings=tuple(warnings))
    about = finish_corpus(folder, vocabulary, tokenizer, n_tokens, n_documents, summary)
    return EncodedCorpus(folder, about, vocabulary)  # what was written a moment ago needs no check


class _Counted:
    """A text that is counted and spilled.

    Attributes:
        words: its distinct words.
        hashes: 64 bits for each.
    """

    def __init__(
        self,
        spilled: Sequence[SpilledBlock],
        spills: Sequence[Spill],
        words: CountedWords,
        places: list[npt.NDArray[np.int32]] | None,
    ) -> None:
        self.spilled, self._spills, self.words, self._places = spilled, spills, words, places
        self.hashes = words.words.hashes()

    def numbered(self, numbers: npt.NDArray[np.int32], rare: RareWords, *, marks: bool, threads: int) -> NumberedBlocks:
        """The blocks with their final ids; `numbers`, (distinct words,), says which."""
        of_tables = [numbers] if self._places is None else [numbers[places] for places in self._places]
        return NumberedBlocks(self.spilled, self._spills, of_tables, self._places, self.hashes, rare, marks, threads)


def _count(
    opened: Source, how: EncodeOptions, folder: Path, stack: ExitStack, report: Callable[[], object]
) -> _Counted:
    """Read, count and spill a source; the spills are removed with `stack`."""
    tables, batches = tables_and_batches(opened, tokenizer_of(how.tokenizer), how.workers, how.block_size)
    spills = [stack.enter_context(Spill(folder, worker)) for worker in range(len(tables))]
    spilled = count(batches, tables, spills, report)
    if len(tables) == 1:
        return _Counted(spilled, spills, tables[0].counted(), None)
    words, places = merge_tables([table for table in tables if isinstance(table, WordTable)])
    return _Counted(spilled, spills, words, places)


def _looks(counted: _Counted) -> dict[str, Any]:
    """What words look like, by some of the distinct ones and some of the long ones; see `warnings_about`."""
    words, counts = counted.words.words, counted.words.counts
    places, _ = _some(np.arange(len(counts)), counted.hashes)
    candidates, share = _some(np.flatnonzero(np.diff(words.offsets) >= LONG_WORD), counted.hashes)
    found = zip(counts[candidates].tolist(), counted.words.at(candidates), strict=True)
    long = [(count, word) for count, word in found if len(word) >= LONG_WORD]
    names, often = list(counted.words.at(places)), counts[places].tolist()
    return {
        "long_words": round(sum(count for count, _ in long) * share),
        "longest": max(long, key=lambda one: (len(one[1]), one[1]))[1] if long else "",
        "unspaced": unspaced_share(names, often),
        "numbers": numbers_share(names, often),
    }


def _some(places: npt.NDArray[np.intp], hashes: npt.NDArray[np.uint64]) -> tuple[npt.NDArray[np.intp], float]:
    """Of many words some, chosen by their hashes, and how many stand behind each."""
    every = max(1, len(places) // _WORDS_LOOKED_AT)
    chosen = places[hashes[places] % np.uint64(every) == 0]
    return chosen, len(places) / max(len(chosen), 1)
