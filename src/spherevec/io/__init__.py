"""Vectors written for other programs, and read from them; `FORMATS` is the table of formats."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import MappingProxyType

from spherevec.corpus.tokenize.tokenizer import TokenizerLike, tokenizer_of
from spherevec.errors import ConfigError, FormatError
from spherevec.io import binary, folders, text
from spherevec.io.averaging import averaging_vectors
from spherevec.io.reading import Changes, open_vectors
from spherevec.model import Model
from spherevec.model.keyed_vectors import KeyedVectors
from spherevec.search.neighbors import check_finite
from spherevec.storage.files import atomic_file, atomic_folder

__all__ = ["FORMATS", "Changes", "Format", "export_model", "export_vectors", "format_of", "import_vectors"]


@dataclass(frozen=True)
class Format:
    """How one format is written and, where that makes sense, read."""

    write: Callable[..., None]  # called with a path, the vectors, their names, and what `takes` names
    # From a path; None if the format is only written
    read: Callable[[Path], tuple[KeyedVectors, Changes]] | None = None
    endings: tuple[str, ...] = ()  # of file names that mean this format
    # Further arguments of `write`: "title" of a row, "tokenizer" of the model, "guard_formulas"
    takes: tuple[str, ...] = ()
    # The characters that names may not hold, since the format gives them a meaning of its own
    forbidden: str = " \t\n\r\f\v\0"
    empty: bool = False  # whether a name may be empty
    labels: bool = False  # whether the names are written beside it, one per line
    files: frozenset[str] = frozenset()  # what a format that is a folder holds; no other folder is replaced
    averages: bool = False  # whether programs that read it take a text as the mean of its words


# As word2vec, with a space at the end of each line; the paper authors' program writes the same.
_write_fasttext = partial(text.write, end=" \n")
DEFAULT_FORMAT = "word2vec"
FORMATS: Mapping[str, Format] = MappingProxyType(
    {
        DEFAULT_FORMAT: Format(text.write, text.read_word2vec),
        "word2vec-bin": Format(binary.write_word2vec, binary.read_word2vec, endings=(".bin",)),
        "glove": Format(partial(text.write, header=False), text.read_glove),
        "fasttext": Format(_write_fasttext, text.read_word2vec),
        "fasttext-bin": Format(binary.write_fasttext),
        "jose": Format(_write_fasttext, text.read_jose),
        "npy": Format(binary.write_npy, endings=(".npy",), forbidden="\n\r", empty=True, labels=True),
        "parquet": Format(binary.write_parquet, endings=(".parquet",), takes=("title",), forbidden="", empty=True),
        "projector": Format(
            folders.write_projector,
            takes=("title", "guard_formulas"),
            forbidden="\t\n\r",
            files=folders.PROJECTOR_FILES,
        ),
        "spacy": Format(folders.write_spacy, forbidden="", files=folders.SPACY_FILES, averages=True),
        "sentence-transformers": Format(
            folders.write_sentence_transformers,
            takes=("tokenizer",),
            forbidden="",
            empty=True,
            files=folders.SENTENCE_TRANSFORMERS_FILES,
            averages=True,
        ),
    }
)

# Endings of formats that people expect and that are not written.
_OTHER_ENDINGS = (".csv", ".tsv", ".json", ".jsonl", ".xlsx", ".arrow", ".feather", ".npz", ".pkl", ".h5")


def format_of(path: Path) -> str:
    """The format that the ending of a file name means, word2vec if it means none."""
    ending = path.suffix.lower()
    named = next((name for name, known in FORMATS.items() if ending in known.endings), None)
    if named is None and ending in _OTHER_ENDINGS:
        hint = "write .parquet or .npy, or name the format (--format)"
        raise ConfigError(f"{path}: vectors are not written as {path.suffix}; {hint}")
    return named or DEFAULT_FORMAT


def export_vectors(
    vectors: KeyedVectors,
    path: str | Path,
    format: str = DEFAULT_FORMAT,
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
        tokenizer: how the model splits text, for formats that carry a tokenizer with them.
        title: the title of each row, for formats that have a place for it (Parquet, projector).
        underscores: write phrases as `heart_attack` where a format takes no spaces inside names; refused without it.
        guard_formulas: in the TSV files of the projector, put an apostrophe before names that a spreadsheet would run.
    """
    known, path = _known(format, list(FORMATS), "write"), Path(path)
    if guard_formulas and "guard_formulas" not in known.takes:
        raise ConfigError(f"guard_formulas is for TSV files (format 'projector'), not for {format!r}; leave it out")
    check_finite(vectors.vectors)
    if underscores and " " in known.forbidden:
        vectors = _underscored(vectors)
    names = _writable_names(vectors, format)
    options = {"title": title, "tokenizer": tokenizer_of(tokenizer), "guard_formulas": guard_formulas}
    opened = partial(atomic_folder, ours=known.files) if known.files else atomic_file
    with opened(path, overwrite=overwrite) as target:
        known.write(target, vectors, names, **{name: options[name] for name in known.takes})
        if known.labels:  # both are complete before either gets its name
            with atomic_file(labels_path(path, format), overwrite=overwrite) as label_file:
                label_file.write_bytes("".join([f"{name}\n" for name in names]).encode())


