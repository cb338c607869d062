"""`spherevec demo`."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path

import click

from spherevec.cli.checks import output
from spherevec.cli.options import PATH, force_option, quiet_option


@click.command()
@click.option("--corpus", type=PATH, help="Tour your own text instead: a file, a folder or a table.")
@click.option("--text-field", metavar="NAME", help="Column of a table that holds the text.")
@click.option("--out", type=PATH, metavar="PAGE.html", help="File for the map. Default: in a temporary folder.")
@click.option("--open", "open_page", is_flag=True, help="Show the map in a browser.")
@force_option
@quiet_option
def demo(
    corpus: Path | None, text_field: str | None, out: Path | None, open_page: bool, force: bool, quiet: bool
) -> None:
    """Train, then show neighbours, topics and a map: no download.

    The text is the docstrings of Python, numpy, scipy and scikit-learn, found on this machine.
    """
    from spherevec.cli.tour import tour

    with nullcontext() if out is None else output(out, force):
        tour(corpus, quiet, out, open_page, text_field)
