"""Vectors written for other programs, and read from them; `FORMATS` is the table of formats."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from spherevec.corpus.tokenize.tokenizer import TokenizerLike, tokenizer_of
from spherevec.errors import ConfigError, FormatError
from spherevec.io.averaging import averaging_vectors
from spherevec.io.formats import DEFAULT_FORMAT, FORMATS, Format, format_of
from spherevec.io.reading import Changes, open_vectors
from spherevec.model import Model
from spherevec.model.keyed_vectors import KeyedVectors
from spherevec.search.neighbors import check_finite

__all__ = [
    "FORMATS",
    "Changes",
    "Format",
    "export_model",
    "export_vectors",
    "format_of",
    "import_vectors",
    "underscored",
]


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
    known = _known(format, list(FORMATS), "write")
    if guard_formulas and "guard_formulas" not in known.takes:
        raise ConfigError(f"guard_formulas is for TSV files (format 'projector'), not for {format!r}; leave it out")
    check_finite(vectors.vectors)
    if underscores and not known.spaces:
        vectors = underscored(vectors)
    options = {"title": title, "tokenizer": tokenizer_of(tokenizer), "guard_formulas": guard_formulas}
    known.write(vectors, Path(path), overwrite=overwrite, **{name: options[name] for name in known.takes})


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
    if what != "docs" and not known.spaces and any(" " in key for key in vectors.index_to_key):
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

    Args:
        format: one of `FORMATS` that can be read; None looks at the file.
    """
    name = _guess(path) if format is None else format
    known = _known(name, [name for name, known in FORMATS.items() if known.read is not None], "read")
    assert known.read is not None
    return known.read(Path(path))


def underscored(vectors: KeyedVectors) -> KeyedVectors:
    """The same vectors, with _ for the spaces inside their names; two names that become one are refused.

    Example:
        >>> underscored(KeyedVectors(["heart attack"], [[1.0, 0.0]])).names
        ['heart_attack']
    """
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
