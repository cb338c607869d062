"""The seam between the trainer, which decides when, and a backend, which decides where.

A backend sees plain arrays: never a vocabulary, a corpus or a model.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from spherevec.config import TrainConfig
from spherevec.engine.figures import Sums
from spherevec.engine.fit import FitPlan, FitTables

Floats = NDArray[np.float32]

PIECE = 1024  # tokens of a document that one unit covers at most
NEGATIVES_AHEAD = 4  # triples from sampling a negative to needing its row: memory takes longer than one triple
# Share of the way to where it comes to rest that a vector goes in one step, for each unit of the learning rate.
SETTLING = 1.0
LOSS_EVERY = 16  # the loss is measured at every 16th word; logarithms at each would cost more than the training
DAMPING = 0.1  # share of what is missing that a round, or so many tokens, make up for; the vectors follow meanwhile
LEARNED_TOKENS = 50_000


class Sampling(NamedTuple):
    """Subsampling and negative sampling of V words, as 32-bit integers that kernels compare with random bits."""

    keep_probability: NDArray[np.uint32]  # (V,)
    alias_probability: NDArray[np.uint32]  # (V,)
    alias_word: NDArray[np.int32]  # (V,)


@dataclass(frozen=True)
class TrainingData:
    """Read-only data of a run: V words, N documents, M pieces of long documents beyond their first."""

    ids: NDArray[np.int32]  # (tokens,)
    offsets: NDArray[np.int64]  # (N + 1,)
    pieces: NDArray[np.int64]  # (M, 2): document, first token
    keep_probability: NDArray[np.uint32]  # (V,)
    refit_keep_probability: NDArray[np.uint32]  # (V,) in the final refit of the documents
    alias_probability: NDArray[np.uint32]  # (V,)
    alias_word: NDArray[np.int32]  # (V,)

    @property
    def units(self) -> int:
        """What an epoch visits: every document, or piece of a long one."""
        return len(self.offsets) - 1 + len(self.pieces)

    @property
    def words(self) -> int:
        return len(self.keep_probability)

    @property
    def documents(self) -> int:
        return len(self.offsets) - 1

    @property
    def refit_sampling(self) -> Sampling:
        """As documents see the words when they are fitted to them."""
        return Sampling(self.refit_keep_probability, self.alias_probability, self.alias_word)

    def table_rows(self, config: TrainConfig) -> dict[str, int]:
        """The tables that a run trains, and how many vectors each has."""
        return table_rows(self.words, self.documents, config)


def table_rows(words: int, documents: int, config: TrainConfig) -> dict[str, int]:
    """The tables that a run on so many words and documents trains, and how many vectors each has."""
    rows = {"inputs": words, "contexts": words}
    return rows | {"docs": documents} if config.documents else rows


@dataclass(frozen=True)
class Block:
    """A run of units, by position in the epoch's order, and the biases that training goes on from."""

    first: int
    last: int
    order_key: int  # 0 = the order of the file
    sample_key: int
    alpha_first: float
    alpha_last: float
    word_bias: float = 0.0
    document_bias: float = 0.0


@dataclass
class Biases:
    """The biases of the von Mises–Fisher likelihood, learned so that vectors need no common direction.

    A real pair has probability sigmoid(kappa cos - b). At its best the likelihood makes kappa cos - b the pointwise
    mutual information of the pair less log K, for K negatives; its mean over negative pairs is some negative number.
    With b fixed too low the vectors supply that number themselves: all words turn to one direction and all contexts to
    the opposite one. Likelihood alone cannot tell the two apart, so b is set by a second demand: negative pairs are
    orthogonal on average.
    """

    words: float  # b for pairs of words
    documents: float  # and for pairs of a word and a document


class Training(Protocol):
    """Blocks of one epoch that a backend has begun to train."""

    def train(self, worker: int) -> None:
        """Train as one of the workers; all of them must be called at the same time, once each."""

    def stop(self) -> None:
        """End after the blocks that are being trained."""

    @property
    def done(self) -> int:
        """How many blocks are trained; when all workers have ended, these are the first ones."""


class Backend(Protocol):
    """Holds the vectors while they are trained. This is all that a run asks of a device."""

    workers: int

    def fill(self) -> None:
        """Set every vector to a random direction, by the seed of the run."""

    def load(self, table: str, start: int, rows: Floats) -> None:
        """Set vectors of "inputs", "contexts" or "docs" from row `start` on."""

    def read(self, table: str, start: int, stop: int) -> Floats:
        """A copy of some vectors, (stop - start, width)."""

    def total(self, table: str) -> NDArray[np.float64]:
        """The sum of all vectors of a table, (width,): not finite where one of them is not."""

    def warm_up(self) -> None:
        """Compile whatever `train` needs."""

    def begin(self, blocks: Sequence[Block]) -> Training:
        """Get ready to train some blocks of one epoch, from the biases of the first; called from one thread."""

    def sums(self) -> Sums:
        """Sums since the start."""

    def restore_sums(self, sums: Sums) -> None:
        """Go on from sums of an earlier run."""

    def learned_biases(self) -> tuple[float, float]:
        """The biases of words and documents after the last block that was trained."""

    def count_words(self) -> Callable[[], dict[str, NDArray[Any]]] | None:
        """Count the words of documents, before anything is trained; None where the processor has to.

        Returns:
            What brings the first six arrays of `spherevec.search.terms` into memory, meant for another thread.
        """

    def fit_tables(self, counts: NDArray[np.int64]) -> FitTables | None:
        """What documents are fitted with to the words, which have `counts` (V,); None where the objective has no use
        for it.
        """

    def refit_documents(self, first: int, last: int, plan: FitPlan) -> None:
        """Fit the documents [first, last) anew to the words, which stay fixed."""

    def take(self) -> dict[str, Floats]:
        """Give the vectors away, (n, width) each and contiguous; the backend is used up."""


class LocalBackend(Backend, Protocol):
    """A backend whose vectors are in this process: what a worker of a cluster asks of it besides."""

    def load_rows(self, table: str, numbers: NDArray[np.int32], rows: Floats) -> None:
        """Set any vectors of a table, by their numbers."""

    def host_inputs(self) -> Floats:
        """The input vectors in host memory, (V, stride) padded rows; not to be written to."""


class BlockBackend(Protocol):
    """A backend that trains one block after another, from one thread."""

    def train_block(self, block: Block) -> None: ...

    def learned_biases(self) -> tuple[float, float]: ...


class OneByOne:
    """The blocks of such a backend: each is trained with the biases that were learned before it."""

    def __init__(self, backend: BlockBackend, blocks: Sequence[Block]) -> None:
        self._backend, self._blocks = backend, blocks
        self._stopped, self.done = False, 0

    def train(self, worker: int) -> None:
        for block in self._blocks:
            if self.done:
                word_bias, document_bias = self._backend.learned_biases()
                block = replace(block, word_bias=word_bias, document_bias=document_bias)
            self._backend.train_block(block)
            self.done += 1
            if self._stopped:
                return

    def stop(self) -> None:
        self._stopped = True


class DocumentFit(Protocol):
    """Fits new documents to input vectors that stay fixed."""

    def fit(self, ids: NDArray[np.int32], offsets: NDArray[np.int64], start: Floats, plan: FitPlan) -> Floats:
        """The vectors (N, dim) of documents that have the words ids[offsets[d]:offsets[d + 1]].

        Args:
            start: (N, dim), what a document keeps whose words have no direction.
        """
