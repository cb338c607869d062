"""Training on threads of this machine: the compiled kernels, their memory and their arguments."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import astuple
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from spherevec.config import TrainConfig
from spherevec.engine.cpu import kernels as kernel
from spherevec.engine.cpu.overlay_ops import Overlay
from spherevec.engine.cpu.vector_ops import ANCHOR_TILE, padded_rows
from spherevec.engine.base import Block, Figures, Floats, Inputs
from spherevec.engine.cpu.document_rows import document_table
from spherevec.storage.memory import available_memory

SLICE_TOKENS = 20_000  # of documents that one thread infers in one go

_OBJECTIVES = {"vmf": kernel.VMF, "hinge": kernel.HINGE, "joint": kernel.JOINT}
_RULES = {
    "1+h": kernel.RULE_COSINE_DISTANCE,
    "h": kernel.RULE_COSINE,
    "2h": kernel.RULE_TWICE_COSINE,
}


class CpuBackend:
    """Vectors in host memory, rows padded to whole cache lines, updated by several threads without locks.

    Args:
        workdir: where document vectors are kept that would not fit into memory; see `document_table`.
    """

    def __init__(self, inputs: Inputs, config: TrainConfig, workdir: str | Path | None = None) -> None:
        self.workers = config.thread_count
        self._inputs, self._config = inputs, config
        self._width = config.vector_size
        room = available_memory()
        self._tables: dict[str, Floats] = {
            name: padded_rows(len(inputs.keep_share), self._width) for name in ("words", "contexts")
        }
        room -= sum(table.nbytes for table in self._tables.values())
        documents = len(inputs.offsets) - 1 if config.documents else 1
        self._tables["documents"] = document_table(documents, self._width, room, workdir)
        self._objective = _OBJECTIVES[config.objective]
        self._scratch = [
            kernel.BatchScratch.make(
                self._width, config.window, config.negative, max(config.batch, ANCHOR_TILE), self._objective
            )
            for _ in range(self.workers)
        ]
        # One row a worker; rows lie cache lines apart, so that threads do not fight over one.
        self._figures = np.zeros((self.workers, 64), np.float64)[:, : kernel.FIGURES]

    def load(self, table: str, start: int, rows: Floats) -> None:
        self._tables[table][start : start + len(rows), : self._width] = rows

    def read(self, table: str, start: int, stop: int) -> Floats:
        return self._tables[table][start:stop, : self._width].copy()

    def warm_up(self) -> None:
        # A block without units runs nothing, but must be compiled to do so.
        self.train(0, Block(0, 0, 1, 1, 0.0, 0.0))

    def train(self, worker: int, block: Block) -> None:
        vectors = (self._tables["words"], self._tables["contexts"], self._tables["documents"])
        self._run(block, vectors, self._scratch[worker], self._figures[worker])

    def _run(
        self,
        block: Block,
        vectors: tuple[Floats | Overlay, ...],
        scratch: kernel.BatchScratch,
        figures: NDArray[np.float64],
    ) -> None:
        """Train a block on words, contexts and documents: the tables, or a shard's view of them."""
        config, inputs = self._config, self._inputs
        corpus = (inputs.ids, inputs.offsets, inputs.pieces, inputs.keep_share, inputs.draw_share, inputs.draw_other)
        place = (block.first, block.last, inputs.units, np.uint64(block.order_key), np.uint64(block.draw_key))
        documents = int(config.documents)
        rule, geodesic = _RULES[config.negative_rule], config.step == "exponential"
        alphas = (block.alpha_first, block.alpha_last)
        if config.objective == "joint":
            kernel.train_joint(
                *corpus, *vectors, scratch.kept, scratch.new_anchors, figures, *place,
                config.window, config.negative, rule, geodesic, *alphas, config.margin,
            )  # fmt: skip
        elif config.objective == "hinge" and config.batch == 1:
            kernel.train_triples(
                *corpus, *vectors, scratch.kept, scratch.new_anchors, figures, *place,
                config.window, config.negative, documents, rule, geodesic, *alphas, config.margin,
            )  # fmt: skip
        else:
            kernel.train_batches(
                *corpus, *vectors, scratch, figures, *place,
                config.window, config.batch, documents, self._objective, rule, geodesic,
                *alphas, config.concentration, block.word_offset, block.document_offset, config.margin,
            )  # fmt: skip

    def figures(self) -> Figures:
        return Figures(*self._figures.sum(axis=0).tolist())

    def restore_figures(self, figures: Figures) -> None:
        self._figures[:] = 0
        self._figures[0] = astuple(figures)

    def refit_documents(self, first: int, last: int, config: TrainConfig, offset: float, least_steps: int) -> None:
        inputs = self._inputs
        offsets = inputs.offsets[first : last + 1]
        corpus = (inputs.ids, offsets, inputs.refit_keep_share, inputs.draw_share, inputs.draw_other)
        infer_documents(
            corpus, self._tables["words"], self._tables["documents"][first:last], config, offset, least_steps
        )

    def take(self) -> dict[str, Floats]:
        tables, self._tables = self._tables, {}
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
    return flat[: rows * width].reshape(rows, width)


def infer_documents(
    corpus: tuple[NDArray[Any], ...],
    words: Floats,
    documents: Floats,
    config: TrainConfig,
    offset: float,
    least_steps: int = 0,
) -> None:
    """Fit `documents` to fixed `words`, on threads; both padded. A document without words stays as it is.

    Args:
        corpus: ids, offsets, keep_share, draw_share and draw_other, as in `Inputs`.
        config: `epochs` and `alpha` are those of the fit.
        offset: of the von Mises–Fisher likelihood.
        least_steps: short documents take more passes, until they have made so many steps.
    """
    objective = _OBJECTIVES[config.objective]

    def fit(slice_: tuple[int, int]) -> None:
        scratch = kernel.BatchScratch.make(config.vector_size, 1, config.negative, 1, objective)
        kernel.infer_documents(
            *corpus, words, documents, scratch, *slice_, config.epoch_count, least_steps, objective,
            config.step == "exponential", config.alpha, config.concentration, offset, config.margin,
        )  # fmt: skip

    with ThreadPoolExecutor(config.thread_count, thread_name_prefix="spherevec") as pool:
        for _ in pool.map(fit, pairwise(_slices(corpus[1]))):
            pass


def _slices(offsets: NDArray[np.int64]) -> list[int]:
    """Edges of runs of documents of about `SLICE_TOKENS` words."""
    documents = len(offsets) - 1
    count = max(1, round(float(offsets[-1] - offsets[0]) / SLICE_TOKENS))
    marks = np.linspace(float(offsets[0]), float(offsets[-1]), count + 1)[1:-1]
    inner = np.unique(np.searchsorted(offsets, marks)).tolist()
    return [0, *(edge for edge in inner if 0 < edge < documents), documents]
