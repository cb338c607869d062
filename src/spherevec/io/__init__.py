"""The formats that vectors come in and go out by."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

from spherevec.corpus.tokenize.tokenizer import TokenizerLike, tokenizer_of
from spherevec.errors import ConfigError, FormatError
from spherevec.io import (
    fasttext,
    fasttext_bin,
    glove,
    jose,
    npy,
    parquet,
    projector,
    spacy_table,
    static_embedding,
    word2vec_binary,
    word2vec_text,
)
from spherevec.io.averaging import averaging_vectors
from spherevec.io.outside import Changes, opened
from spherevec.model import Model
from spherevec.model.keyed_vectors import KeyedVectors
from spherevec.search.neighbors import check_finite

__all__ = ["FORMATS", "Changes", "Format", "export_model", "export_vectors", "import_vectors", "underscored"]


@dataclass(frozen=True)
class Format:
    """How one format is written and, where that makes sense, read."""

    help: str
    write: Callable[..., None]
    read: Callable[[Path], tuple[KeyedVectors, Changes]] | None = None
    folder: bool = False
    titled: bool = False  # whether it has a place for titles
    spaces: bool = False  # whether names may hold spaces, as those of phrases do
    averages: bool = False  # whether programs that read it take a text as the mean of its words


FORMATS: Mapping[str, Format] = MappingProxyType(
    {
        "word2vec": Format("word2vec text, as gensim reads it", word2vec_text.write, word2vec_text.read),
        "word2vec-bin": Format("word2vec binary", word2vec_binary.write, word2vec_binary.read),
        "glove": Format("GloVe text: no header", glove.write, glove.read),
        "fasttext": Format("fastText .vec", fasttext.write, fasttext.read),
        "fasttext-bin": Format("fastText .bin, as fastText itself loads it", fasttext_bin.write),
        "jose": Format("the word and document files of the paper's authors", jose.write, jose.read),
        "npy": Format("NumPy .npy, with the names in .labels.txt", npy.write, spaces=True),
        "parquet": Format(
            "Parquet: key, title, vector, count (extra parquet)", parquet.write, titled=True, spaces=True
        ),
        "projector": Format(
            "TensorBoard projector: a folder of two TSV files", projector.write, folder=True, titled=True, spaces=True
        ),
        "spacy": Format(
            "a spaCy vocabulary folder (extra spacy)", spacy_table.write, folder=True, spaces=True, averages=True
        ),
        "sentence-transformers": Format(
            "a folder that sentence_transformers loads as a static embedding",
            static_embedding.write,
            folder=True,
            spaces=True,
            averages=True,
        ),
    }
)


def export_vectors(
    vectors: KeyedVectors,
    path: str | Path,
    format: str = "word2vec",
    *,
    overwrite: bool = False,
    tokenizer: TokenizerLike = "words",
    guard_formulas: bool = False,
    title: Callable[[int], str] | None = None,
    underscores: bool = False,
) -> None:
    """Write vectors for other programs, completely or not at all.

    Args:
        format: one of `FORMATS`.
        overwrite: replace what is at `path`.
        tokenizer: how the model splits text, for formats that carry a tokeniser with them.
        title: the title of each row, for formats that have a place for it (Parquet, projector).
        underscores: write phrases as `heart_attack` where a format takes no spaces inside names; refused without it.
        guard_formulas: in the TSV files of the projector, put an apostrophe before names that a spreadsheet would run.
    """
    _check_format(format, list(FORMATS), "write")
    options: dict[str, Any] = {"tokenizer": tokenizer_of(tokenizer)} if format == "sentence-transformers" else {}
    if format == "projector":
        options["guard_formulas"] = guard_formulas
    elif guard_formulas:
        raise ConfigError(f"guard_formulas is for TSV files (format 'projector'), not for {format!r}; leave it out")
    check_finite(vectors.vectors)
    if underscores and not FORMATS[format].spaces:
        vectors = underscored(vectors)
    if FORMATS[format].titled and title is not None:
        options["title"] = title
    FORMATS[format].write(vectors, Path(path), overwrite=overwrite, **options)


def export_model(
    model: Model, what: str, path: str | Path, format: str, *, overwrite: bool = False, guard_formulas: bool = False
) -> list[str]:
    """Write the "words", "contexts" or "docs" of a model with `export_vectors`; returns what there is to say about it.

    In formats whose readers average words, the words are weighted and turned so that the average of a text is close to
    what `Model.infer` gives.
    """
    vectors, notes = getattr(model, what), []
    _check_format(format, list(FORMATS), "write")
    if what == "words" and FORMATS[format].averages:
        vectors, cosine = averaging_vectors(model)
        if cosine is not None:
            notes.append(f"averages of these words have a mean cosine of {cosine:.3f} to the document vectors")
    if what != "docs" and not FORMATS[format].spaces and any(" " in key for key in vectors.index_to_key):
        notes.append("phrases are written with _ for their spaces, since the format takes none")
    documents = model.documents if what == "docs" else None
    export_vectors(
        vectors,
        path,
        format,
        overwrite=overwrite,
        tokenizer=model.tokenizer,
        guard_formulas=guard_formulas,
        title=documents.title if documents is not None and documents.titled else None,
        underscores=what != "docs",
    )
    return notes


def import_vectors(path: str | Path, format: str | None = None) -> tuple[KeyedVectors, Changes]:
    """Read vectors from another program, put them on the sphere, and say what changed.

    Args:
        format: one of `FORMATS` that can be read; None looks at the file.
    """
    readers = {name: known.read for name, known in FORMATS.items() if known.read is not None}
    name = _guess(path) if format is None else format
    _check_format(name, list(readers), "read")
    return readers[name](Path(path))


def underscored(vectors: KeyedVectors) -> KeyedVectors:
    """The same vectors, with _ for the spaces inside their names; two names that become one are refused.

    Example:
        >>> underscored(KeyedVectors(["heart attack"], [[1.0, 0.0]])).names
        ['heart_attack']
    """
    if not vectors.named or not any(" " in name for name in vectors.names or ()):
        return vectors
    names = [name.replace(" ", "_") for name in vectors.names or ()]
    known: dict[str, str] = {}
    for old, new in zip(vectors.names or (), names, strict=True):
        if known.setdefault(new, old) != old:
            raise FormatError(
                f"{old!r:.60} and {known[new]!r:.60} would both be written as {new!r:.60}; "
                "choose a format that takes spaces (parquet, npy, projector)"
            )
    return KeyedVectors(names, vectors.vectors, vectors.counts)


def _check_format(name: str, known: list[str], verb: str) -> None:
    if name not in known:
        raise ConfigError(f"cannot {verb} the format {name!r}; choose one of {', '.join(known)}")


def _guess(path: str | Path) -> str:
    """The format of a file by its first lines."""
    with opened(path) as source:
        header = source.file.readline(256).split()
        if len(header) != 2 or not all(field.isdigit() for field in header):
            return "glove"
        sample = source.file.read(4096)
    control = bytes(set(range(32)) - set(b"\t\n\v\f\r"))
    return "word2vec-bin" if sample.translate(None, control) != sample else "word2vec"
