"""`spherevec infer`."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from spherevec.cli.checks import load_model, output
from spherevec.cli.console import Console
from spherevec.cli.groups import option_group
from spherevec.cli.options import (
    PATH,
    corpus_argument,
    device_option,
    force_option,
    model_argument,
    output_options,
    pretokenized_option,
    ray_options,
    reading_options,
    threads_option,
)
from spherevec.corpus.read.options import ReadOptions

if TYPE_CHECKING:
    from spherevec.corpus.count.summary import CorpusSummary


@dataclass(frozen=True)
class _Files:
    """What is written: vectors, and ids where they are asked for."""

    out: Path
    ids_file: Path | None
    force: bool


def _fitting(pretokenized: bool, **fitting: Any) -> dict[str, Any]:
    return {"tokenizer": "whitespace" if pretokenized else None, **fitting}


@click.command()
@model_argument
@corpus_argument
@option_group(
    "files",
    _Files,
    click.option("--out", required=True, type=PATH, metavar="VECTORS.npy", help="File to write the vectors to."),
    click.option("--ids", "ids_file", type=PATH, metavar="FILE", help="File to write the ids to, one per line."),
    force_option,
)
@option_group(
    "fitting",
    _fitting,
    pretokenized_option,
    threads_option,
    device_option,
    click.option("--subwords", is_flag=True, help="Replace unknown words by known words of similar spelling."),
)
@reading_options
@ray_options
@output_options
def infer(
    folder: Path,
    corpus: tuple[Path, ...],
    files: _Files,
    fitting: dict[str, Any],
    reading: ReadOptions,
    ray: dict[str, Any],
    console: Console,
) -> None:
    """Compute vectors for documents that the model has never seen.

    CORPUS is what `train` takes. The vectors are the rows of a NumPy file, in the order of the documents. Those of up
    to 100 short documents are computed without compiled code and may differ from those of many in the last bits.
    """
    with ExitStack() as stack:
        for path in (files.out, files.ids_file):
            if path is not None:
                stack.enter_context(output(path, files.force))
        if ray:
            from spherevec.distributed.inference import InferenceJob, infer_files
            from spherevec.model.inference import InferenceOptions

            job = InferenceJob(str(folder.absolute()), InferenceOptions(**fitting), reading)
            machines = {"ray": ray["ray"], "workers": ray.get("workers")}
            rows, summary = infer_files(
                job, corpus, files.out, ids_file=files.ids_file, overwrite=files.force, **machines
            )
        else:
            rows, summary = _infer(folder, corpus, files, fitting, reading)
    console.summary(summary)
    console.written(f"{files.out}: {rows:,} document{'s' * (rows != 1)}", {"file": str(files.out), "documents": rows})


def _infer(
    folder: Path, corpus: tuple[Path, ...], files: _Files, fitting: dict[str, Any], reading: ReadOptions
) -> tuple[int, CorpusSummary]:
    import tempfile

    from spherevec.corpus.read.readers import open_source
    from spherevec.io.binary import write_ids
    from spherevec.model.documents import DocumentTable
    from spherevec.model.inference import InferenceCounts, InferenceOptions, infer_batches
    from spherevec.storage.tensors import write_rows

    model = load_model(folder)
    counts = InferenceCounts()
    with tempfile.TemporaryDirectory() as temporary:
        place = Path(temporary)
        source = open_source(list(corpus), reading, records_in=place if files.ids_file else None)

        def blocks() -> Iterator[Any]:
            for block in infer_batches(model, source.all(), InferenceOptions(**fitting, quick=True)):
                counts.add(block)
                yield block.vectors
            # Ids that cannot be written leave no vectors without them.
            if files.ids_file is not None and source.records is not None:
                with source.records as records:
                    records.write(place / "table")
                ids = DocumentTable.open(place / "table", memory_map=False).ids
                write_ids(files.ids_file, ids, overwrite=files.force)

        rows = write_rows(files.out, blocks(), model.vector_size, overwrite=files.force)
    return rows, counts.summary(source.notes)
