"""`spherevec infer`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click

from spherevec.cli import display
from spherevec.cli.checks import check_free, load_model
from spherevec.cli.options import PATH, force_option, model_argument
from spherevec.devices import DEVICES


@click.command()
@model_argument
@click.argument("corpus", type=PATH)
@click.option("--out", required=True, type=PATH, metavar="VECTORS.npy", help="File to write the vectors to.")
@click.option("--pretokenized", is_flag=True, help="The text is already split: words are what stands between spaces.")
@click.option("--text-field", metavar="NAME", help="Column of a .jsonl, .csv or .parquet file that holds the text.")
@click.option("--encoding", default="utf-8", show_default=True, help="How the text is written as bytes.")
@click.option("--threads", type=click.IntRange(0, 1024), metavar="N", default=0, help="Threads. Default: all cores.")
@click.option("--device", type=click.Choice(list(DEVICES)), default="cpu", show_default=True, help="Where to fit.")
@force_option
def infer(
    folder: Path,
    corpus: Path,
    out: Path,
    pretokenized: bool,
    text_field: str | None,
    encoding: str,
    threads: int,
    device: str,
    force: bool,
) -> None:
    """Vectors for documents that the model has never seen.

    CORPUS is what `train` takes. The vectors are the rows of a NumPy file, in the order of the documents.
    """
    check_free(out, force)
    model = load_model(folder)

    from spherevec.corpus import read_documents
    from spherevec.model.inference import infer_batches
    from spherevec.storage.npy_rows import write_rows

    known = unknown = 0

    def blocks() -> Iterator[Any]:
        nonlocal known, unknown
        texts = read_documents(corpus, text_field=text_field, encoding=encoding)
        tokenizer = "whitespace" if pretokenized else None
        for block in infer_batches(model, texts, threads=threads, device=device, tokenizer=tokenizer):
            known += int(block.known.sum())
            unknown += int(block.unknown.sum())
            yield block.vectors

    rows = write_rows(out, blocks(), model.vector_size, overwrite=force)
    display.tell(f"{out}: {rows:,} documents; {unknown / max(known + unknown, 1):.1%} of their words are unknown")
