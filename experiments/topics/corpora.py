"""The labelled texts that topics are measured on, and names for two of them."""

from __future__ import annotations

import csv
import gzip
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

SETS = ("search_snippets", "google_news", "biomedical", "movie_reviews", "dblp", "20news", "sotu")
EVERY = {"dblp": 3, "20news": 3}  # one document of so many is taken, by all programs

# One or two plain words a class, in the order of classes.txt.
TWO_WORDS = {
    "atheism": ["atheism", "atheists"],
    "graphics": ["graphics", "image"],
    "windows": ["windows", "microsoft"],
    "pc hardware": ["pc", "ide"],
    "mac": ["mac", "apple"],
    "x window": ["x11", "motif"],
    "for sale": ["sale", "offer"],
    "cars": ["car", "cars"],
    "motorcycles": ["motorcycle", "bike"],
    "baseball": ["baseball"],
    "hockey": ["hockey"],
    "cryptography": ["encryption", "cryptography"],
    "electronics": ["electronics", "circuit"],
    "medicine": ["medicine", "disease"],
    "space": ["space", "nasa"],
    "christian": ["christian", "church"],
    "guns": ["guns", "firearms"],
    "mideast": ["israel", "arab"],
    "politics": ["politics", "government"],
    "religion": ["religion", "biblical"],
}


def load(name: str, data: Path, every: int | None = None) -> tuple[list[str], NDArray[np.int64] | None]:
    """The texts of a set, and the number of each one's class where the set has classes.

    Args:
        every: one document of so many; as EVERY has it, unless given.
    """
    step = EVERY.get(name, 1) if every is None else every
    if name == "sotu":
        with (data / "sotu/sotu.csv").open(encoding="utf-8", newline="") as file:
            return [row["text"] for row in csv.DictReader(file)][::step], None
    with gzip.open(data / name / "text.txt.gz", "rt", encoding="utf-8", newline="\n") as file:
        texts = [line.rstrip("\n") for line in file]
    labels = (data / name / "label.txt").read_text().split()  # numbered from 0 or from 1
    return texts[::step], np.unique(np.array(labels, np.int64), return_inverse=True)[1][::step]


def names_of(name: str, data: Path) -> object:
    """Names of the classes for a classification without labels, or None."""
    if name == "20news":
        return TWO_WORDS
    if name == "search_snippets":
        return (data / name / "classes.txt").read_text().split("\n")[:8]
    return None
