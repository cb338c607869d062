"""A few words are trained while the text is read, so that what a run needs is compiled by then.

Numba compiles on one thread and keeps the results in a cache on disk: for the first run on a machine, another process
does. The kernels of a GPU are compiled or loaded, and the device is started, by a thread of this process.
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
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import Any

from spherevec.config import TrainConfig
from spherevec.corpus import encode
from spherevec.devices import DEVICES
from spherevec.process import usable_cores

_INSIDE = "SPHEREVEC_COMPILES"  # set in that process, which must start no other
_DECIDES = ("objective", "batch", "deterministic", "documents")  # which kernels a run needs
_TEXTS = [f"a b c d e f{number % 5}" for number in range(40)]
_CODE = "import sys; sys.path.append(sys.argv[1]); from spherevec.training.first_run import main; main(sys.argv[2])"


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
    child = _started(config) if _is_first(config) else None
    if child is None:
        yield lambda: None
        return

    def wait() -> None:
        """Until what trains is compiled; the child goes on with what comes after that."""
        while child.poll() is None and not _is_compiled(config):
            time.sleep(0.05)

    try:
        yield wait
    finally:
        child.kill()
        child.wait()


@cache
def _train_few_words(config: TrainConfig) -> None:
    """Train on a device, for the sake of what is compiled meanwhile; what fails will fail again where it is told."""
    from spherevec.training.trainer import train_corpus

    with (
        suppress(Exception),
        tempfile.TemporaryDirectory() as folder,
        encode(_TEXTS, Path(folder, "corpus"), tokenizer=str.split, min_count=1) as corpus,
    ):
        train_corpus(corpus, config)


def _is_first(config: TrainConfig) -> bool:
    """Whether the training kernel is yet to be compiled, where its code can be kept and a core is free."""
    if _INSIDE in os.environ or usable_cores() < 2:
        return False
    if not sys.executable or getattr(sys, "frozen", False):
        return False
    return not _is_compiled(config)


def _is_compiled(config: TrainConfig) -> bool:
    from spherevec.compiling import is_compiled
    from spherevec.engine.cpu.backend import kernel_of, scratch_of

    return is_compiled(kernel_of(config), scratch_of(config))


def _started(config: TrainConfig) -> subprocess.Popen[bytes] | None:
    settings = json.dumps({name: getattr(config, name) for name in _DECIDES})
    root = str(Path(__file__).parents[2])
    command, around = [sys.executable, "-c", _CODE, root, settings], {**os.environ, _INSIDE: "1"}
    no = subprocess.DEVNULL
    with suppress(OSError):  # then this process compiles
        return subprocess.Popen(command, stdin=no, stdout=no, stderr=no, env=around)
    return None


def main(settings: str) -> None:
    """Train a few words, and save them, for the sake of what is compiled meanwhile."""
    from spherevec.training import train

    with tempfile.TemporaryDirectory() as folder:
        small: dict[str, Any] = {"vector_size": 16, "epochs": 1, "threads": 2, "min_count": 1, "progress": False}
        model = train(_TEXTS, tokenizer=str.split, **small, **json.loads(settings))
        model.save(Path(folder, "model"))
