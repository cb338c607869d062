"""NumPy `.npy`, with the names in `.labels.txt` beside it, one a line."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from numpy.lib import format as npy_format

from spherevec.io.text_rows import plain_names
from spherevec.model.keyed_vectors import KeyedVectors
from spherevec.storage.files import atomic_file
from spherevec.terminal import visible


def write(vectors: KeyedVectors, path: Path, *, overwrite: bool = False) -> None:
    names = plain_names(vectors, "label", forbidden="\n\r", empty=True)
    labels = path.with_name(f"{path.stem if path.suffix == '.npy' else path.name}.labels.txt")
    with atomic_file(path, overwrite=overwrite) as array_file:
        with array_file.open("wb") as file:
            header = {"descr": "<f4", "fortran_order": False, "shape": vectors.vectors.shape}
            npy_format.write_array_header_1_0(file, header)
            file.write(vectors.vectors.astype("<f4", copy=False).data)
        # Both are complete before either gets its name.
        with atomic_file(labels, overwrite=overwrite) as label_file:
            label_file.write_bytes("".join([f"{name}\n" for name in names]).encode())


def write_ids(path: Path, ids: Iterable[str], *, overwrite: bool = False) -> None:
    """Write one id per line; characters that would break a line, or that UTF-8 lacks, are escaped: \\n, \\udc80."""
    with atomic_file(path, overwrite=overwrite) as file, file.open("w", encoding="utf-8", newline="\n") as lines:
        lines.writelines(f"{visible(identifier)}\n" for identifier in ids)
