"""The ids of documents as a file, beside their vectors."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from spherevec.storage.files import atomic_file
from spherevec.terminal import visible


def write_ids(path: Path, ids: Iterable[str], *, overwrite: bool = False) -> None:
    """Write one id per line; characters that would break a line, or that UTF-8 lacks, are escaped: \\n, \\udc80."""
    with atomic_file(path, overwrite=overwrite) as file, file.open("w", encoding="utf-8", newline="\n") as lines:
        lines.writelines(f"{visible(identifier)}\n" for identifier in ids)
