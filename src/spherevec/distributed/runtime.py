"""A Ray cluster as the runtime of a run: the text is brought to its workers, and the same run drives them all as one
backend, one exchange at a time.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from dataclasses import astuple
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from spherevec.config import TrainConfig
from spherevec.corpus import EncodedCorpus
from spherevec.distributed.cluster import (
    WORKER_TIMEOUT,
    Step,
    WorkerPool,
    check_workers,
    connected,
    threads_a_worker,
    worker_error,
)
from spherevec.distributed.exchange import (
    BANDWIDTH,
    SHARED,
    Layout,
    Slice,
    check_interval,
    exchanges_an_epoch,
    split_documents,
)
from spherevec.distributed.reading import read_on_workers
from spherevec.distributed.worker import Report, Task
from spherevec.engine.base import Backend, Block, Floats, OneByOne, table_rows
from spherevec.engine.cpu.document_rows import document_rows
from spherevec.engine.cpu.vector_ops import padded_rows
from spherevec.engine.cpu.word_weights import Coherence, weights_of
from spherevec.engine.figures import Sums
from spherevec.engine.fit import FitPlan, FitTables, negative_moments
from spherevec.engine.schedule import FINAL_SHARE, Schedule
from spherevec.errors import ConfigError
from spherevec.storage.files import working_folder
from spherevec.storage.memory import available_memory
from spherevec.training.runtime import Runtime

REFIT_STEPS = 8
ROWS_SENT = 1 << 16  # vectors of one message
_TOKENS_SENT = 1 << 22  # at a time
# A new worker starts from the last snapshot of all vectors and goes through the exchanges since. There is a new one
# after so many seconds of training, or times what a snapshot costs, or bytes of exchanges.
MOST_SECONDS, TIMES_THE_COST, MOST_BYTES = 60.0, 20.0, 4 << 30


class ClusterSchedule(Schedule):
    """Exchanges in the place of blocks: `first` is the number of one in its epoch, `order_key` the epoch."""

    def __init__(self, config: TrainConfig, documents: int, exchanges: int) -> None:
        self._config, self._documents, self.exchanges = config, documents, exchanges

    def blocks(self, epoch: int) -> list[Block]:
        count = self.exchanges
        shares = [max(FINAL_SHARE, 1 - (epoch + step / count) / self._config.epoch_count) for step in range(count + 1)]
        alphas = [self._config.alpha * share for share in shares]
        return [Block(step, step + 1, epoch, 0, *alphas[step : step + 2]) for step in range(count)]

    def refit_stop(self, first: int) -> int:
        return min(first + -(-self._documents // REFIT_STEPS), self._documents)


class ClusterBackend:
    """The vectors are on the workers: all words on each, documents where their text is.

    What a new worker needs that takes the place of a dead one is kept in Ray's object store on this machine, which
    puts on disk what it has no room for. Document vectors leave their worker for snapshots, checkpoints and the model.

    Args:
        pool: whose log brings a new worker its text.
        words: how many there are.
        exchanges: of an epoch.
        folder: for vectors of the model that memory has no room for.
    """

    workers = 1  # one thread drives the workers

    def __init__(
        self, pool: WorkerPool, layout: Layout, words: int, config: TrainConfig, exchanges: int, folder: Path
    ) -> None:
        self._pool, self._layout, self._config = pool, layout, config
        self._exchanges, self._folder = exchanges, folder
        self._sizes = table_rows(words, sum(layout.sizes), config)
        self._sums = Sums()
        self._learned = (config.bias, config.bias)
        self._shipped: dict[int, list[object]] = {}  # what each worker has moved in this exchange, by reference
        self._text = len(pool.log)
        self._cost = self._since = self._bytes = 0.0
        # What figures of progress have read since the last exchange; None while nothing is trained.
        self._seen: dict[tuple[str, int, int], Floats] | None = None

    def fill(self) -> None:
        """Every worker makes its random directions by itself."""
        self._pool.do("fill", logged=True)

    def load(self, table: str, start: int, rows: Floats) -> None:
        for numbers, step in self._loads(table, start, rows):
            self._pool.ask(step, numbers, again=step)

    def _loads(self, table: str, start: int, rows: Floats) -> Iterator[tuple[Sequence[int], Step]]:
        """The steps that bring rows to workers, and who has to take each."""
        dealt: list[tuple[Sequence[int], int, Floats]] = [(range(self._pool.workers), start, rows)]
        if table not in SHARED:
            runs = self._layout.between(start, start + len(rows))
            dealt = [([run.worker], run.local, rows[run.first - start : run.first - start + run.size]) for run in runs]
        for numbers, first, some in dealt:
            yield numbers, self._pool.step("load", table, first, self._pool.put(some))

    def read(self, table: str, start: int, stop: int) -> Floats:
        """Rows of all workers' documents, or of the first one's words; while they train, as after the last exchange."""
        stop = min(stop, self._sizes[table])
        asked, seen = (table, start, stop), self._seen
        if seen is not None and asked in seen:
            return seen[asked]
        runs = [(0, start, stop)]
        if table not in SHARED:
            runs = [(run.worker, run.local, run.local + run.size) for run in self._layout.between(start, stop)]
        parts: list[Floats] = [np.zeros((0, self._config.vector_size), np.float32)]
        for worker, first, last in runs:
            parts += self._pool.ask(self._pool.step("read", table, first, last, aside=True), [worker], times=1)
        rows = np.concatenate(parts)
        if seen is not None:
            seen[asked] = rows
        return rows

    def total(self, table: str) -> NDArray[np.float64]:
        """Of all workers' documents, or of the words that each has a copy of."""
        totals = np.sum(self._pool.do("total", table), axis=0)
        return np.asarray(totals / self._pool.workers if table in SHARED else totals)

    def warm_up(self) -> None:
        self._pool.do("warm_up")

    def begin(self, blocks: Sequence[Block]) -> OneByOne:
        return OneByOne(self, blocks)

    def train_block(self, block: Block) -> None:
        """One exchange: all workers train, and then agree on what they have learned."""
        pool, alone = self._pool, self._pool.workers == 1
        sums = self._sums if alone else Sums()
        biases = (block.word_bias, block.document_bias)
        task = Task(block.order_key, block.first, self._exchanges, block.alpha_first, *biases, sums)

        def begin(number: int) -> object:
            report, *self._shipped[number] = pool.call(number, "train", task, returns=1 + pool.workers)
            return report

        started, self._seen = time.monotonic(), {}
        try:
            reports: list[Report] = pool.ask(begin, times=1, again=begin)
            if not alone:
                self._exchange(task.alpha)
        finally:
            self._seen, self._shipped = None, {}
        every = [*([] if alone else [self._sums]), *(report.sums for report in reports)]
        self._sums = Sums(*(sum(column) for column in zip(*map(astuple, every), strict=True)))
        word_biases, document_biases = zip(*(report[1:] for report in reports), strict=True)
        self._learned = (sum(word_biases) / pool.workers, sum(document_biases) / pool.workers)
        self._since += time.monotonic() - started
        if self._since > max(MOST_SECONDS, TIMES_THE_COST * self._cost) or self._bytes > MOST_BYTES:
            self._snapshot()

    def _exchange(self, alpha: float) -> None:
        """Have all workers go to what they agree on."""
        pool = self._pool
        merges, slices = self._merged(alpha)
        kept = pool.put(slices)
        self._bytes += sum(moved.nbytes for part in slices for moved in part.values())
        again = lambda number: pool.call(number, "absorb", *pool.ray.get(kept))  # noqa: E731
        pool.ask(pool.step("absorb", *merges), times=1, again=again)

    def _merged(self, alpha: float) -> tuple[list[object], list[Slice]]:
        """What the workers have moved, added up slice by slice on them: references, and the slices."""
        pool = self._pool
        while True:
            with pool.replacing:  # a worker that is brought up ships what it moved before, too
                shipped = zip(*(self._shipped[number] for number in range(pool.workers)), strict=True)
            # Not tasks of Ray: a new process would take longer to start than the work.
            sums = [pool.call(part, "merge", alpha, *slices, aside=True) for part, slices in enumerate(shipped)]
            try:
                return sums, list(pool.ray.get(sums, timeout=pool.limit))
            except pool.ray.exceptions.RayError as error:
                # A node may have died with what its workers had learned: new ones learn it again.
                gone = pool.dead()
                if not gone:
                    raise worker_error(error, "adding up what the workers learned") from error
                died = error if isinstance(error, TimeoutError) else ConnectionError("its process or node has ended")
                for number in gone:
                    pool.replace(number, died)

    def sums(self) -> Sums:
        return self._sums

    def restore_sums(self, sums: Sums) -> None:
        self._sums = sums

    def learned_biases(self) -> tuple[float, float]:
        """The mean of what the workers learned."""
        return self._learned

    def fit_tables(self, counts: NDArray[np.int64]) -> FitTables | None:
        if not self._config.objective_info.likelihood:
            return None
        inputs: Floats = padded_rows(self._sizes["inputs"], self._config.vector_size)
        for start, some in self._chunks("inputs"):
            inputs[start : start + len(some), : self._config.vector_size] = some
        weights = weights_of(self._coherence, counts, inputs)
        return FitTables(weights, *negative_moments(inputs[:, : self._config.vector_size], counts))

    def _chunks(self, table: str) -> Iterator[tuple[int, Floats]]:
        for start in range(0, self._sizes[table], ROWS_SENT):
            yield start, self.read(table, start, start + ROWS_SENT)

    def _coherence(self, weights: Floats) -> Coherence:
        """What all documents say of their words: whole numbers, so their order does not matter."""
        parts = self._pool.do("coherence", self._pool.put(weights))
        cosines, seen, direction = (np.sum(column, axis=0) for column in zip(*parts, strict=True))
        return cosines, seen, direction

    def count_words(self) -> None:
        """The processor of the driver counts them, which has the whole text."""

    def refit_documents(self, first: int, last: int, plan: FitPlan) -> None:
        sent = self._pool.put(plan)
        runs: dict[int, list[tuple[int, int]]] = {number: [] for number in range(self._pool.workers)}
        for run in self._layout.between(first, last):
            runs[run.worker].append((run.local, run.local + run.size))

        def refit(number: int) -> Any:
            return self._pool.call(number, "refit_documents", runs[number], sent)

        self._pool.ask(refit, again=refit)

    def take(self) -> dict[str, Floats]:
        taken = {}
        for table, rows in self._sizes.items():
            width = self._config.vector_size
            room = document_rows(rows, width, available_memory(), self._folder)  # in a file where memory is short
            taken[table] = room.reshape(-1)[: rows * width].reshape(rows, width)
            for start, some in self._chunks(table):
                taken[table][start : start + len(some)] = some
        return taken

    def _snapshot(self) -> None:
        """Forget the past: from now on, new workers start from here."""
        started = time.monotonic()
        self._pool.log[self._text :] = [
            load for table in self._sizes for chunk in self._chunks(table) for load in self._loads(table, *chunk)
        ]
        self._since, self._bytes, self._cost = 0.0, 0.0, time.monotonic() - started


