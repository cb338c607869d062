"""The machines of a run: its text is brought to their workers, and the loop of one machine is given a place there."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from spherevec.config import TrainConfig
from spherevec.corpus import EncodedCorpus, encode
from spherevec.distributed import interval
from spherevec.distributed.backend import ClusterBackend, ClusterSchedule, Costs
from spherevec.distributed.cluster import check_workers, connected, threads_a_worker
from spherevec.distributed.crew import PATIENCE, Crew
from spherevec.distributed.layout import Layout, split_documents
from spherevec.distributed.source import read_on_workers
from spherevec.engine.base import Backend
from spherevec.engine.cpu.word_weights import weights_of
from spherevec.engine.fit import FitTables, negative_moments
from spherevec.errors import ConfigError
from spherevec.storage.files import working_folder

_TOKENS_SENT = 1 << 22  # at a time


@dataclass
class Machines:
    """A crew of workers, ready for a run.

    Attributes:
        folder: on this machine, for what a new worker needs that takes the place of a dead one.
        exchange_tokens: that each worker trains between two exchanges; None to choose.
        bandwidth: between the machines, in Gbit/s, to choose it by.
        layout: of documents that the workers have read.
    """

    crew: Crew
    folder: Path
    exchange_tokens: int | None = None
    bandwidth: float = interval.BANDWIDTH
    layout: Layout | None = None

    def encode(self, source: Any, folder: Path, **how: Any) -> EncodedCorpus:
        """As `spherevec.corpus.encode`, on the workers where they can read the source and it is worth it."""
        read = None if how.get("phrases") else read_on_workers(self.crew, source, folder, **how)
        if read is None:
            return encode(source, folder, **how)
        corpus, self.layout = read
        return corpus

    def place(self, corpus: EncodedCorpus, config: TrainConfig) -> ClusterPlace:
        """Bring the documents of a corpus to the workers, unless they have them; the rest is the loop's."""
        layout = self.layout or split_documents(corpus.offsets, self.crew.workers)
        return ClusterPlace(self, corpus, config, layout, there=self.layout is not None)


class ClusterPlace:
    """A run on a crew: what `spherevec.training.place.Place` asks for.

    Args:
        config: settled.
        layout: which documents go to which worker.
        there: they are there already.
    """

    def __init__(
        self, machines: Machines, corpus: EncodedCorpus, config: TrainConfig, layout: Layout, *, there: bool = False
    ) -> None:
        self._machines, self._corpus, self._layout = machines, corpus, layout
        crew = self._crew = machines.crew
        empty = [number for number in range(crew.workers) if not layout.documents(number)]
        if empty:
            raise ConfigError(f"workers={crew.workers}, but there are {corpus.n_documents} documents; lower workers")
        self._config = config
        threads = config.threads or threads_a_worker(crew.ray, crew.workers)
        self._told = (crew.put(corpus.vocabulary.counts), crew.put(config.with_(threads=threads)))
        has_text = {*range(crew.workers)} if there else set[int]()
        crew.bring_up = has_text.discard

        rounds = crew.ask(lambda number: self._prepare(number, number in has_text))
        crew.bring_up = self._bring
        share, words = corpus.n_tokens / crew.workers, len(corpus.vocabulary)
        self.exchanges = interval.exchanges_an_epoch(
            max(rounds), share, words, config, crew.workers, machines.exchange_tokens, machines.bandwidth
        )
        # Where there is little between two exchanges, nothing is trained ahead.
        self._ahead = crew.workers > 1 and max(rounds) * interval.AHEAD >= self.exchanges
        corpus.spread = {"workers": crew.workers, "exchanges": self.exchanges}

    def _prepare(self, number: int, has_text: bool = False) -> Any:
        """Bring a worker its documents, and have it prepare; a reference to how many rounds it has, or to a failure."""
        offsets, crew = self._corpus.offsets, self._crew
        for run in [] if has_text else self._layout.runs:
            first, end = run.first, run.first + run.size
            while run.worker == number and first < end:
                last = int(np.searchsorted(offsets, offsets[first] + _TOKENS_SENT))
                last = min(max(last, first + 1), end)
                ids = np.asarray(self._corpus.ids[offsets[first] : offsets[last]])
                sent = crew.call(number, "append", ids, np.diff(offsets[first : last + 1]))
                try:
                    crew.ray.get(sent)  # one at a time: Ray's memory is not for texts
                except crew.ray.exceptions.RayError:
                    return sent
                first = last
        self._corpus.drop_pages()
        return crew.call(number, "prepare", *self._told, self._corpus.n_tokens)

    def _bring(self, number: int) -> None:
        self._crew.ray.get(self._prepare(number))

    def schedule(self) -> ClusterSchedule:
        return ClusterSchedule(self._config, self._corpus.n_documents, self.exchanges)

    def backend(self) -> ClusterBackend:
        words = len(self._corpus.vocabulary)
        self._backend = ClusterBackend(
            self._crew, self._layout, words, self._config, self.schedule(), self._ahead, self._bring,
            self._machines.folder,
        )  # fmt: skip
        return self._backend

    @property
    def costs(self) -> Costs:
        """Where the time of the run went."""
        return self._backend.costs

    def fit_tables(self, backend: Backend) -> FitTables | None:
        if not self._config.objective_info.likelihood:
            return None
        counts, inputs = self._corpus.vocabulary.counts, backend.host_inputs()
        weights = weights_of(self._backend.coherence, counts, inputs)
        return FitTables(weights, *negative_moments(inputs[:, : self._config.vector_size], counts))


@contextmanager
def machines(
    ray: str | None,
    workers: int | None,
    config: TrainConfig,
    *,
    exchange_tokens: int | None = None,
    bandwidth: float = interval.BANDWIDTH,
    worker_timeout: float = PATIENCE,
    workdir: str | Path | None = None,
) -> Iterator[Machines]:
    """Workers on a Ray cluster, for as long as the context lasts; see `spherevec.train` for the arguments."""
    count = check_workers(ray, workers)
    interval.check_interval(exchange_tokens, bandwidth, worker_timeout)
    with ExitStack() as stack:
        module = stack.enter_context(connected(str(ray), count, config.device))
        folder = stack.enter_context(working_folder(workdir))
        # A path of this machine means nothing to others.
        theirs = str(workdir) if workdir is not None and ray == "local" else None
        crew = Crew(module, count, device=config.device, patience=worker_timeout, workdir=theirs)
        stack.callback(crew.end)
        crew.do("where", aside=True)  # all have started
        yield Machines(crew, folder, exchange_tokens, bandwidth)
