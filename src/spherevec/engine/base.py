"""The seam between the trainer, which decides when, and a backend, which decides where.

A backend sees plain arrays: never a vocabulary, a corpus or a model.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import astuple, dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from spherevec.config import TrainConfig

Floats = NDArray[np.float32]

PIECE = 4096  # tokens of a document that one unit covers at most
DRAWN_AHEAD = 4  # triples from drawing a word to needing it: memory takes longer than one triple
LOSS_EVERY = 16  # the loss is measured at every 16th word; logarithms at each would cost more than the training


@dataclass(frozen=True)
class Inputs:
    """Read-only inputs of a run: V words, N documents, M pieces of long documents beyond their first."""

    ids: NDArray[np.int32]  # (tokens,)
    offsets: NDArray[np.int64]  # (N + 1,)
    pieces: NDArray[np.int64]  # (M, 2): document, first token
    keep_share: NDArray[np.uint32]  # (V,)
    refit_keep_share: NDArray[np.uint32]  # (V,) while documents are fitted at the end
    draw_share: NDArray[np.uint32]  # (V,)
    draw_other: NDArray[np.int32]  # (V,)

    @property
    def units(self) -> int:
        """What an epoch visits: every document, or piece of a long one."""
        return len(self.offsets) - 1 + len(self.pieces)


@dataclass(frozen=True)
class Block:
    """A run of units, by position in the epoch's order."""

    first: int
    last: int
    order_key: int  # 0 = the order of the file
    draw_key: int
    alpha_first: float
    alpha_last: float
    word_offset: float = 0.0  # of the von Mises–Fisher likelihood
    document_offset: float = 0.0


@dataclass(frozen=True)
class Figures:
    """Sums over what has been trained."""

    tokens: float = 0.0  # of the text, thinned-out ones included
    words: float = 0.0  # trained on
    pairs: float = 0.0
    loss: float = 0.0  # over the compared pairs, a sample of all
    violated: float = 0.0
    compared: float = 0.0
    word_cosine: float = 0.0  # over the compared pairs of a drawn word and a context
    word_drawn: float = 0.0  # how many
    document_cosine: float = 0.0
    document_drawn: float = 0.0

    def __sub__(self, other: Figures) -> Figures:
        return Figures(*(mine - theirs for mine, theirs in zip(astuple(self), astuple(other), strict=True)))

    @property
    def mean_loss(self) -> float:
        return self.loss / max(self.compared, 1.0)

    @property
    def violated_share(self) -> float:
        return self.violated / max(self.compared, 1.0)


class Backend(Protocol):
    """Holds the vectors while they are trained."""

    workers: int

    def load(self, table: str, start: int, rows: Floats) -> None:
        """Set vectors of "words", "contexts" or "documents" from row `start` on."""

    def read(self, table: str, start: int, stop: int) -> Floats:
        """A copy of some vectors, (stop - start, width)."""

    def warm_up(self) -> None:
        """Compile whatever `train` needs."""

    def train(self, worker: int, block: Block) -> None:
        """Train a block; called from as many threads at once as there are workers."""

    def figures(self) -> Figures:
        """Sums since the start."""

    def restore_figures(self, figures: Figures) -> None:
        """Go on from sums of an earlier run."""

    def refit_documents(self, first: int, last: int, config: TrainConfig, offset: float, least_steps: int) -> None:
        """Fit the documents [first, last) anew to the words, which stay fixed, in at least so many steps each."""

    def take(self) -> dict[str, Floats]:
        """Give the vectors away, (n, width) each and contiguous; the backend is used up."""


class RoundsBackend(Backend, Protocol):
    """Trains rounds of shards instead of single blocks, so that results do not depend on the number of workers."""

    shards: int

    def begin_round(self, blocks: Sequence[Block]) -> None:
        """Get ready for these shards, `shards` of them at most; called from one thread."""

    def train_shard(self, worker: int, shard: int, block: Block) -> None:
        """Train one of them against the vectors of the round's start; called from several threads at once."""

    def merge(self, part: int, parts: int, blocks: Sequence[Block]) -> None:
        """Bring together what the shards learned, one of `parts` parts of it; called from as many threads at once."""

    def end_round(self) -> None:
        """Add up the figures; called from one thread."""
