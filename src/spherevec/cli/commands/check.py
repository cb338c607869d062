"""`spherevec check`."""

from __future__ import annotations

from pathlib import Path

import click

from spherevec.cli import display
from spherevec.cli.console import Console
from spherevec.cli.options import model_argument, output_options


@click.command()
@model_argument
@output_options
def check(folder: Path, console: Console) -> None:
    """Compare every byte of a model with its checksums.

    Also checks that every vector is finite and of length 1, and every name unique. The exit code is 2 if anything is
    wrong.
    """
    from spherevec.model import Model

    model = Model.load(folder, verify=True)
    line = f"{folder}: sound: {display.summary(model)}; all checksums agree, all vectors are of length 1"
    console.result({"model": str(folder), "sound": True}, lambda: display.echo(line))
