"""Where a run takes place: this process, or the workers of a cluster; and what it needs compiled by the time it begins.

A few words are trained while the text is read. Numba compiles on one thread and keeps the results in a cache on disk:
for the first run on a machine, another process does. The kernels of a GPU are compiled or loaded, and the device is
started, by a thread of this process.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from spherevec.config import USES, TrainConfig
from spherevec.corpus import EncodedCorpus, encode
from spherevec.devices import DEVICES
from spherevec.engine.backends import check_device, make_backend
from spherevec.engine.base import PIECE, Backend, TrainingData
from spherevec.engine.sampling import alias_table, keep_probabilities
from spherevec.engine.schedule import Schedule, further_pieces
from spherevec.process import usable_cores

_INSIDE = "SPHEREVEC_COMPILES"  # set in the process that compiles, which must start no other
_TEXTS = [f"a b c d e f{number % 5}" for number in range(40)]
_CODE = "import sys; sys.path.append(sys.argv[1]); from spherevec.training.runtime import main; main(sys.argv[2])"


class Runtime:
    """This process; `spherevec.distributed` has another one for several machines. The run is the same."""

    def __init__(self, workdir: str | Path | None = None) -> None:
        self._workdir = workdir

    def encode(self, source: Any, folder: Path, **options: Any) -> EncodedCorpus:
        """Read, count and encode a source; the options are those of `spherevec.corpus.encode`."""
        return encode(source, folder, **options)

    def compiled_meanwhile(self, config: TrainConfig) -> AbstractContextManager[Callable[[], object]]:
        """Compile while the text is read; gives a function that waits for it."""
        return compiled_meanwhile(config)

    def prepare(self, corpus: EncodedCorpus, config: TrainConfig) -> tuple[Schedule, Callable[[], Backend]]:
        """The steps of a run with resolved settings, and what makes a backend with all vectors zero."""
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
    """As `prepare`, of documents that may be a part of the text, with the counts (V,) of the words in all of it."""
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


@contextmanager
def compiled_meanwhile(config: TrainConfig) -> Iterator[Callable[[], object]]:
    """Compile what a run needs, if nothing of it is there yet; gives what waits for it."""
    if not DEVICES[config.device].uses_processor:
        thread = threading.Thread(target=_train_few_words, args=(config.with_(epochs=1, min_count=1, max_vocab=None),))
        thread.start()
        try:
            yield thread.join
        finally:
            thread.join()
        return
    with ExitStack() as stack:
        child = stack.enter_context(_compiling_process(config)) if _is_first(config) else None

        def wait() -> None:
            """Until what trains is compiled; the child goes on with what comes after that."""
            while child and child.poll() is None and not _is_compiled(config):
                time.sleep(0.05)

        yield wait


@contextmanager
def _compiling_process(config: TrainConfig) -> Iterator[subprocess.Popen[bytes] | None]:
    """Another process that trains a few words, and ends with the context; None where none can be started."""
    settings = json.dumps({name: getattr(config, name) for name in USES["kernel"]})
    command = [sys.executable, "-P", "-c", _CODE, str(Path(__file__).parents[2]), settings]
    no, child = subprocess.DEVNULL, None
    # Its files go with it, however it ends.
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as place:
        with suppress(OSError):  # then this process compiles
            around = {**os.environ, _INSIDE: "1", "TMPDIR": place}
            child = subprocess.Popen(command, stdin=no, stdout=no, stderr=no, env=around)
        try:
            yield child
        finally:
            if child:
                child.kill()
                child.wait()


@cache
def _train_few_words(config: TrainConfig) -> None:
    """Train and save, so that everything needed is compiled. Errors are ignored here; the real run reports them."""
    from spherevec.training.trainer import train_corpus

    with (
        suppress(Exception),
        tempfile.TemporaryDirectory() as folder,
        encode(_TEXTS, Path(folder, "corpus"), tokenizer=str.split, min_count=1) as corpus,
    ):
        train_corpus(corpus, config).save(Path(folder, "model"))


def main(settings: str) -> None:
    """Compile in another process what a run with these settings needs: first of all what its epochs wait for."""
    config = TrainConfig(vector_size=16, epochs=1, threads=2, min_count=1, **json.loads(settings))
    ids, offsets, counts = np.arange(2, dtype=np.int32), np.array([0, 2]), np.ones(2, np.int64)
    make_backend(training_data(ids, offsets, counts, config.resolved(2, 2)), config).warm_up()
    _train_few_words(config)


def _is_first(config: TrainConfig) -> bool:
    """Whether the training kernel is yet to be compiled, where its code can be kept and a core is free."""
    if _INSIDE in os.environ or usable_cores() < 2 or not sys.executable or getattr(sys, "frozen", False):
        return False
    return not _is_compiled(config)


def _is_compiled(config: TrainConfig) -> bool:
    from spherevec.compiling import is_compiled
    from spherevec.engine.cpu.backend import kernel_of, scratch_of

    return is_compiled(kernel_of(config), scratch_of(config))
