"""New documents in the words of a given vocabulary, in memory."""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import chain, islice
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from spherevec.corpus.count.vocabulary import Vocabulary
from spherevec.corpus.tokenize.tokenizer import TokenizerLike, tokenizer_of
from spherevec.threads import in_order

if TYPE_CHECKING:
    from spherevec.corpus.count.word_table import Table, TokenizedBlock
    from spherevec.corpus.read.readers import Document

_SHARED_BLOCK = 1 << 17  # bytes of a block where several threads share the work
_FEW_CHARACTERS = 1 << 14  # of all texts together: plain Python is done before compiled code is loaded

Ids = npt.NDArray[np.int32]
Ends = npt.NDArray[np.int64]


class _Counted(NamedTuple):
    """Blocks of text in the order given, and the tables that their words are numbered in."""

    fed: list[tuple[int, TokenizedBlock]]  # each with the number of its table
    tables: Sequence[Table]


def encode_texts(
    texts: Iterable[Document],
    vocabulary: Vocabulary,
    tokenizer: TokenizerLike = "words",
    stand_ins: Callable[[list[str]], Ids] | None = None,
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
    documents = iter(texts)
    try:
        first = next(documents)
    except StopIteration:
        return np.zeros(0, np.int32), np.zeros(1, np.int64), np.zeros(0, np.int64)
    if isinstance(texts, list) and _are_few(texts, vocabulary, tokenizer):
        return _encode_few(texts, vocabulary, tokenizer, stand_ins)
    from spherevec.corpus.count.word_table import in_words_of

    counted = _count(chain([first], documents), tokenizer, threads)
    numbers = _numbers(counted.tables, vocabulary, stand_ins)
    ids, ends = _joined(counted)
    kept, bounds, known = in_words_of(vocabulary, ids, ends, numbers)
    return kept, bounds, np.diff(ends, prepend=0) - known


def _are_few(texts: list[Any], vocabulary: Vocabulary, tokenizer: TokenizerLike) -> bool:
    """Whether the texts are so short that plain Python encodes them, as compiled code would."""
    short = all(isinstance(text, str) for text in texts) and sum(map(len, texts)) <= _FEW_CHARACTERS
    return short and not vocabulary.phrases and tokenizer_of(tokenizer).compiled and _is_unicode("".join(texts))


def _is_unicode(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:  # lone surrogates
        return False
    return True


def _encode_few(
    texts: list[str], vocabulary: Vocabulary, tokenizer: TokenizerLike, stand_ins: Callable[[list[str]], Ids] | None
) -> tuple[Ids, Ends, Ends]:
    split = tokenizer_of(tokenizer).words
    documents = [split(text) for text in texts]
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


def _count(documents: Iterable[Document], tokenizer: TokenizerLike, threads: int) -> _Counted:
    from spherevec.corpus.count.word_table import tables_and_batches
    from spherevec.corpus.read.readers import open_documents
    from spherevec.corpus.read.streams import BLOCK_SIZE

    size = BLOCK_SIZE if threads == 1 else _SHARED_BLOCK
    tables, batches = tables_and_batches(open_documents(documents), tokenizer_of(tokenizer), threads, size)
    ahead = list(islice(batches, 2))  # one block alone needs no threads
    workers = len(tables) if len(ahead) > 1 else 1

    def work(worker: int, batch: Any) -> tuple[int, TokenizedBlock]:
        return worker, tables[worker].feed(batch)

    return _Counted(list(in_order(chain(ahead, batches), work, workers)), tables[:workers])


def _numbers(tables: Sequence[Table], vocabulary: Vocabulary, stand_ins: Callable[[list[str]], Ids] | None) -> Ids:
    """The id of each word of the tables, one table after another; -1 for the unknown ones."""
    columns = [table.counted().words for table in tables]
    numbers = np.concatenate([vocabulary.ids_of(column) for column in columns])
    if stand_ins is not None and (missing := np.flatnonzero(numbers < 0)).size:
        words = [word for column in columns for word in column]
        unknown = dict.fromkeys(words[at] for at in missing)
        found = dict(zip(unknown, stand_ins(list(unknown)).tolist(), strict=True))
        numbers[missing] = [found[words[at]] for at in missing]
    return numbers


def _joined(counted: _Counted) -> tuple[Ids, Ends]:
    """All blocks as one, since a long document may lie in several; the words of a table come behind those before it."""
    from spherevec.corpus.tokenize.characters import BREAK_BIT

    first_word = np.cumsum([0, *(len(table.counts) for table in counted.tables)])
    before, broken = 0, True  # ids so far; punctuation stands at the end of the last block
    ids, ends = [np.zeros(0, np.int32)], [np.zeros(0, np.int64)]
    for worker, block in counted.fed:
        own = block.ids + np.int32(first_word[worker])
        if len(own) and broken:
            own[0] |= BREAK_BIT
        broken = block.broken or (broken and not len(own))
        ids.append(own)
        ends.append(block.ends + before)
        before += len(own)
    return np.concatenate(ids), np.concatenate(ends)
