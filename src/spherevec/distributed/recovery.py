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
        tables: their names (`inputs`, `contexts`, and `docs` with the number of a worker behind it), and how many rows
            each has.
    """

    def __init__(self, folder: Path, width: int, tables: dict[str, int]) -> None:
        self._folder, self._width, self._tables = folder, width, tables
        self._log: list[tuple[Task, Path]] = []
        self._cost, self._since, self._bytes, self._number = 0.0, 0.0, 0, 0
        with told_in_one_line(folder):
            for name in tables:
                (folder / f"{name}.vectors").write_bytes(b"")

    def load(self, name: str, start: int, rows: Floats) -> None:
        """What a run starts from is a snapshot, too."""
        with told_in_one_line(self._folder), (self._folder / f"{name}.vectors").open("r+b") as file:
            file.seek(start * self._width * 4)
            file.write(np.ascontiguousarray(rows, np.float32).data)

    def snapshot(self, read: Callable[[str, int, int], Floats]) -> None:
        """Forget the past: from now on, new workers start from here.

        Args:
            read: gives some rows of a table.
        """
        started = time.monotonic()
        with told_in_one_line(self._folder):
            for name, rows in self._tables.items():
                with (self._folder / f"{name}.new").open("wb") as file:
                    for start in range(0, rows, CHUNK_ROWS):
                        file.write(np.ascontiguousarray(read(name, start, min(start + CHUNK_ROWS, rows))).data)
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
        size = CHUNK_ROWS * self._width
        with (self._folder / f"{name}.vectors").open("rb") as file:
            for start in range(0, self._tables[name], CHUNK_ROWS):
                rows = np.fromfile(file, np.float32, size).reshape(-1, self._width)
                if len(rows):  # none where a run has not begun
                    yield start, rows

    def exchanges(self) -> Iterator[tuple[Task, list[Slice]]]:
        """All exchanges since the last snapshot."""
        for task, path in self._log:
            with np.load(path) as arrays:
                numbers = sorted({int(name.partition(".")[0]) for name in arrays})
                yield task, [_slice(arrays, number) for number in numbers]


def _slice(arrays: np.lib.npyio.NpzFile, number: int) -> Slice:
    tables = {name.split(".")[1] for name in arrays if name.startswith(f"{number}.")}
    return {table: Moved(*(arrays[f"{number}.{table}.{field}"] for field in Moved._fields)) for table in sorted(tables)}
