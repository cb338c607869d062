"""`spherevec explore`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from spherevec.cli.checks import load_model, output
from spherevec.cli.console import Console
from spherevec.cli.options import PATH, force_option, model_argument, output_options, threads_option


@click.command()
@model_argument
@click.option("--out", required=True, type=PATH, metavar="PAGE.html", help="File to write the page to.")
@click.option(
    "--words", type=click.IntRange(0), metavar="N", help="Words to search with. Default: as many as fit into 6 MB."
)
@click.option("--title", help="Title of the page.")
@click.option("--seed", type=click.IntRange(0), default=1, show_default=True, help="Random seed.")
@threads_option
@click.option("--open", "open_page", is_flag=True, help="Show the page in a browser.")
@force_option
@output_options
def explore(folder: Path, out: Path, open_page: bool, force: bool, console: Console, **options: Any) -> None:
    """Write the map of a model as one page.

    Documents, words and topics on one globe. Open the page by double click; it needs no server and no network.
    """
    with output(out, force):
        model = load_model(folder)

        from spherevec.explore import write_page

        write_page(model, out, overwrite=force, **options)
    size = out.stat().st_size
    console.tell(f"{out}: {size / 1e6:.1f} MB, open it in a browser")
    console.result({"file": str(out), "bytes": size}, lambda: None)
    if open_page:
        click.launch(str(out.absolute()))
