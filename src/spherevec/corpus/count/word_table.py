"""Growing tables of distinct words, fed with blocks of text; several as one."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from spherevec.corpus.count.vocabulary import CountedWords, Ends, Ids, Vocabulary
from spherevec.corpus.read.readers import Source
from spherevec.corpus.read.streams import NEWLINE_IN_WORD, WORD_END, checked_words, newlines_in, word_piece
from spherevec.corpus.tokenize import scanner_kernel as kernel
from spherevec.corpus.tokenize.characters import ID_MASK, PADDING, WHITE_SPACE, character_tables, tables_that_cut_at
from spherevec.corpus.tokenize.cleaning import cleaned, normalise_block, segmented_block
from spherevec.corpus.tokenize.tokenizer import TOKENS, Tokenizer
from spherevec.corpus.tokenize.words import TokenizerOptions
from spherevec.errors import CorpusError
from spherevec.storage.text_column import TextColumn

_FIRST_WORDS = 1 << 14
_MOST_THREADS = 64  # the thread that reads for all of them would not keep up with more
_MOST_WORDS = ID_MASK  # ids are int32, and one bit marks punctuation


class TokenizedBlock(NamedTuple):
    """The words of one block, as numbers of a table."""

    ids: npt.NDArray[np.int32]  # (n,), with `BREAK_BIT` after punctuation
    ends: npt.NDArray[np.int64]  # (newlines,), how many ids came before each newline
    broken: bool  # whether punctuation stands behind the last word, or anywhere if there is no word


class WordTable:
    """Distinct words in the order of their first occurrence; the layout is described in the kernel's file.

    Args:
        tokenizer: one that is compiled, or that of lists of words, see `word_piece`.
    """

    def __init__(self, tokenizer: Tokenizer, first_words: int = _FIRST_WORDS) -> None:
        self._options = options = tokenizer.options
        self._in_words, self._drops_elisions = tokenizer.name == TOKENS, tokenizer.drops_elisions
        tables = tables_that_cut_at(b"\n" + WORD_END if self._in_words else WHITE_SPACE)
        rules = [0] * len(kernel.RULES)
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
        """All words, with their counts; without elisions, a word may be there several times."""
        arena = self._arena[: self._starts[self._n_words]]
        if self._in_words:
            arena = np.where(arena == ord(NEWLINE_IN_WORD), np.uint8(ord("\n")), arena)
        found = CountedWords(TextColumn(self._starts[: self._n_words + 1], arena), self.counts)
        return found.without_elisions() if self._drops_elisions else found

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


def tables_and_blocks(
    source: Source, tokenizer: Tokenizer, threads: int, size: int
) -> tuple[list[WordTable], Iterator[bytes]]:
    """A table of words for each thread, and the blocks of text to feed them with."""
    if not source.in_words and not tokenizer.compiled:
        function = tokenizer.needed_function()
        lists = enumerate(list(function(text)) for text in source.texts())
        source = replace(
            source, pieces=(word_piece(checked_words(words, number)) for number, words in lists), in_words=True
        )
    rules = Tokenizer(TOKENS) if source.in_words else tokenizer
    return [WordTable(rules) for _ in range(min(threads, _MOST_THREADS))], source.blocks(size)


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
