"""The first run on a machine: a second process compiles what training needs while this one compiles and reads.

Numba compiles on one thread and keeps the results in a cache on disk. So a process beside this one trains a few words;
what it has compiled by the time that the text is read need not be compiled again.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from spherevec.config import TrainConfig
from spherevec.process import usable_cores

_INSIDE = "SPHEREVEC_COMPILES"  # set in that process, which must start no other
_DECIDES = ("objective", "batch", "deterministic", "documents")  # which kernels a run needs
_CODE = "import sys; sys.path.append(sys.argv[1]); from spherevec.training.first_run import main; main(sys.argv[2])"


@contextmanager
def compiled_meanwhile(config: TrainConfig) -> Iterator[Callable[[], object]]:
    """Compile what a run needs in another process, if nothing of it is in the cache yet; gives what waits for it."""
    child = _started(config) if _is_first(config) else None
    if child is None:
        yield lambda: None
        return
    try:
        yield child.wait
    finally:
        child.kill()
        child.wait()


def _is_first(config: TrainConfig) -> bool:
    """Whether the training kernel is yet to be compiled, where its code can be kept and a core is free."""
    if config.device != "cpu" or _INSIDE in os.environ or usable_cores() < 2:
        return False
    if not sys.executable or getattr(sys, "frozen", False):
        return False
    from spherevec.compiling import is_compiled
    from spherevec.engine.cpu.backend import kernel_of, scratch_of

    return not is_compiled(kernel_of(config), scratch_of(config))


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

    texts = [f"a b c d e f{number % 5}" for number in range(40)]
    with tempfile.TemporaryDirectory() as folder:
        small: dict[str, Any] = {"vector_size": 16, "epochs": 1, "threads": 2, "min_count": 1, "progress": False}
        model = train(texts, tokenizer=str.split, **small, **json.loads(settings))
        model.save(Path(folder, "model"))
