"""Count and encode a corpus: the text is read once, and memory holds no more of it than its distinct words.

Blocks of text go to worker threads. Each worker numbers words in a table of its own and spills the numbers to a file.
At the end the tables are merged, the final numbers are chosen, and the spilled blocks are renumbered in the order of
the text, so the result does not depend on the number of threads.
"""

from __future__ import annotations

import json
import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from spherevec.corpus import encoded
from spherevec.corpus.counting import Table, count, tables_and_batches
from spherevec.corpus.encoded import EncodedCorpus
from spherevec.corpus.marks import BREAK_BIT, ID_MASK, Fed
from spherevec.corpus.options import ReadOptions
from spherevec.corpus.rare import RareWords
from spherevec.corpus.rare_counts import RareCounts
from spherevec.corpus.readers import Document, open_documents, open_source
from spherevec.corpus.spill import Spill, SpilledBlock, new_folder, writable
from spherevec.corpus.streams import BLOCK_SIZE
from spherevec.corpus.summary import LONG_WORD, CorpusSummary, unspaced_share, warnings_about
from spherevec.corpus.tokenizer import TOKENS, Tokenizer, TokenizerLike, tokenizer_of
from spherevec.corpus.vocabulary import Vocabulary, choose_words
from spherevec.corpus.writing import NumberedBlock, add_phrases, write_numbers
from spherevec.errors import ConfigError
from spherevec.process import files_to_spare

_WORDS_LOOKED_AT = 100_000  # for warnings about what words look like


def encode(
    source: Any,
    folder: str | os.PathLike[str],
    *,
    min_count: int = 5,
    max_vocab: int | None = None,
    tokenizer: TokenizerLike = "words",
    phrases: bool = False,
    threads: int = 1,
    progress: Callable[[int, int | None], object] | None = None,
    _block_size: int = BLOCK_SIZE,
    **reading: Any,
) -> EncodedCorpus:
    """Count and encode a corpus into `folder`, and open it.

    Args:
        source: a text file with one document a line; a folder of text files, web pages or mails, one document each; a
            table (.csv, .tsv, .jsonl, .json, .parquet); each but the last may be compressed (.gz, .xz, .zst). A pattern
            (`logs/*.txt`), a list of `Path` objects, or "-" for standard input. A data frame, an iterable of texts or
            of lists of words, of (id, text) pairs with `ids=True`, of records with `text_field`.
        folder: where to put the encoded corpus; new or empty.
        min_count: leave out words that occur less often.
        max_vocab: keep at most this many of the most frequent words.
        tokenizer: "words", "words-0.1", "whitespace", a name with options, or a function from a string to its words.
        phrases: also find multi-word terms, which become entries of the vocabulary.
        threads: how many to use; the result is the same for any number.
        progress: called now and then, from the calling thread, with the bytes of the source that are done and their
            total, None where that is not known.
        **reading: the fields of `ReadOptions`: text_field, id_field, title_field, keep, keep_text, delimiter, encoding,
            ids.
    """
    tokenizer = tokenizer_of(tokenizer)
    for name, value, low in (("min_count", min_count, 1), ("max_vocab", max_vocab, 2), ("threads", threads, 1)):
        if value is not None and value < low:
            raise ConfigError(f"{name} must be at least {low}, not {value!r}")
    options = ReadOptions(**reading)
    folder = Path(folder)
    with new_folder(folder), ExitStack() as stack:
        opened = open_source(source, options, _block_size, records_in=folder)
        records = stack.enter_context(opened.records) if opened.records else None
        # Each worker keeps a file open; the result is the same for any number of them.
        workers = min(threads, files_to_spare())
        tables, batches = tables_and_batches(opened, tokenizer, workers, _block_size)

        def report() -> None:
            if progress:
                progress(opened.meter.done, opened.meter.total)

        spills = [stack.enter_context(Spill(folder, worker)) for worker in range(len(tables))]
        spilled = count(batches, tables, spills, report)
        numbers_in_first = _merge(tables)
        vocabulary, numbers = choose_words(tables[0].counts, tables[0].words_at, min_count, max_vocab)
        worker_numbers = [numbers, *(numbers[in_first] for in_first in numbers_in_first)]
        if opened.documents is not None:
            tokenizer = Tokenizer(TOKENS)
        rare = stack.enter_context(RareWords(folder))
        numbered = _Numbered(spilled, spills, worker_numbers, tables, rare, marks=phrases)
        n_words = len(vocabulary)
        if phrases:
            vocabulary, n_tokens, n_documents = add_phrases(folder, numbered, vocabulary, min_count, max_vocab, threads)
        else:
            n_tokens, n_documents = write_numbers(folder, numbered)
        raw_tokens = sum(block.n_ids for block in spilled)
        summary = CorpusSummary(
            n_documents, numbered.n_empty, numbered.n_unknown, raw_tokens, raw_tokens - numbered.n_kept,
            len(tables[0].counts), n_words, min_count, tuple(opened.notes),
        )  # fmt: skip
        if len(vocabulary) > n_words:
            summary = summary.with_(notes=(*summary.notes, f"{len(vocabulary) - n_words:,} phrases found"))
        with writable(folder):
            rare.write(folder / encoded.RARE)
            RareCounts.left_out(tables[0].counts, numbers, tables[0].words_at).save(folder / encoded.RARE_COUNTS)
            if records:
                records.write(folder / encoded.DOCUMENTS)
        about = {
            "format": encoded.FORMAT,
            "tokenizer": tokenizer.description(),
            "phrases": phrases,
            "raw_tokens": raw_tokens,
            "n_tokens": n_tokens,
            "n_documents": n_documents,
            "summary": summary.with_(warnings=_warnings(summary, tables[0], tokenizer)).as_dict(),
        }
        write_words(folder, about, vocabulary)
    corpus = EncodedCorpus.open(folder)
    corpus.tokenizer = tokenizer  # with the user's function, which no file holds
    return corpus


