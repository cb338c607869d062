"""`spherevec analogy`."""

from __future__ import annotations

from pathlib import Path

import click

from spherevec.cli import display
from spherevec.cli.checks import load_model
from spherevec.cli.options import json_option, model_argument, top_option


@click.command()
@model_argument
@click.argument("a")
@click.argument("b")
@click.argument("c")
@top_option
@json_option
def analogy(folder: Path, a: str, b: str, c: str, top: int, as_json: bool) -> None:
    """A is to B as C is to … what?"""
    answers = load_model(folder).words.analogy(a, b, c, topn=top)
    display.print_neighbors([(f"{a} : {b} = {c} : ?", answers)], as_json)
