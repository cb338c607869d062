"""`spherevec infer`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import click

from spherevec.cli import display
from spherevec.cli.checks import load_model, output
from spherevec.cli.cluster import cluster_options, cluster_settings
from spherevec.cli.options import PATH, corpus_argument, force_option, model_argument, quiet_option, reading_options
from spherevec.devices import DEVICES


@click.command()
@model_argument
@corpus_argument
@click.option("--out", required=True, type=PATH, metavar="VECTORS.npy", help="File to write the vectors to.")
@click.option("--ids", "ids_file", type=PATH, metavar="FILE", help="File to write the ids to, one a line.")
@click.option("--pretokenized", is_flag=True, help="The text is already split: words are what stands between spaces.")
@reading_options
@click.option("--threads", type=click.IntRange(0, 1024), metavar="N", default=0, help="Threads. Default: all cores.")
@click.option("--device", type=click.Choice(list(DEVICES)), default="cpu", show_default=True, help="Where to fit.")
@click.option("--subwords", is_flag=True, help="Let known words that are spelled alike stand in for unknown ones.")
@cluster_options
@force_option
@quiet_option
def infer(
    folder: Path,
    corpus: tuple[Path, ...],
    out: Path,
    ids_file: Path | None,
    pretokenized: bool,
    threads: int,
    device: str,
    subwords: bool,
    force: bool,
    quiet: bool,
    **reading: Any,
) -> None:
    """Vectors for documents that the model has never seen.

    CORPUS is what `train` takes. The vectors are the rows of a NumPy file, in the order of the documents.
    """
    import tempfile

    from spherevec.corpus.read.options import ReadOptions
    from spherevec.corpus.read.readers import open_source
    from spherevec.model.documents import DocumentTable
    from spherevec.model.inference import InferenceCounts, infer_batches
    from spherevec.storage.npy_rows import write_rows

    machines = cluster_settings(reading)
    counts = InferenceCounts()
    with ExitStack() as stack:
        for path in (out, ids_file):
            if path is not None:
                stack.enter_context(output(path, force))
        model = load_model(folder)
        if machines:
            from spherevec.distributed.inference import infer_files

            tokenizer = "whitespace" if pretokenized else None
            how: dict[str, Any] = {"tokenizer": tokenizer, "threads": threads, "device": device, "subwords": subwords}
            how |= {"overwrite": force, **machines, **reading}
            rows, notes = infer_files(folder, corpus, out, ids_file, counts, **how)
            display.tell_summary(counts.summary(notes), only_warnings=quiet)
            display.tell(f"{out}: {rows:,} documents")
            return
        place = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        source = open_source(list(corpus), ReadOptions(**reading), records_in=place if ids_file else None)

        def blocks() -> Iterator[Any]:
            tokenizer = "whitespace" if pretokenized else None
            for block in infer_batches(
                model, source.all(), threads=threads, device=device, tokenizer=tokenizer, subwords=subwords
            ):
                counts.add(block)
                yield block.vectors
            # Ids that cannot be written leave no vectors without them.
            if ids_file is not None and source.records is not None:
                with source.records as records:
                    records.write(place / "table")
                _write_ids(ids_file, DocumentTable.open(place / "table", memory_map=False).ids, force)

        rows = write_rows(out, blocks(), model.vector_size, overwrite=force)
    display.tell_summary(counts.summary(source.notes), only_warnings=quiet)
    display.tell(f"{out}: {rows:,} documents")


def _write_ids(path: Path, ids: Sequence[str], force: bool) -> None:
    """One id a line; what would break a line, or cannot be written, is written out: \\n, \\x0b, \\udc80."""
    from spherevec.storage.files import atomic_file
    from spherevec.terminal import visible

    with atomic_file(path, overwrite=force) as temporary, temporary.open("w", encoding="utf-8", newline="\n") as lines:
        lines.writelines(f"{visible(id)}\n" for id in ids)
