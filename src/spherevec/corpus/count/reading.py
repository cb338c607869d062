"""Documents into tables of words on one or more threads, with the table of documents beside them."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from spherevec.corpus.count.spill import Spill, SpilledBlock, SpilledLines
from spherevec.corpus.count.vocabulary import CountedWords
from spherevec.corpus.count.word_table import WordTable
from spherevec.corpus.read.guard import Budget
from spherevec.corpus.read.portions import Portion, ReadStatistics, check_end
from spherevec.corpus.read.readers import Source
from spherevec.corpus.read.streams import not_valid, utf8
from spherevec.corpus.tokenize.blocks import TokenizedBlock
from spherevec.corpus.tokenize.tokenizer import Tokenizer
from spherevec.errors import CorpusError
from spherevec.storage.text_column import TextColumn
from spherevec.threads import in_order

_BYTES_A_WORD = 6  # roughly, to make batches of words about as large as blocks of text


class Table(Protocol):
    """Distinct words, numbered as they come: `WordTable` is fed blocks of text, `WordLists` lists of words."""

    @property
    def counts(self) -> npt.NDArray[np.int64]: ...

    def words_at(self, places: npt.NDArray[np.intp]) -> list[str]: ...

    def counted(self) -> CountedWords: ...

    def feed(self, batch: Any) -> TokenizedBlock: ...


class _Numbers(dict[str, int]):
    """The number of each word, given to it when it is first asked for."""

    def __missing__(self, word: object) -> int:
        if not isinstance(word, str):
            raise TypeError
        whole = utf8(word).decode()
        number = self[word] = len(self) if whole == word else self[whole]
        return number


class WordLists:
    """Distinct words of documents that are lists of words; empty strings are no words."""

    def __init__(self) -> None:
        self._numbers = _Numbers()
        self._n_documents = 0
        self.counts = np.zeros(0, np.int64)

    def words_at(self, places: npt.NDArray[np.intp]) -> list[str]:
        words = list(self._numbers)
        return [words[place] for place in places.tolist()]

    def counted(self) -> CountedWords:
        """All words, with their counts."""
        return CountedWords(TextColumn.of(self._numbers), self.counts)

    def feed(self, batch: Sequence[Iterable[str]]) -> TokenizedBlock:
        ids, ends = array("i"), array("q")
        for document in batch:
            self._n_documents += 1
            try:
                ids.extend(map(self._numbers.__getitem__, filter(None, document)))
            except TypeError:
                strange = next(repr(word) for word in document if not isinstance(word, str))
                place = f"document {self._n_documents - 1} (counted from 0)"
                raise CorpusError(f"{place}: {strange[:60]} is not a word; words are strings") from None
            ends.append(len(ids))
        numbers = np.frombuffer(ids, np.int32)
        counts = np.bincount(numbers, minlength=len(self._numbers))
        counts[: len(self.counts)] += self.counts
        self.counts = counts
        return TokenizedBlock(numbers, np.frombuffer(ends, np.int64), True)


def tables_and_batches(
    source: Source, tokenizer: Tokenizer, threads: int, size: int
) -> tuple[list[Table], Iterator[Any]]:
    """A table for each thread that can be of use, and what to feed them with."""
    if source.documents is not None:
        return [WordLists()], _batches(source.documents, size)
    if not tokenizer.compiled:
        function = tokenizer.needed_function()
        return [WordLists()], _batches((list(function(text)) for text in source.texts()), size)
    from spherevec.corpus.count.word_table import WordTable

    return [WordTable(tokenizer) for _ in range(threads)], source.blocks(size)


def _batches(documents: Iterable[Sequence[str]], size: int) -> Iterator[list[Sequence[str]]]:
    batch: list[Sequence[str]] = []
    n_words = 0
    for document in documents:
        batch.append(document)
        n_words += 1 + len(document)
        if n_words * _BYTES_A_WORD >= size:
            yield batch
            batch, n_words = [], 0
    if batch:
        yield batch


def count(
    batches: Iterable[Any], tables: Sequence[Table], spills: Sequence[Spill], report: Callable[[], object]
) -> list[SpilledBlock]:
    """Feed the tables, one thread and one spill each; returns the blocks in the order of the text."""

    def work(worker: int, batch: Any) -> SpilledBlock:
        return spills[worker].append(*tables[worker].feed(batch))

    counted = []
    for block in in_order(batches, work, len(tables)):
        counted.append(block)
        report()
    return counted


class InvalidTextError(Exception):
    """Bytes that are not UTF-8: the line of the portion, counted from 0, and the byte."""

    def __init__(self, line: int, byte: int, path: Path) -> None:
        super().__init__(line, byte)
        self.line, self.byte, self.path = line, byte, path


class PortionRead(NamedTuple):
    """What became of a portion."""

    portion: Portion
    blocks: list[SpilledBlock]
    lines: list[SpilledLines]  # the beginnings of its documents
    documents: int
    empty: int  # of them
    size: int  # bytes of text
    found: ReadStatistics


def read_portion(portion: Portion, table: WordTable, spill: Spill, keep_text: int, size: int) -> PortionRead:
    """Read, check, count and number the words of a portion; called from several threads at once.

    Args:
        keep_text: characters to keep of each document, 0 for none.
        size: bytes of a block, about.
    """
    from spherevec.corpus.read.survey_kernel import survey
    from spherevec.storage.text_kernel import line_beginnings

    found, counted, lines = ReadStatistics(), list[SpilledBlock](), list[SpilledLines]()
    documents = empty = total = 0
    taken, fresh = portion.taken, portion.fresh
    for block in portion.blocks(size, found):
        data = np.frombuffer(block, np.uint8)
        newlines, empty_lines, bad = survey(data)
        if bad >= 0:
            raise InvalidTextError(documents + newlines, int(data[bad]), found.sources[-1].item.path)
        documents += newlines
        empty += empty_lines - (not fresh and data[0] == 0x0A)
        total += len(data)
        if keep_text:
            out, ends = np.empty(len(data), np.uint8), np.empty(newlines, np.int64)
            filled, taken = line_beginnings(data, keep_text, taken, out, ends)
            lines.append(spill.append_lines(out[:filled], ends))
        counted.append(spill.append(*table.feed(block, newlines)))
        fresh = data[-1] == 0x0A
    if not portion.checked:
        found.sources[0].documents, found.sources[0].size = documents, total
    return PortionRead(portion, counted, lines, documents, empty, total, found)


def count_portions(
    portions: Iterable[Portion],
    source: Source,
    tables: Sequence[WordTable],
    spills: Sequence[Spill],
    size: int,
    report: Callable[[], object],
) -> list[SpilledBlock]:
    """Read portions with one table and one spill a thread; returns the blocks in the order of the text."""
    assert source.plain is not None
    records, budget, only = source.records, Budget(source.name), len(source.plain[0]) == 1
    keep_text = records.options.keep_text if records is not None else 0
    counted: list[SpilledBlock] = []
    lines_before = text_before = 0  # of the file that the last portion ended in

    def work(worker: int, portion: Portion) -> PortionRead:
        return read_portion(portion, tables[worker], spills[worker], keep_text, size)

    reads = in_order(portions, work, len(tables))
    while True:
        try:
            read = next(reads, None)
        except InvalidTextError as error:
            raise not_valid(error.path, lines_before + error.line + 1, "utf-8", error.byte) from None
        if read is None:
            return counted
        counted += read.blocks
        budget.add(read.documents, read.empty, read.size)
        ahead = 0
        for one in read.found.sources:
            if one.begins:
                lines_before = text_before = 0
                if records is not None:
                    records.begin_source(one.item.name, one.item.whole, ahead)
            ahead += one.documents
            lines_before += one.documents
            text_before += one.size
            if one.ends:
                note = check_end(one, text_before, only, read.portion)
                source.notes += [note] if note else []
        if records is not None:
            for some in read.lines:
                records.add_beginnings(*spills[some.worker].read_lines(some))
            if not keep_text:
                records.add_beginnings(np.zeros(0, np.uint8), np.zeros(read.documents, np.int64))
        source.notes += read.found.notes
        source.meter.done += read.found.meter.done
        report()
