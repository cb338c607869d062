"""What brings a new worker to where a dead one was: a snapshot now and then, and all exchanges since.

Training is deterministic, so a worker that starts from the snapshot and goes through the same exchanges ends with the
same bits. Document vectors leave their workers for snapshots alone.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import numpy as np

from spherevec.distributed.exchange import Moved, Slice
from spherevec.distributed.shard import Task
from spherevec.engine.base import Floats
from spherevec.engine.schedule import CHUNK_ROWS
from spherevec.storage.locks import told_in_one_line

MOST_SECONDS = 60.0  # of training that a new worker may have to go through again
_TIMES_THE_COST = 20.0  # and so many times what a snapshot costs
MOST_BYTES = 4 << 30  # of exchanges that are kept


class Recovery:
    """Keeps a snapshot of all vectors, and the exchanges since, in a folder of the driver's machine.

    Args:
        read: gives some rows of a table: `inputs`, `contexts`, or `docs` with the number of a worker behind it.
        tables: these names, and how many rows each has.
    """

    def __init__(
        self, folder: Path, width: int, tables: dict[str, int], read: Callable[[str, int, int], Floats]
    ) -> None:
        self._folder, self._width, self._tables, self._read = folder, width, tables, read
        self._log: list[tuple[Task, Path]] = []
        self._cost, self._since, self._bytes, self._number = 0.0, 0.0, 0, 0

    def snapshot(self) -> None:
        """Forget the past: from now on, new workers start from here."""
        started = time.monotonic()
        with told_in_one_line(self._folder):
            for name, rows in self._tables.items():
                with (self._folder / f"{name}.new").open("wb") as file:
                    for start in range(0, rows, CHUNK_ROWS):
                        some = self._read(name, start, min(start + CHUNK_ROWS, rows))
                        file.write(np.ascontiguousarray(some, np.float32).data)
            for name in self._tables:
                (self._folder / f"{name}.new").replace(self._folder / f"{name}.vectors")
            for _, path in self._log:
                path.unlink(missing_ok=True)
        self._log, self._since, self._bytes = [], 0.0, 0
        self._cost = time.monotonic() - started

    def note(self, task: Task, agreed: Sequence[Slice], seconds: float) -> None:
        """An exchange is over: what was asked for, and what the workers agreed on."""
        path = self._folder / f"exchange-{self._number}.npz"
        self._number += 1
        arrays = {
            f"{number}.{table}.{field}": array
            for number, part in enumerate(agreed)
            for table, moved in part.items()
            for field, array in moved._asdict().items()
        }
        with told_in_one_line(self._folder):
            np.savez(path, **arrays)
            self._bytes += path.stat().st_size
        self._log.append((task, path))
        self._since += seconds

    def due(self) -> bool:
        """Whether it is time for a snapshot."""
        return self._since > max(MOST_SECONDS, _TIMES_THE_COST * self._cost) or self._bytes > MOST_BYTES

    def rows(self, name: str) -> Iterator[tuple[int, Floats]]:
        """The rows of a table at the last snapshot, some at a time, with the number of the first."""
        rows = self._tables[name]
        if rows:
            table = np.memmap(self._folder / f"{name}.vectors", np.float32, "r", shape=(rows, self._width))
            for start in range(0, rows, CHUNK_ROWS):
                yield start, np.array(table[start : start + CHUNK_ROWS])

    def exchanges(self) -> Iterator[tuple[Task, list[Slice]]]:
        """All exchanges since the last snapshot."""
        for task, path in self._log:
            with np.load(path) as arrays:
                numbers = sorted({int(name.partition(".")[0]) for name in arrays})
                yield task, [_slice(arrays, number) for number in numbers]


def _slice(arrays: np.lib.npyio.NpzFile, number: int) -> Slice:
    tables = {name.split(".")[1] for name in arrays if name.startswith(f"{number}.")}
    return {table: Moved(*(arrays[f"{number}.{table}.{field}"] for field in Moved._fields)) for table in sorted(tables)}
