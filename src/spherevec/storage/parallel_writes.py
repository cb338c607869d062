"""Files that are written in parallel while their checksums are taken."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, TypeAlias

from spherevec.process import usable_cores
from spherevec.storage import checksums

# Gives the bytes of a file, some at a time; asked twice, by two threads.
Content: TypeAlias = Callable[[], Iterable[bytes | memoryview]]


def write_files(folder: Path, contents: Mapping[str, Content]) -> dict[str, dict[str, Any]]:
    """Write files into a folder and force them to the disk; returns the `checksums.entry` of each.

    Args:
        contents: names, and what to write; large files should come first, since the last to end decides the time.
    """
    with ThreadPoolExecutor(usable_cores(), thread_name_prefix="spherevec") as pool:
        try:
            jobs = {
                name: (pool.submit(_written, folder / name, content), pool.submit(_sha256, content))
                for name, content in contents.items()
            }
            return {
                name: {"bytes": size, "sha256": digest, "sample": digest if sample is None else sample}
                for name, (size, sample), digest in (
                    (name, one.result(), two.result()) for name, (one, two) in jobs.items()
                )
            }
        finally:  # where one fails, the others need not begin
            pool.shutdown(cancel_futures=True)


def _written(path: Path, content: Content) -> tuple[int, str | None]:
    """The size of the file, and the checksum of its sample where that is not the whole."""
    with path.open("w+b", buffering=0) as file:
        for piece in content():
            left = memoryview(piece)
            while left:
                left = left[file.write(left) :]
        os.fsync(file.fileno())
        size = os.fstat(file.fileno()).st_size
        return size, checksums.sample(file) if size > checksums.SMALL_FILE else None


def _sha256(content: Content) -> str:
    digest = hashlib.sha256()
    for piece in content():
        digest.update(piece)
    return digest.hexdigest()
