"""`spherevec info`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from spherevec.cli import display
from spherevec.cli.checks import load_model
from spherevec.cli.console import Console
from spherevec.cli.options import model_argument, output_options

_HEADS = {"mean_resultant_length": "anisotropy", "tokens_per_second": "tokens/s"}


@click.command()
@model_argument
@output_options
def info(folder: Path, console: Console) -> None:
    """Show what a model holds and how it was trained."""
    about = load_model(folder).describe()
    console.result(about, lambda: _print(about))


def _print(about: Mapping[str, Any]) -> None:
    plain = {name: value for name, value in about.items() if not isinstance(value, dict | list) and value is not None}
    plain["trained"] = "no, imported" if about["config"] is None else "yes"
    if about.get("fields"):
        plain["fields"] = ", ".join(f"{name} ({kind})" for name, kind in about["fields"].items())
    others = {name: value for name, value in about["provenance"].items() if not isinstance(value, dict | list)}
    _print_section("", plain | others)
    read = about["provenance"].get("summary")
    if isinstance(read, dict):
        from spherevec.corpus.count.summary import CorpusSummary

        display.echo()
        display.echo("what was read")
        for line in str(CorpusSummary.from_dict(read)).splitlines():
            display.echo(f"  {line}")
    _print_section("settings", about["config"] or {})
    _print_section("learned parameters", about["parameters"])
    if about["record"]:
        _print_record(about["record"])
    display.echo()
    display.echo("files: sizes and sampled checksums agree; 'spherevec check' compares every byte")


def _print_section(title: str, values: Mapping[str, Any]) -> None:
    if not values:
        return
    if title:
        display.echo()
        display.echo(title)
    display.print_columns([(f"  {name}" if title else name, _figure(value)) for name, value in values.items()])


def _print_record(record: Sequence[Mapping[str, Any]]) -> None:
    """One line for each epoch."""
    from spherevec.engine.figures import REPORTED

    hidden = {figure.name for figure in REPORTED if figure.shown is None}
    columns = [name for name in record[0] if name not in hidden]
    rows = [[_figure(row[name]) for name in columns] for row in record]
    display.echo()
    display.echo("training record")
    display.print_columns([[_HEADS.get(name, name) for name in columns], *rows])
    display.echo("loss falls while training helps; anisotropy is 0 where words point everywhere, 1 where all agree")


def _figure(value: Any) -> str:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return str(value)
    return f"{value:,}" if isinstance(value, int) else f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"
