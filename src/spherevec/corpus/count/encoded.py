"""A corpus as numbers on disk: word ids and document offsets, memory-mapped, with their vocabulary.

Its files are written block by block, with phrases, or again in the words of another vocabulary.
"""

from __future__ import annotations

import json
import mmap
import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import nullcontext, suppress
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from spherevec.corpus.count.summary import CorpusSummary
from spherevec.corpus.count.vocabulary import CountedWords, Ends, Ids, RareCounts, Vocabulary
from spherevec.corpus.tokenize.characters import BREAK_BIT, ID_MASK
from spherevec.corpus.tokenize.phrases import LEAST_COUNT, PhraseFinder, find_phrases
from spherevec.corpus.tokenize.tokenizer import Tokenizer, stored_tokenizer
from spherevec.errors import CorpusError, FormatError
from spherevec.storage.os_errors import explain_os_errors
from spherevec.storage.tensors import goes_back, read_tensors
from spherevec.storage.text_column import TextColumn

FORMAT = 2
IDS, OFFSETS, BREAKS, COUNTS, WORDS, DOCUMENTS, RARE, RARE_COUNTS, ABOUT = (
    "ids.bin",  # int32, little endian
    "offsets.bin",  # int64, little endian
    "breaks.bin",  # one byte a word, 1 after punctuation; where it was asked for
    "counts.bin",  # int64, little endian
    "words.json",
    "documents.safetensors",  # described in records.py
    "rare.safetensors",  # hashes of dropped words (uint64, sorted), and the documents that hold them (int32)
    "rare_counts.safetensors",  # described by RareCounts
    "corpus.json",  # written last: a folder without it is unfinished
)
MARKED, MARKED_OFFSETS = "marked.bin", "marked-offsets.bin"  # of the text before phrases, with marks of punctuation
_TOKENS_AT_ONCE = 1 << 20
ID_TYPE, OFFSET_TYPE = np.dtype("<i4"), np.dtype("<i8")


