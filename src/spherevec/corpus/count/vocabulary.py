"""Counted words, the vocabulary that a model knows, new texts in its words, and words below `min_count`.

Those get no vector; search finds their documents by hashes. When more text comes, some words reach `min_count`. Memory
and disk are bounded: of very many rare words only the most frequent are kept.
"""

from __future__ import annotations

import re
from collections import ChainMap
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import cached_property
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt
from numpy.typing import NDArray

from spherevec.corpus.tokenize.phrases import PhraseFinder, phrases_of
from spherevec.corpus.tokenize.tokenizer import Tokenizer, TokenizerLike, tokenizer_of
from spherevec.corpus.tokenize.words import ELISION
from spherevec.errors import CorpusError, FormatError
from spherevec.storage.files import SpillFile
from spherevec.storage.tensors import write_tensors
from spherevec.storage.text_column import TextColumn
from spherevec.terminal import number_of, times
from spherevec.threads import in_order

if TYPE_CHECKING:
    from spherevec.corpus.count.word_table import TokenizedBlock
    from spherevec.corpus.read.readers import Document

Hashes = npt.NDArray[np.uint64]
Ids = npt.NDArray[np.int32]
Ends = npt.NDArray[np.int64]  # where each document ends: how many ids come before

_LETTERS = 7  # that are compared at a time where words are sorted


class CountedWords(NamedTuple):
    """Distinct words and how often each occurred."""

    words: TextColumn
    counts: npt.NDArray[np.int64]  # (words,)

    @classmethod
    def merged(cls, parts: Sequence[CountedWords]) -> tuple[CountedWords, Hashes, list[Ids]]:
        """The sum of several counts, by the hashes of the words; these; and where the words of each part are in it.

        Example:
            >>> parts = [CountedWords(TextColumn.of(words), np.array([1, 2])) for words in ("ab", "ca")]
            >>> both, _, places = CountedWords.merged(parts)
            >>> sorted(zip(both.words, both.counts.tolist())), [list(both.at(own)) for own in places]
            ([('a', 3), ('b', 2), ('c', 1)], [['a', 'b'], ['c', 'a']])
        """
        words, counts = (
            TextColumn.joined([part.words for part in parts]),
            np.concatenate([part.counts for part in parts]),
        )
        hashes = words.hashes()
        order = np.argsort(hashes)
        begins = np.diff(hashes[order], prepend=~hashes[order[:1]]) != 0
        numbers = np.empty(len(order), np.int32)
        numbers[order] = np.cumsum(begins) - 1
        places = np.split(numbers, np.cumsum([len(part.counts) for part in parts])[:-1])
        firsts, total = order[begins], np.bincount(numbers, counts).astype(np.int64)
        return cls(cls(words, counts).at(firsts), total), hashes[firsts], places

    @property
    def elided(self) -> npt.NDArray[np.int64]:
        """(words,), how many bytes of each are an elided word before it, such as "l'"."""
        found = np.zeros(len(self.counts), np.int64)
        apostrophes = np.flatnonzero(self.words.arena[: self.words.offsets[-1]] == ord("'"))
        places = np.unique(np.searchsorted(self.words.offsets, apostrophes, "right") - 1)
        for place, word in zip(places.tolist(), self.at(places), strict=True):
            match = ELISION.match(word)
            found[place] = len(match[0].encode()) if match else 0
        return found

    def without_elisions(self) -> CountedWords:
        """The same words without elided ones before them; a word may be there several times.

        Example:
            >>> list(CountedWords(TextColumn.of(["l'eau", "eau", "don't"]), np.ones(3, int)).without_elisions().words)
            ['eau', 'eau', "don't"]
        """
        elided, starts = self.elided, self.words.offsets
        begins = np.repeat(starts[:-1] + elided, np.diff(starts))
        kept = self.words.arena[: starts[-1]][np.arange(starts[-1]) >= begins]
        return CountedWords(TextColumn(starts - np.concatenate([[0], np.cumsum(elided)]), kept), self.counts)

    def ranked(self, places: npt.NDArray[np.intp]) -> npt.NDArray[np.intp]:
        """Some places, the most frequent words first; equal counts in the order of their UTF-8 bytes.

        Example:
            >>> counted = CountedWords(TextColumn.of(["b", "a", "c"]), np.array([1, 1, 2]))
            >>> counted.ranked(np.arange(3)).tolist()
            [2, 1, 0]
        """
        order = np.argsort(-self.counts[places], kind="stable")
        tied, group = np.arange(len(places)), -self.counts[places][order]
        depth = 0
        while True:
            begins = np.diff(group, prepend=group[:1] - 1) != 0
            alike = ~(begins & np.append(begins[1:], True))
            tied, group = tied[alike], np.cumsum(begins)[alike]
            if not len(tied):
                return places[order]
            keys = self._letters(places[order[tied]], depth)
            inner = np.lexsort((keys, group))
            order[tied] = order[tied[inner]]
            keys = keys[inner]
            group = np.cumsum(np.append(True, (np.diff(group) != 0) | (keys[1:] != keys[:-1])))
            depth += _LETTERS

    def _letters(self, places: npt.NDArray[np.intp], depth: int) -> npt.NDArray[np.uint64]:
        """Some bytes of each word from `depth` on as a number, and in its last byte how many are left."""
        starts = self.words.offsets[places] + depth
        left = np.clip(self.words.offsets[places + 1] - starts, 0, _LETTERS + 1)
        keys = np.zeros(len(places), np.uint64)
        for place in range(_LETTERS):
            letters = self.words.arena.take(starts + place, mode="clip")
            keys = keys * np.uint64(256) + np.where(place < left, letters, 0).astype(np.uint64)
        return np.asarray(keys * np.uint64(256) + left.astype(np.uint64))

    def at(self, places: npt.NDArray[np.intp]) -> TextColumn:
        """The words at some places, as a column of their own."""
        lengths = np.diff(self.words.offsets)[places]
        offsets = np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths)])
        letters = np.repeat(self.words.offsets[places] - offsets[:-1], lengths) + np.arange(offsets[-1])
        return TextColumn(offsets, self.words.arena[letters])


