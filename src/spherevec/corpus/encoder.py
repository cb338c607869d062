"""Count and encode a corpus: the text is read once, and memory holds no more of it than its distinct words.

Blocks of text go to worker threads. Each worker numbers words in a table of its own and spills the numbers to a file.
At the end the tables are merged, the final numbers are chosen, and the spilled blocks are renumbered in the order of
the text, so the result does not depend on the number of threads.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from spherevec.corpus import encoded
from spherevec.corpus.counting import Table, count, tables_and_batches
from spherevec.corpus.encoded import EncodedCorpus
from spherevec.corpus.options import ReadOptions
from spherevec.corpus.readers import Document, Source, open_documents, open_source
from spherevec.corpus.spill import Spill, SpilledBlock, new_folder, writable
from spherevec.corpus.streams import BLOCK_SIZE
from spherevec.corpus.summary import LONG_WORD, CorpusSummary, unspaced_share, warnings_about
from spherevec.corpus.tokenizer import Tokenizer, check_tokenizer
from spherevec.corpus.vocabulary import Vocabulary, choose_words
from spherevec.errors import ConfigError

_WORDS_LOOKED_AT = 100_000  # for warnings about what words look like


def encode(
    source: Any,
    folder: str | os.PathLike[str],
    *,
    min_count: int = 5,
    max_vocab: int | None = None,
    tokenizer: Tokenizer = "words",
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
        tokenizer: "words", "whitespace", or a function from a string to its words.
        threads: how many to use; the result is the same for any number.
        progress: called now and then, from the calling thread, with the bytes of the source that are done and their
            total, None where that is not known.
        **reading: the fields of `ReadOptions`: text_field, id_field, title_field, keep, keep_text, delimiter, encoding,
            ids.
    """
    check_tokenizer(tokenizer)
    for name, value, low in (("min_count", min_count, 1), ("max_vocab", max_vocab, 2), ("threads", threads, 1)):
        if value is not None and value < low:
            raise ConfigError(f"{name} must be at least {low}, not {value!r}")
    options = ReadOptions(**reading)
    folder = Path(folder)
    with new_folder(folder), ExitStack() as stack:
        opened = open_source(source, options, _block_size, records_in=folder)
        records = stack.enter_context(opened.records) if opened.records else None
        tables, batches = tables_and_batches(opened, tokenizer, threads, _block_size)

        def report() -> None:
            if progress:
                progress(opened.meter.done, opened.meter.total)

        spills = [stack.enter_context(Spill(folder, worker)) for worker in range(len(tables))]
        spilled = count(batches, tables, spills, report)
        numbers_in_first = _merge(tables)
        vocabulary, numbers = choose_words(tables[0].counts, tables[0].words_at, min_count, max_vocab)
        worker_numbers = [numbers, *(numbers[in_first] for in_first in numbers_in_first)]
        n_tokens, n_documents, n_empty, n_unknown = _write_numbers(folder, spilled, spills, worker_numbers)
        raw_tokens = sum(block.n_ids for block in spilled)
        summary = CorpusSummary(
            n_documents, n_empty, n_unknown, raw_tokens, raw_tokens - n_tokens,
            len(tables[0].counts), len(vocabulary), min_count, tuple(opened.notes),
        )  # fmt: skip
        if records:
            with writable(folder):
                records.write(folder / encoded.DOCUMENTS)
        about = {
            "format": encoded.FORMAT,
            "tokenizer": "tokens" if opened.documents is not None else "custom" if callable(tokenizer) else tokenizer,
            "raw_tokens": raw_tokens,
            "n_tokens": n_tokens,
            "n_documents": n_documents,
            "summary": summary.with_(warnings=_warnings(summary, tables[0], opened)).as_dict(),
        }
        _write_words(folder, about, vocabulary)
    return EncodedCorpus.open(folder)