class EncodedCorpus:
    """An encoded corpus; `ids[offsets[d]:offsets[d + 1]]` are the words of document `d`.

    Attributes:
        folder: where its files are.
        vocabulary: the words behind the ids.
        document_columns: the arrays of the table of documents, mapped; None where nothing of them was kept.
        rare_counts: words that were left out, with their counts.
        summary: what was read, what was left out and what looks wrong.
        raw_tokens: how many words were read, before the rare ones were left out.
        tokenizer: how the text was cut into words.
        phrases: whether multi-word terms were looked for; they are entries of the vocabulary.
        breaks: (n_tokens,) whether punctuation stands before each word; None where that was not kept.
        spread: over how many workers of a cluster the text was spread, and in how many steps they train it; empty on
            one machine.
        reading: the fields that it was read from, by the names of `ReadOptions`; empty where that is not known.
    """

    def __init__(self, folder: Path, about: dict[str, Any], vocabulary: Vocabulary) -> None:
        self.folder = folder
        self.vocabulary = vocabulary
        # Mapped now: files that go while training does no harm.
        mapped = os.name == "posix"
        table, rare_words = folder / DOCUMENTS, folder / RARE
        self.document_columns = read_tensors(table, memory_map=mapped) if table.is_file() else None
        self._rare = read_tensors(rare_words, memory_map=mapped) if rare_words.is_file() else None
        rare = folder / RARE_COUNTS
        kept = read_tensors(rare, memory_map=False) if rare.is_file() else None
        self.rare_counts = RareCounts.of({}) if kept is None else RareCounts.of_tensors(kept)
        self.summary = CorpusSummary.from_dict(about["summary"])
        self.n_tokens: int = about["n_tokens"]
        self.n_documents: int = about["n_documents"]
        self.raw_tokens: int = about["raw_tokens"]
        self.tokenizer = stored_tokenizer(about["tokenizer"])
        self.phrases: bool = about["phrases"]
        self.spread: dict[str, int] = {}
        self.reading: dict[str, Any] = {}
        self._ids: np.memmap[Any, np.dtype[np.int32]] | None = _mapped(folder / IDS, ID_TYPE, self.n_tokens)
        breaks = folder / BREAKS
        self.breaks = _mapped(breaks, np.dtype(np.bool_), self.n_tokens) if breaks.is_file() else None
        self._offsets: np.memmap[Any, np.dtype[np.int64]] | None = _mapped(
            folder / OFFSETS, OFFSET_TYPE, self.n_documents + 1
        )

    @classmethod
    def open(cls, folder: str | os.PathLike[str]) -> EncodedCorpus:
        """Open the corpus in `folder`. Every id and offset is looked at once, since training trusts them blindly."""
        folder = Path(folder)
        try:
            about = _checked_about(folder, _read_json(folder / ABOUT))
            words = _read_json(folder / WORDS)
            if not isinstance(words, list) or any(type(word) is not str for word in words):
                raise ValueError(f"{WORDS} is not a list of names")
            counts = np.fromfile(folder / COUNTS, OFFSET_TYPE)
            if len(counts) != len(words):
                raise ValueError(f"{len(words)} words but {len(counts)} counts")
            if len(words) < 2 or counts.min() < 1:
                raise ValueError("fewer than two words, or a word that never occurs")
            corpus = cls(folder, about, Vocabulary(words, counts, about["phrases"]))
            corpus._check_numbers()
            return corpus
        except FileNotFoundError as error:
            raise CorpusError(f"{folder}: no encoded corpus ({Path(error.filename).name} is missing)") from None
        except CorpusError:
            raise
        except FormatError as error:
            raise CorpusError(f"{error}; encode the text again") from None
        except OSError as error:
            raise CorpusError(f"{folder}: cannot be read ({error.strerror or error}); check its permissions") from None
        except (ValueError, KeyError, TypeError) as error:
            raise CorpusError(f"{folder}: damaged corpus ({error}); encode the text again") from None

    def _check_numbers(self) -> None:
        """Raise `ValueError` unless every id is that of a word and the offsets rise from 0 to the number of ids."""
        if self.offsets[0] != 0 or self.offsets[-1] != self.n_tokens:
            raise ValueError(f"{OFFSETS} does not go from 0 to {self.n_tokens}")
        for start in range(0, self.n_documents, _TOKENS_AT_ONCE):
            if goes_back(self.offsets[start : start + _TOKENS_AT_ONCE + 1]):
                raise ValueError(f"{OFFSETS} goes back near document {start}")
            self.drop_pages()
        for start in range(0, self.n_tokens, _TOKENS_AT_ONCE):
            some = self.ids[start : start + _TOKENS_AT_ONCE]
            if some.min() < 0 or some.max() >= len(self.vocabulary):
                raise ValueError(f"{IDS} holds a number that is no word's, near word {start} of the text")
            self.drop_pages()

    @property
    def ids(self) -> np.memmap[Any, np.dtype[np.int32]]:
        """(n_tokens,)"""
        return _still_open(self._ids)

    @property
    def offsets(self) -> np.memmap[Any, np.dtype[np.int64]]:
        """(n_documents + 1,)"""
        return _still_open(self._offsets)

    def document(self, number: int) -> npt.NDArray[np.int32]:
        """The word ids of one document."""
        if not 0 <= number < self.n_documents:
            raise IndexError(f"document {number} of {self.n_documents}")
        return self.ids[self.offsets[number] : self.offsets[number + 1]]

    def drop_pages(self) -> None:
        """Let go of the memory behind the maps; what is needed again is read from disk again."""
        if hasattr(mmap, "MADV_DONTNEED"):
            for array in (self.ids, self.offsets):
                pages: mmap.mmap = array._mmap  # type: ignore[union-attr]
                pages.madvise(mmap.MADV_DONTNEED)

    def rare_words(self) -> tuple[npt.NDArray[np.uint64], npt.NDArray[np.int32]]:
        """Hashes of the words that were dropped, sorted, and for each occurrence the document that it stands in."""
        tensors = self._rare
        if tensors is None:
            return np.zeros(0, np.uint64), np.zeros(0, np.int32)
        if set(tensors) != {"hashes", "rows"} or len(tensors["hashes"]) != len(tensors["rows"]):
            raise CorpusError(f"{self.folder / RARE}: not what was written; encode the text again")
        return tensors["hashes"], tensors["rows"]

    def forget_files(self) -> None:
        """Remove the files behind the maps, which live on without names: nobody can cut short what is being read."""
        if os.name == "posix":
            for name in (IDS, OFFSETS):
                with suppress(OSError):  # then they go with the folder
                    (self.folder / name).unlink(missing_ok=True)

    def close(self) -> None:
        """Give up the maps; arrays taken from them before stay valid."""
        self._ids = self._offsets = None

    def __enter__(self) -> EncodedCorpus:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return (
            f"<EncodedCorpus: {self.n_documents} documents, {self.n_tokens} words, "
            f"{len(self.vocabulary)} distinct, in {str(self.folder)!r}>"
        )