def encode_texts(
    texts: Iterable[Document], vocabulary: Vocabulary, tokenizer: TokenizerLike = "words"
) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """New documents in the words of a given vocabulary, in memory.

    Returns:
        ids (words,), offsets (documents + 1,), and how many words of each document are unknown (documents,).
    """
    tokenizer = tokenizer_of(tokenizer)
    documents = iter(texts)
    try:
        first = next(documents)
    except StopIteration:
        return np.zeros(0, np.int32), np.zeros(1, np.int64), np.zeros(0, np.int64)
    source = open_documents(chain([first], documents))
    (table,), batches = tables_and_batches(source, tokenizer, 1, BLOCK_SIZE)
    fed = [table.feed(batch) for batch in batches]
    words = table.words_at(np.arange(len(table.counts)))
    numbers = np.array([vocabulary.word_to_id.get(word, -1) for word in words], np.int32)

    finder = vocabulary.phrase_finder
    new_ids, offsets, unknown = [np.zeros(0, np.int32)], [np.zeros(1, np.int64)], [np.zeros(0, np.int64)]
    for ids, ends in _whole_documents(fed):
        kept, kept_ends = _renumbered(ids, ends, numbers, finder is not None)
        bounds = np.concatenate([[0], kept_ends])
        unknown.append(np.diff(ends, prepend=0) - np.diff(bounds))
        if finder is not None:
            kept, bounds, _ = finder.apply(kept, bounds)
        offsets.append(bounds[1:] + offsets[-1][-1])
        new_ids.append(kept)
    return np.concatenate(new_ids), np.concatenate(offsets), np.concatenate(unknown)


def _whole_documents(fed: Sequence[Fed]) -> list[tuple[npt.NDArray[np.int32], npt.NDArray[np.int64]]]:
    """All blocks as one, since a long document may lie in several."""
    marked = list(_with_marks((block.ids, block.broken, False) for block in fed))
    before = np.cumsum([0, *(len(block.ids) for block in fed)])
    ends = [block.ends + start for block, start in zip(fed, before, strict=False)]
    return [(np.concatenate(marked), np.concatenate(ends))]


def _with_marks(
    blocks: Iterable[tuple[npt.NDArray[np.int32], bool, bool]],
) -> Iterator[npt.NDArray[np.int32]]:
    """The ids of blocks, the first of each marked where punctuation or a dropped word stands at the end of the last.

    Args:
        blocks: ids; whether punctuation stands behind the last word; whether that word will be dropped.
    """
    broken = True
    for ids, ends_broken, last_is_dropped in blocks:
        if len(ids) and broken:
            ids = ids.copy()
            ids[0] |= BREAK_BIT
        broken = ends_broken or last_is_dropped or (broken and not len(ids))
        yield ids


def _merge(tables: Sequence[Table]) -> list[npt.NDArray[np.int32]]:
    """Bring all words into the first table; returns the numbers there of the words of each other table."""
    from spherevec.corpus.wordtable import WordTable

    first, *others = tables
    return [first.absorb(other) for other in others if isinstance(first, WordTable) and isinstance(other, WordTable)]