def encode_texts(
    texts: Iterable[Document], vocabulary: Vocabulary, tokenizer: Tokenizer = "words"
) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """New documents in the words of a given vocabulary, in memory.

    Returns:
        ids (words,), offsets (documents + 1,), and how many words of each document are unknown (documents,).
    """
    check_tokenizer(tokenizer)
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

    new_ids, offsets, raw_offsets = [], [np.zeros(1, np.int64)], [np.zeros(1, np.int64)]
    n_raw, n_new = 0, 0
    for ids, ends in fed:
        kept, kept_ends = _renumbered(ids, ends, numbers)
        new_ids.append(kept)
        offsets.append(kept_ends + n_new)
        raw_offsets.append(ends + n_raw)
        n_raw += len(ids)
        n_new += len(kept)
    unknown: npt.NDArray[np.int64] = np.diff(np.concatenate(raw_offsets) - np.concatenate(offsets))
    return np.concatenate(new_ids), np.concatenate(offsets), unknown


def _merge(tables: Sequence[Table]) -> list[npt.NDArray[np.int32]]:
    """Bring all words into the first table; returns the numbers there of the words of each other table."""
    from spherevec.corpus.wordtable import WordTable

    first, *others = tables
    return [first.absorb(other) for other in others if isinstance(first, WordTable) and isinstance(other, WordTable)]


def _renumbered(
    ids: npt.NDArray[np.int32], ends: npt.NDArray[np.int64], numbers: npt.NDArray[np.int32]
) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int64]]:
    from spherevec.corpus import tokenizer_kernel as kernel

    new_ids = np.empty(len(ids) + 1, np.int32)  # one more, where the kernel puts a dropped last word
    new_ends = np.empty_like(ends)
    return new_ids[: kernel.renumber(ids, ends, numbers, new_ids, new_ends)], new_ends


def _write_numbers(
    folder: Path,
    spilled: Iterable[SpilledBlock],
    spills: Sequence[Spill],
    worker_numbers: Sequence[npt.NDArray[np.int32]],
) -> tuple[int, int, int, int]:
    """Renumber the spilled blocks in the order of the text.

    Returns:
        how many words and documents were written, how many documents had no words, and how many none that is kept.
    """
    n_tokens, n_documents, n_empty, n_unknown = 0, 0, 0, 0
    raw_length = length = 0  # of the document that the last block ended in
    with (
        writable(folder),
        (folder / encoded.IDS).open("wb") as ids_file,
        (folder / encoded.OFFSETS).open("wb") as ends_file,
    ):
        ends_file.write(np.zeros(1, encoded.OFFSET_TYPE).data)
        for block in spilled:
            raw_ids, raw_ends = spills[block.worker].read(block)
            ids, ends = _renumbered(raw_ids, raw_ends, worker_numbers[block.worker])
            raw_lengths, lengths = np.diff(raw_ends, prepend=-raw_length), np.diff(ends, prepend=-length)
            n_empty += int(np.count_nonzero(raw_lengths == 0))
            n_unknown += int(np.count_nonzero((raw_lengths > 0) & (lengths == 0)))
            raw_length = len(raw_ids) - int(raw_ends[-1]) if len(raw_ends) else raw_length + len(raw_ids)
            length = len(ids) - int(ends[-1]) if len(ends) else length + len(ids)
            ids_file.write(ids.astype(encoded.ID_TYPE, copy=False).data)
            ends_file.write((ends + n_tokens).astype(encoded.OFFSET_TYPE, copy=False).data)
            n_tokens += len(ids)
            n_documents += len(ends)
    return n_tokens, n_documents, n_empty, n_unknown


def _warnings(summary: CorpusSummary, table: Table, source: Source) -> tuple[str, ...]:
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
            split=source.documents is None,
        )
    )


def _write_words(folder: Path, about: dict[str, Any], vocabulary: Vocabulary) -> None:
    with writable(folder):
        (folder / encoded.WORDS).write_text(json.dumps(vocabulary.words, ensure_ascii=False), "utf-8")
        (folder / encoded.COUNTS).write_bytes(vocabulary.counts.astype(encoded.OFFSET_TYPE).tobytes())
        (folder / encoded.ABOUT).write_text(json.dumps(about, indent=1), "utf-8")