def _read_json(path: Path) -> Any:
    try:
        return json.loads(path.read_bytes())
    except (ValueError, RecursionError):
        raise ValueError(f"{path.name} is not JSON") from None


def _checked_about(folder: Path, about: Any) -> dict[str, Any]:
    if about["format"] != FORMAT:
        raise CorpusError(f"{folder}: corpus format {about['format']!r:.40}, not {FORMAT}; encode the text again")
    kinds = {"n_tokens": int, "n_documents": int, "raw_tokens": int, "phrases": bool, "summary": dict}
    for name, kind in kinds.items():
        if type(about[name]) is not kind or (kind is int and not 0 <= about[name] < 2**62):
            raise ValueError(f"{name} is {about[name]!r:.40} in {ABOUT}")
    return dict(about)


def _mapped(path: Path, kind: np.dtype[Any], length: int) -> np.memmap[Any, Any]:
    if path.stat().st_size != length * kind.itemsize:
        raise ValueError(f"{path.name} has {path.stat().st_size} bytes, not {length * kind.itemsize}")
    return np.memmap(path, kind, mode="r", shape=(length,))


def _still_open(array: np.memmap[Any, Any] | None) -> np.memmap[Any, Any]:
    if array is None:
        raise ValueError("this corpus has been closed; open it again with EncodedCorpus.open(folder)")
    return array


def write_numbers(
    folder: Path,
    blocks: Iterable[tuple[Ids, Ends]],
    ids_name: str = IDS,
    offsets_name: str = OFFSETS,
    breaks: str | None = None,
) -> tuple[int, int]:
    """Write blocks one after another; returns how many words and documents were written.

    Args:
        blocks: ids, and how many came before the end of each document.
        breaks: a file for the marks of punctuation, one byte a word; without it they stay in the ids.
    """
    n_tokens = n_documents = 0
    with (
        explain_os_errors(writing=folder, kind=CorpusError),
        (folder / breaks).open("wb") if breaks else nullcontext() as breaks_file,
        (folder / ids_name).open("wb") as ids_file,
        (folder / offsets_name).open("wb") as ends_file,
    ):
        ends_file.write(np.zeros(1, OFFSET_TYPE).data)
        for ids, ends in blocks:
            if breaks_file is not None:
                breaks_file.write(((ids & BREAK_BIT) != 0).view(np.uint8).data)
                ids = ids & ID_MASK
            ids_file.write(ids.astype(ID_TYPE, copy=False).data)
            ends_file.write((ends + n_tokens).astype(OFFSET_TYPE, copy=False).data)
            n_tokens, n_documents = n_tokens + len(ids), n_documents + len(ends)
    return n_tokens, n_documents


def add_phrases(
    folder: Path,
    blocks: Iterable[tuple[Ids, Ends]],
    vocabulary: Vocabulary,
    min_count: int,
    max_vocab: int | None,
    threads: int,
) -> tuple[Vocabulary, int, int]:
    """Write blocks with marks of punctuation, find their phrases, and write the text with them.

    Returns the vocabulary with the phrases, and how many words and documents were written.
    """
    n_tokens, n_documents = write_numbers(folder, blocks, MARKED, MARKED_OFFSETS)
    try:
        with explain_os_errors(writing=folder, kind=CorpusError):
            ids = _mapped(folder / MARKED, ID_TYPE, n_tokens) if n_tokens else np.zeros(0, np.int32)
            offsets = _mapped(folder / MARKED_OFFSETS, OFFSET_TYPE, n_documents + 1)

        def applied(finder: PhraseFinder, numbers: Ids | None = None) -> Iterator[tuple[Ids, Ends, Ends]]:
            for start, stop in _document_ranges(offsets):
                begin = offsets[start]
                yield finder.apply(ids[begin : offsets[stop]], offsets[start : stop + 1] - begin, numbers)

        def met(found: list[tuple[int, ...]]) -> npt.NDArray[np.int64]:
            """How often each phrase stands in the text, those inside longer ones left out, (phrases,)."""
            finder = PhraseFinder(found, range(n_words, n_words + len(found)), n_words)
            return sum((counts for _, _, counts in applied(finder)), np.zeros(n_words + len(found), np.int64))[n_words:]

        n_words, least = len(vocabulary), max(min_count, LEAST_COUNT)
        found = find_phrases(ids, offsets, vocabulary.words, vocabulary.counts, least=least, threads=threads)
        # Part of what was counted lies inside longer phrases: what is left of it may be too little.
        found = [phrase for phrase, count in zip(found, met(found).tolist(), strict=True) if count >= least]
        words = [*vocabulary.words, *(" ".join(vocabulary.words[word] for word in phrase) for phrase in found)]
        counts = np.concatenate([vocabulary.counts, met(found)])
        order = CountedWords(TextColumn.of(words), counts).ranked(np.arange(len(words)))[:max_vocab]
        if max_vocab is not None:  # no phrase without its words
            kept = set(order.tolist())
            order = order[[place < n_words or kept.issuperset(found[place - n_words]) for place in order.tolist()]]
        numbers = np.full(len(words), -1, np.int32)
        numbers[order] = np.arange(len(order), dtype=np.int32)
        there = np.flatnonzero(numbers[n_words:] >= 0).tolist()
        finder = PhraseFinder([found[phrase] for phrase in there], [n_words + phrase for phrase in there], n_words)
        blocks = ((new_ids, bounds[1:]) for new_ids, bounds, _ in applied(finder, numbers))
        n_tokens, n_documents = write_numbers(folder, blocks)
    finally:
        for name in (MARKED, MARKED_OFFSETS):
            (folder / name).unlink(missing_ok=True)
    return Vocabulary([words[place] for place in order.tolist()], counts[order], True), n_tokens, n_documents


