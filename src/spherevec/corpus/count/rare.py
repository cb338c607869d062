"""Which documents hold the words that are too rare for a vector, as hashes and rows, so that search finds them."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from types import TracebackType

import numpy as np
import numpy.typing as npt

from spherevec.storage.os_errors import explain_os_errors
from spherevec.storage.tensors import write_tensors
from spherevec.threads import in_order

_PART_BITS = 4
_WORTH_THREADS = 1 << 18  # pairs; each thread costs some megabytes
MOST_PAIRS = 1 << 26  # beyond, nothing is kept: sorting them would take more than a gigabyte

Hashes = npt.NDArray[np.uint64]
Rows = npt.NDArray[np.int32]


def _sorted(hashes: Hashes, rows: Rows, threads: int) -> tuple[Hashes, Rows]:
    """Pairs by their hashes, then by their rows, which are in ascending order already; by the upper bits in parts."""
    part_of = hashes >> np.uint64(64 - _PART_BITS)

    def work(_: int, part: int) -> tuple[Hashes, Rows]:
        places = np.flatnonzero(part_of == part)
        own = hashes[places]
        order = np.argsort(own, kind="stable")
        return own[order], rows[places[order]]

    parts = list(in_order(range(1 << _PART_BITS), work, threads if len(hashes) > _WORTH_THREADS else 1))
    return np.concatenate([one for one, _ in parts]), np.concatenate([one for _, one in parts])


class RareWords:
    """Collects a hash and a row for each occurrence of a dropped word, in a file, until all are sorted.

    Args:
        folder: where the files are.
    """

    def __init__(self, folder: Path) -> None:
        self._paths = folder / "rare-hashes.bin", folder / "rare-rows.bin"
        with explain_os_errors(writing=folder):
            self._hashes, self._rows = (path.open("wb") for path in self._paths)
        self._n_pairs = 0

    def add(self, hashes: Hashes, rows: Rows) -> None:
        """Some occurrences: the hash of the word, and the document that it stands in."""
        self._n_pairs += len(hashes)
        if self._n_pairs <= MOST_PAIRS:
            with explain_os_errors(writing=self._paths[0].parent):
                self._hashes.write(hashes.data)
                self._rows.write(rows.data)

    def write(self, path: Path, threads: int = 1) -> None:
        """Write all pairs, sorted by hash and row; none where there are too many."""
        self._hashes.flush()
        self._rows.flush()
        few = self._n_pairs <= MOST_PAIRS
        hashes = np.fromfile(self._paths[0], np.uint64) if few else np.zeros(0, np.uint64)
        rows = np.fromfile(self._paths[1], np.int32) if few else np.zeros(0, np.int32)
        write_tensors(path, dict(zip(("hashes", "rows"), _sorted(hashes, rows, threads), strict=True)))

    def __enter__(self) -> RareWords:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for file, path in zip((self._hashes, self._rows), self._paths, strict=True):
            with suppress(OSError):  # on a full disk, closing tries to write; the folder goes with all that is in it
                file.close()
                path.unlink(missing_ok=True)
