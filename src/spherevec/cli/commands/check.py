"""`spherevec check`."""

from __future__ import annotations

from pathlib import Path

import click

from spherevec.cli import display
from spherevec.cli.options import json_option, model_argument


@click.command()
@model_argument
@json_option
def check(folder: Path, as_json: bool) -> None:
    """Compare every byte of a model with its checksums.

    Also checks that every vector is finite and of length 1, and every name unique. The exit code is 2 where anything
    is wrong.
    """
    from spherevec.model import Model

    model = Model.load(folder, verify=True)
    if as_json:
        display.print_json({"model": str(folder), "sound": True})
    else:
        display.echo(f"{folder}: sound: {display.summary(model)}; all checksums agree, all vectors are of length 1")
