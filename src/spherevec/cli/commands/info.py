"""`spherevec info`."""

from __future__ import annotations

from pathlib import Path

import click

from spherevec.cli import display
from spherevec.cli.checks import load_model
from spherevec.cli.options import json_option, model_argument


@click.command()
@model_argument
@json_option
def info(folder: Path, as_json: bool) -> None:
    """What a model holds and how it was trained."""
    display.print_info(load_model(folder).describe(), as_json)
    if not as_json:
        display.echo()
        display.echo("files: sizes and sampled checksums agree; 'spherevec check' compares every byte")