@dataclass(frozen=True, eq=False)
class Vocabulary:
    """Words with their counts, the most frequent first; equal counts in the order of their UTF-8 bytes."""

    words: list[str]
    counts: npt.NDArray[np.int64]  # (words,)
    phrases: bool = False  # whether entries of several words are phrases, to be found in every text

    def __len__(self) -> int:
        return len(self.words)

    def __contains__(self, word: object) -> bool:
        return word in self.word_to_id

    @cached_property
    def word_to_id(self) -> dict[str, int]:
        return {word: i for i, word in enumerate(self.words)}

    @cached_property
    def phrase_finder(self) -> PhraseFinder | None:
        """Finds the vocabulary's phrases in texts; None where it has none."""
        found, numbers = phrases_of(self.word_to_id) if self.phrases else ([], [])
        return PhraseFinder(found, numbers, len(self)) if found else None

    def ids_of(self, words: TextColumn) -> npt.NDArray[np.int32]:
        """The ids of many words, (n,), -1 for those that are not there.

        Example:
            >>> Vocabulary(["the", "cat"], np.array([2, 1])).ids_of(TextColumn.of(["cat", "dog"])).tolist()
            [1, -1]
        """
        return np.fromiter((self.word_to_id.get(word, -1) for word in words), np.int32, len(words))


def choose_words(
    counted: CountedWords, min_count: int, max_vocab: int | None
) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.int32]]:
    """The places of the words of a counted text that are kept, by rank, and the id of each word, -1 for the others."""
    counts = counted.counts
    if not len(counts):
        raise CorpusError("the text holds no words; check that it is the right file and the right tokenizer")
    kept = np.flatnonzero(counts >= min_count)
    if not len(kept):
        words = len(counts)
        raise CorpusError(
            f"no word occurs {times(min_count)}: the most frequent of {number_of(words, 'distinct word')} occurs "
            f"{times(int(counts.max()))}; lower min_count (--min-count)"
        )
    chosen = counted.ranked(kept)[:max_vocab]
    if len(chosen) == 1:
        raise CorpusError(
            f"only one word, {counted.at(chosen)[0]!r:.60}, occurs {times(min_count)} or more: nothing to compare it "
            "with; give more text or lower min_count (--min-count)"
        )
    numbers = np.full(len(counts), -1, np.int32)
    numbers[chosen] = np.arange(len(chosen), dtype=np.int32)
    return chosen, numbers


MOST_PAIRS = 1 << 26  # beyond, nothing is kept: sorting them would take more than a gigabyte

