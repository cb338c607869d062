"""Data sets for evaluation, read from one folder that the user names.

The folder, given as an argument or in the environment variable SPHEREVEC_DATA, holds

    20news/, movie_reviews/    text.txt[.gz] (one document a line), label.txt, split.txt, classes.txt
    wordsim/                   wordsim353.csv, men.txt, simlex999.txt, google-analogies.txt
    wiki/                      wiki20m.txt.gz
"""

from __future__ import annotations

import gzip
import os
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from spherevec.errors import ConfigError, CorpusError

DATA_VARIABLE = "SPHEREVEC_DATA"

LABELLED_SETS = ("20news", "movie_reviews")

# name → file, separator, column of the score, header lines
_SIMILARITY_FILES = {
    "wordsim353": ("wordsim353.csv", ",", 2, 1),
    "men": ("men.txt", " ", 2, 0),
    "simlex999": ("simlex999.txt", "\t", 3, 1),
}
SIMILARITY_SETS = tuple(_SIMILARITY_FILES)


@dataclass(frozen=True)
class LabelledTexts:
    """Documents with one class each; `split` holds "train" or "test" for each, or is None where none is given."""

    name: str
    texts: list[str]
    labels: NDArray[np.int64]
    split: NDArray[np.str_] | None
    classes: tuple[str, ...]


@dataclass(frozen=True)
class AnalogySection:
    """Questions of one kind: (a, b, c, d) asks which d is to c as b is to a."""

    name: str
    questions: tuple[tuple[str, str, str, str], ...]

    @property
    def syntactic(self) -> bool:
        """Whether the section asks for a grammatical form rather than a fact."""
        return self.name.startswith("gram")


def find_data(path: str | os.PathLike[str] | None = None) -> Path:
    """The data folder: `path`, or else what SPHEREVEC_DATA names."""
    named = path if path is not None else os.environ.get(DATA_VARIABLE)
    if not named:
        raise CorpusError(f"no data folder given; name it with --data or in the environment variable {DATA_VARIABLE}")
    folder = Path(named)
    if not folder.is_dir():
        raise CorpusError(f"data folder {folder} does not exist; check --data or {DATA_VARIABLE}")
    return folder


def load_labelled(name: str, data: str | os.PathLike[str] | None = None, *, download: bool = False) -> LabelledTexts:
    """Read the documents and classes of one of `LABELLED_SETS`.

    Args:
        download: where the data folder lacks 20news, let scikit-learn fetch it; it verifies and caches what it fetches.
    """
    if name not in LABELLED_SETS:
        raise ConfigError(f"unknown labelled data set {name!r}; known: {', '.join(LABELLED_SETS)}")
    try:
        folder = _existing(find_data(data) / name)
    except CorpusError:
        if download and name == "20news":
            return _fetch_20news()
        raise
    texts = _lines(_existing(folder / "text.txt.gz", folder / "text.txt"))
    classes = tuple(_lines(_existing(folder / "classes.txt")))
    label_file, split_file = _existing(folder / "label.txt"), _existing(folder / "split.txt")
    labels = [_label(label_file, number, line, len(classes)) for number, line in enumerate(_lines(label_file), 1)]
    split = np.array(_lines(split_file))
    for file, count in ((label_file, len(labels)), (split_file, len(split))):
        if count != len(texts):
            raise CorpusError(f"{file} has {count} lines for {len(texts)} documents; they must agree line by line")
    return LabelledTexts(name, texts, np.array(labels, dtype=np.int64), _given_split(split_file, split), classes)


def load_similarity(name: str, data: str | os.PathLike[str] | None = None) -> list[tuple[str, str, float]]:
    """Read the (word, word, human score) pairs of one of `SIMILARITY_SETS`."""
    if name not in _SIMILARITY_FILES:
        raise ConfigError(f"unknown similarity data set {name!r}; known: {', '.join(SIMILARITY_SETS)}")
    file_name, separator, column, header = _SIMILARITY_FILES[name]
    file = _existing(find_data(data) / "wordsim" / file_name)
    pairs = []
    for number, line in enumerate(_lines(file)[header:], header + 1):
        fields = line.split(separator)
        try:
            pairs.append((fields[0], fields[1], float(fields[column])))
        except (IndexError, ValueError):
            raise CorpusError(f"{file}, line {number}: expected two words and a score, not {line!r}") from None
    return pairs


def load_analogies(data: str | os.PathLike[str] | None = None) -> list[AnalogySection]:
    """Read the analogy questions, section by section."""
    file = _existing(find_data(data) / "wordsim" / "google-analogies.txt")
    sections: list[tuple[str, list[tuple[str, str, str, str]]]] = []
    for number, line in enumerate(_lines(file), 1):
        match line.split():
            case [":", name]:
                sections.append((name, []))
            case [a, b, c, d] if sections:
                sections[-1][1].append((a, b, c, d))
            case _:
                raise CorpusError(f"{file}, line {number}: expected ': section' or four words, not {line!r}")
    return [AnalogySection(name, tuple(questions)) for name, questions in sections]


def wiki_path(data: str | os.PathLike[str] | None = None) -> Path:
    """The Wikipedia sample, one paragraph a line, compressed."""
    return _existing(find_data(data) / "wiki" / "wiki20m.txt.gz")


def _existing(*candidates: Path) -> Path:
    for path in candidates:
        if path.exists():
            return path
    raise CorpusError(f"{candidates[0]} does not exist; is this the evaluation data folder?")


def _lines(file: Path) -> list[str]:
    """The lines of a plain or gzip-compressed file; only a line feed ends a line."""
    try:
        with gzip.open(file, "rb") if file.suffix == ".gz" else file.open("rb") as stream:
            text = stream.read().decode("utf-8")
    except (OSError, EOFError, UnicodeDecodeError) as error:
        raise CorpusError(f"{file} cannot be read: {error}") from error
    return [line.removesuffix("\r") for line in text.removesuffix("\n").split("\n")]


def _label(file: Path, number: int, line: str, classes: int) -> int:
    if not line.isdecimal() or int(line) >= classes:
        raise CorpusError(f"{file}, line {number}: expected a class number below {classes}, not {line!r}")
    return int(line)


def _given_split(file: Path, split: NDArray[np.str_]) -> NDArray[np.str_] | None:
    found = set(np.unique(split))
    if found == {"all"}:
        return None
    if found != {"train", "test"}:
        raise CorpusError(f"{file}: expected lines 'train' and 'test', or 'all' throughout, not {sorted(found)}")
    return split


def _fetch_20news() -> LabelledTexts:
    """The data set as scikit-learn fetches it: the training documents, then the test documents, sorted by class."""
    from sklearn.datasets import fetch_20newsgroups

    try:
        parts = [fetch_20newsgroups(subset=subset, shuffle=False) for subset in ("train", "test")]
    except OSError as error:
        raise CorpusError(
            f"20news could not be downloaded: {error}; name a data folder with --data or {DATA_VARIABLE}"
        ) from error
    return LabelledTexts(
        "20news",
        [" ".join(text.split()) for part in parts for text in part.data],
        np.concatenate([part.target for part in parts]).astype(np.int64),
        np.repeat(["train", "test"], [len(part.data) for part in parts]),
        tuple(parts[0].target_names),
    )
