"""`spherevec demo`."""

from __future__ import annotations

from pathlib import Path

import click

from spherevec.cli.options import PATH, quiet_option


@click.command()
@click.option("--corpus", type=PATH, help="Tour your own text instead: one document a line, or a folder of files.")
@quiet_option
def demo(corpus: Path | None, quiet: bool) -> None:
    """Train, then show neighbours and clusters: no download.

    The text is the docstrings of Python, numpy, scipy and scikit-learn, found on this machine.
    """
    from spherevec.cli.tour import tour

    tour(corpus, quiet)
