"""`spherevec explore`."""

from __future__ import annotations

from pathlib import Path

import click

from spherevec.cli import display
from spherevec.cli.checks import load_model, output
from spherevec.cli.options import PATH, force_option, model_argument, quiet_option


@click.command()
@model_argument
@click.option("--out", required=True, type=PATH, metavar="PAGE.html", help="File to write the page to.")
@click.option(
    "--words", type=click.IntRange(0), metavar="N", help="Words to search with. Default: as many as fit into 6 MB."
)
@click.option("--title", help="Title of the page.")
@click.option("--seed", type=click.IntRange(0), default=1, show_default=True, help="Random seed.")
@click.option("--threads", type=click.IntRange(0, 1024), metavar="N", default=0, help="Threads. Default: all cores.")
@click.option("--open", "open_page", is_flag=True, help="Show the page in a browser.")
@force_option
@quiet_option
def explore(
    folder: Path,
    out: Path,
    words: int | None,
    title: str | None,
    seed: int,
    threads: int,
    open_page: bool,
    force: bool,
    quiet: bool,
) -> None:
    """Write the map of a model as one page.

    Documents, words and topics on one globe. The page opens by double click; it needs no server and no network.
    """
    with output(out, force):
        model = load_model(folder)

        from spherevec.explore import write_page

        write_page(model, out, words=words, title=title, seed=seed, threads=threads, overwrite=force)
    if not quiet:
        display.tell(f"{out}: {out.stat().st_size / 1e6:.1f} MB, open it in a browser")
    if open_page:
        click.launch(str(out.absolute()))