class RayRuntime(Runtime):
    """A pool of workers.

    Args:
        folder: on this machine, for vectors of the model that memory has no room for.
        exchange_tokens: that each worker trains between two exchanges; None to choose.
        bandwidth: between the machines, in Gbit/s, to choose it by.
    """

    def __init__(
        self, pool: WorkerPool, folder: Path, exchange_tokens: int | None = None, bandwidth: float = BANDWIDTH
    ) -> None:
        super().__init__(folder)
        self.pool, self._folder = pool, folder
        self._exchange_tokens, self._bandwidth = exchange_tokens, bandwidth
        self._layout: Layout | None = None  # of documents that the workers have read

    def encode(
        self, source: Any, folder: Path, *, phrases: bool = False, threads: int = 1, **options: Any
    ) -> EncodedCorpus:
        """As `spherevec.corpus.encode`, on the workers where they can read the source and it is worth it."""
        read = None if phrases else read_on_workers(self.pool, source, folder, **options)
        if read is None:
            return super().encode(source, folder, phrases=phrases, threads=threads, **options)
        corpus, self._layout = read
        return corpus

    def compiled_meanwhile(self, config: TrainConfig) -> AbstractContextManager[Callable[[], object]]:
        """Nothing: the workers compile when they have read the text."""
        return nullcontext(lambda: None)

    def prepare(self, corpus: EncodedCorpus, config: TrainConfig) -> tuple[Schedule, Callable[[], Backend]]:
        """Bring the documents of a corpus to the workers, unless they have them."""
        pool, words = self.pool, len(corpus.vocabulary)
        layout = self._layout or split_documents(corpus.offsets, pool.workers)
        if not all(layout.documents(number) for number in range(pool.workers)):
            raise ConfigError(f"workers={pool.workers}, but there are {corpus.n_documents} documents; lower workers")
        threads = config.threads or threads_a_worker(pool.ray, pool.workers)
        arguments = pool.put(corpus.vocabulary.counts), pool.put(config.with_(threads=threads)), corpus.n_tokens

        def bring(number: int) -> Any:
            """Bring a worker its documents; a reference to how many rounds it has, or to a failure."""
            return self._send_documents(corpus, layout, number) or pool.call(number, "prepare", *arguments)

        rounds = max(pool.ask(pool.step("prepare", *arguments) if self._layout else bring))
        pool.log = [(range(pool.workers), bring)]  # a new worker need not read the source again
        exchanges = exchanges_an_epoch(
            rounds, corpus.n_tokens / pool.workers, words, config, pool.workers, self._exchange_tokens, self._bandwidth
        )
        corpus.spread = {"workers": pool.workers, "exchanges": exchanges}

        schedule = ClusterSchedule(config, corpus.n_documents, exchanges)
        return schedule, lambda: ClusterBackend(pool, layout, words, config, exchanges, self._folder)

    def _send_documents(self, corpus: EncodedCorpus, layout: Layout, number: int) -> Any:
        """Send a worker its documents; a reference to what failed, if anything did."""
        offsets, pool = corpus.offsets, self.pool
        for run in layout.runs:
            first, end = run.first, run.first + run.size
            while run.worker == number and first < end:
                reached = int(np.searchsorted(offsets, offsets[first] + _TOKENS_SENT))
                last = min(max(reached, first + 1), end)
                ids = np.asarray(corpus.ids[offsets[first] : offsets[last]])
                sent = pool.call(number, "append", ids, np.diff(offsets[first : last + 1]))
                try:
                    pool.ray.get(sent)  # one at a time: Ray's memory is not for texts
                except pool.ray.exceptions.RayError:
                    return sent
                first = last
        corpus.drop_pages()
        return None


@contextmanager
def ray_runtime(
    ray: str | None,
    workers: int | None,
    config: TrainConfig,
    *,
    exchange_tokens: int | None = None,
    bandwidth: float = BANDWIDTH,
    worker_timeout: float = WORKER_TIMEOUT,
    workdir: str | Path | None = None,
) -> Iterator[RayRuntime]:
    """Workers on a Ray cluster, for as long as the context lasts; see `spherevec.train` for the arguments."""
    count = check_workers(ray, workers)
    check_interval(exchange_tokens, bandwidth, worker_timeout)
    with ExitStack() as stack:
        module = stack.enter_context(connected(str(ray), count, config.device))
        folder = stack.enter_context(working_folder(workdir))
        # A path of this machine means nothing to others.
        theirs = str(workdir) if workdir is not None and ray == "local" else None
        pool = WorkerPool(module, count, config.device, worker_timeout, theirs)
        stack.callback(pool.end)
        pool.do("where", aside=True)  # all have started
        yield RayRuntime(pool, folder, exchange_tokens, bandwidth)
