"""TensorBoard's embedding projector: a folder with `vectors.tsv` and `metadata.tsv`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from spherevec.io.text_rows import plain_names, write_rows
from spherevec.model.keyed_vectors import KeyedVectors
from spherevec.storage.csv_file import guarded
from spherevec.storage.files import atomic_folder

_FILES = {"vectors.tsv", "metadata.tsv"}


def write(
    vectors: KeyedVectors,
    path: Path,
    *,
    overwrite: bool = False,
    guard_formulas: bool = False,
    title: Callable[[int], str] | None = None,
) -> None:
    names = plain_names(vectors, "projector", forbidden="\t\n\r")
    columns = {"name": names}
    if vectors.counts is not None:
        columns["count"] = list(map(str, vectors.counts.tolist()))
    if title is not None:
        columns["title"] = [" ".join(title(row).split()) for row in range(len(names))]
    if guard_formulas:
        columns = {name: [guarded(cell) for cell in cells] for name, cells in columns.items()}
    with atomic_folder(path, overwrite=overwrite, ours=_FILES) as folder:
        with (folder / "vectors.tsv").open("wb") as file:
            write_rows(file, (), vectors, separator="\t")
        # The projector expects a heading only where there are several columns.
        heading = ["\t".join(columns)] if len(columns) > 1 else []
        lines = [*heading, *map("\t".join, zip(*columns.values(), strict=True))]
        (folder / "metadata.tsv").write_bytes("".join([f"{line}\n" for line in lines]).encode())
