"""One training run: its epochs, the last fit of its documents, and where it stands between two blocks."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, TypeAlias, cast

import numpy as np

from spherevec import process, sphere
from spherevec.config import INFERENCE_STEPS, TrainConfig
from spherevec.corpus import EncodedCorpus
from spherevec.engine.base import Backend, DeterministicBackend, Floats, TrainingData, table_rows
from spherevec.engine.bias import Biases
from spherevec.engine.figures import reported
from spherevec.engine.fit import FitPlan, FitTables
from spherevec.engine.schedule import CHUNK_ROWS, COPIED_ROWS, Schedule
from spherevec.errors import TrainingError
from spherevec.training.checkpoint import Saver
from spherevec.training.position import Position
from spherevec.training.progress import Progress, ProgressCallback
from spherevec.training.workers import BlockQueues, train_blocks, train_rounds

HEALTH_ROWS = 4096  # word vectors looked at for a live figure

AfterEpoch: TypeAlias = Callable[[Backend, int], None]


class Run:
    """Trains the vectors of a backend, from a position on.

    Args:
        data: what is trained, or the steps of the run.
        saver: asked now and then whether a checkpoint is due, and told to save where no block is being trained.
        after_epoch: called with the backend and the number of the epoch, counted from 0, when its blocks are trained.
    """

    def __init__(
        self,
        backend: Backend,
        data: TrainingData | Schedule,
        config: TrainConfig,
        corpus: EncodedCorpus,
        biases: Biases,
        report: ProgressCallback,
        position: Position | None = None,
        saver: Saver | None = None,
        after_epoch: AfterEpoch | None = None,
    ) -> None:
        self._backend, self._config, self._after_epoch = backend, config, after_epoch
        self._schedule = data if isinstance(data, Schedule) else Schedule(data, config)
        self._corpus, self._biases, self._report, self._saver = corpus, biases, report, saver
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
        words, documents = len(self._corpus.vocabulary), self._corpus.n_documents
        for table, rows in table_rows(words, documents, self._config).items():
            if not rows_are_finite(self._backend, table, rows):
                raise diverged(self._config)

    def _train_epoch(self) -> None:
        backend, config, position = self._backend, self._config, self.position
        blocks = self._schedule.blocks(position.epoch)
        if position.left is None:
            position = replace(position, left=((0, len(blocks)),), before=backend.sums())
        self._epoch_started = time.perf_counter()
        queues = BlockQueues(blocks, backend.workers, in_shares=in_shares(config), left=position.left)
        self._state = (position, queues)
        while queues.left:
            how: dict[str, Any] = {"learns": config.objective_info.likelihood, "tick": self._tick, "pause": self._pause}
            if hasattr(backend, "train_shard"):
                train_rounds(cast(DeterministicBackend, backend), queues, self._biases, **how)
            else:
                train_blocks(backend, queues, self._biases, **how)
            if queues.left:
                self._save()
        # An interruption comes before all of this or after it, so that nothing is done twice where a run goes on.
        with process.signals_held_back():
            if self._after_epoch:
                self._after_epoch(backend, position.epoch)
            seconds = self._seconds()
            sums = backend.sums() - position.before
            length = checked_resultant_length(backend, len(self._corpus.vocabulary), config)
            entry = {
                "epoch": position.epoch + 1,
                "seconds": seconds,
                **reported(sums, seconds, length),
                "alpha": blocks[-1].alpha_last,
            }
            self._state = (Position(position.epoch + 1, record=(*position.record, entry)), None)

    def refit_documents(self, tables: FitTables | None) -> None:
        """Fit the documents anew to the finished words: as `Model.infer` would, and free of the order of training."""
        documents = self._corpus.n_documents
        plan = refit_plan(self._config, self._biases, tables)
        while (first := self.position.refitted) < documents:
            self._report(Progress("finishing", first / documents))
            last = self._schedule.refit_stop(first)
            self._backend.refit_documents(first, last, plan)
            self._corpus.drop_pages()
            self._state = (replace(self.position, refitted=last), None)
            if self._pause():
                self._save()

    def save_ended(self, ending: BaseException, tables: Mapping[str, Floats] | None = None) -> None:
        """Save what an interruption or a failure leaves, and note in it what became of the run.

        Args:
            tables: the vectors, where the backend has given them away.
        """
        if self._saver is None:
            return
        try:
            if tables is None:
                self._check_all()
            self._saver.save_ended(self.position, ending, tables)
        except TrainingError as error:
            ending.add_note(f"not saved: {error}")

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
        length = float(sphere.mean_resultant_length(self._backend.read("inputs", 0, HEALTH_ROWS)))
        figures = reported(self._backend.sums() - position.before, self._seconds(), length)
        # The loss has seen contexts and documents, too.
        if not math.isfinite(length + figures["loss"]):
            raise diverged(config)
        left = spent / since_start * (1 - share) if since_start > 0 else None
        self._report(Progress("training", share, position.epoch + 1, config.epochs, figures, left))
        self._corpus.drop_pages()


def rows_are_finite(backend: Any, table: str, rows: int) -> bool:
    """Whether all vectors of a table are finite; a backend whose vectors are elsewhere (`finite`) looks there."""
    if hasattr(backend, "finite"):
        return bool(backend.finite(table))
    starts = range(0, rows, COPIED_ROWS)
    return all(np.isfinite(backend.read(table, start, min(start + COPIED_ROWS, rows)).sum()) for start in starts)


def in_shares(config: TrainConfig) -> bool:
    """Whether each worker gets one contiguous share of the text, as in the authors' program."""
    return config.order == "file" and not config.deterministic


def refit_plan(config: TrainConfig, biases: Biases, tables: FitTables | None) -> FitPlan:
    """How the documents of a run are fitted to its words, as `Model.infer` does it."""
    settings = config.for_inference(weighted=tables is not None)
    return FitPlan(settings, biases.documents, INFERENCE_STEPS, tables)


def checked_resultant_length(backend: Backend, words: int, config: TrainConfig) -> float:
    """Mean resultant length of all word vectors; a diverged run is stopped here."""
    total = np.zeros(config.vector_size)
    for start in range(0, words, CHUNK_ROWS):
        total += backend.read("inputs", start, min(start + CHUNK_ROWS, words)).sum(axis=0, dtype=np.float64)
    length = float(np.linalg.norm(total)) / words
    if not math.isfinite(length):
        raise diverged(config)
    return length


def diverged(config: TrainConfig) -> TrainingError:
    other = f", or concentration, which is {config.concentration}" if config.objective_info.likelihood else ""
    return TrainingError(f"the vectors diverged (NaN); lower alpha, which is {config.alpha}{other}")
