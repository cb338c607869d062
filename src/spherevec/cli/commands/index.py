"""`spherevec index`."""

from __future__ import annotations

from pathlib import Path

import click

from spherevec.cli import display
from spherevec.cli.checks import documents_of, load_model
from spherevec.cli.options import model_argument, quiet_option


@click.command()
@model_argument
@click.option("--drop", is_flag=True, help="Take the index out of the model.")
@click.option("--threads", type=click.IntRange(0, 1024), metavar="N", default=0, help="Threads. Default: all cores.")
@quiet_option
def index(folder: Path, drop: bool, threads: int, quiet: bool) -> None:
    """Build an approximate index of the documents and save it in the model.

    It answers `search --mode dense` and `neighbors --doc` among very many documents. `update` keeps it up to date; it
    is built anew only by this command. Needs the extra `ann`.
    """
    from spherevec.storage.locks import owned

    with owned(folder, run=True):
        model = load_model(folder)
        docs = documents_of(model, folder)
        if drop:
            docs.use_index(None)
        else:
            docs.build_index(threads)
        model.save(folder, overwrite=True)
    if not quiet:
        display.tell(f"{folder}: {'no index' if drop else f'an index of {len(docs):,} documents'}")
