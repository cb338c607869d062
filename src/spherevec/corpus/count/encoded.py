"""A corpus as numbers on disk: word ids and document offsets, memory-mapped, with their vocabulary."""

from __future__ import annotations

import json
import mmap
import os
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from spherevec.corpus.count.summary import CorpusSummary
from spherevec.corpus.count.vocabulary import RareCounts, Vocabulary
from spherevec.corpus.tokenize.tokenizer import stored_tokenizer
from spherevec.errors import CorpusError, FormatError
from spherevec.storage.tensors import read_tensors

FORMAT = 2
IDS, OFFSETS, BREAKS, COUNTS, WORDS, DOCUMENTS, RARE, RARE_COUNTS, ABOUT = (
    "ids.bin",  # int32, little endian
    "offsets.bin",  # int64, little endian
    "breaks.bin",  # one byte a word, 1 after punctuation; where it was asked for
    "counts.bin",  # int64, little endian
    "words.json",
    "documents.safetensors",  # described in records.py
    "rare.safetensors",  # hashes of dropped words (uint64, sorted), and the documents that hold them (int32)
    "rare_counts.safetensors",  # described in rare.py
    "corpus.json",  # written last: a folder without it is unfinished
)
_CHECKED_AT_ONCE = 1 << 20
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
        self.rare_counts = RareCounts.open(rare, memory_map=False) if rare.is_file() else RareCounts.of({})
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
            words = _names(_read_json(folder / WORDS), WORDS)
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
        for start in range(0, self.n_documents, _CHECKED_AT_ONCE):
            if (np.diff(self.offsets[start : start + _CHECKED_AT_ONCE + 1]) < 0).any():
                raise ValueError(f"{OFFSETS} goes back near document {start}")
            self.drop_pages()
        for start in range(0, self.n_tokens, _CHECKED_AT_ONCE):
            some = self.ids[start : start + _CHECKED_AT_ONCE]
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


def _names(names: Any, file: str) -> list[str]:
    if not isinstance(names, list) or any(type(name) is not str for name in names):
        raise ValueError(f"{file} is not a list of names")
    return names


def _mapped(path: Path, kind: np.dtype[Any], length: int) -> np.memmap[Any, Any]:
    if path.stat().st_size != length * kind.itemsize:
        raise ValueError(f"{path.name} has {path.stat().st_size} bytes, not {length * kind.itemsize}")
    return np.memmap(path, kind, mode="r", shape=(length,))


def _still_open(array: np.memmap[Any, Any] | None) -> np.memmap[Any, Any]:
    if array is None:
        raise ValueError("this corpus has been closed; open it again with EncodedCorpus.open(folder)")
    return array
