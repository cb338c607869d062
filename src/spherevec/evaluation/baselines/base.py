"""What a peer takes and what it gives."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from spherevec.corpus.encoded import EncodedCorpus
from spherevec.errors import CorpusError, MissingExtraError
from spherevec.keyed_vectors import KeyedVectors
from spherevec.sphere import normalize

Progress = Callable[[float], None]
Texts = Callable[[], Iterable[str]]


@dataclass(frozen=True)
class Fitted:
    """What a peer learned.

    Attributes:
        words: unit rows in the order of the corpus' vocabulary; None where the method has no word vectors.
        documents: (documents, dim) unit rows in the order of the corpus; None where the method has none.
        settings: what it was run with, its package and version included.
        losses: the mean loss of each epoch, where the method reports one.
    """

    words: KeyedVectors | None
    documents: NDArray[np.float32] | None
    settings: dict[str, Any]
    losses: list[float]


class Fit(Protocol):
    """How every peer is run.

    `texts` are the raw documents in the order of the corpus, for peers with a tokeniser of their own; `words` are word
    vectors to build on, for peers that would otherwise train Word2Vec first; `progress` hears the share that is done.
    A peer ignores what it has no use for.
    """

    def __call__(
        self,
        corpus: EncodedCorpus,
        *,
        dim: int,
        epochs: int,
        window: int,
        threads: int,
        seed: int,
        texts: Texts | None = None,
        words: KeyedVectors | None = None,
        progress: Progress | None = None,
    ) -> Fitted: ...


@dataclass(frozen=True)
class Baseline:
    """A peer: how it is called in a table, what it gives, and how to run it."""

    title: str
    gives_words: bool
    gives_documents: bool
    needs_texts: bool
    fit: Fit


def report(progress: Progress | None, done: float) -> None:
    if progress:
        progress(min(done, 1.0))


@contextmanager
def needs_extra(feature: str, extra: str) -> Iterator[None]:
    """Turn a failed import of an optional package into one line that says how to install it."""
    try:
        yield
    except ImportError:
        raise MissingExtraError(feature, extra) from None


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
