"""Training on threads of this machine: the compiled kernels, their memory and their arguments."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import astuple
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from spherevec.compiling import need_compiler, read_only
from spherevec.config import TrainConfig
from spherevec.engine.base import DAMPING, SETTLING, Block, Floats, Sampling, TrainingData
from spherevec.engine.cpu import kernels as kernel
from spherevec.engine.cpu import rounds as loop
from spherevec.engine.cpu.document_rows import document_rows
from spherevec.engine.cpu.fit_kernels import WeightedFit, fit_weighted
from spherevec.engine.cpu.overlay_ops import OwnRows
from spherevec.engine.cpu.vector_ops import ANCHOR_TILE, padded_rows
from spherevec.engine.cpu.word_weights import fit_tables
from spherevec.engine.figures import SLOTS, Sums
from spherevec.engine.fit import FitPlan, FitTables
from spherevec.engine.schedule import CHUNK_ROWS, random_rows
from spherevec.objectives import NEGATIVE_RULES
from spherevec.storage.memory import available_memory, discard
from spherevec.threads import in_order

OWN_ROWS = 1000  # of the most frequent words, that each of several threads has a copy of
SLICE_TOKENS = 20_000  # of documents that one thread infers in one go


# The room of each kernel; its type decides which kernel is compiled.
_SCRATCH: dict[str, type[kernel.BatchScratch]] = {
    "batches": kernel.BatchScratch,
    "triples": kernel.TripleScratch,
    "joint": kernel.JointScratch,
}


def scratch_of(config: TrainConfig) -> type[kernel.BatchScratch]:
    """The type of scratch that the kernel of a run works in."""
    return _SCRATCH[config.objective_info.kernel_for(config.batch)]


def kernel_of(config: TrainConfig) -> Any:
    """The compiled function that trains a run's blocks, with the scratch of its objective."""
    return loop.train_rounds if config.is_deterministic else loop.train_freely


class CpuTraining:
    """Blocks that all workers of a backend train at the same time, in compiled code.

    Args:
        cells: its counters; see `rounds`.
        train: what each worker does.
    """

    def __init__(self, cells: NDArray[np.int64], train: Callable[[int], None]) -> None:
        self._cells, self.train = cells, train

    def stop(self) -> None:
        self._cells[loop.STOP] = 1

    @property
    def done(self) -> int:
        return int(self._cells[loop.DONE])


