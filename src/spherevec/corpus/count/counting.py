"""Number the words of a corpus in the order of their first occurrence, and count them, on one or more threads."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from spherevec.corpus.count.ranking import CountedWords
from spherevec.corpus.count.spill import Spill, SpilledBlock
from spherevec.corpus.read.readers import Source
from spherevec.corpus.read.streams import utf8
from spherevec.corpus.tokenize.marks import Fed
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

    def feed(self, batch: Any) -> Fed: ...


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

    def feed(self, batch: Sequence[Iterable[str]]) -> Fed:
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
        return Fed(numbers, np.frombuffer(ends, np.int64), True)


def tables_and_batches(
    source: Source, tokenizer: Tokenizer, threads: int, size: int
) -> tuple[list[Table], Iterator[Any]]:
    """A table for each thread that can be of use, and what to feed them with."""
    if source.documents is not None:
        return [WordLists()], _batches(source.documents, size)
    if not tokenizer.compiled:
        function = tokenizer.needed_function()
        return [WordLists()], _batches((list(function(text)) for text in source.texts()), size)
    from spherevec.corpus.count.wordtable import WordTable

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