Rows = npt.NDArray[np.int32]


class RareWords(ExitStack):
    """Collects a hash and a row for each occurrence of a dropped word, in files of `folder`, until all are sorted."""

    def __init__(self, folder: Path) -> None:
        super().__init__()
        self._n_pairs = 0
        self._hashes = self.enter_context(SpillFile(folder / "rare-hashes.bin"))
        self._rows = self.enter_context(SpillFile(folder / "rare-rows.bin"))

    def add(self, hashes: Hashes, rows: Rows) -> None:
        """Some occurrences: the hash of the word, and the document that it stands in."""
        self._n_pairs += len(hashes)
        if self._n_pairs <= MOST_PAIRS:
            self._hashes.append(hashes.data)
            self._rows.append(rows.data)

    def write(self, path: Path) -> None:
        """Write all pairs, sorted by hash and row; none where there are too many."""
        n_pairs = self._n_pairs if self._n_pairs <= MOST_PAIRS else 0
        hashes = np.fromfile(self._hashes.path, np.uint64, n_pairs)
        order = np.argsort(hashes, kind="stable")  # rows are in ascending order already
        write_tensors(path, {"hashes": hashes[order], "rows": np.fromfile(self._rows.path, np.int32, n_pairs)[order]})


MOST_WORDS = 250_000  # some 4 MB


class RareCounts:
    """Distinct words and how often each occurred, the most frequent first, equal counts by spelling.

    >>> RareCounts.of({"heron": 2, "egret": 4}).as_dict()
    {'egret': 4, 'heron': 2}
    """

    def __init__(self, words: TextColumn, counts: NDArray[np.int64]) -> None:
        if len(words) != len(counts):
            raise FormatError(f"{len(words)} rare words do not fit {len(counts)} counts; copy the file again")
        self.words, self.counts = words, counts

    @classmethod
    def of(cls, counts: Mapping[str, int], most: int = MOST_WORDS) -> RareCounts:
        """Keep the most frequent of these words."""
        kept = sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))[:most]
        return cls(TextColumn.of(word for word, _ in kept), np.array([count for _, count in kept], np.int64))

    @classmethod
    def left_out(cls, counted: CountedWords, numbers: NDArray[np.int32], most: int = MOST_WORDS) -> RareCounts:
        """The words of a counted text whose numbers (distinct words,) are -1."""
        counts = counted.counts
        places = np.flatnonzero((numbers < 0) & (counts > 0))
        if len(places) > most:
            bound = np.partition(counts[places], len(places) - most)[len(places) - most]
            places = places[counts[places] >= bound]
        kept = counted.ranked(places)[:most]
        return cls(counted.at(kept), counts[kept])

    @classmethod
    def of_tensors(cls, tensors: Mapping[str, NDArray[Any]]) -> RareCounts:
        """The counts of the arrays of a file, whose words are not read."""
        return cls(TextColumn(tensors["offsets"], tensors["bytes"]), tensors["counts"])

    @property
    def tensors(self) -> dict[str, NDArray[Any]]:
        """The arrays of the file."""
        return {"offsets": self.words.offsets, "bytes": self.words.arena, "counts": self.counts}

    def save(self, path: Path) -> None:
        write_tensors(path, self.tensors)

    def __len__(self) -> int:
        return len(self.words)

    def as_dict(self) -> dict[str, int]:
        return dict(zip(self.words, self.counts.tolist(), strict=True))

    def merged(self, more: Mapping[str, int], without: Iterable[str] = (), most: int = MOST_WORDS) -> RareCounts:
        """These and more occurrences, less the words that are rare no longer."""
        total: dict[str, Any] = self.as_dict()
        for word, count in more.items():
            total[word] = total.get(word, 0) + count
        for word in without:
            total.pop(word, None)
        return RareCounts.of(total, most)


_SHARED_BLOCK = 1 << 17  # bytes of a block where several threads share the work
_FEW_CHARACTERS = 1 << 14  # of all texts together: plain Python is done before compiled code is loaded

_SURROGATE = re.compile("[\ud800-\udfff]")

StandIns = Callable[[list[str]], Ids]


