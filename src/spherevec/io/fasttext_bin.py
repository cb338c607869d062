"""fastText `.bin`: a dictionary and a matrix of input vectors, as fastText's own programs load them.

fastText makes a vector of a word's own row and the rows of its character n-grams. Vectors from here know no n-grams, so
the file says that there are none (`maxn` 0): a known word has exactly its vector, an unknown one has none, which
fastText answers with zeros. Rows for n-grams could only be fitted afterwards, and guess worse than `guess` does; see
experiments/update/README.md. The output matrix, which fastText needs only to train on, holds zeros.
"""

from __future__ import annotations

import struct
from pathlib import Path

import numpy as np

from spherevec.io.text_rows import plain_names
from spherevec.model.keyed_vectors import KeyedVectors
from spherevec.storage.files import atomic_file

_MAGIC, _VERSION = 793712314, 12
_NEGATIVE_SAMPLING, _SKIP_GRAM = 2, 2
_NO_BUCKETS, _NO_NGRAMS = 0, 0
_WINDOW, _EPOCHS, _MIN_COUNT, _NEGATIVES, _WORD_NGRAMS, _UPDATE_RATE, _SAMPLE = 10, 1, 1, 5, 1, 100, 1e-4
_WORD = 0
_ROWS_AT_ONCE = 1 << 14


def write(vectors: KeyedVectors, path: Path, *, overwrite: bool = False) -> None:
    names = plain_names(vectors, "fastText")
    counts = np.ones(len(names), np.int64) if vectors.counts is None else np.maximum(vectors.counts, 1)
    dim = vectors.vector_size
    settings = [dim, _WINDOW, _EPOCHS, _MIN_COUNT, _NEGATIVES, _WORD_NGRAMS, _NEGATIVE_SAMPLING, _SKIP_GRAM]
    settings += [_NO_BUCKETS, _NO_NGRAMS, _NO_NGRAMS, _UPDATE_RATE]
    with atomic_file(path, overwrite=overwrite) as temporary, temporary.open("wb") as file:
        file.write(struct.pack("<2i", _MAGIC, _VERSION))
        file.write(struct.pack("<12id", *settings, _SAMPLE))
        file.write(struct.pack("<3i2q", len(names), len(names), 0, int(counts.sum()), -1))
        for name, count in zip(names, counts.tolist(), strict=True):
            file.write(name.encode() + b"\0" + struct.pack("<qb", count, _WORD))
        for known in (True, False):  # the input matrix, and the output matrix
            file.write(struct.pack("<?2q", False, len(names), dim))
            for start in range(0, len(names), _ROWS_AT_ONCE):
                rows = np.ascontiguousarray(vectors.vectors[start : start + _ROWS_AT_ONCE], "<f4")
                file.write(rows.tobytes() if known else bytes(rows.nbytes))
