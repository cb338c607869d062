"""Data sets for evaluation, read from one folder that the user names.

The folder, given as an argument or in the environment variable SPHEREVEC_DATA, holds

    NAME/       text.txt[.gz] (one document a line), label.txt, split.txt, classes.txt: a labelled set, such as 20news
    wordsim/    wordsim353.csv, men.txt, simlex999.txt, google-analogies.txt
    wiki/       wiki20m.txt.gz

Labels of one's own are a file with one label a line (`read_labels`, `read_split`).
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


def labelled_sets(data: str | os.PathLike[str] | None = None) -> list[str]:
    """The names of the labelled sets in the data folder.

    Examples:
        >>> from pathlib import Path
        >>> Path("data/tickets").mkdir(parents=True)
        >>> _ = Path("data/tickets/label.txt").write_text("0\\n")
        >>> labelled_sets("data")
        ['tickets']
    """
    return sorted(folder.parent.name for folder in find_data(data).glob("*/label.txt"))


def load_labelled(name: str, data: str | os.PathLike[str] | None = None) -> LabelledTexts:
    """Read the documents and classes of a labelled set.

    Args:
        name: one of `labelled_sets`: a folder with text.txt or text.txt.gz, label.txt, split.txt and classes.txt.
            Labels are the numbers of the lines of classes.txt, from 0, or from 1 up to the last of them.
        data: the data folder, as `find_data` takes it.

    Returns:
        Texts, class numbers from 0 and split, line by line.
    """
    folder = find_data(data) / name
    if not (folder / "label.txt").is_file():
        known = ", ".join(labelled_sets(data)) or "none"
        raise ConfigError(f"{folder.parent}: has no labelled data set {name!r}; it has {known}")
    texts = _lines(_existing(folder / "text.txt.gz", folder / "text.txt"))
    classes = tuple(_lines(_existing(folder / "classes.txt")))
    label_file, split_file = folder / "label.txt", _existing(folder / "split.txt")
    labels = _class_numbers(label_file, len(classes))
    split = _lines(split_file)
    for file, count in ((label_file, len(labels)), (split_file, len(split))):
        if count != len(texts):
            raise CorpusError(f"{file} has {count} lines for {len(texts)} documents; they must agree line by line")
    return LabelledTexts(name, texts, np.array(labels, dtype=np.int64), _given_split(split_file, split), classes)


def read_labels(file: str | os.PathLike[str]) -> NDArray[np.str_]:
    """Read one label a line, plain or gzip-compressed; a label is any text.

    Returns:
        Shape (lines,).

    Examples:
        >>> from pathlib import Path
        >>> _ = Path("labels.txt").write_text("billing\\nlogin\\nbilling\\n")
        >>> read_labels("labels.txt").tolist()
        ['billing', 'login', 'billing']
    """
    path = _existing_file(Path(file))
    lines = _lines(path)
    for number, line in enumerate(lines, 1):
        if not line.strip():
            raise CorpusError(f"{path}, line {number}: is empty; every document needs a label")
    return np.array(lines)


def read_split(file: str | os.PathLike[str]) -> NDArray[np.str_] | None:
    """Read "train" or "test", one a line; None where every line says "all", so that no split is given.

    Examples:
        >>> from pathlib import Path
        >>> _ = Path("split.txt").write_text("train\\ntest\\n")
        >>> read_split("split.txt").tolist()
        ['train', 'test']
    """
    path = _existing_file(Path(file))
    return _given_split(path, _lines(path))


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


def _existing_file(path: Path) -> Path:
    if not path.is_file():
        raise CorpusError(f"{path}: no such file")
    return path


def _lines(file: Path) -> list[str]:
    """The lines of a plain or gzip-compressed file; only a line feed ends a line."""
    try:
        with gzip.open(file, "rb") if file.suffix == ".gz" else file.open("rb") as stream:
            text = stream.read().decode("utf-8")
    except (OSError, EOFError, UnicodeDecodeError) as error:
        raise CorpusError(f"{file} cannot be read: {error}") from error
    return [line.removesuffix("\r") for line in text.removesuffix("\n").split("\n")]


def _class_numbers(file: Path, classes: int) -> list[int]:
    """One class number a line, from 0; a file whose numbers go from 1 to the number of classes is numbered from 1."""
    lines = _lines(file)
    for number, line in enumerate(lines, 1):
        if not line.isdecimal() or int(line) > classes:
            raise CorpusError(f"{file}, line {number}: expected a class number below {classes}, not {line!r}")
    labels = [int(line) for line in lines]
    if classes not in labels:
        return labels
    if 0 in labels:
        number = labels.index(classes) + 1
        raise CorpusError(f"{file}, line {number}: expected a class number below {classes}, not '{classes}'")
    return [label - 1 for label in labels]


def _given_split(file: Path, marks: list[str]) -> NDArray[np.str_] | None:
    found = set(marks)
    if found == {"all"}:
        return None
    if found != {"train", "test"}:
        raise CorpusError(f"{file}: expected lines 'train' and 'test', or 'all' throughout, not {sorted(found)[:5]}")
    return np.array(marks)
