"""Count and encode a corpus: the text is read once, and memory holds no more of it than its distinct words.

Blocks of text go to worker threads. Each worker numbers words in a table of its own and spills the numbers to a file.
At the end the tables are merged, the final numbers are chosen, and the spilled blocks are renumbered in the order of
the text, so the result does not depend on the number of threads.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from spherevec.config import default_min_count
from spherevec.corpus.count import encoded
from spherevec.corpus.count.encoded import EncodedCorpus, Ends, Ids, add_phrases, finish_corpus, write_numbers
from spherevec.corpus.count.summary import LONG_WORD, CorpusSummary, numbers_share, unspaced_share, warnings_about
from spherevec.corpus.count.vocabulary import CountedWords, RareCounts, RareWords, Vocabulary, choose_words
from spherevec.corpus.count.word_table import WordTable, merge_tables, renumbered, tables_and_batches
from spherevec.corpus.read.options import ReadOptions
from spherevec.corpus.read.readers import Source, open_source
from spherevec.corpus.read.streams import BLOCK_SIZE
from spherevec.corpus.tokenize.characters import BREAK_BIT, ID_MASK
from spherevec.corpus.tokenize.tokenizer import TOKENS, Tokenizer, TokenizerLike, tokenizer_of
from spherevec.errors import ConfigError, CorpusError
from spherevec.process import files_to_spare
from spherevec.storage.os_errors import explain_os_errors
from spherevec.threads import in_order

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


def _write(opened: Source, counted: _CountedText, how: EncodeOptions, folder: Path, stack: ExitStack) -> EncodedCorpus:
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
        n_tokens, n_documents = write_numbers(folder, numbered, breaks=marks)
        vocabulary = words.result()
    summary = CorpusSummary(
        n_documents, counted.n_empty, counted.n_unknown, raw_tokens, raw_tokens - counted.n_kept,
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


@contextmanager
def new_folder(folder: Path) -> Iterator[None]:
    """Create `folder`, or take it if it is empty; should the block fail, leave things as they were."""
    with explain_os_errors(writing=folder, kind=CorpusError):
        existed = folder.exists()
        folder.mkdir(parents=True, exist_ok=True)
        if any(folder.iterdir()):
            raise CorpusError(f"{folder}: is not empty; choose a new folder for the encoded corpus")
        if not os.access(folder, os.W_OK | os.X_OK):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
    try:
        yield
    except BaseException:
        with suppress(OSError):  # the folder may be gone, and that is what went wrong
            for path in folder.iterdir():
                path.unlink()
            if not existed:
                folder.rmdir()
        raise


class SpilledBlock(NamedTuple):
    """Where one block lies: `n_ids` int32 and then `n_ends` int64 at `position` of a worker's file."""

    worker: int
    position: int
    n_ids: int
    n_ends: int
    broken: bool  # whether punctuation stands behind the last word


class Spill:
    """One worker's file: it alone writes, any thread may read; removed on leaving the context."""

    def __init__(self, folder: Path, worker: int) -> None:
        self._folder, self._path, self._worker = folder, folder / f"spill-{worker}.bin", worker
        with explain_os_errors(writing=folder, kind=CorpusError):
            self._file = self._path.open("wb")

    def append(self, ids: Ids, ends: Ends, broken: bool) -> SpilledBlock:
        position = self._file.tell()
        with explain_os_errors(writing=self._folder, kind=CorpusError):
            self._file.write(ids.data)
            self._file.write(ends.data)
            self._file.flush()
        return SpilledBlock(self._worker, position, len(ids), len(ends), broken)

    def read(self, block: SpilledBlock) -> tuple[Ids, Ends]:
        with explain_os_errors(writing=self._folder, kind=CorpusError):
            ids = np.fromfile(self._path, np.int32, block.n_ids, offset=block.position)
            ends = np.fromfile(self._path, np.int64, block.n_ends, offset=block.position + ids.nbytes)
        if len(ids) + len(ends) < block.n_ids + block.n_ends:
            raise CorpusError(f"{self._path}: was cut short by somebody else; choose another folder")
        return ids, ends

    def __enter__(self) -> Spill:
        return self

    def __exit__(self, *error: object) -> None:
        with suppress(OSError):  # on a full disk, closing tries to write; the folder goes with all that is in it
            self._file.close()
        with suppress(OSError):
            self._path.unlink(missing_ok=True)