class CpuBackend:
    """Vectors in host memory, rows padded to whole cache lines, updated by several threads without locks.

    Args:
        workdir: where document vectors are kept that would not fit into memory; see `document_rows`.
    """

    def __init__(self, data: TrainingData, config: TrainConfig, workdir: str | Path | None = None) -> None:
        self.workers = config.thread_count
        self._data, self._config = data, config
        self._width = config.vector_size
        room = available_memory()
        self._tables: dict[str, Floats] = {
            name: padded_rows(data.words, self._width) for name in ("inputs", "contexts")
        }
        room -= sum(table.nbytes for table in self._tables.values())
        # Kernels read the address of a document's row, also where no documents are trained.
        documents = data.documents if config.documents else 1
        self._tables["docs"] = document_rows(documents, self._width, room, workdir)
        self._settings = settings_of(config)
        self._corpus = kernel.Corpus(
            read_only(data.ids),
            read_only(data.offsets),
            data.pieces,
            data.keep_probability,
            data.alias_probability,
            data.alias_word,
        )
        batch = max(config.batch, ANCHOR_TILE)
        self._scratch = [
            scratch_of(config).make(self._width, config.window, config.negative, batch, config.objective_info.code)
            for _ in range(self.workers)
        ]
        self._own: list[OwnRows | None] = [None] * self.workers
        # One row a worker; rows lie cache lines apart, so that threads do not fight over one.
        self._sums = np.zeros((self.workers, 64), np.float64)[:, : len(SLOTS)]
        self._biases = np.zeros(2)

    def fill(self) -> None:
        sizes, threads = self._data.table_rows(self._config), self._config.thread_count

        def fill_table(_: int, table: str) -> None:
            for start, rows in random_rows(self._config, table, sizes[table], max(1, min(4, threads // len(sizes)))):
                self.load(table, start, rows)

        for _ in in_order(sizes, fill_table, min(threads, len(sizes))):
            pass

    def total(self, table: str) -> NDArray[np.float64]:
        rows, starts = self._tables[table], range(0, len(self._tables[table]), CHUNK_ROWS)
        parts = [rows[start : start + CHUNK_ROWS, : self._width].sum(axis=0, dtype=np.float64) for start in starts]
        return np.asarray(np.sum(parts, axis=0))

    def load(self, table: str, start: int, rows: Floats) -> None:
        self._tables[table][start : start + len(rows), : self._width] = rows

    def read(self, table: str, start: int, stop: int) -> Floats:
        return self._tables[table][start:stop, : self._width].copy()

    def load_rows(self, table: str, numbers: NDArray[np.int32], rows: Floats) -> None:
        self._tables[table][numbers, : self._width] = rows

    def warm_up(self) -> None:
        # Of no block, to have it compiled.
        self.begin([]).train(0)

    def begin(self, blocks: Sequence[Block]) -> CpuTraining:
        plan, cells, threads = self._plan(blocks), np.zeros(loop.CELLS, np.int64), min(self.workers, len(blocks))
        places = np.zeros(1, np.uint8)  # every thread draws every word

        def train(worker: int) -> None:
            loop.train_freely(
                threads, cells, self._biases, places, self._sums[worker], self._vectors(worker, threads),
                self._tables["docs"], self._corpus, self._scratch[worker], plan, self._settings, SETTLING,
            )  # fmt: skip

        return CpuTraining(cells, train)

    def _plan(self, blocks: Sequence[Block], peers: bool = False) -> loop.Plan:
        one = blocks[0] if blocks else Block(0, 0, 0, 0, 0.0, 0.0)
        self._biases[:] = one.word_bias, one.document_bias
        return loop.Plan(
            edges=np.array([(block.first, block.last) for block in blocks], np.int64).reshape(-1, 2),
            alphas=np.array([(block.alpha_first, block.alpha_last) for block in blocks]).reshape(-1, 2),
            units=self._data.units,
            order_key=np.uint64(one.order_key),
            sample_key=np.uint64(one.sample_key),
            bias_rate=DAMPING * self._config.concentration if self._config.objective_info.likelihood else 0.0,
            peers=peers,
        )

    def _vectors(self, worker: int, threads: int) -> kernel.Vectors:
        """The word vectors as a free worker sees them; it has no copies if it is alone."""
        own = self._own[worker]
        count = min(OWN_ROWS, self._data.words) if threads > 1 else 0
        if own is None or own.size != count:
            copies, start = (padded_rows(count, self._width) for _ in range(2))
            own = OwnRows(self._tables["inputs"], copies, np.zeros(count + 1, np.int32), start, count)
            self._own[worker] = own
        return kernel.Vectors(own, self._tables["contexts"])

    def sums(self) -> Sums:
        return Sums(*self._sums.sum(axis=0).tolist())

    def restore_sums(self, sums: Sums) -> None:
        self._sums[:] = 0
        self._sums[0] = astuple(sums)

    def learned_biases(self) -> tuple[float, float]:
        words, documents = self._biases.tolist()
        return words, documents

    def host_inputs(self) -> Floats:
        return self._tables["inputs"]

    def fit_tables(self, counts: NDArray[np.int64]) -> FitTables | None:
        return fit_tables(self._tables["inputs"], self._data, counts, self._config)

    def count_words(self) -> None:
        """The processor counts them."""

    def refit_documents(self, first: int, last: int, plan: FitPlan) -> None:
        corpus = corpus_of(self._data.ids, self._data.offsets[first : last + 1], self._data.refit_sampling)
        fit_documents(corpus, self._tables["inputs"], self._tables["docs"][first:last], plan)

    def take(self) -> dict[str, Floats]:
        tables, self._tables, self._own = self._tables, {}, []
        return {name: _without_padding(tables.pop(name), self._width) for name in list(tables)}


def _without_padding(padded: NDArray[np.float32], width: int) -> Floats:
    """The first `width` columns, moved together in place: a second copy of the vectors might not fit into memory."""
    rows, stride = padded.shape
    flat = padded.reshape(-1)
    if stride != width:
        block = 4096
        for start in range(0, rows, block):
            stop = min(start + block, rows)
            flat[start * width : stop * width] = padded[start:stop, :width].reshape(-1)
        discard(flat[rows * width :])
    return flat[: rows * width].reshape(rows, width)


def fit_documents(corpus: kernel.Corpus, inputs: Floats, docs: Floats, plan: FitPlan) -> None:
    """Fit `docs` to fixed `inputs`, on threads; both padded. A document without words stays as it is."""
    fit = _sampled_fit(corpus, inputs, docs, plan) if plan.tables is None else _weighted_fit(corpus, inputs, docs, plan)
    offsets = corpus.offsets
    count = max(1, round(float(offsets[-1] - offsets[0]) / SLICE_TOKENS))
    marks = np.linspace(float(offsets[0]), float(offsets[-1]), count + 1)[1:-1]
    edges = np.unique([0, *np.searchsorted(offsets, marks), len(offsets) - 1]).tolist()
    for _ in in_order(pairwise(edges), fit, plan.config.thread_count):
        pass


def _sampled_fit(
    corpus: kernel.Corpus, inputs: Floats, docs: Floats, plan: FitPlan
) -> Callable[[int, tuple[int, int]], None]:
    """Fits a slice of the documents by sampled steps."""
    config, objective = plan.config, plan.config.objective_info
    settings = kernel.FitSettings(
        config.epoch_count, plan.least_steps, objective.code, config.step == "exponential", config.alpha,
        config.concentration, float(plan.bias), config.margin,
    )  # fmt: skip

    def fit(_: int, slice_: tuple[int, int]) -> None:
        scratch = kernel.BatchScratch.make(config.vector_size, 1, config.negative, 1, objective.code)
        kernel.infer_documents(corpus, inputs, docs, scratch, *slice_, settings)

    return fit


def _weighted_fit(
    corpus: kernel.Corpus, inputs: Floats, docs: Floats, plan: FitPlan
) -> Callable[[int, tuple[int, int]], None]:
    """Fits a slice of the documents by expected likelihood."""
    assert plan.tables is not None
    config, tables, dim = plan.config, plan.tables, plan.config.vector_size
    settings = WeightedFit(
        config.epoch_count, config.alpha, config.concentration, float(plan.bias), float(config.negative),
        *tables.by_length.tolist(),
    )  # fmt: skip
    moments: Floats = padded_rows(dim + 1, dim)
    moments[:dim, :dim], moments[dim, :dim] = tables.covariance, tables.mean
    weights = np.ascontiguousarray(tables.weights)

    def fit(_: int, slice_: tuple[int, int]) -> None:
        longest = int(np.diff(corpus.offsets[slice_[0] : slice_[1] + 1]).max(initial=0))
        room = np.empty(longest, np.int32), np.empty(longest, np.float32)
        scratch = padded_rows(3, dim)
        fit_weighted(corpus.ids, corpus.offsets, inputs, docs, *slice_, weights, moments, scratch, *room, settings)

    return fit


def corpus_of(ids: NDArray[np.int32], offsets: NDArray[np.int64], sampling: Sampling) -> kernel.Corpus:
    """Documents to fit, whole: pieces matter in training alone."""
    return kernel.Corpus(read_only(ids), read_only(offsets), np.empty((0, 2), np.int64), *sampling)


class DocumentFit:
    """Input vectors, padded, for fitting new documents to them; see `spherevec.engine.base.DocumentFit`."""

    def __init__(self, inputs: Floats, sampling: Sampling, config: TrainConfig) -> None:
        self._sampling = sampling
        self._inputs: Floats = padded_rows(*inputs.shape)
        self._inputs[:, : inputs.shape[1]] = inputs

    def fit(
        self,
        ids: NDArray[np.int32],
        offsets: NDArray[np.int64],
        start: Floats,
        plan: FitPlan,
    ) -> Floats:
        docs: Floats = padded_rows(*start.shape)
        docs[:, : start.shape[1]] = start
        fit_documents(corpus_of(ids, offsets, self._sampling), self._inputs, docs, plan)
        return np.ascontiguousarray(docs[:, : start.shape[1]])


def check(config: TrainConfig) -> None:
    """Every machine has a processor; its kernels must be compiled."""
    need_compiler()


def make_backend(data: TrainingData, config: TrainConfig, workdir: str | Path | None = None) -> CpuBackend:
    from spherevec.engine.cpu.deterministic import DeterministicCpuBackend

    return (DeterministicCpuBackend if config.is_deterministic else CpuBackend)(data, config, workdir)


def settings_of(config: TrainConfig) -> kernel.Settings:
    return kernel.Settings(
        window=config.window,
        batch=config.batch,
        negative=config.negative,
        documents=int(config.documents),
        objective=config.objective_info.code,
        rule=NEGATIVE_RULES[config.negative_rule],
        geodesic=config.step == "exponential",
        concentration=config.concentration,
        margin=config.margin,
    )
