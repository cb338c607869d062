"""A Ray cluster as the runtime of a run: the text is brought to its workers, and the same run drives them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from spherevec.config import TrainConfig
from spherevec.corpus import EncodedCorpus, encode
from spherevec.distributed import interval
from spherevec.distributed.backend import ClusterBackend, ClusterSchedule, Costs
from spherevec.distributed.cluster import check_workers, connected, threads_a_worker
from spherevec.distributed.layout import Layout, split_documents
from spherevec.distributed.source import read_on_workers
from spherevec.distributed.worker_pool import WORKER_TIMEOUT, WorkerPool
from spherevec.errors import ConfigError
from spherevec.storage.files import working_folder
from spherevec.training.runtime import Prepared

_TOKENS_SENT = 1 << 22  # at a time


@dataclass
class RayRuntime:
    """A pool of workers: what `spherevec.training.runtime.Runtime` asks for.

    Attributes:
        folder: on this machine, for what a new worker needs that takes the place of a dead one.
        exchange_tokens: that each worker trains between two exchanges; None to choose.
        bandwidth: between the machines, in Gbit/s, to choose it by.
        layout: of documents that the workers have read.
        costs: where the time of the run went.
    """

    pool: WorkerPool
    folder: Path
    exchange_tokens: int | None = None
    bandwidth: float = interval.BANDWIDTH
    layout: Layout | None = None
    costs: Costs = field(default_factory=Costs)

    def encode(
        self, source: Any, folder: Path, *, phrases: bool = False, threads: int = 1, **options: Any
    ) -> EncodedCorpus:
        """As `spherevec.corpus.encode`, on the workers where they can read the source and it is worth it."""
        read = None if phrases else read_on_workers(self.pool, source, folder, **options)
        if read is None:
            return encode(source, folder, phrases=phrases, threads=threads, **options)
        corpus, self.layout = read
        return corpus

    def compiled_meanwhile(self, config: TrainConfig) -> AbstractContextManager[Callable[[], object]]:
        """Nothing: the workers compile when they have read the text."""
        return nullcontext(lambda: None)

    def prepare(self, corpus: EncodedCorpus, config: TrainConfig) -> Prepared:
        """Bring the documents of a corpus to the workers, unless they have them."""
        layout = self.layout or split_documents(corpus.offsets, self.pool.workers)
        placed = PlacedCorpus(self, corpus, config, layout, there=self.layout is not None)
        return Prepared(placed.schedule, placed.make_backend)


class PlacedCorpus:
    """A corpus on the workers of a pool.

    Args:
        config: resolved.
        layout: which documents go to which worker.
        there: they are there already.
    """

    def __init__(
        self, runtime: RayRuntime, corpus: EncodedCorpus, config: TrainConfig, layout: Layout, *, there: bool = False
    ) -> None:
        self._runtime, self._corpus, self._layout = runtime, corpus, layout
        pool = self._pool = runtime.pool
        empty = [number for number in range(pool.workers) if not layout.documents(number)]
        if empty:
            raise ConfigError(f"workers={pool.workers}, but there are {corpus.n_documents} documents; lower workers")
        self._config = config
        threads = config.threads or threads_a_worker(pool.ray, pool.workers)
        self._told = (pool.put(corpus.vocabulary.counts), pool.put(config.with_(threads=threads)))
        has_text = {*range(pool.workers)} if there else set[int]()
        pool.bring_up = has_text.discard

        rounds = pool.ask(lambda number: self._prepare(number, number in has_text))
        pool.bring_up = self._bring
        share, words = corpus.n_tokens / pool.workers, len(corpus.vocabulary)
        exchanges = interval.exchanges_an_epoch(
            max(rounds), share, words, config, pool.workers, runtime.exchange_tokens, runtime.bandwidth
        )
        # Where there is little between two exchanges, nothing is trained ahead.
        self._ahead = pool.workers > 1 and max(rounds) * interval.AHEAD >= exchanges
        corpus.spread = {"workers": pool.workers, "exchanges": exchanges}
        self.schedule = ClusterSchedule(config, corpus.n_documents, exchanges)

    def _prepare(self, number: int, has_text: bool = False) -> Any:
        """Bring a worker its documents, and have it prepare; a reference to how many rounds it has, or to a failure."""
        offsets, pool = self._corpus.offsets, self._pool
        for run in [] if has_text else self._layout.runs:
            first, end = run.first, run.first + run.size
            while run.worker == number and first < end:
                last = int(np.searchsorted(offsets, offsets[first] + _TOKENS_SENT))
                last = min(max(last, first + 1), end)
                ids = np.asarray(self._corpus.ids[offsets[first] : offsets[last]])
                sent = pool.call(number, "append", ids, np.diff(offsets[first : last + 1]))
                try:
                    pool.ray.get(sent)  # one at a time: Ray's memory is not for texts
                except pool.ray.exceptions.RayError:
                    return sent
                first = last
        self._corpus.drop_pages()
        return pool.call(number, "prepare", *self._told, self._corpus.n_tokens)

    def _bring(self, number: int) -> None:
        self._pool.ray.get(self._prepare(number))

    def make_backend(self) -> ClusterBackend:
        backend = ClusterBackend(
            self._pool, self._layout, len(self._corpus.vocabulary), self._config, self.schedule, self._ahead,
            self._bring, self._runtime.folder,
        )  # fmt: skip
        self._runtime.costs = backend.costs
        return backend


@contextmanager
def ray_runtime(
    ray: str | None,
    workers: int | None,
    config: TrainConfig,
    *,
    exchange_tokens: int | None = None,
    bandwidth: float = interval.BANDWIDTH,
    worker_timeout: float = WORKER_TIMEOUT,
    workdir: str | Path | None = None,
) -> Iterator[RayRuntime]:
    """Workers on a Ray cluster, for as long as the context lasts; see `spherevec.train` for the arguments."""
    count = check_workers(ray, workers)
    interval.check_interval(exchange_tokens, bandwidth, worker_timeout)
    with ExitStack() as stack:
        module = stack.enter_context(connected(str(ray), count, config.device))
        folder = stack.enter_context(working_folder(workdir))
        # A path of this machine means nothing to others.
        theirs = str(workdir) if workdir is not None and ray == "local" else None
        pool = WorkerPool(module, count, device=config.device, timeout=worker_timeout, workdir=theirs)
        stack.callback(pool.end)
        pool.do("where", aside=True)  # all have started
        yield RayRuntime(pool, folder, exchange_tokens, bandwidth)