class _Numbered(NamedTuple):
    """A block with its final ids, apart from what the block before it decides."""

    ids: Ids
    ends: Ends
    n_raw: int  # words before the rare ones were dropped
    raw_ends: Ends
    last_is_dropped: bool
    rare: npt.NDArray[np.uint64]  # hashes of its dropped words
    rare_rows: npt.NDArray[np.int64]  # the documents that these stand in, counted from the first of the block


class _CountedText:
    """A text that is counted and spilled.

    Args:
        spilled: its blocks, in the order of the text.
        words: its distinct words.
        places: for each worker, where its words are among all; None where there is one worker only.

    Attributes:
        hashes: 64 bits for each word.
        n_kept: how many words were kept; this and the others once all blocks were numbered.
        n_empty, n_unknown: how many documents have no words, and how many none that is kept.
    """

    def __init__(
        self, spilled: Sequence[SpilledBlock], spills: Sequence[Spill], words: CountedWords, places: list[Ids] | None
    ) -> None:
        self.spilled, self._spills, self.words, self._places = spilled, spills, words, places
        self.hashes = words.words.hashes()
        self.n_kept = self.n_empty = self.n_unknown = 0

    def numbered(self, numbers: Ids, rare: RareWords, *, marks: bool, threads: int) -> Iterator[tuple[Ids, Ends]]:
        """The blocks in the order of the text, with their final ids.

        Args:
            numbers: (distinct words,) the id of each, -1 for those that are dropped, which `rare` gets.
            marks: keep the marks of punctuation.
        """
        of_workers = [numbers] if self._places is None else [numbers[places] for places in self._places]

        def work(_: int, spilled: SpilledBlock) -> _Numbered:
            raw_ids, raw_ends = self._spills[spilled.worker].read(spilled)
            own = of_workers[spilled.worker]
            ids, ends = renumbered(raw_ids, raw_ends, own, marks)
            raw_ids &= ID_MASK
            dropped = np.flatnonzero(own[raw_ids] < 0)
            words = raw_ids[dropped] if self._places is None else self._places[spilled.worker][raw_ids[dropped]]
            last_is_dropped = len(dropped) > 0 and int(dropped[-1]) == len(raw_ids) - 1
            rows = np.searchsorted(raw_ends, dropped, "right")
            return _Numbered(ids, ends, len(raw_ids), raw_ends, last_is_dropped, self.hashes[words], rows)

        n_documents = raw_length = length = 0  # the latter two of the document that the last block ended in
        broken = True  # punctuation or a dropped word stands at the end of the last block
        for spilled, block in zip(self.spilled, in_order(self.spilled, work, threads), strict=True):
            if marks and broken and len(block.ids):
                block.ids[0] |= BREAK_BIT
            broken = spilled.broken or block.last_is_dropped or (broken and not block.n_raw)
            raw_bounds, bounds = np.append(-raw_length, block.raw_ends), np.append(-length, block.ends)
            raw_length, length = block.n_raw - int(raw_bounds[-1]), len(block.ids) - int(bounds[-1])
            empty = np.diff(raw_bounds) == 0
            self.n_empty += int(np.count_nonzero(empty))
            self.n_unknown += int(np.count_nonzero(~empty & (np.diff(bounds) == 0)))
            self.n_kept += len(block.ids)
            rare.add(block.rare, (n_documents + block.rare_rows).astype(np.int32))
            n_documents += len(block.ends)
            yield block.ids, block.ends


def _count(
    opened: Source, how: EncodeOptions, folder: Path, stack: ExitStack, report: Callable[[], object]
) -> _CountedText:
    """Read, count and spill a source; the spills are removed with `stack`."""
    tables, batches = tables_and_batches(opened, tokenizer_of(how.tokenizer), how.workers, how.block_size)
    spills = [stack.enter_context(Spill(folder, worker)) for worker in range(len(tables))]

    def work(worker: int, batch: Any) -> SpilledBlock:
        return spills[worker].append(*tables[worker].feed(batch))

    spilled = []
    for block in in_order(batches, work, len(tables)):
        spilled.append(block)
        report()
    if len(tables) == 1:
        return _CountedText(spilled, spills, tables[0].counted(), None)
    return _CountedText(spilled, spills, *merge_tables([table for table in tables if isinstance(table, WordTable)]))


def _looks(counted: _CountedText) -> dict[str, Any]:
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
