"""Training on an NVIDIA GPU: device memory, the compiled kernels of `kernels.cu` and their arguments."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import astuple, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from spherevec.config import TrainConfig
from spherevec.devices import DEVICES
from spherevec.engine.base import DAMPING, LEARNED_TOKENS, PIECE, Block, Floats, OneByOne, Sampling, TrainingData
from spherevec.engine.cuda.build import (
    SEGMENT_BYTES,
    SHARED,
    Layout,
    compiled_module,
    compiler_options,
    cupy_with_gpu,
    macros,
)
from spherevec.engine.cuda.counting import count_words
from spherevec.engine.cuda.fit import DeviceSampling, fit_documents
from spherevec.engine.cuda.fit import DocumentFit as DocumentFit  # a backend offers it
from spherevec.engine.figures import SLOTS, Sums
from spherevec.engine.fit import FitPlan, FitTables
from spherevec.engine.gather import gather
from spherevec.engine.sampling import UNIGRAM_POWER
from spherevec.errors import ConfigError, TrainingError

DEVICE = DEVICES["cuda"]

SEGMENT = 256  # tokens that a team takes at a time; few enough that the last ones of a launch end together
RESIDENT_SHARE = 0.8  # of the memory that the vectors leave free which the ids of a corpus may take
ROWS_ADDED = 1 << 20  # vectors in one go
ROWS_COPIED = 1 << 16  # between host and device in one go
COPIED_BYTES = 1 << 24  # from the device by one thread in one go
COPYING_THREADS = 4  # new memory of the host takes longer than the copy itself
COUNTING_BYTES = 96  # of the device that counting words takes for each token of the text
MOST_COUNTED = 1 << 29  # tokens: what is found of them takes 13 bytes of the host each
ROUNDS = 4  # a launch has so many segments of full length for every team, at least
WORDS_A_TEAM = 8  # and the vocabulary so many words
# How far those teams may move the row together, if they agree: the most that learning rate times concentration times
# their number may come to. Beyond it each takes a share of its step.
STEPS_AT_ONCE = 0.3


@dataclass(frozen=True)
class Concurrency:
    """How much is trained at the same time."""

    teams: int  # that train a segment each
    segment: int = SEGMENT  # tokens
    shuffled: bool = True  # the segments of a launch, so that those of one document do not meet
    added: bool = True  # steps are added to a row, so that none is lost, where the kernel can do that


IN_ORDER = Concurrency(teams=1, segment=PIECE, shuffled=False, added=False)  # what one thread of the CPU does


def crowds(data: TrainingData, config: TrainConfig) -> Floats:
    """How many rows of each word, then of each context, a team holds at a time on average, (2 V,)."""
    words = len(data.alias_probability)
    own = data.alias_probability / 2.0**32
    sampled = (own + np.bincount(data.alias_word, 1 - own, words)) / words
    kept = sampled ** (1 / UNIGRAM_POWER) * data.keep_probability  # sampled by counts to that power
    kept /= kept.sum()
    negative = 1 if config.objective_info.one_by_one(config.batch) else config.negative
    return np.concatenate([kept + negative * sampled, config.batch * kept]).astype(np.float32)


class CudaBackend:
    """Vectors in device memory, in one array: words, contexts, documents, and a row of zeros.

    The ids stay on the device too if they fit; otherwise those of the next block are copied while this one trains.

    Args:
        concurrency: chosen by the GPU and the text when not given.
        resident_tokens: keep at most so many ids on the device; by default what its memory allows.
    """

    workers = 1  # one thread drives the GPU

    def __init__(
        self,
        data: TrainingData,
        config: TrainConfig,
        *,
        concurrency: Concurrency | None = None,
        resident_tokens: int | None = None,
    ) -> None:
        self._cupy = cupy = cupy_with_gpu()
        self._data, self._config = data, config
        self._layout = Layout.of(config.vector_size)
        words, documents = data.words, data.documents if config.documents else 1
        self._sizes = {"inputs": words, "contexts": words, "docs": documents}
        self._starts = {"inputs": 0, "contexts": words, "docs": 2 * words}
        self._zero_row = 2 * words + documents
        self._check_memory()
        self._training, self._copying, self._reading = (cupy.cuda.Stream(non_blocking=True) for _ in range(3))
        self._concurrency = concurrency or self._fitting_concurrency()
        # The geodesic needs a step's length, which is not known before its row is: then rows are stored.
        added = (
            self._concurrency.added
            and config.step == "retraction"
            and not config.objective_info.one_by_one(config.batch)
        )
        self._module = compiled_module(compiler_options(macros(config, added=added)))
        self._train = self._module.get_function("train")
        self._shared_size = self._shared_bytes(self._concurrency.segment)
        with self._training:
            self._vectors = cupy.zeros((self._zero_row + 1, self._layout.stride), np.float32)
            self._offsets = cupy.asarray(np.ascontiguousarray(data.offsets))
            self._pieces = cupy.asarray(np.ascontiguousarray(data.pieces))
            sampling = Sampling(data.keep_probability, data.alias_probability, data.alias_word)
            self._sampling = DeviceSampling.of(cupy, sampling)
            self._refit_sampling = replace(self._sampling, keep_probability=cupy.asarray(data.refit_keep_probability))
            self._sums = cupy.zeros(len(SLOTS), np.float64)
            self._shared = cupy.zeros(SHARED.itemsize, np.uint8)
            # One team alone has no crowd, however often it meets a word.
            others = self._concurrency.teams - 1
            self._crowds = cupy.asarray(crowds(data, config) * np.float32(others))
        self._training.synchronize()
        self._unit_rows = True
        # As often as the CPU learns them; a block that is trained in order keeps those that it was given.
        tokens = len(data.ids)
        learns = self._concurrency.shuffled and config.objective_info.likelihood
        self._learn_every = tokens // max(1, tokens // LEARNED_TOKENS) if learns else 0
        if resident_tokens is None:
            resident_tokens = int(RESIDENT_SHARE * cupy.cuda.runtime.memGetInfo()[0]) // 4
        self._corpus = _Resident(self) if tokens <= resident_tokens else _Streamed(self)

    # --- the seam ----------------------------------------------------------------------------------------------------

    def load(self, table: str, start: int, rows: Floats) -> None:
        first = self._starts[table] + start
        with self._training:
            self._vectors[first : first + len(rows), : self._layout.width] = self._cupy.asarray(rows)
        self._training.synchronize()

    def fill(self) -> None:
        """Random directions for every vector, made and normalised on the device."""
        rows, width = self._zero_row, self._layout.width
        with self._training:
            self._module.get_function("fill_random")(
                *_grid(rows * -(-width // 2)),
                (self._vectors, np.int64(rows), np.int32(width), np.uint64(self._config.seed)),
            )
        self._unit_rows = False
        self._normalise_all()

    def total(self, table: str) -> NDArray[np.float64]:
        first, total = self._starts[table], np.zeros(self._layout.width)
        for start in range(first, first + self._sizes[table], ROWS_ADDED):
            with self._reading:
                rows = self._unit(self._vectors[start : min(start + ROWS_ADDED, first + self._sizes[table])])
                total += self._cupy.asnumpy(rows.sum(axis=0, dtype=np.float64))[: self._layout.width]
        return total

    def read(self, table: str, start: int, stop: int) -> Floats:
        first, last = (self._starts[table] + min(row, self._sizes[table]) for row in (start, stop))
        with self._reading:
            read: Floats = self._cupy.asnumpy(self._unit(self._vectors[first:last])[:, : self._layout.width])
        return read

    def load_rows(self, table: str, numbers: NDArray[np.int32], rows: Floats) -> None:
        with self._training:
            places = self._cupy.asarray(numbers + self._starts[table])
            self._vectors[places, : self._layout.width] = self._cupy.asarray(rows)
        self._training.synchronize()

    def warm_up(self) -> None:
        """Nothing: the kernels were compiled, or found compiled, when the backend was made."""

    def begin(self, blocks: Sequence[Block]) -> OneByOne:
        return OneByOne(self, blocks)

    def train_block(self, block: Block) -> None:
        config = self._config
        self._unit_rows = False
        with self._training:
            self._set_shared(next=0, bias=(block.word_bias, block.document_bias))
            ids, segments = self._corpus.take(block)
            count = len(segments) // SEGMENT_BYTES
            self._corpus.look_ahead(block)
            if count:
                teams = min(self._concurrency.teams, count)
                shuffle_key = (block.sample_key ^ block.first) | 1 if self._concurrency.shuffled else 0
                self._train(
                    (teams,),
                    (32 * self._layout.team,),
                    (
                        ids, self._offsets, segments, *self._sampling.arrays, self._vectors, self._sums,
                        self._shared, np.int64(count), np.uint64(shuffle_key),
                        np.uint64(block.sample_key), np.uint32(self._sizes["inputs"]), np.uint32(self._zero_row),
                        np.int32(config.window), np.float64(block.alpha_first), np.float64(block.alpha_last),
                        np.float32(config.concentration), np.float32(config.margin),
                        np.uint64(self._learn_every), np.float32(DAMPING * config.concentration),
                        self._crowds, np.float32((teams - 1) / max(self._block_tokens(block), 1)),
                        np.float32(STEPS_AT_ONCE / (config.concentration if config.objective_info.likelihood else 2.0)),
                    ),
                    shared_mem=self._shared_size,
                )  # fmt: skip
        self._corpus.copy_next()
        self._training.synchronize()

    def learned_biases(self) -> tuple[float, float]:
        """The biases of words and documents, adjusted while training: a launch is too long to wait for its end."""
        words, documents = self._get_shared()["bias"].tolist()
        return words, documents

    def _block_tokens(self, block: Block) -> float:
        """About how many tokens a block has."""
        return len(self._data.ids) * (block.last - block.first) / max(self._data.units, 1)

    def _unit(self, rows: Any) -> Any:
        """Rows at length 1: a copy of them, where they may not be."""
        if not self._unit_rows:
            rows = rows.copy()
            self._normalise(rows)
        return rows

    def _normalise(self, rows: Any) -> None:
        """Bring rows to length 1. Those that several teams move at once are a little off."""
        self._module.get_function("normalise")((-(-len(rows) // 8),), (256,), (rows, np.int64(len(rows))))

    def _normalise_all(self) -> None:
        if not self._unit_rows:
            with self._training:
                self._normalise(self._vectors[: self._zero_row])
            self._training.synchronize()
            self._unit_rows = True

    def sums(self) -> Sums:
        with self._reading:
            return Sums(*self._cupy.asnumpy(self._sums).tolist())

    def restore_sums(self, sums: Sums) -> None:
        with self._training:
            self._sums.set(np.array(astuple(sums)))
        self._training.synchronize()

    def host_inputs(self) -> Floats:
        from spherevec.engine.cpu.vector_ops import padded_rows

        self._normalise_all()
        count, width = self._sizes["inputs"], self._layout.width
        rows: Floats = padded_rows(count, width)
        for start in range(0, count, ROWS_COPIED):
            rows[start : start + ROWS_COPIED, :width] = self.read("inputs", start, start + ROWS_COPIED)
        return rows

    def count_words(self) -> Callable[[], dict[str, NDArray[Any]]] | None:
        tokens = len(self._data.ids)
        free = self._cupy.cuda.runtime.memGetInfo()[0]
        if not 0 < tokens <= min(MOST_COUNTED, free // COUNTING_BYTES):
            return None
        with self._training:
            ids, _ = self._corpus.documents(0, self._data.documents)
            counted = count_words(self._cupy, ids, self._offsets, self._sizes["inputs"])
        self._training.synchronize()

        def fetch() -> dict[str, NDArray[Any]]:
            on_host = {name: np.empty(array.shape, array.dtype) for name, array in counted.items()}
            self._copy([(counted[name], array) for name, array in on_host.items()])
            return on_host

        return fetch

    def fit_tables(self, counts: NDArray[np.int64]) -> FitTables | None:
        from spherevec.engine.cpu.word_weights import fit_tables

        return fit_tables(self.host_inputs(), self._data, counts, self._config)

    def refit_documents(self, first: int, last: int, plan: FitPlan) -> None:
        self._normalise_all()
        with self._training:
            ids, shift = self._corpus.documents(first, last)
            fit_documents(
                self._cupy, plan, self._layout, ids, self._offsets[first : last + 1], shift, self._refit_sampling,
                self._vectors, self._vectors[self._starts["docs"] + first :],
            )  # fmt: skip
        self._training.synchronize()

    def take(self) -> dict[str, Floats]:
        self._normalise_all()
        width = self._layout.width
        tables: dict[str, Floats] = {name: np.empty((rows, width), np.float32) for name, rows in self._sizes.items()}

        starts = self._starts
        self._copy([(self._vectors[starts[name] :, :width], table) for name, table in tables.items()])
        del self._vectors, self._corpus
        self._cupy.get_default_memory_pool().free_all_blocks()  # the streams of the next run could not use them
        return tables

    def _copy(self, arrays: Sequence[tuple[Any, NDArray[Any]]]) -> None:
        """Copy from arrays on the device, which may be longer, to arrays of the host."""

        def copy(source: Any, target: NDArray[Any]) -> None:
            with self._reading:
                self._cupy.asnumpy(source[: len(target)], out=target)

        with ThreadPoolExecutor(COPYING_THREADS, thread_name_prefix="spherevec") as pool:
            jobs = []
            for source, target in arrays:
                step = max(1, COPIED_BYTES * len(target) // max(target.nbytes, 1))
                starts = range(0, len(target), step)
                jobs += [pool.submit(copy, source[start:], target[start : start + step]) for start in starts]
            for job in jobs:
                job.result()

    # --- memory ------------------------------------------------------------------------------------------------------

    def _check_memory(self) -> None:
        rows, width = self._zero_row + 1, self._layout.stride
        free = self._cupy.cuda.runtime.memGetInfo()[0]
        others = self._data.offsets.nbytes + self._data.pieces.nbytes + 12 * self._sizes["inputs"]
        need = rows * width * 4 + others
        if need > 0.98 * free:
            raise TrainingError(
                f"{rows:,} vectors of {width} floats and the offsets of the texts need {need / 2**30:.2f} GiB, the "
                f"GPU has {free / 2**30:.2f} GiB free; lower vector_size, raise min_count or set documents=False"
            )

    def _shared_bytes(self, segment: int) -> int:
        """Shared memory of a team: what the kernel's `Team` takes, and the words of a segment."""
        config = self._config
        need = macros(config)["TEAM_BYTES"] + 4 * (segment + 2 * config.window + 2)
        limit = self._cupy.cuda.Device().attributes.get("MaxSharedMemoryPerBlockOptin", need)
        if need > limit:
            raise ConfigError(
                f"batch={config.batch} and negative={config.negative} at dimension {config.vector_size} "
                f"need {need:,} bytes of the GPU's shared memory, which has {limit:,}; lower one of them"
            )
        self._train.max_dynamic_shared_size_bytes = max(need, 48 << 10)
        return need

    def _set_shared(self, **values: Any) -> None:
        shared = np.frombuffer(self._cupy.asnumpy(self._shared).tobytes(), SHARED).copy()
        for name, value in values.items():
            shared[name] = value
        self._shared.set(np.frombuffer(shared.tobytes(), np.uint8))

    def _get_shared(self) -> Any:
        with self._reading:
            return np.frombuffer(self._cupy.asnumpy(self._shared).tobytes(), SHARED)[0]

    def _fitting_concurrency(self) -> Concurrency:
        """As many teams as the GPU can hold, but few enough for the text.

        A team does not see what the others are learning at that moment, so all must be at work on a small part of it.
        """
        device = self._cupy.cuda.Device()
        held = device.attributes["MultiProcessorCount"] * macros(self._config)["BLOCKS"]
        by_tokens = min(len(self._data.ids), DEVICE.block_tokens) // (SEGMENT * ROUNDS)
        by_words = self._sizes["inputs"] // WORDS_A_TEAM
        return Concurrency(max(1, min(held, by_tokens, by_words)))

    def segments(self, block: Block, shifts: Any = None) -> Any:
        """The segments of a block, as bytes on the device."""
        cupy = self._cupy
        count = block.last - block.first
        if count == 0:
            return cupy.empty(0, np.uint8)
        grid, place = _grid(count), self.place(block)
        size = np.int32(self._concurrency.segment)
        counts = cupy.empty(count, np.int64)
        self._module.get_function("count_segments")(*grid, (self._offsets, self._pieces, counts, *place, size))
        ends = cupy.cumsum(counts)
        segments = cupy.empty(int(ends[-1]) * SEGMENT_BYTES, np.uint8)
        null = np.uint64(0) if shifts is None else shifts
        self._module.get_function("fill_segments")(
            *grid, (self._offsets, self._pieces, ends, null, segments, *place, size)
        )
        return segments

    def place(self, block: Block) -> tuple[Any, ...]:
        return (
            np.int64(block.first), np.int64(block.last - block.first), np.int64(self._data.units),
            np.uint64(block.order_key), np.int64(len(self._data.offsets) - 1),
        )  # fmt: skip


