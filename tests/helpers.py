"""What several test files share: texts to train on, disks that are small, users that may not."""

from __future__ import annotations

import hashlib
import json
import math
import os
import re
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from method import random_directions
from spherevec import Model, TrainConfig, sphere
from spherevec.corpus import EncodedCorpus
from spherevec.devices import DEVICES, Device
from spherevec.engine.base import Backend, Block, TrainingData
from spherevec.engine.schedule import Schedule
from spherevec.training.options import Options
from spherevec.training.run import Run
from spherevec.training.runtime import Runtime

Integers = NDArray[np.int64]

linux = pytest.mark.skipif(sys.platform != "linux", reason="needs /proc and RLIMIT_DATA as on Linux")

# Of `written_text`.
TOPICS, WORDS, DOCUMENTS, PAIRS = 6, 240, 240, 40


def devices(**changes: Any) -> dict[str, Device]:
    """All devices with other figures: smaller blocks make many of them out of a short text."""
    return {name: replace(device, **changes) for name, device in DEVICES.items()}


def random_documents(n: int = 150, words: int = 200, seed: int = 0, longest: int = 60) -> list[list[str]]:
    """Lists of words with Zipf's frequencies; every tenth document is empty."""
    rng = np.random.default_rng(seed)
    shares = 1 / np.arange(1, words + 1)
    shares /= shares.sum()
    return [
        [] if i % 10 == 3 else [f"w{word}" for word in rng.choice(words, size=rng.integers(1, longest), p=shares)]
        for i in range(n)
    ]


def digest(model: Model) -> str:
    """The bits of all vectors."""
    tables = [table.vectors for table in (model.words, model.contexts, model.docs) if table is not None]
    return hashlib.sha256(b"".join(table.tobytes() for table in tables)).hexdigest()


class GivenBackend(Runtime):
    """A runtime whose backend a test has prepared."""

    def __init__(self, backend: Backend, data: TrainingData, config: TrainConfig) -> None:
        self._prepared = (Schedule(data, config), lambda: backend)

    def prepare(self, corpus: EncodedCorpus, config: TrainConfig) -> Any:
        return self._prepared


def run_on(backend: Backend, data: TrainingData, config: TrainConfig, corpus: EncodedCorpus) -> Run:
    """A run that trains the vectors of a backend as they are."""
    return Run(corpus, config, Options(runtime=GivenBackend(backend, data, config)))


def train_block(backend: Backend, block: Block) -> None:
    """Train one block on this thread."""
    backend.begin([block]).train(0)


def steady_memory() -> dict[str, str]:
    """An environment in which the addresses that a process takes depend on its data, not on the timing of threads."""
    return {**os.environ, "MALLOC_ARENA_MAX": "1", "OPENBLAS_NUM_THREADS": "1"}


@contextmanager
def small_disk(folder: Path, size: int | str) -> Iterator[Path]:
    """A real file system of `size` bytes, which can be mounted by root only."""
    folder.mkdir(exist_ok=True)
    mount = ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(folder)]
    if os.geteuid() or subprocess.run(mount, capture_output=True).returncode:
        pytest.skip("a small disk can be mounted by root only")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=True)


@contextmanager
def longest_file(size: int) -> Iterator[None]:
    """The size limit of files stands in for the end of a disk where none can be mounted."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


@contextmanager
def unprivileged(folder: Path) -> Iterator[None]:
    """Root may read and write anything, so give up being root for a while, with `folder` still within reach."""
    if os.geteuid():
        yield
        return
    modes = {parent: mode for parent in folder.parents if not (mode := parent.stat().st_mode) & 0o001}
    for parent, mode in modes.items():
        parent.chmod(mode | 0o001)
    folder.chmod(0o755)
    os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(0)
        for parent, mode in modes.items():
            parent.chmod(mode)


def written_text(seed: int = 2) -> tuple[list[list[str]], Integers, Integers]:
    """Documents of words sampled by p(u | d) ∝ exp(κ cos(u, d)) and p(v | u) ∝ exp(κ cos(v, u)), and their topics.

    The directions of documents and words lie around those of their topics.
    """
    rng = np.random.default_rng(seed)
    topics = random_directions(TOPICS, 12, rng)

    def around(labels: Integers, spread: float) -> NDArray[Any]:
        return sphere.normalize(topics[labels] + spread * random_directions(len(labels), 12, rng))

    word_topics, document_topics = np.arange(WORDS) % TOPICS, np.arange(DOCUMENTS) % TOPICS
    words, documents = around(word_topics, 0.8), around(document_topics, 0.6)

    def likely_words(directions: NDArray[Any]) -> Integers:
        scores = 8 * directions @ words.T
        return np.asarray(np.argmax(scores + rng.gumbel(size=scores.shape), axis=1), np.int64)

    texts = []
    for document in documents:
        centers = likely_words(np.tile(document, (PAIRS, 1)))
        contexts = likely_words(words[centers])
        texts.append([f"w{word}" for pair in zip(centers, contexts, strict=True) for word in pair])
    return texts, word_topics, document_topics


def tokenizer_cases() -> list[dict[str, Any]]:
    """Texts and their words, of `data/tokenizer_cases.json`: what every form of the tokenizer must give."""
    cases: list[dict[str, Any]] = json.loads(
        (Path(__file__).parent / "data" / "tokenizer_cases.json").read_text("utf-8")
    )
    return cases


def fit_cases() -> dict[str, Any]:
    """Documents fitted to fixed words, of `data/fit_cases.json`: what every form of the fit must give.

    `directions` are whole numbers, so that a page, which keeps a byte a coordinate, has the same words.
    """
    cases: dict[str, Any] = json.loads((Path(__file__).parent / "data" / "fit_cases.json").read_text("utf-8"))
    return cases


def words_missing(shown: str, printed: str) -> set[str]:
    """Words of an output shown in the docs that are not printed any more, if these are many.

    A few may be missing: vectors differ a little between kinds of processors.
    """
    words = set(re.findall(r"[A-Za-z]{2,}", shown))
    missing = words - set(re.findall(r"[A-Za-z]{2,}", printed))
    return missing if len(missing) > 0.4 * len(words) else set()


def grows(work: Callable[[str], object], make: Callable[[int], str], size: int) -> float:
    """How much more processor time eight times as much takes.

    The least of three measurements each counts, in turns; where that looks like too much, that of more: what else the
    machine does adds time, and never takes it away.
    """
    texts, least = [make(size), make(8 * size)], [math.inf, math.inf]
    for number in range(15):
        for which, text in enumerate(texts):
            start = time.process_time()
            work(text)
            least[which] = min(least[which], time.process_time() - start)
        if number > 1 and least[1] < 12 * least[0]:
            break
    return least[1] / max(least[0], 1e-3)
