"""What a peer takes and what it gives."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from spherevec.corpus.count.encoded import EncodedCorpus
from spherevec.errors import ConfigError, CorpusError
from spherevec.model.keyed_vectors import KeyedVectors
from spherevec.sphere import normalize


@dataclass(frozen=True)
class Task:
    """What a peer is given. A peer ignores what it has no use for.

    Attributes:
        corpus: the encoded documents, trained on in their order.
        texts: the raw documents in the order of the corpus, for peers with a tokenizer of their own.
    """

    corpus: EncodedCorpus
    vector_size: int = 100
    epochs: int = 10
    window: int = 10
    threads: int = 1
    seed: int = 1
    texts: Sequence[str] | None = None


@dataclass(frozen=True)
class Fitted:
    """What a peer learned.

    Attributes:
        words: unit rows in the order of the corpus' vocabulary; None where the method has no word vectors.
        documents: (documents, dim) unit rows in the order of the corpus.
        settings: what it was run with, its package and version included.
        losses: the mean loss of each epoch, where the method reports one.
    """

    words: KeyedVectors | None
    documents: NDArray[np.float32]
    settings: dict[str, Any]
    losses: list[float] = field(default_factory=list)


Fit: TypeAlias = Callable[[Task], Fitted]


@contextmanager
def required(package: str) -> Iterator[None]:
    """Turn a failed import of a peer's package into one line that says how to install it."""
    try:
        yield
    except ImportError:
        raise ConfigError(f"{package} is not installed; run pip install -r experiments/requirements.txt") from None


def word_vectors(corpus: EncodedCorpus, rows: NDArray[Any]) -> KeyedVectors:
    """Unit word vectors from `rows` of any length, shape (words, dim), in the order of the corpus' vocabulary."""
    vocabulary = corpus.vocabulary
    return KeyedVectors(vocabulary.words, normalize(rows).astype(np.float32), vocabulary.counts)


def document_rows(rows: NDArray[Any]) -> NDArray[np.float32]:
    """Unit rows; a document without a single known word has no direction of its own and gets that of the mean."""
    unit = np.array(rows, np.float32)
    known = np.any(unit != 0, axis=1)
    if not known.any():
        raise CorpusError("no document holds a known word; lower min_count or give more text")
    unit[known] = normalize(unit[known])
    unit[~known] = normalize(unit[known].mean(axis=0))
    return unit