def _renumbered(
    ids: npt.NDArray[np.int32], ends: npt.NDArray[np.int64], numbers: npt.NDArray[np.int32], marks: bool
) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int64]]:
    from spherevec.corpus import tokenizer_kernel as kernel

    new_ids = np.empty(len(ids) + 1, np.int32)  # one more, where the kernel puts a dropped last word
    new_ends = np.empty_like(ends)
    return new_ids[: kernel.renumber(ids, ends, numbers, marks, new_ids, new_ends)], new_ends


class _Numbered:
    """The spilled blocks in the order of the text, with their final ids.

    Attributes:
        n_kept: how many words were kept; this and the others once all blocks were asked for.
        n_empty, n_unknown: how many documents have no words, and how many none that is kept.
    """

    def __init__(
        self,
        spilled: Sequence[SpilledBlock],
        spills: Sequence[Spill],
        worker_numbers: Sequence[npt.NDArray[np.int32]],
        tables: Sequence[Table],
        rare: RareWords,
        marks: bool,
    ) -> None:
        self._spilled, self._spills, self._worker_numbers, self._marks = spilled, spills, worker_numbers, marks
        self._hashes = [table.hashes() for table in tables]
        self._rare = rare
        self._n_documents = 0
        self.n_kept = self.n_empty = self.n_unknown = 0

    def __iter__(self) -> Iterator[NumberedBlock]:
        raw_length = length = 0  # of the document that the last block ended in
        ends_of = deque[npt.NDArray[np.int64]]()

        def raw() -> Iterator[tuple[npt.NDArray[np.int32], bool, bool]]:
            for block in self._spilled:
                ids, ends = self._spills[block.worker].read(block)
                ends_of.append(ends)
                dropped = len(ids) > 0 and self._worker_numbers[block.worker][ids[-1] & ID_MASK] < 0
                yield ids, block.broken, bool(dropped)

        for block, raw_ids in zip(self._spilled, _with_marks(raw()), strict=True):
            raw_ends = ends_of.popleft()
            ids, ends = _renumbered(raw_ids, raw_ends, self._worker_numbers[block.worker], self._marks)
            raw_lengths, lengths = np.diff(raw_ends, prepend=-raw_length), np.diff(ends, prepend=-length)
            self.n_empty += int(np.count_nonzero(raw_lengths == 0))
            self.n_unknown += int(np.count_nonzero((raw_lengths > 0) & (lengths == 0)))
            self.n_kept += len(ids)
            self._add_rare(raw_ids & ID_MASK, raw_ends, block.worker)
            raw_length = len(raw_ids) - int(raw_ends[-1]) if len(raw_ends) else raw_length + len(raw_ids)
            length = len(ids) - int(ends[-1]) if len(ends) else length + len(ids)
            yield ids, ends

    def _add_rare(self, ids: npt.NDArray[np.int32], ends: npt.NDArray[np.int64], worker: int) -> None:
        """Note in which documents the dropped words of a block stand."""
        places = np.flatnonzero(self._worker_numbers[worker][ids] < 0)
        rows = self._n_documents + np.searchsorted(ends, places, "right")
        self._rare.add(self._hashes[worker][ids[places]], rows.astype(np.int32))
        self._n_documents += len(ends)


def _warnings(summary: CorpusSummary, table: Table, tokenizer: Tokenizer) -> tuple[str, ...]:
    """What looks wrong, by some of the distinct words, evenly taken."""
    counts = table.counts
    places = np.arange(0, len(counts), max(1, len(counts) // _WORDS_LOOKED_AT))
    words, share = table.words_at(places), len(counts) / max(len(places), 1)
    long = [(int(counts[place]), word) for place, word in zip(places, words, strict=True) if len(word) >= LONG_WORD]
    return tuple(
        warnings_about(
            summary,
            long_words=round(sum(count for count, _ in long) * share),
            longest=max(long, key=lambda one: len(one[1]))[1] if long else "",
            unspaced=unspaced_share(words, counts[places].tolist()),
            divided=tokenizer.divides_unspaced,
        )
    )


def write_words(folder: Path, about: dict[str, Any], vocabulary: Vocabulary) -> None:
    """Finish an encoded corpus: its words and counts, then what it is."""
    with writable(folder):
        (folder / encoded.WORDS).write_text(json.dumps(vocabulary.words, ensure_ascii=False), "utf-8")
        (folder / encoded.COUNTS).write_bytes(vocabulary.counts.astype(encoded.OFFSET_TYPE).tobytes())
        (folder / encoded.ABOUT).write_text(json.dumps(about, indent=1), "utf-8")
