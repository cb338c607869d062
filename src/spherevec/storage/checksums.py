"""Checksums of whole files, of a sample of large ones and of a JSON description; and files written with them."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any, BinaryIO, TypeAlias

from spherevec.process import usable_cores

# Gives the bytes of a file, some at a time.
Content: TypeAlias = Callable[[], Iterable[bytes | memoryview]]

# Larger files are sampled where reading all of them would take too long.
SMALL_FILE = 1 << 20
_BLOCKS = 64
_BLOCK_BYTES = 1 << 12
_CHECKSUM = "checksum"


def sha256(file: BinaryIO) -> str:
    """The SHA-256 of a whole open file."""
    file.seek(0)
    digest = hashlib.file_digest(file, "sha256")  # type: ignore[arg-type]
    return digest.hexdigest()


def sample(file: BinaryIO) -> str:
    """The SHA-256 of 64 blocks of 4 KB, evenly spread over an open file, its beginning and its end among them."""
    size = os.fstat(file.fileno()).st_size
    if size <= SMALL_FILE:
        return sha256(file)
    digest = hashlib.sha256(str(size).encode())
    for block in range(_BLOCKS):
        file.seek((size - _BLOCK_BYTES) * block // (_BLOCKS - 1))
        digest.update(file.read(_BLOCK_BYTES))
    return digest.hexdigest()


def entry(file: BinaryIO) -> dict[str, Any]:
    """What a description says of a file: its size and both checksums."""
    return {"bytes": os.fstat(file.fileno()).st_size, "sha256": sha256(file), "sample": sample(file)}


def fault(file: BinaryIO, wanted: Mapping[str, Any], *, whole: bool) -> str | None:
    """What is wrong with a file, measured by its `entry`; None if nothing is. Of a large one a sample is compared, or
    the `whole`.
    """
    size = os.fstat(file.fileno()).st_size
    if size != wanted["bytes"]:
        kind = "truncated" if size < wanted["bytes"] else "of the wrong size"
        return f"{kind}: {size} bytes where {wanted['bytes']} were written"
    if whole or size <= SMALL_FILE:
        same = sha256(file) == wanted["sha256"]
    else:
        same = "sample" not in wanted or sample(file) == wanted["sample"]
    return None if same else "corrupt: its SHA-256 is not the one it was written with"


def with_checksum(description: Mapping[str, Any]) -> dict[str, Any]:
    """A JSON description with a checksum of itself."""
    return {**description, _CHECKSUM: _checksum(description)}


def checksum_matches(description: Mapping[str, Any]) -> bool:
    """Whether a description that was read is what was written."""
    return description.get(_CHECKSUM) == _checksum(description)


def _checksum(description: Mapping[str, Any]) -> str:
    content = {name: value for name, value in description.items() if name != _CHECKSUM}
    return hashlib.sha256(json.dumps(content, sort_keys=True, separators=(",", ":")).encode("ascii")).hexdigest()


def write_files(folder: Path, contents: Mapping[str, Content]) -> dict[str, dict[str, Any]]:
    """Write files, given by their names, into a folder and force them to the disk; returns the `entry` of each.

    Large files should come first, since the last to end decides the time.
    """
    with ThreadPoolExecutor(usable_cores(), thread_name_prefix="spherevec") as pool:
        try:
            jobs = {name: pool.submit(_written, folder / name, content) for name, content in contents.items()}
            return {name: job.result() for name, job in jobs.items()}
        finally:  # where one fails, the others need not begin
            pool.shutdown(cancel_futures=True)


def _written(path: Path, content: Content) -> dict[str, Any]:
    digest, synced = hashlib.sha256(), Future[None]()
    synced.set_result(None)
    with path.open("w+b", buffering=0) as file, ThreadPoolExecutor(2, thread_name_prefix="spherevec") as pool:
        for piece in content():
            hashed = pool.submit(digest.update, piece)  # takes as long as writing does
            left = memoryview(piece)
            while left:
                left = left[file.write(left) :]
            if len(piece) > SMALL_FILE and synced.done():  # the disk works while the next piece is written
                synced.result()
                synced = pool.submit(os.fsync, file.fileno())
            hashed.result()
        synced.result()
        os.fsync(file.fileno())
        size, whole = os.fstat(file.fileno()).st_size, digest.hexdigest()
        return {"bytes": size, "sha256": whole, "sample": sample(file) if size > SMALL_FILE else whole}
