"""TensorBoard's embedding projector: a folder with `vectors.tsv` and `metadata.tsv`."""

from __future__ import annotations

from pathlib import Path

from spherevec.io.text_rows import plain_names, write_rows
from spherevec.model.keyed_vectors import KeyedVectors
from spherevec.storage.csv_file import guarded
from spherevec.storage.files import atomic_folder

_FILES = {"vectors.tsv", "metadata.tsv"}


def write(vectors: KeyedVectors, path: Path, *, overwrite: bool = False, guard_formulas: bool = False) -> None:
    names = plain_names(vectors, "projector", forbidden="\t\n\r")
    if guard_formulas:
        names = [guarded(name) for name in names]
    with atomic_folder(path, overwrite=overwrite, ours=_FILES) as folder:
        with (folder / "vectors.tsv").open("wb") as file:
            write_rows(file, (), vectors, separator="\t")
        # The projector expects a heading only where there are several columns.
        if vectors.counts is None:
            lines = [f"{name}\n" for name in names]
        else:
            counted = zip(names, vectors.counts.tolist(), strict=True)
            lines = ["name\tcount\n", *(f"{name}\t{count}\n" for name, count in counted)]
        (folder / "metadata.tsv").write_bytes("".join(lines).encode())
