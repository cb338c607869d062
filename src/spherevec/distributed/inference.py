"""Vectors of new documents, fitted on the machines of a Ray cluster: every part of the source by itself."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

from numpy.typing import NDArray

from spherevec.corpus.count.summary import CorpusSummary
from spherevec.corpus.read.options import ReadOptions
from spherevec.corpus.read.pieces import Piece, find_parts, source_columns, staged_pieces
from spherevec.corpus.read.readers import open_source
from spherevec.corpus.table.records import columns_role, joined_columns
from spherevec.devices import DEVICES
from spherevec.distributed.cluster import check_workers, connected, threads_a_worker, worker_error
from spherevec.distributed.reading import PartAbout
from spherevec.distributed.worker_pool import MOST_DEATHS
from spherevec.engine.base import Floats
from spherevec.io.ids import write_ids
from spherevec.model import Model
from spherevec.model.documents import DocumentTable
from spherevec.model.inference import InferenceCounts, InferenceOptions, Inferred, infer_batches
from spherevec.storage.npy_rows import write_rows
from spherevec.storage.tensors import read_tensors


class InferredPart(NamedTuple):
    """What was inferred of one part."""

    blocks: list[Inferred]
    about: PartAbout
    columns: Mapping[str, NDArray[Any]]  # of the table of documents, where ids are wanted


@cache
def _model(folder: str) -> Model:
    """A process opens the model once."""
    return Model.load(folder)


def infer_part(
    folder: str,
    pieces: list[Piece],
    reading: Mapping[str, Any],
    tokenizer: Any,
    threads: int,
    device: str,
    subwords: bool,
    with_ids: bool,
) -> InferredPart:
    """Read a part of the source, and fit its documents; runs on any machine that sees the model."""
    with tempfile.TemporaryDirectory() as place, staged_pieces(pieces, Path(place)) as stage:
        if not stage.given:
            return InferredPart([], PartAbout(CorpusSummary(0, 0, 0, 0, 0), [0] * len(pieces)), {})
        source = open_source(stage.given, ReadOptions(**reading), records_in=Path(place) if with_ids else None)
        options = InferenceOptions(threads=threads, device=device, tokenizer=tokenizer, subwords=subwords)
        blocks = list(infer_batches(_model(folder), source.all(), options))
        columns: dict[str, NDArray[Any]] = {}
        if source.records is not None:
            with source.records as records:
                records.write(Path(place) / "table")
            columns = read_tensors(Path(place) / "table", memory_map=False)
        documents = sum(len(block.vectors) for block in blocks)
        summary = CorpusSummary(documents, 0, 0, 0, 0, notes=[stage.renamed(note) for note in source.notes])
        return InferredPart(blocks, PartAbout(summary, stage.rows(columns, documents)), columns)


def infer_files(
    model: Path,
    source: Sequence[Any],
    out: Path,
    ids_file: Path | None,
    counts: InferenceCounts,
    *,
    ray: str,
    workers: int | None = None,
    cluster: Mapping[str, Any] | None = None,
    tokenizer: Any = None,
    threads: int = 0,
    device: str = "cpu",
    subwords: bool = False,
    overwrite: bool = False,
    **reading: Any,
) -> tuple[int, list[str]]:
    """Infer the documents of files on a cluster, and write their vectors, in their order, as a NumPy file.

    Args:
        model: a folder that all machines see under this name.
        ids_file: where to write the ids of the documents, one a line.
        counts: what was read is added here.
        ray, workers: as for `spherevec.train`.

    Returns:
        How many documents there were, and what was found out about the source.
    """
    count = check_workers(ray, workers)
    notes: list[str] = []
    parts = find_parts(list(source), count, str(reading.get("encoding", "auto")), notes, small=True)
    assert parts is not None
    abouts: list[PartAbout] = []
    tables: list[tuple[int, Mapping[str, NDArray[Any]]]] = []
    with connected(ray, count, device) as module:
        each = threads or threads_a_worker(module, count)
        options: dict[str, Any] = {"num_cpus": 1, "max_retries": MOST_DEATHS, "scheduling_strategy": "SPREAD"}
        options["num_gpus"] = DEVICES[device].gpus
        task = module.remote(infer_part).options(**options)
        folder = str(model.absolute())

        def blocks() -> Iterator[Floats]:
            asked = (
                task.remote(folder, part, reading, tokenizer, each, device, subwords, ids_file is not None)
                for part in parts
            )
            waiting = list(islice(asked, 2 * count))
            while waiting:
                try:
                    found: InferredPart = module.get(waiting.pop(0))
                except Exception as error:
                    raise worker_error(error, "inference") from error
                waiting += islice(asked, 1)
                abouts.append(found.about)
                tables.append((found.about.summary.documents, found.columns))
                for block in found.blocks:
                    counts.add(block)
                    yield block.vectors

        rows = write_rows(out, blocks(), Model.load(model).vector_size, overwrite=overwrite)
    if ids_file is not None:
        columns = joined_columns(tables)
        if columns_role(columns, 0) != "id":
            columns |= source_columns(parts, [about.rows for about in abouts])
        write_ids(ids_file, DocumentTable(columns).ids, overwrite=overwrite)
    return rows, [*notes, *(note for about in abouts for note in about.summary.notes)]
