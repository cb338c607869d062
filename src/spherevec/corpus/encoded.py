"""A corpus as numbers on disk: word ids and document offsets, memory-mapped, with their vocabulary."""

from __future__ import annotations

import json
import mmap
import os
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np
import numpy.typing as npt

from spherevec.corpus.vocabulary import Vocabulary
from spherevec.errors import CorpusError

FORMAT = 1
IDS, OFFSETS, COUNTS, WORDS, NAMES, ABOUT = (
    "ids.bin",  # int32, little endian
    "offsets.bin",  # int64, little endian
    "counts.bin",  # int64, little endian
    "words.json",
    "documents.json",
    "corpus.json",  # written last: a folder without it is unfinished
)
ID_TYPE, OFFSET_TYPE = np.dtype("<i4"), np.dtype("<i8")


class EncodedCorpus:
    """An encoded corpus; `ids[offsets[d]:offsets[d + 1]]` are the words of document `d`.

    Attributes:
        folder: where its files are.
        vocabulary: the words behind the ids.
        document_names: the files of a folder of documents, otherwise None.
        raw_tokens: how many words were read, before the rare ones were left out.
        tokenizer: "words", "whitespace", "custom" for a function, "tokens" for lists of words.
    """

    def __init__(self, folder: Path, about: dict[str, Any], vocabulary: Vocabulary, names: list[str] | None) -> None:
        self.folder = folder
        self.vocabulary = vocabulary
        self.document_names = names
        self.n_tokens: int = about["n_tokens"]
        self.n_documents: int = about["n_documents"]
        self.raw_tokens: int = about["raw_tokens"]
        self.tokenizer: str = about["tokenizer"]
        self._ids: np.memmap[Any, np.dtype[np.int32]] | None = _mapped(folder / IDS, ID_TYPE, self.n_tokens)
        self._offsets: np.memmap[Any, np.dtype[np.int64]] | None = _mapped(
            folder / OFFSETS, OFFSET_TYPE, self.n_documents + 1
        )

    @classmethod
    def open(cls, folder: str | os.PathLike[str]) -> EncodedCorpus:
        folder = Path(folder)
        try:
            about = json.loads((folder / ABOUT).read_text("utf-8"))
            if about["format"] != FORMAT:
                raise CorpusError(f"{folder}: corpus format {about['format']}, not {FORMAT}; encode the text again")
            words = json.loads((folder / WORDS).read_text("utf-8"))
            counts = np.fromfile(folder / COUNTS, OFFSET_TYPE)
            names = json.loads((folder / NAMES).read_text("utf-8")) if about["named"] else None
            if len(counts) != len(words):
                raise ValueError(f"{len(words)} words but {len(counts)} counts")
            return cls(folder, about, Vocabulary(words, counts), names)
        except FileNotFoundError as error:
            raise CorpusError(f"{folder}: no encoded corpus ({Path(error.filename).name} is missing)") from None
        except CorpusError:
            raise
        except OSError as error:
            raise CorpusError(f"{folder}: cannot be read ({error.strerror or error}); check its permissions") from None
        except (ValueError, KeyError, TypeError) as error:
            raise CorpusError(f"{folder}: damaged corpus ({error}); encode the text again") from None

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

    def close(self) -> None:
        """Give up the maps; arrays taken from them before stay valid."""
        self._ids = self._offsets = None

    def __enter__(self) -> EncodedCorpus:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return (
            f"<EncodedCorpus: {self.n_documents} documents, {self.n_tokens} words, "
            f"{len(self.vocabulary)} distinct, in {str(self.folder)!r}>"
        )


def _mapped(path: Path, kind: np.dtype[Any], length: int) -> np.memmap[Any, Any]:
    if path.stat().st_size != length * kind.itemsize:
        raise ValueError(f"{path.name} has {path.stat().st_size} bytes, not {length * kind.itemsize}")
    return np.memmap(path, kind, mode="r", shape=(length,))


def _still_open(array: np.memmap[Any, Any] | None) -> np.memmap[Any, Any]:
    if array is None:
        raise ValueError("this corpus has been closed; open it again with EncodedCorpus.open(folder)")
    return array