def encode_texts(
    texts: Iterable[Document],
    vocabulary: Vocabulary,
    tokenizer: TokenizerLike = "words",
    stand_ins: StandIns | None = None,
    threads: int = 1,
) -> tuple[Ids, Ends, Ends]:
    """New documents in the words of a given vocabulary, in memory.

    Args:
        stand_ins: gives for each of some unknown words the id of a known word that is taken instead, -1 for none.
        threads: how many to use; the result is the same for any number.

    Returns:
        ids (words,), offsets (documents + 1,), and how many words of each document are unknown (documents,), without
        those that have a stand-in.
    """
    tokenizer = tokenizer_of(tokenizer)
    if isinstance(texts, list) and _are_few(texts, vocabulary, tokenizer):
        return _encode_few(texts, vocabulary, tokenizer, stand_ins)
    from spherevec.corpus.count.word_table import in_words_of, tables_and_blocks
    from spherevec.corpus.read.readers import open_documents
    from spherevec.corpus.read.streams import BLOCK_SIZE
    from spherevec.corpus.tokenize.characters import BREAK_BIT

    documents = iter(texts)
    first = list(islice(documents, 1))
    if not first:
        return np.zeros(0, np.int32), np.zeros(1, np.int64), np.zeros(0, np.int64)
    size = BLOCK_SIZE if threads == 1 else _SHARED_BLOCK
    tables, blocks = tables_and_blocks(open_documents(chain(first, documents)), tokenizer, threads, size)
    ahead = list(islice(blocks, 2))  # one block alone needs no threads

    def work(worker: int, block: bytes) -> tuple[int, TokenizedBlock]:
        return worker, tables[worker].feed(block)

    tokenized = list(in_order(chain(ahead, blocks), work, len(tables) if len(ahead) > 1 else 1))
    columns = [table.counted().words for table in tables]
    numbers = np.concatenate([vocabulary.ids_of(column) for column in columns])
    if stand_ins is not None and (missing := np.flatnonzero(numbers < 0)).size:
        words = [word for column in columns for word in column]
        unknown = list(dict.fromkeys(words[at] for at in missing))
        found = dict(zip(unknown, stand_ins(unknown).tolist(), strict=True))
        numbers[missing] = [found[words[at]] for at in missing]
    # All blocks as one, since a long document may lie in several; the words of a table come behind those before it.
    first_word = np.cumsum([0, *map(len, columns)])
    before, broken = 0, True  # ids so far; punctuation stands at the end of the last block
    ids, ends = [np.zeros(0, np.int32)], [np.zeros(0, np.int64)]
    for worker, block in tokenized:
        own = block.ids + np.int32(first_word[worker])
        if len(own) and broken:
            own[0] |= BREAK_BIT
        broken = block.broken or (broken and not len(own))
        ids.append(own)
        ends.append(block.ends + before)
        before += len(own)
    all_ends = np.concatenate(ends)
    kept, bounds, known = in_words_of(vocabulary, np.concatenate(ids), all_ends, numbers)
    return kept, bounds, np.diff(all_ends, prepend=0) - known


def _are_few(texts: list[Any], vocabulary: Vocabulary, tokenizer: Tokenizer) -> bool:
    """Whether the texts are so short that plain Python encodes them, as compiled code would."""
    if vocabulary.phrases or not tokenizer.compiled or not all(isinstance(text, str) for text in texts):
        return False
    # Compiled code replaces lone surrogates.
    return sum(map(len, texts)) <= _FEW_CHARACTERS and not any(map(_SURROGATE.search, texts))


def _encode_few(
    texts: list[str], vocabulary: Vocabulary, tokenizer: Tokenizer, stand_ins: StandIns | None
) -> tuple[Ids, Ends, Ends]:
    documents = [tokenizer.words(text) for text in texts]
    known: Mapping[str, int] = vocabulary.word_to_id
    if stand_ins is not None:
        missing = list(dict.fromkeys(word for words in documents for word in words if word not in known))
        found = zip(missing, stand_ins(missing).tolist() if missing else [], strict=True)
        if guessed := {word: number for word, number in found if number >= 0}:
            known = ChainMap(guessed, vocabulary.word_to_id)  # the vocabulary is not copied for a query
    ids = [[known[word] for word in words if word in known] for words in documents]
    lengths = np.array([len(one) for one in ids], np.int64)
    offsets = np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths)])
    unknown = np.array([len(words) for words in documents], np.int64) - lengths
    return np.array([number for one in ids for number in one], np.int32), offsets, unknown
