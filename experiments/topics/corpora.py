"""The labelled texts that topics are measured on, and names for two of them."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from spherevec.demo.docstrings import collect_docstrings

SETS = ("search_snippets", "google_news", "biomedical", "docstrings", "dblp", "20news")

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


def load(name: str, data: Path) -> tuple[list[str], NDArray[np.int64]]:
    """The texts of a set and the number of each one's class."""
    if name == "docstrings":
        found = collect_docstrings()
        packages = sorted({one.package for one in found})
        return [" ".join(one.text.split()) for one in found], np.array([packages.index(one.package) for one in found])
    with gzip.open(data / name / "text.txt.gz", "rt", encoding="utf-8", newline="\n") as file:
        texts = [line.rstrip("\n") for line in file]
    labels = (data / name / "label.txt").read_text().split()  # numbered from 0 or from 1
    return texts, np.unique(np.array(labels, np.int64), return_inverse=True)[1]


def names_of(name: str, data: Path) -> object:
    """Names of the classes for a classification without labels, or None."""
    if name == "20news":
        return TWO_WORDS
    if name == "search_snippets":
        return (data / name / "classes.txt").read_text().split("\n")[:8]
    return None
