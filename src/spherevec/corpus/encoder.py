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
from spherevec.corpus.readers import BLOCK_SIZE, Document, open_source
from spherevec.corpus.spill import Spill, SpilledBlock, new_folder, writable
from spherevec.corpus.tokenizer import Tokenizer, check_tokenizer
from spherevec.corpus.vocabulary import Vocabulary, choose_words
from spherevec.errors import ConfigError


def encode(
    source: str | os.PathLike[str] | Iterable[Document],
    folder: str | os.PathLike[str],
    *,
    min_count: int = 5,
    max_vocab: int | None = None,
    tokenizer: Tokenizer = "words",
    text_field: str | None = None,
    encoding: str = "utf-8",
    threads: int = 1,
    progress: Callable[[int, int | None], object] | None = None,
    _block_size: int = BLOCK_SIZE,
) -> EncodedCorpus:
    """Count and encode a corpus into `folder`, and open it.

    Args:
        source: a text file with one document a line; a folder of text files, one document each; a .jsonl, .csv or
            .parquet file; any but the last may be compressed (.gz, .xz, .zst). Or an iterable of strings or of lists of
            words.
        folder: where to put the encoded corpus; new or empty.
        min_count: leave out words that occur less often.
        max_vocab: keep at most this many of the most frequent words.
        tokenizer: "words", "whitespace", or a function from a string to its words.
        text_field: the column of a table that holds the text.
        encoding: how the text is written as bytes.
        threads: how many to use; the result is the same for any number.
        progress: called now and then, from the calling thread, with the bytes of the source that are done and their
            total, None where that is not known.
    """
    check_tokenizer(tokenizer)
    for name, value, low in (("min_count", min_count, 1), ("max_vocab", max_vocab, 2), ("threads", threads, 1)):
        if value is not None and value < low:
            raise ConfigError(f"{name} must be at least {low}, not {value!r}")
    opened = open_source(source, text_field, encoding, _block_size)
    tables, batches = tables_and_batches(opened, tokenizer, threads, _block_size)

    def report() -> None:
        if progress:
            progress(opened.meter.done, opened.meter.total)

    folder = Path(folder)
    with new_folder(folder), ExitStack() as stack:
        spills = [stack.enter_context(Spill(folder, worker)) for worker in range(len(tables))]
        spilled = count(batches, tables, spills, report)
        numbers_in_first = _merge(tables)
        vocabulary, numbers = choose_words(tables[0].counts, tables[0].words_at, min_count, max_vocab)
        worker_numbers = [numbers, *(numbers[in_first] for in_first in numbers_in_first)]
        n_tokens, n_documents = _write_numbers(folder, spilled, spills, worker_numbers)
        about = {
            "format": encoded.FORMAT,
            "tokenizer": "tokens" if opened.documents is not None else "custom" if callable(tokenizer) else tokenizer,
            "raw_tokens": sum(block.n_ids for block in spilled),
            "n_tokens": n_tokens,
            "n_documents": n_documents,
            "named": opened.document_names is not None,
        }
        _write_words(folder, about, vocabulary, opened.document_names)
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
    (table,), batches = tables_and_batches(open_source(chain([first], documents)), tokenizer, 1, BLOCK_SIZE)
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
) -> tuple[int, int]:
    """Renumber the spilled blocks in the order of the text; returns how many words and documents were written."""
    n_tokens, n_documents = 0, 0
    with (
        writable(folder),
        (folder / encoded.IDS).open("wb") as ids_file,
        (folder / encoded.OFFSETS).open("wb") as ends_file,
    ):
        ends_file.write(np.zeros(1, encoded.OFFSET_TYPE).data)
        for block in spilled:
            ids, ends = _renumbered(*spills[block.worker].read(block), worker_numbers[block.worker])
            ids_file.write(ids.astype(encoded.ID_TYPE, copy=False).data)
            ends_file.write((ends + n_tokens).astype(encoded.OFFSET_TYPE, copy=False).data)
            n_tokens += len(ids)
            n_documents += len(ends)
    return n_tokens, n_documents


def _write_words(folder: Path, about: dict[str, Any], vocabulary: Vocabulary, names: list[str] | None) -> None:
    with writable(folder):
        (folder / encoded.WORDS).write_text(json.dumps(vocabulary.words, ensure_ascii=False), "utf-8")
        (folder / encoded.COUNTS).write_bytes(vocabulary.counts.astype(encoded.OFFSET_TYPE).tobytes())
        if names is not None:
            (folder / encoded.NAMES).write_text(json.dumps(names), "utf-8")
        (folder / encoded.ABOUT).write_text(json.dumps(about, indent=1), "utf-8")
