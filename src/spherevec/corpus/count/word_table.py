"""Growing tables of distinct words, fed with blocks of text or with lists of words; several as one."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from spherevec.corpus.count.vocabulary import CountedWords, Vocabulary
from spherevec.corpus.read.guard import newlines_in
from spherevec.corpus.read.readers import Source
from spherevec.corpus.read.streams import utf8
from spherevec.corpus.tokenize import scanner_kernel as kernel
from spherevec.corpus.tokenize.characters import ID_MASK, PADDING, character_tables, white_space_tables
from spherevec.corpus.tokenize.cleaning import cleaned, normalise_block, segmented_block
from spherevec.corpus.tokenize.tokenizer import Tokenizer
from spherevec.corpus.tokenize.words import TokenizerOptions
from spherevec.errors import CorpusError
from spherevec.storage.text_column import TextColumn
from spherevec.threads import in_order

_FIRST_WORDS = 1 << 14
_MOST_WORDS = ID_MASK  # ids are int32, and one bit marks punctuation
_BYTES_A_WORD = 6  # roughly, to make batches of words about as large as blocks of text


Ids = npt.NDArray[np.int32]
Ends = npt.NDArray[np.int64]


class TokenizedBlock(NamedTuple):
    """The words of one block, as numbers of a table."""

    ids: npt.NDArray[np.int32]  # (n,), with `BREAK_BIT` after punctuation
    ends: npt.NDArray[np.int64]  # (newlines,), how many ids came before each newline
    broken: bool  # whether punctuation stands behind the last word, or anywhere if there is no word


class WordTable:
    """Distinct words in the order of their first occurrence; the layout is described in the kernel's file.

    Args:
        tokenizer: one that is compiled.
    """

    def __init__(self, tokenizer: Tokenizer, first_words: int = _FIRST_WORDS) -> None:
        assert tokenizer.compiled
        self._options = options = tokenizer.options
        tables, rules = white_space_tables(), [0] * len(kernel.RULES)
        if options is not None:
            tables = character_tables(options.lowercase, options.emoji, options.unspaced != "bigrams")
            choices = TokenizerOptions.choices()
            rules = [choices[name].index(getattr(options, name)) for name in kernel.RULES]
        self._rules = *tables, np.array(rules, np.int64)
        self._n_words = 0
        self._slots = np.zeros(2 * first_words, np.int64)
        self._starts = np.zeros(first_words + 1, np.int64)
        self._counts = np.zeros(first_words, np.int64)
        self._arena = np.empty(0, np.uint8)

    def __len__(self) -> int:
        return self._n_words

    @property
    def counts(self) -> npt.NDArray[np.int64]:
        return self._counts[: self._n_words]

    def counted(self) -> CountedWords:
        """All words, with their counts."""
        used = int(self._starts[self._n_words])
        return CountedWords(TextColumn(self._starts[: self._n_words + 1], self._arena[:used]), self.counts)

    def hashes(self) -> npt.NDArray[np.int64]:
        """31 bits for each word, (words,)."""
        taken = self._slots[self._slots != 0]
        hashes = np.empty(len(self), np.int64)
        hashes[(taken & 0xFFFFFFFF) - 1] = taken >> 32
        return hashes

    def feed(self, block: bytes) -> TokenizedBlock:
        """Count the words of a block."""
        options = self._options
        if options is not None:
            block = normalise_block(cleaned(block) if options.html else block)
            block = segmented_block(block) if options.unspaced == "segment" else block
        data = np.frombuffer(block + b"\n" * PADDING, np.uint8)
        self._reserve_arena(2 * len(data) + 16)  # pairs of characters are written twice, the rest lengthens less
        ids = np.empty(len(data) // 2 + 2, np.int32)
        ends = np.empty(newlines_in(block), np.int64)
        cursor = np.zeros(7, np.int64)
        cursor[kernel.N_WORDS], cursor[kernel.WORD_END], cursor[kernel.COVERED] = self._n_words, -1, -1
        finished = False
        while not finished:
            table = self._slots, self._starts, self._counts, self._arena
            finished = kernel.scan_block(data, *self._rules, *table, ids, ends, cursor)
            self._n_words = int(cursor[kernel.N_WORDS])
            if not finished:
                self._enlarge()
        return TokenizedBlock(ids[: cursor[kernel.N_IDS]], ends, bool(cursor[kernel.BROKEN]))

    def _reserve_arena(self, more: int) -> None:
        used = int(self._starts[self._n_words])
        if used + more > len(self._arena):
            arena = np.empty(max(used + more, 2 * used), np.uint8)
            arena[:used] = self._arena[:used]
            self._arena = arena

    def _enlarge(self) -> None:
        """Make room for twice as many words."""
        capacity = 2 * len(self._counts)
        if capacity > _MOST_WORDS:
            raise CorpusError(f"more than {_MOST_WORDS} distinct words; check that the tokenizer fits the text")
        self._starts = np.concatenate([self._starts, np.zeros(len(self._counts), np.int64)])
        self._counts = np.concatenate([self._counts, np.zeros(len(self._counts), np.int64)])
        slots = np.zeros(2 * capacity, np.int64)
        kernel.rehash(self._slots, slots)
        self._slots = slots


class Table(Protocol):
    """Distinct words, numbered as they come: `WordTable` is fed blocks of text, `WordLists` lists of words."""

    @property
    def counts(self) -> npt.NDArray[np.int64]: ...

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


_HASH_BITS = 31
_WORTH_THREADS = 1 << 17  # words of all tables; each thread costs some megabytes


def merge_tables(tables: Sequence[WordTable]) -> tuple[CountedWords, list[npt.NDArray[np.int32]]]:
    """The distinct words of several tables, in no particular order, and where those of each table are among them.

    Each thread merges the words whose hashes begin with the same bits.
    """
    bits = (len(tables) - 1).bit_length()
    workers = len(tables) if sum(map(len, tables)) > _WORTH_THREADS else 1
    counted, hashes = [table.counted() for table in tables], [table.hashes() for table in tables]
    part_of = [own >> (_HASH_BITS - bits) for own in hashes]
    places = [np.empty(len(table), np.int32) for table in tables]

    def merge(_: int, part: int) -> CountedWords:
        some = [np.flatnonzero(parts == part) for parts in part_of]
        most = sum(map(len, some))
        size = sum(int(np.diff(one.words.offsets)[own].sum()) for one, own in zip(counted, some, strict=True))
        slots = np.zeros(1 << max(1, 2 * most - 1).bit_length(), np.int64)
        starts, counts, arena = np.zeros(most + 1, np.int64), np.empty(most, np.int64), np.empty(size, np.uint8)
        found = 0
        for own, one, codes, numbers in zip(some, counted, hashes, places, strict=True):
            found = kernel.merge_words(
                own, one.words.offsets, one.counts, one.words.arena, codes,
                slots, starts, counts, arena, numbers, found,
            )  # fmt: skip
        return CountedWords(TextColumn(starts[: found + 1], arena[: starts[found]]), counts[:found])

    merged = list(in_order(range(1 << bits), merge, workers))
    sizes = np.array([len(part.counts) for part in merged])
    for numbers, parts in zip(places, part_of, strict=True):
        numbers += (np.cumsum(sizes) - sizes)[parts].astype(np.int32)
    ends = np.cumsum([len(part.words.arena) for part in merged])
    starts = [part.words.offsets[:-1] + end - len(part.words.arena) for part, end in zip(merged, ends, strict=True)]
    words = TextColumn(np.concatenate([*starts, ends[-1:]]), np.concatenate([part.words.arena for part in merged]))
    return CountedWords(words, np.concatenate([part.counts for part in merged])), places


def renumbered(ids: Ids, ends: Ends, numbers: Ids, marks: bool) -> tuple[Ids, Ends]:
    """Ids as their numbers, without those that have none; see the kernel."""
    new_ids = np.empty(len(ids) + 1, np.int32)  # one more, where the kernel puts a dropped last word
    new_ends = np.empty_like(ends)
    return new_ids[: kernel.renumber(ids, ends, numbers, marks, new_ids, new_ends)], new_ends


def in_words_of(vocabulary: Vocabulary, ids: Ids, ends: Ends, numbers: Ids) -> tuple[Ids, Ends, Ends]:
    """Documents in the words of a vocabulary, with its phrases.

    Args:
        ids: (n,) words of some table, with marks of punctuation, which no phrase spans; ends: (documents,).
        numbers: (words of the table,) their ids in the vocabulary, -1 to leave a word out.

    Returns:
        The new ids; where each document begins and the last ends, (documents + 1,); how many words each has, phrases
        not counted, (documents,).
    """
    finder = vocabulary.phrase_finder
    kept, kept_ends = renumbered(ids, ends, numbers, finder is not None)
    bounds = np.concatenate([np.zeros(1, np.int64), kept_ends])
    lengths = np.diff(bounds)
    if finder is not None:
        kept, bounds, _ = finder.apply(kept, bounds)
    return kept, bounds, lengths
