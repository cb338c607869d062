"""One training run: its epochs, the last fit of its documents, and where it stands between two blocks."""

from __future__ import annotations

import math
import time
from dataclasses import replace
from typing import Any, cast

import numpy as np

from spherevec import sphere
from spherevec.config import INFERENCE_STEPS, TrainConfig
from spherevec.corpus import EncodedCorpus
from spherevec.errors import TrainingError
from spherevec.engine.base import Backend, Inputs, RoundsBackend
from spherevec.training.checkpoint import Saver
from spherevec.engine.bias import Offsets
from spherevec.training.position import Position
from spherevec.training.progress import Progress, ProgressCallback
from spherevec.engine.schedule import CHUNK_ROWS, epoch_blocks
from spherevec.training.workers import BlockQueues, train_blocks, train_rounds

HEALTH_ROWS = 4096  # word vectors looked at for a live figure
REFIT_TOKENS = 2_000_000  # of documents fitted between two reports
REFIT_LAUNCH_TOKENS = 100_000_000  # the same on a GPU, which fits thousands of documents at once


class Run:
    """Trains the vectors of a backend, from a position on.

    Args:
        saver: asked now and then whether a checkpoint is due, and told to save where no block is being trained.
    """

    def __init__(
        self,
        backend: Backend,
        inputs: Inputs,
        config: TrainConfig,
        corpus: EncodedCorpus,
        offsets: Offsets,
        report: ProgressCallback,
        position: Position | None = None,
        saver: Saver | None = None,
    ) -> None:
        self._backend, self._inputs, self._config = backend, inputs, config
        self._corpus, self._offsets, self._report, self._saver = corpus, offsets, report, saver
        # The queues of the epoch that is being trained. One assignment changes both, whenever an interruption comes.
        self._state: tuple[Position, BlockQueues | None] = (position or Position(), None)
        self._epoch_started = self._started = time.perf_counter()
        self._share_at_start = self.done

    @property
    def position(self) -> Position:
        """Where the run stands; to be asked when no block is being trained."""
        position, queues = self._state
        return position if queues is None else replace(position, left=queues.left, seconds=self._seconds())

    @property
    def done(self) -> float:
        """The share of all epochs that is finished."""
        position, queues = self._state
        return (position.epoch + (queues.done if queues else 0.0)) / self._config.epoch_count

    def train(self) -> tuple[dict[str, Any], ...]:
        """Train all epochs that are left; returns the figures of each epoch."""
        while self.position.epoch < self._config.epoch_count:
            self._train_epoch()
            if self._saver and self._saver.due_after(self.position.epoch):
                self._save()
        self._check_all()
        return self.position.record

    def _check_all(self) -> None:
        """Stop unless every vector is finite: with the hinge, NaN in a context or a document reaches no word."""
        sizes = {"words": len(self._inputs.keep_share), "contexts": len(self._inputs.keep_share)}
        if self._config.documents:
            sizes["documents"] = len(self._inputs.offsets) - 1
        for table, rows in sizes.items():
            for start in range(0, rows, CHUNK_ROWS):
                if not np.isfinite(self._backend.read(table, start, min(start + CHUNK_ROWS, rows)).sum()):
                    raise diverged(self._config)

    def _train_epoch(self) -> None:
        backend, config, position = self._backend, self._config, self.position
        blocks = epoch_blocks(self._inputs, config, position.epoch)
        if position.left is None:
            position = replace(position, left=((0, len(blocks)),), before=backend.figures())
        self._epoch_started = time.perf_counter()
        queues = BlockQueues(blocks, backend.workers, in_shares=in_shares(config), left=position.left)
        self._state = (position, queues)
        while queues.left:
            how: dict[str, Any] = {"learns": config.objective == "vmf", "tick": self._tick, "pause": self._pause}
            if config.reproducible:
                train_rounds(cast(RoundsBackend, backend), queues, self._offsets, **how)
            else:
                train_blocks(backend, queues, self._offsets, **how)
            if queues.left:
                self._save()
        seconds = self._seconds()
        figures = backend.figures() - position.before
        entry = {
            "epoch": position.epoch + 1,
            "seconds": seconds,
            "tokens_per_second": figures.tokens / max(seconds, 1e-9),
            "words": int(figures.words),
            "pairs": int(figures.pairs),
            "loss": figures.mean_loss,
            "violated": figures.violated_share,
            "mean_resultant_length": checked_resultant_length(backend, len(self._inputs.keep_share), config),
            "alpha": blocks[-1].alpha_last,
        }
        self._state = (Position(position.epoch + 1, record=(*position.record, entry)), None)

    def refit_documents(self) -> None:
        """Fit the documents anew to the finished words: as `Model.infer` would, and free of the order of training."""
        inputs, documents = self._inputs, len(self._inputs.offsets) - 1
        while (first := self.position.refitted) < documents:
            self._report(Progress("finishing", first / documents))
            tokens = REFIT_LAUNCH_TOKENS if self._config.device == "cuda" else REFIT_TOKENS
            reached = np.searchsorted(inputs.offsets, inputs.offsets[first] + tokens)
            last = min(max(int(reached), first + 1), documents)
            refit_range(self._backend, first, last, self._config, self._offsets)
            self._corpus.drop_pages()
            self._state = (replace(self.position, refitted=last), None)
            if self._pause():
                self._save()

    def save_interrupted(self, interrupt: KeyboardInterrupt) -> None:
        """Save what an interruption leaves, and note in it what became of the run."""
        if self._saver is None:
            return
        try:
            self._check_all()
            self._saver.save_interrupted(self.position, interrupt)
        except TrainingError as error:
            interrupt.add_note(f"not saved: {error}")

    def _save(self) -> None:
        if self._saver is not None:
            self._check_all()  # a diverged run must not replace a good checkpoint
            self._saver.save(self.position)

    def _pause(self) -> bool:
        return self._saver is not None and self._saver.due()

    def _seconds(self) -> float:
        """Spent on the epoch, in this run and in those that it goes on from."""
        return self._state[0].seconds + time.perf_counter() - self._epoch_started

    def _tick(self, _: float) -> None:
        config, position = self._config, self._state[0]
        share = self.done
        since_start = share - self._share_at_start
        spent = time.perf_counter() - self._started
        figures = self._backend.figures() - position.before
        length = float(sphere.mean_resultant_length(self._backend.read("words", 0, HEALTH_ROWS)))
        # The loss has seen contexts and documents, too.
        if not math.isfinite(length + figures.mean_loss):
            raise diverged(config)
        self._report(
            Progress(
                "training",
                share,
                position.epoch + 1,
                config.epochs,
                figures.tokens / max(self._seconds(), 1e-9),
                figures.mean_loss,
                figures.violated_share,
                length,
                spent / since_start * (1 - share) if since_start > 0 else None,
            )
        )
        self._corpus.drop_pages()


def in_shares(config: TrainConfig) -> bool:
    """Whether each worker gets one contiguous share of the text, as in the authors' program."""
    return config.order == "file" and not config.reproducible


def refit_range(backend: Backend, first: int, last: int, config: TrainConfig, offsets: Offsets) -> None:
    backend.refit_documents(first, last, config.for_inference(), offsets.documents, INFERENCE_STEPS)


def checked_resultant_length(backend: Backend, words: int, config: TrainConfig) -> float:
    """Mean resultant length of all word vectors; a diverged run is stopped here."""
    total = np.zeros(config.vector_size)
    for start in range(0, words, CHUNK_ROWS):
        total += backend.read("words", start, min(start + CHUNK_ROWS, words)).sum(axis=0, dtype=np.float64)
    length = float(np.linalg.norm(total)) / words
    if not math.isfinite(length):
        raise diverged(config)
    return length


def diverged(config: TrainConfig) -> TrainingError:
    other = f", or concentration, which is {config.concentration}" if config.objective == "vmf" else ""
    return TrainingError(f"the vectors diverged (NaN); lower alpha, which is {config.alpha}{other}")
