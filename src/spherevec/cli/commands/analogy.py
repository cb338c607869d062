"""`spherevec analogy`."""

from __future__ import annotations

from pathlib import Path

import click

from spherevec.cli import display
from spherevec.cli.checks import load_model
from spherevec.cli.console import Console
from spherevec.cli.options import model_argument, output_options, top_option


@click.command()
@model_argument
@click.argument("a")
@click.argument("b")
@click.argument("c")
@top_option
@output_options
def analogy(folder: Path, a: str, b: str, c: str, top: int, console: Console) -> None:
    """A is to B as C is to … what?"""
    answers = load_model(folder).words.analogy(a, b, c, topn=top)
    display.print_neighbors([display.Neighbors(f"{a} : {b} = {c} : ?", answers)], console)
