"""`spherevec export`."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import Any

import click

from spherevec.cli.checks import load_model, output
from spherevec.cli.console import Console
from spherevec.cli.groups import option_group
from spherevec.cli.options import (
    PATH,
    LateChoice,
    force_option,
    given_settings,
    guard_option,
    model_argument,
    output_options,
)
from spherevec.errors import ConfigError


def _formats() -> list[str]:
    from spherevec.io import FORMATS

    return list(FORMATS)


@click.command()
@model_argument
@option_group(
    "files",
    given_settings,
    click.option("--words", type=PATH, metavar="F", help="Write the word vectors here."),
    click.option("--contexts", type=PATH, metavar="F", help="Write the context vectors here."),
    click.option("--docs", type=PATH, metavar="F", help="Write the document vectors here."),
)
@click.option("--format", "format_name", type=LateChoice(_formats), help="Default: by the ending, otherwise word2vec.")
@guard_option
@force_option
@output_options
def export(
    folder: Path,
    files: dict[str, Path],
    format_name: str | None,
    guard_formulas: bool,
    force: bool,
    console: Console,
) -> None:
    """Write vectors for other programs."""
    from spherevec.io import export_model

    formats = _chosen_formats(files, format_name)
    if guard_formulas and set(formats.values()) != {"projector"}:
        raise click.UsageError("--guard-formulas is for the TSV files of --format projector")
    written: list[dict[str, Any]] = []
    with ExitStack() as stack:
        for path in files.values():
            stack.enter_context(output(path, force))
        model = load_model(folder)
        for name in files:
            if getattr(model, name) is None:
                raise ConfigError(f"{folder}: has no {name}; leave out --{name}")
        for name, path in files.items():
            notes = export_model(model, name, path, formats[name], overwrite=force, guard_formulas=guard_formulas)
            count = len(getattr(model, name))
            written.append({"file": str(path), "vectors": name, "count": count, "format": formats[name]})
            for note in (f"{path}: {count:,} {name} as {formats[name]}", *notes):
                console.tell(note)
    console.result(written, lambda: None)


def _chosen_formats(files: dict[str, Path], format_name: str | None) -> dict[str, str]:
    """The format of each file, by name or ending; what cannot be written is refused."""
    if not files:
        raise click.UsageError("nothing to export: give --words, --contexts or --docs and a file name")
    if len(set(files.values())) < len(files):
        raise click.UsageError("--words, --contexts and --docs need a file name each")
    if Path("-") in files.values():
        raise click.UsageError("vectors are written to files, not to standard output; give a file name")
    from spherevec.io import format_of

    formats = {name: format_name or format_of(path) for name, path in files.items()}
    for name, path in files.items():
        if formats[name] is None:
            hint = "write .parquet or .npy, or name the --format of the file"
            raise click.UsageError(f"{path}: vectors are not written as {path.suffix}; {hint}")
    return {name: format_ for name, format_ in formats.items() if format_ is not None}
