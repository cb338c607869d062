"""Vectors of new documents, fitted on the machines of a Ray cluster: every part of the source by itself."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

from numpy.typing import NDArray

from spherevec.corpus.count.summary import CorpusSummary
from spherevec.corpus.read.options import ReadOptions
from spherevec.corpus.read.readers import open_source
from spherevec.corpus.table.records import joined_columns
from spherevec.devices import DEVICES
from spherevec.distributed.cluster import MOST_DEATHS, check_workers, connected, threads_a_worker, worker_error
from spherevec.distributed.pieces import Piece, find_parts, source_columns, staged_pieces
from spherevec.engine.base import Floats
from spherevec.io.binary import write_ids
from spherevec.model import Model
from spherevec.model.documents import DocumentTable
from spherevec.model.inference import InferenceOptions, Inferred, infer_batches, reading_for, summary_of
from spherevec.storage.tensors import read_tensors, write_rows


class InferredPart(NamedTuple):
    """What was inferred of one part."""

    blocks: list[Inferred]
    rows: list[int]  # documents of each piece
    notes: list[str]
    columns: Mapping[str, NDArray[Any]]  # of the table of documents, where ids are wanted


@cache
def _model(folder: str) -> Model:
    """A process opens the model once."""
    return Model.load(folder)


class InferenceJob(NamedTuple):
    """What every worker is told."""

    model: str  # a folder that all machines see under this name
    options: InferenceOptions
    reading: ReadOptions
    with_ids: bool = False  # the ids of the documents are wanted


def infer_part(job: InferenceJob, pieces: list[Piece]) -> InferredPart:
    """Read a part of the source, and fit its documents; runs on any machine that sees the model."""
    with tempfile.TemporaryDirectory() as place, staged_pieces(pieces, Path(place)) as stage:
        if not stage.given:
            return InferredPart([], [0] * len(pieces), [], {})
        records_in = Path(place) if job.with_ids else None
        source = open_source(stage.given, job.reading, records_in=records_in)
        blocks = list(infer_batches(_model(job.model), source.all(), job.options))
        columns: dict[str, NDArray[Any]] = {}
        if source.records is not None:
            with source.records as records:
                records.write(Path(place) / "table")
            columns = read_tensors(Path(place) / "table", memory_map=False)
        rows = stage.rows(columns, sum(len(block.vectors) for block in blocks))
        return InferredPart(blocks, rows, [stage.renamed(note) for note in source.notes], columns)


def infer_files(
    job: InferenceJob,
    source: Sequence[Any],
    out: Path,
    *,
    ids_file: Path | None = None,
    overwrite: bool = False,
    ray: str,
    workers: int | None = None,
) -> tuple[int, CorpusSummary]:
    """Infer the documents of files on a cluster, and write their vectors, in their order, as a NumPy file.

    Args:
        ids_file: where to write the ids of the documents, one per line.
        ray, workers: as for `spherevec.train`.

    Returns:
        How many documents there were, and what was found out about the source.
    """
    count = check_workers(ray, workers)
    notes: list[str] = []
    parts = find_parts(list(source), count, job.reading.encoding, notes, small=True)
    assert parts is not None
    counts, done = list[CorpusSummary](), list[InferredPart]()

    def vectors(inferred: Iterable[InferredPart]) -> Iterator[Floats]:
        for part in inferred:
            done.append(part._replace(blocks=[]))
            for block in part.blocks:
                counts.append(block.summary)
                yield block.vectors

    with connected(ray, count, job.options.device) as module:
        threads = job.options.threads or threads_a_worker(module, count)
        model, with_ids = Model.load(job.model), ids_file is not None
        reading = reading_for(model, job.reading, with_ids=with_ids)
        job = InferenceJob(job.model, job.options._replace(threads=threads), reading, with_ids)
        inferred = _inferred(module, job, parts, ahead=2 * count)
        rows = write_rows(out, vectors(inferred), model.vector_size, overwrite=overwrite)
    if ids_file is not None:
        columns = joined_columns([(sum(part.rows), part.columns) for part in done])
        columns |= source_columns(columns, parts, [part.rows for part in done])
        write_ids(ids_file, DocumentTable(columns).ids, overwrite=overwrite)
    return rows, summary_of(counts, [*notes, *(note for part in done for note in part.notes)])


def _inferred(module: Any, job: InferenceJob, parts: Sequence[list[Piece]], ahead: int) -> Iterator[InferredPart]:
    """What the workers find, in the order of the parts, some of which are asked for ahead."""
    options: dict[str, Any] = {"num_cpus": 1, "max_retries": MOST_DEATHS, "scheduling_strategy": "SPREAD"}
    task = module.remote(infer_part).options(**options, num_gpus=DEVICES[job.options.device].gpus)
    asked = (task.remote(job, part) for part in parts)
    waiting = list(islice(asked, ahead))
    while waiting:
        try:
            found: InferredPart = module.get(waiting.pop(0))
        except Exception as error:
            raise worker_error(error, "inference") from error
        waiting += islice(asked, 1)
        yield found
