"""The table of formats that vectors are written to and read from: one row a format."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

from spherevec.io import (
    fasttext_bin,
    npy,
    parquet,
    projector,
    spacy_table,
    static_embedding,
    text_formats,
    word2vec_binary,
)
from spherevec.io.reading import Changes
from spherevec.model.keyed_vectors import KeyedVectors

DEFAULT_FORMAT = "word2vec"


@dataclass(frozen=True)
class Format:
    """How one format is written and, where that makes sense, read.

    Attributes:
        write: called with the vectors, a path, `overwrite`, and what `takes` names.
        read: from a path; None if the format is only written.
        endings: of file names that mean this format.
        takes: further arguments of `write`: "title" of a row, "tokenizer" of the model, "guard_formulas".
        spaces: whether names may hold spaces, as those of phrases do.
        averages: whether programs that read it take a text as the mean of its words.
    """

    write: Callable[..., None]
    read: Callable[[Path], tuple[KeyedVectors, Changes]] | None = None
    endings: tuple[str, ...] = ()
    takes: tuple[str, ...] = ()
    spaces: bool = False
    averages: bool = False


FORMATS: Mapping[str, Format] = MappingProxyType(
    {
        "word2vec": Format(text_formats.write_word2vec, text_formats.read_word2vec),
        "word2vec-bin": Format(word2vec_binary.write, word2vec_binary.read, endings=(".bin",)),
        "glove": Format(text_formats.write_glove, text_formats.read_glove),
        "fasttext": Format(text_formats.write_fasttext, text_formats.read_word2vec),
        "fasttext-bin": Format(fasttext_bin.write),
        "jose": Format(text_formats.write_fasttext, text_formats.read_jose),
        "npy": Format(npy.write, endings=(".npy",), spaces=True),
        "parquet": Format(parquet.write, endings=(".parquet",), takes=("title",), spaces=True),
        "projector": Format(projector.write, takes=("title", "guard_formulas"), spaces=True),
        "spacy": Format(spacy_table.write, spaces=True, averages=True),
        "sentence-transformers": Format(static_embedding.write, takes=("tokenizer",), spaces=True, averages=True),
    }
)

# Endings of formats that people expect and that are not written.
_OTHER_ENDINGS = (".csv", ".tsv", ".json", ".jsonl", ".xlsx", ".arrow", ".feather", ".npz", ".pkl", ".h5")


def format_of(path: Path) -> str | None:
    """The format that the ending of a file name means, word2vec if it means none; None if it cannot be written."""
    ending = path.suffix.lower()
    if ending in _OTHER_ENDINGS:
        return None
    return next((name for name, known in FORMATS.items() if ending in known.endings), DEFAULT_FORMAT)
