"""Where a run takes place: this process, or the workers of a cluster."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from spherevec.config import TrainConfig
from spherevec.corpus import EncodedCorpus, encode
from spherevec.engine.backends import check_device, make_backend
from spherevec.engine.base import PIECE, Backend, TrainingData
from spherevec.engine.sampling import alias_table, keep_probabilities
from spherevec.engine.schedule import Schedule, further_pieces
from spherevec.training.first_run import compiled_meanwhile


class Runtime:
    """This process; `spherevec.distributed` has another one for several machines. The run is the same.

    Args:
        workdir: where document vectors are kept that would not fit into memory.
    """

    def __init__(self, workdir: str | Path | None = None) -> None:
        self._workdir = workdir

    def encode(self, source: Any, folder: Path, **options: Any) -> EncodedCorpus:
        """Read, count and encode a source; the options are those of `spherevec.corpus.encode`."""
        return encode(source, folder, **options)

    def compiled_meanwhile(self, config: TrainConfig) -> AbstractContextManager[Callable[[], object]]:
        """Compile while the text is read; gives a function that waits for it."""
        return compiled_meanwhile(config)

    def prepare(self, corpus: EncodedCorpus, config: TrainConfig) -> tuple[Schedule, Callable[[], Backend]]:
        """Get ready to train on a corpus: the steps of the run, and what makes a backend with all vectors zero.

        Args:
            config: resolved.
        """
        data = prepare(corpus, config)
        return Schedule(data, config), lambda: make_backend(data, config, self._workdir)


@contextmanager
def local_runtime(config: TrainConfig, workdir: str | Path | None) -> Iterator[Runtime]:
    """This machine, if it has the device of the run."""
    check_device(config)
    yield Runtime(workdir)


def prepare(corpus: EncodedCorpus, config: TrainConfig) -> TrainingData:
    """The plain arrays that a backend works on."""
    return training_data(corpus.ids, corpus.offsets, corpus.vocabulary.counts, config)


def training_data(
    ids: NDArray[np.int32], offsets: NDArray[np.int64], counts: NDArray[np.int64], config: TrainConfig
) -> TrainingData:
    """As `prepare`, of documents that are ids[offsets[d]:offsets[d + 1]], perhaps a part of the text.

    Args:
        counts: (V,) of the words in the whole text.
    """
    alias_probability, alias_word = alias_table(counts)
    return TrainingData(
        ids=ids,
        offsets=offsets,
        pieces=further_pieces(offsets, PIECE),
        keep_probability=keep_probabilities(counts, config.sample_threshold),
        refit_keep_probability=keep_probabilities(counts, config.for_inference().sample_threshold),
        alias_probability=alias_probability,
        alias_word=alias_word,
    )
