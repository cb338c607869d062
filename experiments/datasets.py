"""The data sets of the experiments, in one folder: given as an argument, or named by SPHEREVEC_DATA.

NAME/       text.txt[.gz] (one document a line), label.txt, split.txt, classes.txt: a labelled set, such as 20news
wordsim/    wordsim353.csv, men.txt, simlex999.txt, google-analogies.txt
wiki/       wiki20m.txt.gz
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike, NDArray

from experiments.neighbors import knn_curve
from spherevec.errors import ConfigError, CorpusError
from spherevec.evaluation.documents import ClassificationResult, Split
from spherevec.evaluation.files import AnalogySection, read_analogies, read_lines, read_pairs, read_split

DATA_VARIABLE = "SPHEREVEC_DATA"
_SIMILARITY_FILES = {"wordsim353": "wordsim353.csv", "men": "men.txt", "simlex999": "simlex999.txt"}
SIMILARITY_SETS = tuple(_SIMILARITY_FILES)


@dataclass(frozen=True)
class LabelledTexts:
    """Documents with one class each; `split` holds "train" or "test" for each, or is None where none is given."""

    name: str
    texts: list[str]
    labels: NDArray[np.int64]
    split: NDArray[np.str_] | None
    classes: tuple[str, ...]


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
    """The names of the labelled sets in the data folder."""
    return sorted(folder.parent.name for folder in find_data(data).glob("*/label.txt"))


def load_labelled(name: str, data: str | os.PathLike[str] | None = None) -> LabelledTexts:
    """Read the documents and classes of a labelled set.

    Labels are the numbers of the lines of classes.txt, from 0, or from 1 up to the last of them.
    """
    folder = find_data(data) / name
    if not (folder / "label.txt").is_file():
        known = ", ".join(labelled_sets(data)) or "none"
        raise ConfigError(f"{folder.parent}: has no labelled data set {name!r}; it has {known}")
    packed = folder / "text.txt.gz"
    texts = read_lines(packed if packed.exists() else folder / "text.txt")
    classes = tuple(read_lines(folder / "classes.txt"))
    label_file, split_file = folder / "label.txt", folder / "split.txt"
    labels = _class_numbers(label_file, len(classes))
    for file, count in ((label_file, len(labels)), (split_file, len(read_lines(split_file)))):
        if count != len(texts):
            raise CorpusError(f"{file} has {count} lines for {len(texts)} documents; they must agree line by line")
    return LabelledTexts(name, texts, np.array(labels, dtype=np.int64), read_split(split_file), classes)


def load_similarity(name: str, data: str | os.PathLike[str] | None = None) -> list[tuple[str, str, float]]:
    """Read the (word, word, human score) pairs of one of `SIMILARITY_SETS`."""
    if name not in _SIMILARITY_FILES:
        raise ConfigError(f"unknown similarity data set {name!r}; known: {', '.join(SIMILARITY_SETS)}")
    return read_pairs(find_data(data) / "wordsim" / _SIMILARITY_FILES[name])


def load_analogies(data: str | os.PathLike[str] | None = None) -> list[AnalogySection]:
    """Read the analogy questions, section by section."""
    return read_analogies(find_data(data) / "wordsim" / "google-analogies.txt")


def wiki_path(data: str | os.PathLike[str] | None = None) -> Path:
    """The Wikipedia sample, one paragraph a line, compressed."""
    path = find_data(data) / "wiki" / "wiki20m.txt.gz"
    if not path.exists():
        raise CorpusError(f"{path}: no such file; is this the data folder?")
    return path


def cross_validated(
    vectors: ArrayLike, labels: ArrayLike, k: int = 3, folds: int = 5, seed: int = 0
) -> ClassificationResult:
    """Classify each of `folds` shuffled parts, with the classes in proportion, by the neighbours in the others."""
    return knn_curve(vectors, labels, fold_rows(labels, folds, seed), ks=(k,))[0]


def fold_rows(labels: ArrayLike, folds: int = 5, seed: int = 0) -> list[Split]:
    """Stratified, shuffled folds: each is the test set once."""
    from sklearn.model_selection import StratifiedKFold

    classes = np.asarray(labels)
    largest = int(np.unique(classes, return_counts=True)[1].max(initial=0))
    if not 2 <= folds <= largest:
        raise ConfigError(f"folds must be between 2 and the {largest} documents of the largest class, not {folds}")
    return list(StratifiedKFold(folds, shuffle=True, random_state=seed).split(classes, classes))


def _class_numbers(file: Path, classes: int) -> list[int]:
    """One class number a line, from 0; a file whose numbers go from 1 to the number of classes is numbered from 1."""
    lines = read_lines(file)
    for number, line in enumerate(lines, 1):
        if not line.isdecimal() or int(line) > classes:
            raise CorpusError(f"{file}, line {number}: expected a class number below {classes}, not {line[:80]!r}")
    labels = [int(line) for line in lines]
    if classes not in labels:
        return labels
    if 0 in labels:
        number = labels.index(classes) + 1
        raise CorpusError(f"{file}, line {number}: expected a class number below {classes}, not '{classes}'")
    return [label - 1 for label in labels]