def labels_path(path: Path, format: str) -> Path:
    """The file of names beside the vectors, in formats that have one."""
    return path.with_name(f"{path.stem if path.suffix in FORMATS[format].endings else path.name}.labels.txt")


def export_model(
    model: Model, what: str, path: str | Path, format: str, *, overwrite: bool = False, guard_formulas: bool = False
) -> list[str]:
    """Write the "words", "contexts" or "docs" of a model with `export_vectors`; returns notes for the user.

    In formats whose readers average words, the words are weighted and turned so that the average of a text is close to
    what `Model.infer` gives.
    """
    vectors, notes = getattr(model, what), []
    known = _known(format, list(FORMATS), "write")
    if what == "words" and known.averages:
        vectors, cosine = averaging_vectors(model)
        if cosine is not None:
            notes.append(f"averages of these words have a mean cosine of {cosine:.3f} to the document vectors")
    if what != "docs" and " " in known.forbidden and any(" " in key for key in vectors.index_to_key):
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
    """Read vectors of another program and scale them to length 1; also returns what was changed.

    The format is one of `FORMATS` that can be read, None to look at the file.
    """
    name = _guess(path) if format is None else format
    known = _known(name, [name for name, known in FORMATS.items() if known.read is not None], "read")
    assert known.read is not None
    return known.read(Path(path))


def _known(name: str, names: list[str], verb: str) -> Format:
    if name not in names:
        raise ConfigError(f"cannot {verb} the format {name!r}; choose one of {', '.join(names)}")
    return FORMATS[name]


def _guess(path: str | Path) -> str:
    """The format of a file by its first lines."""
    with open_vectors(path) as source:
        header = source.file.readline(256).split()
        if len(header) != 2 or not all(field.isdigit() for field in header):
            return "glove"
        sample = source.file.read(4096)
    control = bytes(set(range(32)) - set(b"\t\n\v\f\r"))
    return "word2vec-bin" if sample.translate(None, control) != sample else "word2vec"


def _underscored(vectors: KeyedVectors) -> KeyedVectors:
    """The same vectors, with _ for the spaces inside their names; two names that become one are refused."""
    old_names = vectors.names or ()
    if not any(" " in name for name in old_names):
        return vectors
    known: dict[str, str] = {}
    for old in old_names:
        new = old.replace(" ", "_")
        if known.setdefault(new, old) != old:
            raise FormatError(
                f"{old!r:.60} and {known[new]!r:.60} would both be written as {new!r:.60}; "
                "choose a format that takes spaces (parquet, npy, projector)"
            )
    return KeyedVectors([name.replace(" ", "_") for name in old_names], vectors.vectors, vectors.counts)


def _writable_names(vectors: KeyedVectors, format: str) -> list[str]:
    """The names to write, positions where there are none; refused if the format cannot hold one of them."""
    if vectors.names is None:
        return [str(position) for position in range(len(vectors))]
    # Half a character, as in odd file names, cannot be written in UTF-8.
    special = re.compile(f"[{re.escape(FORMATS[format].forbidden)}\ud800-\udfff]")
    described = {" ": "a space", "\n": "a line break", "\r": "a line break", "\t": "a tab"}
    for row, name in enumerate(vectors.names):
        found = special.search(name)
        if found or not (name or FORMATS[format].empty):
            fault = described.get(found[0], f"the character {found[0]!r}") if found else "an empty name"
            raise FormatError(
                f"the name {name!r:.60} (number {row + 1}) cannot be written: {format} files cannot hold {fault};"
                " rename it or choose another format"
            )
    return list(vectors.names)