class Part(NamedTuple):
    """Some documents of a corpus, in the order given."""

    corpus: EncodedCorpus
    numbers: Ids  # (its words,) their ids in the other vocabulary, -1 to leave a word out
    documents: npt.NDArray[np.int64]


def rewrite(parts: Sequence[Part], vocabulary: Vocabulary, folder: Path) -> EncodedCorpus:
    """Documents of one or several corpora as one corpus in the words of `vocabulary`, whose counts stay as they are."""
    from spherevec.corpus.count.word_table import in_words_of

    folder.mkdir(parents=True, exist_ok=True)
    n_raw = 0

    def blocks() -> Iterator[tuple[Ids, Ends]]:
        nonlocal n_raw
        for corpus, numbers, documents in parts:
            lengths = corpus.offsets[documents + 1] - corpus.offsets[documents]
            for first, last in _document_ranges(np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths)])):
                ends = np.cumsum(lengths[first:last])
                starts = corpus.offsets[documents[first:last]] - (ends - lengths[first:last])
                places = np.repeat(starts, lengths[first:last]) + np.arange(ends[-1])
                ids = np.asarray(corpus.ids[places])
                if corpus.breaks is not None:
                    ids = np.where(corpus.breaks[places], ids | BREAK_BIT, ids).astype(np.int32)
                kept, bounds, _ = in_words_of(vocabulary, ids, ends, numbers)
                yield kept, bounds[1:]
                n_raw += len(ids)
                corpus.drop_pages()

    n_tokens, n_documents = write_numbers(folder, blocks())
    first = parts[0].corpus
    finish_corpus(folder, vocabulary, first.tokenizer, n_tokens, n_documents, first.summary.with_(tokens=n_raw))
    return EncodedCorpus.open(folder)


def _document_ranges(offsets: npt.NDArray[np.int64]) -> Iterator[tuple[int, int]]:
    """Ranges of documents of about a million words each."""
    start = 0
    while start < len(offsets) - 1:
        reached = int(np.searchsorted(offsets, offsets[start] + _TOKENS_AT_ONCE))
        stop = min(max(reached, start + 1), len(offsets) - 1)
        yield start, stop
        start = stop


def finish_corpus(
    folder: Path, vocabulary: Vocabulary, tokenizer: Tokenizer, n_tokens: int, n_documents: int, summary: CorpusSummary
) -> dict[str, Any]:
    """Write the words and counts of a corpus, then what it is, which is returned."""
    about = {
        "format": FORMAT,
        "tokenizer": tokenizer.description(),
        "phrases": vocabulary.phrases,
        "raw_tokens": summary.tokens,
        "n_tokens": n_tokens,
        "n_documents": n_documents,
        "summary": summary.as_dict(),
    }
    with explain_os_errors(writing=folder, kind=CorpusError):
        # Half a surrogate pair is escaped as JSON escapes it.
        words = json.dumps(vocabulary.words, ensure_ascii=False)
        (folder / WORDS).write_text(words, "utf-8", "backslashreplace")
        (folder / COUNTS).write_bytes(vocabulary.counts.astype(OFFSET_TYPE).tobytes())
        (folder / ABOUT).write_text(json.dumps(about, indent=1), "utf-8")
    return about
