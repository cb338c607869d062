"""A worker of a run as Ray sees it: a process that reads its part of the text, keeps it, and trains a shard."""

from __future__ import annotations

import contextlib
import os
import socket
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from spherevec.config import TrainConfig
from spherevec.corpus import Vocabulary
from spherevec.corpus.count.vocabulary import CountedWords
from spherevec.corpus.read.options import ReadOptions
from spherevec.corpus.read.pieces import Piece
from spherevec.distributed.exchange import Slice, merged
from spherevec.distributed.reading import EncodedPart, PartAbout, PartReader
from spherevec.distributed.shard import Shard
from spherevec.process import usable_cores
from spherevec.storage.files import working_folder

IDS, LENGTHS = "ids.bin", "lengths.bin"


class Worker(Shard):
    """One of the workers of a run; it is a shard from `prepare` on.

    Args:
        number: its number, out of `workers`.
        workdir: where it keeps its text; by default where its machine keeps temporary files.
    """

    def __init__(self, number: int, workers: int, workdir: str | None = None) -> None:
        self._number, self._of, self._workdir = number, workers, workdir
        self._stack = contextlib.ExitStack()
        self._folder: Path = self._stack.enter_context(working_folder(workdir))
        for name in (IDS, LENGTHS):
            (self._folder / name).touch()
        self._reader = PartReader(self._folder)

    def where(self) -> tuple[str, int, int, float]:
        """The machine, the process, the most memory that it has had, in kilobytes, and its processor seconds."""
        import resource  # not on Windows

        most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return socket.gethostname(), os.getpid(), most, time.process_time()

    def append(self, ids: NDArray[np.int32], lengths: NDArray[np.int64]) -> None:
        """Take some documents from the driver, behind those that are here."""
        for name, array in ((IDS, ids), (LENGTHS, lengths)):
            with (self._folder / name).open("ab") as file:
                file.write(np.ascontiguousarray(array).data)

    def read_part(self, pieces: list[Piece], tokenizer: Any, threads: int, reading: ReadOptions) -> PartAbout:
        """Read a part of the text, behind those that are here."""
        return self._reader.read(pieces, tokenizer, threads, reading)

    def counts(self, bucket: int, buckets: int) -> CountedWords:
        """The counts of some words in all parts that were read here."""
        return self._reader.counts(bucket, buckets)

    def renumber(self, part: int, vocabulary: Vocabulary) -> EncodedPart:
        """Keep a part that was read here in the words of the whole text; returns a copy."""
        encoded = self._reader.renumbered(part, vocabulary)
        self.append(encoded.ids, encoded.lengths)
        return encoded

    def prepare(self, counts: NDArray[np.int64], config: TrainConfig, tokens: int) -> int:
        """Get ready to train on the documents that are here; returns the rounds of an epoch.

        Args:
            tokens: of the whole text.
        """
        self._reader.forget()
        lengths = np.fromfile(self._folder / LENGTHS, np.int64)
        offsets = np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths)])
        size = int(offsets[-1])
        ids = np.memmap(self._folder / IDS, np.int32, "r", shape=(size,)) if size else np.zeros(0, np.int32)
        super().__init__(self._number, self._of, ids, offsets, counts, config, tokens, self._workdir)
        return self.rounds

    def apply(self, function: Callable[..., Any], *parts: Any) -> Any:
        """Merge parts of anything, beside other work."""
        return function(*parts)


def merge_slices(alpha: float, *parts: Slice) -> Slice:
    """Add up one slice of what the workers have moved."""
    return merged(parts, alpha, usable_cores())


def received(*parts: Slice) -> None:
    """Nothing: what a worker is asked this with is on its machine from then on."""
