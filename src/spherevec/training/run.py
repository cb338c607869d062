"""One run: prepare → epochs → refit → result, and where it stands between two blocks."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from spherevec import process, sphere
from spherevec.config import INFERENCE_STEPS, TrainConfig
from spherevec.corpus import EncodedCorpus
from spherevec.engine.base import Biases, Block, Floats, Training, table_rows
from spherevec.engine.figures import reported
from spherevec.engine.fit import FitPlan, FitTables
from spherevec.errors import SpherevecError, TrainingError
from spherevec.model import KeyedVectors, Model
from spherevec.storage.memory import give_memory_back
from spherevec.training import checkpoint as checkpoints
from spherevec.training.checkpoint import Position
from spherevec.training.options import Options
from spherevec.training.progress import Progress

HEALTH_ROWS = 4096  # word vectors looked at for a live figure
TICK = 0.2  # seconds between two reports


class Learned(NamedTuple):
    """What a run has learned, before a model is made of it."""

    tables: dict[str, NDArray[np.float32]]
    record: tuple[dict[str, Any], ...]
    biases: Biases
    fit: FitTables | None


class Run:
    """Trains vectors on a corpus and makes a model of them, from the beginning or from a checkpoint on.

    A training and an update differ in what they start from, what follows an epoch, and the model that they make:
    subclasses say so. The settings are resolved, the options opened; `before` are vectors that the run starts from.
    """

    def __init__(
        self, corpus: EncodedCorpus, config: TrainConfig, options: Options, before: Sequence[KeyedVectors] = ()
    ) -> None:
        self._corpus, self._config, self._options, self._report = corpus, config, options, options.report
        self._schedule, make_backend = options.runtime.prepare(corpus, config)
        self._epoch_blocks = len(self._schedule.blocks(0))
        checkpoint = None if options.checkpoint is None else Path(options.checkpoint)
        self._resumed = checkpoints.load(checkpoint) if checkpoint and options.resume else None
        if self._resumed:
            self._resumed.check(config, corpus, self._epoch_blocks, before)
        self.backend = make_backend()
        self.biases = Biases(config.bias, config.bias)
        self._saver = None
        if checkpoint and options.every:
            about = (self.backend, self.biases, config, corpus, before)
            self._saver = checkpoints.Saver(checkpoint, options.every, *about)
        position = self._resumed.position if self._resumed else Position()
        # Where the run is, and what it trains: replaced in one assignment, so that an interruption finds both alike.
        self._state: tuple[Position, Training | None] = (position, None)
        self._epoch_started = self._started = time.perf_counter()
        self._share_at_start = self.done

    # --- what a training and an update do differently -----------------------------------------------------------------

    def initialise(self) -> None:
        """Set the vectors and biases that a run begins with."""
        self.backend.fill()

    def end_epoch(self, epoch: int) -> None:
        """What follows when the blocks of an epoch, counted from 0, are trained: nothing."""

    def fit_tables(self) -> FitTables | None:
        """What documents are fitted with to the finished words."""
        return self.backend.fit_tables(self._corpus.vocabulary.counts)

    def build(self, learned: Learned) -> Model:
        """The model."""
        raise NotImplementedError

    # --- the run ------------------------------------------------------------------------------------------------------

    def run(self) -> Model:
        """Train what is left, make the model and hand it to `finish`, before any interruption is let through.

        What is not saved when an interruption or a failure ends the run becomes a checkpoint.
        """
        self.begin()
        learned, saved = None, False
        try:
            self.train()
            tables = self.fit_tables()
            self._corpus.drop_pages()
            if self.refits:
                self.refit_documents(tables)
            self._report(Progress("finishing", 1.0))
            with process.signals_held_back():
                learned = Learned(self.backend.take(), self.position.record, self.biases, tables)
                model = self.build(learned)
                finish = self._options.finish
                saved = finish is not None and finish(model) is not False
        except BaseException as error:
            interrupted = isinstance(error, KeyboardInterrupt)
            if saved and interrupted:
                error.add_note("the training is finished and the model complete")
            elif not saved and (learned is not None or interrupted):
                self._save_ended(error, learned and learned.tables)
            raise
        return model

    def begin(self) -> None:
        """Bring the vectors to where the run begins or goes on, and compile what trains it."""
        resumed, self._resumed = self._resumed, None  # lets go of its file
        if resumed:
            resumed.restore(self.backend, self.biases)
        else:
            self.initialise()
        self._report(Progress("compiling"))
        self.backend.warm_up()
        give_memory_back()
        if resumed:
            epoch = min(self.position.epoch + 1, self._config.epoch_count)
            self._report(Progress("resuming", self.done, epoch, self._config.epochs))
        self._epoch_started = self._started = time.perf_counter()

    @property
    def refits(self) -> bool:
        """Whether documents are fitted once more at the end."""
        return self._config.documents and self._config.refit

    @property
    def position(self) -> Position:
        """Where the run stands; to be asked when no block is being trained."""
        position, training = self._state
        if training is None:
            return position
        return replace(position, trained=(position.trained or 0) + training.done, seconds=self._seconds())

    @property
    def done(self) -> float:
        """The share of all epochs that is finished."""
        position, training = self._state
        trained = (position.trained or 0) + (training.done if training else 0)
        return (position.epoch + trained / self._epoch_blocks) / self._config.epoch_count

    def train(self) -> None:
        """Train all epochs that are left."""
        while self.position.epoch < self._config.epoch_count:
            self._train_epoch()
            self._save_if_due(self.position.epoch)
        self._check_all()

    def _check_all(self) -> None:
        """Stop unless every vector is finite: with the hinge, NaN in a context or a document reaches no word."""
        for table in table_rows(len(self._corpus.vocabulary), self._corpus.n_documents, self._config):
            if not np.isfinite(self.backend.total(table)).all():
                raise diverged(self._config)

    def _train_epoch(self) -> None:
        backend, config, position = self.backend, self._config, self.position
        blocks = self._schedule.blocks(position.epoch)
        trained = position.trained
        if trained is None:
            trained, position = 0, replace(position, before=backend.sums())
        self._epoch_started = time.perf_counter()
        while trained < len(blocks):
            position = replace(position, trained=trained)
            training = backend.begin(with_biases(blocks[trained:], self.biases))
            self._state = (position, training)
            try:
                train_blocks(training, backend.workers, self._tick)
            finally:
                if training.done:
                    self.biases.words, self.biases.documents = backend.learned_biases()
            trained += training.done
            if trained < len(blocks):
                self._save()
        # An interruption comes before all of this or after it, so that nothing is done twice where a run goes on.
        with process.signals_held_back():
            self.end_epoch(position.epoch)
            seconds = self._seconds()
            sums = backend.sums() - position.before
            length = float(np.linalg.norm(backend.total("inputs"))) / len(self._corpus.vocabulary)
            if not math.isfinite(length):
                raise diverged(config)
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
        plan = refit_plan(self._config, self.biases, tables)
        while (first := self.position.refitted) < documents:
            self._report(Progress("finishing", first / documents))
            last = self._schedule.refit_stop(first)
            self.backend.refit_documents(first, last, plan)
            self._corpus.drop_pages()
            self._state = (replace(self.position, refitted=last), None)
            self._save_if_due()

    def _save_ended(self, ending: BaseException, tables: Mapping[str, Floats] | None = None) -> None:
        """Save what an interruption or a failure leaves, with the vectors as `tables` where the backend has given them
        away, and note in it what became of the run.
        """
        position, saver = self.position, self._saver
        if saver is None or (position.epoch == 0 and position.trained is None):
            return
        with process.signals_held_back() as held:
            try:
                if tables is None:
                    self._check_all()
                saver.write(position, tables)
            except (SpherevecError, OSError, MemoryError) as error:
                ending.add_note(f"not saved: {error}")
            else:
                last = position.epoch == self._config.epochs
                where = "after the last epoch" if last else f"in epoch {position.epoch + 1} of {self._config.epochs}"
                ending.add_note(f"saved {where} in {saver.folder}; run the same again with --resume to go on")
            held.clear()  # the run is ending already

    def _save(self) -> None:
        if self._saver is not None:
            self._check_all()  # a diverged run must not replace a good checkpoint
            self._saver.save(self.position)

    def _save_if_due(self, epoch: int = 0) -> None:
        if self._saver is not None and self._saver.due(epoch):
            self._save()

    def _seconds(self) -> float:
        """Spent on the epoch, in this run and in those that it goes on from."""
        return self._state[0].seconds + time.perf_counter() - self._epoch_started

    def _tick(self) -> bool:
        """Report, and look after what must not go on; whether it is time to save."""
        config, position = self._config, self._state[0]
        share = self.done
        since_start = share - self._share_at_start
        spent = time.perf_counter() - self._started
        length = float(sphere.mean_resultant_length(self.backend.read("inputs", 0, HEALTH_ROWS)))
        figures = reported(self.backend.sums() - position.before, self._seconds(), length)
        # The loss has seen contexts and documents, too.
        if not math.isfinite(length + figures["loss"]):
            raise diverged(config)
        left = spent / since_start * (1 - share) if since_start > 0 else None
        self._report(Progress("training", share, position.epoch + 1, config.epochs, figures, left))
        self._corpus.drop_pages()
        return self._saver is not None and self._saver.due()


def train_blocks(training: Training, workers: int, tick: Callable[[], bool] = lambda: False) -> None:
    """Train on threads until no block is left or `tick` says that it is time to pause, and look after them from here.

    Blocks that are begun are finished, and no thread is left when this ends, however it ends.
    """
    # None begins before all are there, and none if they never are: they may wait for one another.
    decided, complete = threading.Event(), False

    def start(worker: int) -> None:
        decided.wait()
        if complete:
            training.train(worker)

    pool = ThreadPoolExecutor(workers, thread_name_prefix="spherevec")
    try:
        pending = {pool.submit(start, worker) for worker in range(workers)}
        complete = True
        decided.set()
        while pending:
            done, pending = wait(pending, timeout=TICK, return_when=FIRST_EXCEPTION)
            errors = [error for future in done if (error := future.exception()) is not None]
            if errors:
                raise errors[0]
            if tick():
                training.stop()
    finally:
        training.stop()
        decided.set()
        with process.signals_held_back():  # a block is soon done
            pool.shutdown()


def with_biases(blocks: list[Block], biases: Biases) -> list[Block]:
    return [replace(block, word_bias=biases.words, document_bias=biases.documents) for block in blocks]


def refit_plan(config: TrainConfig, biases: Biases, tables: FitTables | None) -> FitPlan:
    """How the documents of a run are fitted to its words, as `Model.infer` does it."""
    settings = config.for_inference(weighted=tables is not None)
    return FitPlan(settings, biases.documents, INFERENCE_STEPS, tables)


def diverged(config: TrainConfig) -> TrainingError:
    other = f", or concentration, which is {config.concentration}" if config.objective_info.likelihood else ""
    return TrainingError(f"the vectors diverged (NaN); lower alpha, which is {config.alpha}{other}")
