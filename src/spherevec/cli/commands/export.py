"""`spherevec export`."""

from __future__ import annotations

from pathlib import Path

import click

from spherevec.cli import display
from spherevec.cli.checks import check_free, load_model
from spherevec.cli.options import PATH, LateChoice, force_option, model_argument
from spherevec.errors import ConfigError

_BY_ENDING = {".parquet": "parquet", ".npy": "npy", ".bin": "word2vec-bin"}


def _formats() -> list[str]:
    from spherevec.io import FORMATS

    return list(FORMATS)


@click.command()
@model_argument
@click.option("--words", type=PATH, metavar="F", help="Write the word vectors here.")
@click.option("--contexts", type=PATH, metavar="F", help="Write the context vectors here.")
@click.option("--docs", type=PATH, metavar="F", help="Write the document vectors here.")
@click.option("--format", "format_name", type=LateChoice(_formats), help="Default: by the ending, otherwise word2vec.")
@force_option
def export(
    folder: Path, words: Path | None, contexts: Path | None, docs: Path | None, format_name: str | None, force: bool
) -> None:
    """Write vectors for other programs."""
    from spherevec.io import export_vectors

    asked = {name: path for name, path in (("words", words), ("contexts", contexts), ("docs", docs)) if path}
    if not asked:
        raise click.UsageError("nothing to export: give --words, --contexts or --docs and a file name")
    if len(set(asked.values())) < len(asked):
        raise click.UsageError("--words, --contexts and --docs need a file name each")
    for path in asked.values():
        if path == Path("-"):
            raise click.UsageError("vectors are written to files, not to standard output; give a file name")
        check_free(path, force)
    model = load_model(folder)
    for name in asked:
        if getattr(model, name) is None:
            raise ConfigError(f"{folder}: has no {name}; leave out --{name}")
    for name, path in asked.items():
        chosen = format_name or _BY_ENDING.get(path.suffix.lower(), "word2vec")
        export_vectors(getattr(model, name), path, chosen, overwrite=force, tokenizer=model.tokenizer)
        display.tell(f"{path}: {len(getattr(model, name)):,} {name} as {chosen}")
