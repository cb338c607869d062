"""A user's own files to measure against: labels, splits, pairs of words with scores, analogy questions.

Files are plain or gzip-compressed UTF-8.
"""

from __future__ import annotations

import gzip
import math
import os
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from spherevec.errors import CorpusError

PathLike = str | os.PathLike[str]


@dataclass(frozen=True)
class AnalogySection:
    """Questions of one kind: (a, b, c, d) asks which d is to c as b is to a."""

    name: str
    questions: tuple[tuple[str, str, str, str], ...]

    @property
    def syntactic(self) -> bool:
        """Whether the section asks for a grammatical form rather than a fact."""
        return self.name.startswith("gram")


def read_labels(file: PathLike) -> NDArray[np.str_]:
    """Read one label per line, (lines,); a label is any text."""
    lines = read_lines(file)
    for number, line in enumerate(lines, 1):
        if not line.strip():
            raise CorpusError(f"{file}, line {number}: is empty; every document needs a label")
    return np.array(lines)


def read_split(file: PathLike) -> NDArray[np.str_] | None:
    """Read "train" or "test", one per line; None where every line says "all", so that no split is given."""
    marks = read_lines(file)
    found = set(marks)
    if found == {"all"}:
        return None
    if found != {"train", "test"}:
        shown = [line[:80] for line in sorted(found)[:5]]
        raise CorpusError(f"{file}: expected lines 'train' and 'test', or 'all' throughout, not {shown}")
    return np.array(marks)


def read_pairs(file: PathLike) -> list[tuple[str, str, float]]:
    """Read pairs of words with the score that people gave them, one pair per line.

    Tabs, commas or spaces separate the two words and the score, which is the first number after the words. A first
    line without a number is a header.
    """
    pairs = []
    for number, line in enumerate(read_lines(file), 1):
        separator = next((one for one in "\t," if one in line), None)
        words = [cell.strip() for cell in line.split(separator)]
        score = next((value for cell in words[2:] if (value := _number(cell)) is not None), None)
        if score is not None and words[0] and words[1]:
            pairs.append((words[0], words[1], score))
        elif number > 1 or len(words) < 3:
            raise CorpusError(f"{file}, line {number}: expected two words and a score, not {line[:80]!r}")
    return pairs


def read_analogies(file: PathLike) -> list[AnalogySection]:
    """Read analogy questions, four words per line, in sections that begin with a line `: name`."""
    sections: list[tuple[str, list[tuple[str, str, str, str]]]] = []
    for number, line in enumerate(read_lines(file), 1):
        match line.split():
            case [":", name]:
                sections.append((name, []))
            case [a, b, c, d] if sections:
                sections[-1][1].append((a, b, c, d))
            case _:
                raise CorpusError(f"{file}, line {number}: expected ': section' or four words, not {line[:80]!r}")
    return [AnalogySection(name, tuple(questions)) for name, questions in sections]


def read_lines(file: PathLike) -> list[str]:
    """The lines of a plain or gzip-compressed file; only a line feed ends a line."""
    path = Path(file)
    if not path.is_file():
        raise CorpusError(f"{path}: no such file")
    try:
        with gzip.open(path, "rb") if path.suffix == ".gz" else path.open("rb") as stream:
            text = stream.read().decode("utf-8")
    except (OSError, EOFError, UnicodeDecodeError) as error:
        raise CorpusError(f"{path}: cannot be read: {error}") from error
    return [line.removesuffix("\r") for line in text.removesuffix("\n").split("\n")]


def _number(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return value if math.isfinite(value) else None
