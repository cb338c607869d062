"""A spaCy vocabulary with its vectors table.

`nlp.vocab.from_disk(folder)` brings words and vectors into a pipeline, `spacy.vectors.Vectors().from_disk(folder)` the
table alone.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from spherevec.errors import MissingExtraError
from spherevec.io.text_rows import plain_names
from spherevec.model.keyed_vectors import KeyedVectors
from spherevec.storage.files import atomic_folder

_FILES = {"key2row", "lookups.bin", "strings.json", "vectors", "vectors.cfg"}


def write(vectors: KeyedVectors, path: Path, *, overwrite: bool = False) -> None:
    try:
        from spacy.vectors import Vectors
        from spacy.vocab import Vocab
    except ImportError:
        raise MissingExtraError("writing a spaCy table", "spacy") from None
    names = plain_names(vectors, "spaCy", forbidden="")
    vocabulary = Vocab(strings=names)
    keys = np.array([vocabulary.strings[name] for name in names], np.uint64)
    table = Vectors(strings=vocabulary.strings, data=np.array(vectors.vectors), keys=keys, name="spherevec")
    vocabulary.vectors = table
    with atomic_folder(path, overwrite=overwrite, ours=_FILES) as folder:
        vocabulary.to_disk(folder)
