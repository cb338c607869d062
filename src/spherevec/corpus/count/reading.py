"""Portions of plain text into tables of words, on one or more threads, and the table of documents beside them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from spherevec.corpus.count.spill import Spill, SpilledBlock, SpilledLines
from spherevec.corpus.count.wordtable import WordTable
from spherevec.corpus.read.limits import Budget
from spherevec.corpus.read.portions import Notebook, Portion, check_end
from spherevec.corpus.read.readers import Source
from spherevec.corpus.read.streams import not_valid
from spherevec.threads import in_order


class InvalidTextError(Exception):
    """Bytes that are not UTF-8: the line of the portion, counted from 0, and the byte."""

    def __init__(self, line: int, byte: int, path: Path, encoding: str) -> None:
        super().__init__(line, byte)
        self.line, self.byte, self.path, self.encoding = line, byte, path, encoding


class PortionRead(NamedTuple):
    """What became of a portion."""

    portion: Portion
    blocks: list[SpilledBlock]
    lines: list[SpilledLines]  # the beginnings of its documents
    documents: int
    empty: int  # of them
    size: int  # bytes of text
    found: Notebook


def read_portion(portion: Portion, table: WordTable, spill: Spill, keep_text: int, size: int) -> PortionRead:
    """Read, check, count and number the words of a portion; called from several threads at once.

    Args:
        keep_text: characters to keep of each document, 0 for none.
        size: bytes of a block, about.
    """
    from spherevec.corpus.read.survey_kernel import survey
    from spherevec.storage.text_kernel import line_beginnings

    found, counted, lines = Notebook(), list[SpilledBlock](), list[SpilledLines]()
    documents = empty = total = 0
    taken, fresh = portion.taken, portion.fresh
    for block in portion.blocks(size, found):
        data = np.frombuffer(block, np.uint8)
        newlines, empty_lines, bad = survey(data)
        if bad >= 0:
            path = found.sources[-1].item.path
            raise InvalidTextError(documents + newlines, int(data[bad]), path, portion.encoding)
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
    keep_text = records.columns.keep_text if records is not None else 0
    counted: list[SpilledBlock] = []
    lines_before = text_before = 0  # of the file that the last portion ended in

    def work(worker: int, portion: Portion) -> PortionRead:
        return read_portion(portion, tables[worker], spills[worker], keep_text, size)

    reads = in_order(portions, work, len(tables))
    while True:
        try:
            read = next(reads, None)
        except InvalidTextError as error:
            raise not_valid(error.path, lines_before + error.line + 1, error.encoding, error.byte) from None
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
