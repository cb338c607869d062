"""Documents fitted to fixed words on the device, while training ends and for new texts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from spherevec.config import TrainConfig
from spherevec.engine.base import Floats, Sampling
from spherevec.engine.cuda.build import Layout, compiled_module, compiler_options, cupy_with_gpu, inference_macros
from spherevec.engine.cuda.counting import document_words
from spherevec.engine.fit import FitPlan, FitTables, exponents


@dataclass(frozen=True)
class DeviceSampling:
    """Keep probabilities and the alias table, on the device."""

    keep_probability: Any  # (V,) uint32
    alias: Any  # (V, 2) uint32: share, other

    @property
    def arrays(self) -> tuple[Any, Any]:
        return self.keep_probability, self.alias

    @classmethod
    def of(cls, cupy: Any, sampling: Sampling) -> DeviceSampling:
        alias = np.column_stack([sampling.alias_probability, sampling.alias_word.astype(np.uint32)])
        return cls(cupy.asarray(sampling.keep_probability), cupy.asarray(np.ascontiguousarray(alias)))


def fit_documents(
    cupy: Any, plan: FitPlan, layout: Layout, ids: Any, offsets: Any, shift: int, sampling: DeviceSampling,
    words: Any, documents: Any,
) -> None:  # fmt: skip
    """Fit rows of `documents` to rows of `words`, all on the device; a document without words stays as it is.

    Args:
        offsets: (N + 1,) of the documents in the corpus, of which `ids` starts at place `shift`.
    """
    config, count = plan.config, len(offsets) - 1
    order = cupy.argsort(offsets[:-1] - offsets[1:])
    module = compiled_module(compiler_options(inference_macros(config)))
    teams = cupy.cuda.Device().attributes["MultiProcessorCount"] * max(1, 20 // layout.team)
    launch = (min(teams, count),), (32 * layout.team,)
    following = cupy.zeros(1, np.uint64)
    if plan.tables is not None:
        words_of, offsets, pulls = _different_words(cupy, ids, offsets - shift, plan.tables)
        moments = cupy.zeros((layout.width + 1, layout.stride), np.float32)
        moments[: layout.width, : layout.width] = cupy.asarray(plan.tables.covariance)
        moments[layout.width, : layout.width] = cupy.asarray(plan.tables.mean)
        module.get_function("fit")(
            *launch,
            (
                words_of, offsets, order, pulls, moments, words, documents, following, np.int64(count),
                np.int32(layout.width), np.int32(config.epoch_count), np.float32(config.alpha),
                np.float32(config.concentration), np.float32(plan.bias), np.float32(config.negative),
            ),
        )  # fmt: skip
        return
    module.get_function("infer")(
        *launch,
        (
            ids, offsets, order, *sampling.arrays, words, documents, following, np.int64(count),
            np.int64(shift), np.uint32(len(sampling.keep_probability)), np.int64(config.epoch_count),
            np.int64(plan.least_steps),
            np.float64(config.alpha), np.float32(config.concentration), np.float32(plan.bias),
            np.float32(config.margin),
        ),
    )  # fmt: skip


def _different_words(cupy: Any, ids: Any, offsets: Any, tables: FitTables) -> tuple[Any, Any, Any]:
    """The different words of documents, one document after another, and how much each pulls; see `exponents`.

    Args:
        offsets: (N + 1,) of the documents in `ids`.

    Returns:
        Words (M,), offsets (N + 1,) and pulls (M,).
    """
    starts, documents, words, times = document_words(cupy, ids, offsets)
    damping, sharpening = exponents(cupy.diff(offsets)[documents].astype(np.float32), tables.by_length)
    pulls = cupy.asarray(tables.weights)[words] ** sharpening * times.astype(np.float32) ** damping
    return words, starts, pulls.astype(np.float32)


class DocumentFit:
    """Input vectors on the device, for fitting new documents to them; see `spherevec.engine.base.DocumentFit`."""

    def __init__(self, inputs: Floats, sampling: Sampling, config: TrainConfig) -> None:
        self._cupy = cupy = cupy_with_gpu()
        self._layout = Layout.of(config.vector_size)
        self._words = self._padded(inputs)
        self._sampling = DeviceSampling.of(cupy, sampling)

    def fit(self, ids: NDArray[np.int32], offsets: NDArray[np.int64], start: Floats, plan: FitPlan) -> Floats:
        """The vectors of documents, (N, dim); `start` is what those keep whose words have no direction."""
        if len(start) == 0:
            return start
        cupy = self._cupy
        documents = self._padded(start)
        fit_documents(
            cupy, plan, self._layout, cupy.asarray(ids), cupy.asarray(offsets), 0, self._sampling,
            self._words, documents,
        )  # fmt: skip
        return np.ascontiguousarray(cupy.asnumpy(documents[:, : self._layout.width]))

    def _padded(self, rows: Floats) -> Any:
        padded = self._cupy.zeros((len(rows), self._layout.stride), np.float32)
        padded[:, : self._layout.width] = self._cupy.asarray(rows)
        return padded
