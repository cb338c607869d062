"""A worker of a run: a process that reads its part of the text and trains on it between two exchanges.

Nothing here knows of Ray.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import socket
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from spherevec.config import TrainConfig
from spherevec.corpus import EncodedCorpus, Vocabulary, encode
from spherevec.corpus.count.encoded import Part, rewrite
from spherevec.corpus.count.summary import CorpusSummary
from spherevec.corpus.count.vocabulary import CountedWords
from spherevec.corpus.read.options import ReadOptions
from spherevec.distributed.exchange import SHARED, RowDeltas, Slice, apply_delta, merged
from spherevec.distributed.pieces import Piece, staged_pieces
from spherevec.engine.backends import make_backend
from spherevec.engine.base import Biases, Block, Floats, TrainingData
from spherevec.engine.cpu.document_rows import document_rows
from spherevec.engine.cpu.word_weights import Coherence, coherence, documents_looked_at
from spherevec.engine.figures import Sums
from spherevec.engine.fit import FitPlan
from spherevec.engine.schedule import CHUNK_ROWS, SMALLEST_EPOCH, epoch_blocks, random_rows
from spherevec.process import usable_cores
from spherevec.storage.files import working_folder
from spherevec.storage.memory import available_memory
from spherevec.storage.text_column import TextColumn
from spherevec.training.run import train_blocks, with_biases
from spherevec.training.runtime import training_data

IDS, LENGTHS = "ids.bin", "lengths.bin"
# Rounds of an epoch of each of several workers: their mean goes less far than each of them, so a short text needs more
# and smaller rounds between two exchanges.
_SMALLEST_EPOCH = 32
_ROWS_AT_ONCE = 1 << 16  # a copy of all would take as much memory as the tables


class Task(NamedTuple):
    """What all workers do between two exchanges."""

    epoch: int
    step: int  # which exchange of the epoch, out of `steps`
    steps: int
    alpha: float  # the learning rate that they begin with
    word_bias: float
    document_bias: float
    sums: Sums = Sums()  # what the figures go on from


class Report(NamedTuple):
    """What a worker says of a task, besides its rows."""

    sums: Sums
    word_bias: float
    document_bias: float


class Shard:
    """A share of the documents, their vectors, and a copy of all word and context vectors.

    Args:
        number: of the worker, out of `workers`.
        data: its documents, and the words of the whole text.
        config: resolved for the whole text.
        tokens: of the whole text.
    """

    def __init__(
        self,
        number: int,
        workers: int,
        data: TrainingData,
        config: TrainConfig,
        tokens: int,
        workdir: str | None = None,
    ) -> None:
        self._workers, self._data, self._tokens, self._seed = workers, data, tokens, config.seed
        self._config = config.with_(seed=seed_of(config.seed, number))
        self._backend = make_backend(self._data, config, workdir)
        self._biases = Biases(config.bias, config.bias)
        # What the workers agreed on last; a worker alone agrees with itself.
        self._agreed: dict[str, Floats] = {}
        if workers > 1:
            room = available_memory()  # a mapped file holds them where that is short
            self._agreed = {name: document_rows(self._data.words, config.vector_size, room, workdir) for name in SHARED}
        self._epoch, self._blocks = -1, list[Block]()

    def blocks(self, epoch: int) -> list[Block]:
        """The rounds of an epoch here; an exchange may be at the end of each."""
        if self._epoch != epoch:
            smallest = SMALLEST_EPOCH if self._workers < 3 else _SMALLEST_EPOCH
            self._blocks = epoch_blocks(self._data, self._config, epoch, smallest) if self._data.units else []
            self._epoch = epoch
        return self._blocks

    def load(self, table: str, start: int, rows: Floats) -> None:
        """Set vectors; of documents, by the rows of this worker."""
        self._backend.load(table, start, rows)
        if table in self._agreed:
            self._agreed[table][start : start + len(rows), : self._config.vector_size] = rows

    def fill(self) -> None:
        """Random directions, as one machine has them: the same words on every worker, and documents of its own."""
        for table, count in self._data.table_rows(self._config).items():
            config = self._config.with_(seed=self._seed) if table in SHARED else self._config
            for start, rows in random_rows(config, table, count):
                self.load(table, start, rows)

    def total(self, table: str) -> NDArray[np.float64]:
        return self._backend.total(table)

    def read(self, table: str, start: int, stop: int) -> Floats:
        return self._backend.read(table, start, stop)

    def warm_up(self) -> None:
        """Compile what trains."""
        self._backend.warm_up()

    def train(self, task: Task) -> tuple[Report | Slice, ...]:
        """Train up to the next exchange; returns a report and what has moved, a slice for each worker to add up."""
        self._backend.restore_sums(task.sums)
        self._biases = Biases(task.word_bias, task.document_bias)
        blocks = self.blocks(task.epoch)
        first, last = (len(blocks) * step // task.steps for step in (task.step, task.step + 1))
        if first < last:
            training = self._backend.begin(with_biases(blocks[first:last], self._biases))
            train_blocks(training, self._backend.workers)
            self._biases = Biases(*self._backend.learned_biases())
        return Report(self._backend.sums(), self._biases.words, self._biases.documents), *self._slices()

    def absorb(self, *agreed: Slice) -> None:
        """Go to what the workers agreed on: every row that any of them has moved."""
        for part in agreed:
            for table, moved in part.items():
                for start in range(0, len(moved.rows), _ROWS_AT_ONCE):
                    some = RowDeltas._make(column[start : start + _ROWS_AT_ONCE] for column in moved)
                    ended = apply_delta(self._agreed[table], some, self._config.thread_count)
                    self._backend.load_rows(table, some.rows, ended)

    def _slices(self) -> list[Slice]:
        """What has moved, in slices; rows are in the order of frequency, so they are dealt out."""
        found = {table: self._moved(table) for table in self._agreed}
        return [
            {table: RowDeltas._make(column[moved.rows % self._workers == number] for column in moved)
             for table, moved in found.items()}
            for number in range(self._workers)
        ]  # fmt: skip

    def _moved(self, table: str) -> RowDeltas:
        """The rows that differ from what was agreed on, and about how many steps they took.

        A step turns a row by about the learning rate; a row that went further took more of them.
        """
        before, dim = self._agreed[table], self._config.vector_size
        parts = [RowDeltas(np.zeros(0, np.int32), np.zeros(0, np.int32), np.zeros((0, dim), np.float16))]
        for start in range(0, len(before), CHUNK_ROWS):
            old = before[start : start + CHUNK_ROWS, :dim]
            delta = self._backend.read(table, start, start + len(old)) - old
            distance = np.linalg.norm(delta, axis=1)
            here = np.flatnonzero(distance > 0)
            steps = np.maximum(1, (distance[here] / self._config.alpha) ** 2).astype(np.int32)
            parts.append(RowDeltas((start + here).astype(np.int32), steps, delta[here].astype(np.float16)))
        return RowDeltas._make(np.concatenate(column) for column in zip(*parts, strict=True))

    def coherence(self, weights: Floats) -> Coherence:
        """What the documents here say of their words; see `spherevec.engine.cpu.word_weights`."""
        data, inputs = self._data, self._backend.host_inputs()
        documents = documents_looked_at(data.offsets, self._tokens)
        return coherence(data.ids, data.offsets, documents, inputs, weights, self._config.thread_count)

    def refit_documents(self, runs: Sequence[tuple[int, int]], plan: FitPlan) -> None:
        """Refit documents, by the rows of this worker."""
        own = replace(plan, config=plan.config.with_(threads=self._config.threads))
        for first, last in runs:
            self._backend.refit_documents(first, last, own)


class PartAbout(NamedTuple):
    """What the driver hears of a part that was read: what it holds, and how many documents each of its pieces has."""

    summary: CorpusSummary
    rows: list[int]


class EncodedPart(NamedTuple):
    """A part in the words of the whole text, as the driver gets it."""

    ids: NDArray[np.int32]
    lengths: NDArray[np.int64]
    hashes: NDArray[np.uint64]  # of dropped words, and the document that each stands in
    rows: NDArray[np.int32]
    columns: Mapping[str, NDArray[Any]]  # of the table of documents
    unknown: int  # documents that have words, but none that is kept


class Worker(Shard):
    """One of the workers of a run: it reads parts of the text, or is sent documents; a shard from `prepare` on.

    It keeps its text in `workdir`, by default where its machine keeps temporary files.
    """

    def __init__(self, number: int, workers: int, workdir: str | None = None) -> None:
        self._number, self._of, self._workdir = number, workers, workdir
        self._stack = contextlib.ExitStack()
        self._folder = self._stack.enter_context(working_folder(workdir))
        # What was read: None for a part of no documents; and the words of each, which are hashed once.
        self._parts: list[tuple[EncodedCorpus | None, TextColumn, NDArray[np.uint64]]] = []
        for name in (IDS, LENGTHS):
            (self._folder / name).touch()

    def where(self) -> tuple[str, int, int, float]:
        """The machine, the process, the most memory that it has had, in kilobytes, and its processor seconds."""
        import resource  # not on Windows

        most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return socket.gethostname(), os.getpid(), most, time.process_time()

    def read_part(self, pieces: list[Piece], tokenizer: Any, threads: int, reading: ReadOptions) -> PartAbout:
        """Read a part into the folder: all its words are kept for now, each under a number of this part."""
        corpus = None
        with staged_pieces(pieces, self._folder) as stage:
            if stage.given:
                target = self._folder / f"part-{len(self._parts)}"
                shutil.rmtree(target, ignore_errors=True)
                corpus = encode(stage.given, target, min_count=1, tokenizer=tokenizer, threads=threads, reading=reading)
        words = TextColumn.of(corpus.vocabulary.words if corpus else [])
        self._parts.append((corpus, words, words.hashes()))
        if corpus is None:
            return PartAbout(CorpusSummary(0, 0, 0, 0, 0, 0), [0] * len(pieces))
        summary = corpus.summary.with_(notes=tuple(stage.renamed(note) for note in corpus.summary.notes))
        return PartAbout(summary, stage.rows(corpus.document_columns or {}, corpus.n_documents))

    def counts(self, bucket: int, buckets: int) -> CountedWords:
        """How often each word occurs in all parts, of one of `buckets` sets of words."""
        found = [CountedWords(TextColumn.of([]), np.zeros(0, np.int64))]
        for corpus, words, hashes in self._parts:
            if corpus is not None:
                places = np.flatnonzero(hashes % np.uint64(buckets) == bucket)
                counts = corpus.vocabulary.counts[places]
                found.append(CountedWords(CountedWords(words, counts).at(places), counts))
        return CountedWords.merged(found)[0]

    def renumber(self, part: int, vocabulary: Vocabulary) -> EncodedPart:
        """Keep a part that was read here in the words of the whole text; returns a copy."""
        corpus, words, hashes = self._parts[part]
        if corpus is None:
            none = np.zeros(0, np.int32)
            return EncodedPart(none, np.zeros(0, np.int64), np.zeros(0, np.uint64), none, {}, 0)
        numbers = vocabulary.ids_of(words)
        folder = self._folder / "renumbered"
        with rewrite([Part(corpus, numbers, np.arange(corpus.n_documents))], vocabulary, folder) as new:
            ids, lengths = np.array(new.ids), np.diff(new.offsets)
        shutil.rmtree(folder)
        self.append(ids, lengths)
        dropped = np.flatnonzero(numbers[corpus.ids] < 0)
        rows = (np.searchsorted(corpus.offsets, dropped, "right") - 1).astype(np.int32)
        columns = {name: np.array(array) for name, array in (corpus.document_columns or {}).items()}
        unknown = int(np.count_nonzero((np.diff(corpus.offsets) > 0) & (lengths == 0)))
        return EncodedPart(ids, lengths, hashes[corpus.ids[dropped]], rows, columns, unknown)

    def append(self, ids: NDArray[np.int32], lengths: NDArray[np.int64]) -> None:
        """Take some documents, behind those that are here."""
        for name, array in ((IDS, ids), (LENGTHS, lengths)):
            with (self._folder / name).open("ab") as file:
                file.write(np.ascontiguousarray(array).data)

    def prepare(self, counts: NDArray[np.int64], config: TrainConfig, tokens: int) -> int:
        """Get ready to train on the documents that are here, of a text of so many tokens; the rounds of an epoch."""
        for number, (corpus, *_) in enumerate(self._parts):
            if corpus is not None:
                corpus.close()
            shutil.rmtree(self._folder / f"part-{number}", ignore_errors=True)
        self._parts = []
        lengths = np.fromfile(self._folder / LENGTHS, np.int64)
        offsets = np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths)])
        size = int(offsets[-1])
        ids = np.memmap(self._folder / IDS, np.int32, "r", shape=(size,)) if size else np.zeros(0, np.int32)
        data = training_data(ids, offsets, counts, config)
        Shard.__init__(self, self._number, self._of, data, config, tokens, self._workdir)
        return len(self.blocks(0))

    def merge(self, alpha: float, *parts: Slice) -> Slice:
        """Add up one slice of what the workers have moved."""
        return merged(parts, alpha, usable_cores())


def seed_of(seed: int, number: int) -> int:
    """The seed of a worker; the first one has that of the run, so that alone it does what one machine does."""
    if not number:
        return seed
    return int(np.random.SeedSequence((seed, number)).generate_state(1, np.uint64)[0] >> np.uint64(1))
