"""The seam between the trainer, which decides when, and a backend, which decides where.

A backend sees plain arrays: never a vocabulary, a corpus or a model.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

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
    """A run of units, by position in the epoch's order."""

    first: int
    last: int
    order_key: int  # 0 = the order of the file
    sample_key: int
    alpha_first: float
    alpha_last: float
    word_bias: float = 0.0  # of the von Mises–Fisher likelihood
    document_bias: float = 0.0


class Backend(Protocol):
    """Holds the vectors while they are trained. This is all that a run asks of a device."""

    workers: int

    @property
    def rounds(self) -> DeterministicBackend | None:
        """What trains blocks in rounds, for the same bits with any number of threads; None: blocks one by one."""

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

    def train(self, worker: int, block: Block) -> None:
        """Train a block; called from as many threads at once as there are workers."""

    def sums(self) -> Sums:
        """Sums since the start."""

    def restore_sums(self, sums: Sums) -> None:
        """Go on from sums of an earlier run."""

    def learned_biases(self) -> tuple[float, float] | None:
        """Biases of words and documents that the backend learns while it trains; None where the trainer does."""

    def fit_tables(self, counts: NDArray[np.int64]) -> FitTables | None:
        """What documents are fitted with to the words as they are now; None where the objective has no use for it.

        Args:
            counts: (V,) of the words.
        """

    def refit_documents(self, first: int, last: int, plan: FitPlan) -> None:
        """Fit the documents [first, last) anew to the words, which stay fixed."""

    def take(self) -> dict[str, Floats]:
        """Give the vectors away, (n, width) each and contiguous; the backend is used up."""


class LocalBackend(Backend, Protocol):
    """A backend whose vectors are in this process: what a worker of a cluster asks of it besides."""

    def load_rows(self, table: str, numbers: NDArray[np.int32], rows: Floats) -> None:
        """Set any vectors of a table, by their numbers."""

    def read_rows(self, table: str, numbers: NDArray[np.int32]) -> Floats:
        """A copy of any vectors of a table, by their numbers."""

    def host_inputs(self) -> Floats:
        """The input vectors in host memory, (V, stride) padded rows; not to be written to."""


class Rounds(Protocol):
    """Blocks that all workers train together, one after another."""

    def train(self, worker: int) -> None:
        """Train them as one of the workers; all of them must be called at the same time, once each."""

    def stop(self) -> None:
        """End after the block that is being trained."""

    @property
    def done(self) -> int:
        """How many blocks are finished."""


class DeterministicBackend(Backend, Protocol):
    """Trains blocks in rounds, so that results do not depend on the number of workers."""

    def begin_rounds(self, blocks: Sequence[Block]) -> Rounds:
        """Get ready to train some blocks of one epoch; called from one thread."""


class DocumentFit(Protocol):
    """Fits new documents to input vectors that stay fixed."""

    def fit(
        self,
        ids: NDArray[np.int32],
        offsets: NDArray[np.int64],
        start: Floats,
        plan: FitPlan,
    ) -> Floats:
        """The vectors (N, dim) of documents that have the words ids[offsets[d]:offsets[d + 1]].

        Args:
            start: (N, dim), what a document keeps whose words have no direction.
        """
