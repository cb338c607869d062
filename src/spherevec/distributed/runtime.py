"""A Ray cluster as the runtime of a run: the text is brought to its workers, and the same run drives them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from pathlib import Path
from typing import Any

import numpy as np

from spherevec.config import TrainConfig
from spherevec.corpus import EncodedCorpus
from spherevec.distributed.backend import ClusterBackend, ClusterSchedule
from spherevec.distributed.cluster import check_workers, connected, threads_a_worker
from spherevec.distributed.layout import BANDWIDTH, Layout, check_interval, exchanges_an_epoch, split_documents
from spherevec.distributed.reading import read_on_workers
from spherevec.distributed.worker_pool import WORKER_TIMEOUT, WorkerPool
from spherevec.engine.base import Backend
from spherevec.engine.schedule import Schedule
from spherevec.errors import ConfigError
from spherevec.storage.files import working_folder
from spherevec.training.runtime import Runtime

_TOKENS_SENT = 1 << 22  # at a time


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
        arguments = (pool.put(corpus.vocabulary.counts), pool.put(config.with_(threads=threads)), corpus.n_tokens)
        has_text = {*range(pool.workers)} if self._layout else set[int]()

        def bring(number: int) -> Any:
            """Bring a worker its documents; a reference to how many rounds it has, or to a failure."""
            sent = None if number in has_text else self._send_documents(corpus, layout, number)
            return sent or pool.call(number, "prepare", *arguments)

        pool.bring_up = has_text.discard
        rounds = max(pool.ask(bring))
        has_text.clear()
        exchanges = exchanges_an_epoch(
            rounds, corpus.n_tokens / pool.workers, words, config, pool.workers, self._exchange_tokens, self._bandwidth
        )
        corpus.spread = {"workers": pool.workers, "exchanges": exchanges}

        def make_backend() -> Backend:
            bring_again = lambda number: pool.ray.get(bring(number))  # noqa: E731
            return ClusterBackend(pool, layout, words, config, exchanges, bring_again, self._folder)

        return ClusterSchedule(config, corpus.n_documents, exchanges), make_backend

    def _send_documents(self, corpus: EncodedCorpus, layout: Layout, number: int) -> Any:
        """Send a worker its documents; a reference to what failed, if anything did."""
        offsets, pool = corpus.offsets, self.pool
        for run in layout.runs:
            first, end = run.first, run.first + run.size
            while run.worker == number and first < end:
                last = int(np.searchsorted(offsets, offsets[first] + _TOKENS_SENT))
                last = min(max(last, first + 1), end)
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
        pool = WorkerPool(module, count, device=config.device, timeout=worker_timeout, workdir=theirs)
        stack.callback(pool.end)
        pool.do("where", aside=True)  # all have started
        yield RayRuntime(pool, folder, exchange_tokens, bandwidth)