class _Resident:
    """All ids on the device."""

    def __init__(self, backend: CudaBackend) -> None:
        self._backend = backend
        cupy, ids = backend._cupy, backend._data.ids
        with backend._training:
            self._ids = cupy.empty(max(len(ids), 1), np.int32)
            for start in range(0, len(ids), DEVICE.block_tokens):
                self._ids[start : start + DEVICE.block_tokens] = cupy.asarray(ids[start : start + DEVICE.block_tokens])
        backend._training.synchronize()

    def take(self, block: Block) -> tuple[Any, Any]:
        return self._ids, self._backend.segments(block)

    def look_ahead(self, block: Block) -> None:
        """Nothing: everything is there."""

    def copy_next(self) -> None:
        """Nothing, likewise."""

    def documents(self, first: int, last: int) -> tuple[Any, int]:
        """The ids of some documents, and the place of the first."""
        return self._ids, 0


class _Streamed:
    """The ids of one block at a time, each copied while the one before it trains."""

    def __init__(self, backend: CudaBackend) -> None:
        self._backend = backend
        self._ids = backend._data.ids.view(np.ndarray)  # slices of a map take longer
        self._next: tuple[Block, NDArray[np.int64]] | None = None  # the block to copy next, and its units' reach
        self._ready: tuple[Block, Any, Any, Any] | None = None  # a block, its ids, their shifts, event of the copy
        self._pinned: Any = None
        # Documents lie all over the text: one thread collects a third of the ids that the GPU trains on meanwhile.
        self._pool = ThreadPoolExecutor(backend._config.thread_count, thread_name_prefix="spherevec")

    def take(self, block: Block) -> tuple[Any, Any]:
        backend = self._backend
        if self._ready is None or not _covers(self._ready[0], block):
            self._ready = self._copied(block, self._reach(block))
        _, ids, shifts, copied = self._ready
        self._in_use = ids, shifts  # until the next block is taken, when this one has been trained
        backend._training.wait_event(copied)
        return ids, backend.segments(block, shifts)

    def look_ahead(self, block: Block) -> None:
        """Find out what the block reads that most likely comes next: as long as this one, or a unit longer.

        That takes a kernel, for which there is no room while another one trains.
        """
        last = min(self._backend._data.units, 2 * block.last - block.first + 1)
        following = Block(block.last, last, block.order_key, block.sample_key, 0.0, 0.0)
        self._next = (following, self._reach(following)) if block.last < last else None

    def copy_next(self) -> None:
        self._ready = self._copied(*self._next) if self._next else None

    def _reach(self, block: Block) -> NDArray[np.int64]:
        """First and last token that each unit of a block may look at, (units, 2)."""
        backend, count = self._backend, block.last - block.first
        with backend._copying:
            reach = backend._cupy.empty((count, 2), np.int64)
            if count:
                backend._module.get_function("unit_reach")(
                    *_grid(count), (backend._offsets, backend._pieces, reach, *backend.place(block))
                )
            found: NDArray[np.int64] = backend._cupy.asnumpy(reach)
        return found

    def _copied(self, block: Block, reach: NDArray[np.int64]) -> tuple[Block, Any, Any, Any]:
        """Bring the ids of a block to the device, unit by unit."""
        cupy, lengths = self._backend._cupy, reach[:, 1] - reach[:, 0]
        buffer = self._buffer(int(lengths.sum()))
        gather(self._ids, reach, buffer, self._pool, self._backend._config.thread_count)
        with self._backend._copying as stream:
            ids = cupy.empty(max(len(buffer), 1), np.int32)
            ids[: len(buffer)].set(buffer, stream=stream)
            shifts = cupy.asarray(reach[:, 0] - (np.cumsum(lengths) - lengths))
            return block, ids, shifts, stream.record()

    def _buffer(self, length: int) -> NDArray[np.int32]:
        """Page-locked host memory, which is copied without the host's help; the copy before this one has ended."""
        self._backend._copying.synchronize()
        if self._pinned is None or self._pinned.mem.size < 4 * length:
            self._pinned = self._backend._cupy.cuda.alloc_pinned_memory(max(4 * length * 5 // 4, 4096))
        return np.frombuffer(self._pinned, np.int32, length)

    def documents(self, first: int, last: int) -> tuple[Any, int]:
        data = self._backend._data
        start, stop = int(data.offsets[first]), int(data.offsets[last])
        return self._backend._cupy.asarray(np.ascontiguousarray(data.ids[start:stop])), start


def _covers(ready: Block, block: Block) -> bool:
    """Whether a copied block begins as one that is wanted, and goes at least as far."""
    same = (ready.first, ready.order_key, ready.sample_key) == (block.first, block.order_key, block.sample_key)
    return same and ready.last >= block.last


def _grid(count: int) -> tuple[tuple[int], tuple[int]]:
    return (-(-count // 256),), (256,)


def check(config: TrainConfig) -> None:
    """Refuse a GPU that is missing, or vectors that it does not take."""
    cupy_with_gpu()
    Layout.of(config.vector_size)


def make_backend(data: TrainingData, config: TrainConfig, workdir: str | Path | None = None) -> CudaBackend:
    """All vectors lie in device memory: `workdir` is not needed."""
    return CudaBackend(data, config)
