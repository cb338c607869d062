"""Word vectors handed from one cell to another through a file."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

from spherevec.io.files import atomic_file
from spherevec.keyed_vectors import KeyedVectors


def save_words(words: KeyedVectors, path: Path) -> None:
    with atomic_file(path, overwrite=True) as file, file.open("wb") as stream:
        np.savez(stream, words=np.array(json.dumps(words.names)), vectors=words.vectors, counts=np.array(words.counts))


def load_words(path: Path) -> KeyedVectors:
    with np.load(path) as file:
        return KeyedVectors(json.loads(str(file["words"])), file["vectors"], file["counts"])
