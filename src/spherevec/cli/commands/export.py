"""`spherevec export`."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path

import click

from spherevec.cli import display
from spherevec.cli.checks import load_model, output
from spherevec.cli.options import PATH, LateChoice, force_option, guard_option, model_argument
from spherevec.errors import ConfigError

_BY_ENDING = {".parquet": "parquet", ".npy": "npy", ".bin": "word2vec-bin"}
_NOT_WRITTEN = (".csv", ".tsv", ".json", ".jsonl", ".xlsx", ".arrow", ".feather", ".npz", ".pkl", ".h5")


def _formats() -> list[str]:
    from spherevec.io import FORMATS

    return list(FORMATS)


@click.command()
@model_argument
@click.option("--words", type=PATH, metavar="F", help="Write the word vectors here.")
@click.option("--contexts", type=PATH, metavar="F", help="Write the context vectors here.")
@click.option("--docs", type=PATH, metavar="F", help="Write the document vectors here.")
@click.option("--format", "format_name", type=LateChoice(_formats), help="Default: by the ending, otherwise word2vec.")
@guard_option
@force_option
def export(
    folder: Path,
    words: Path | None,
    contexts: Path | None,
    docs: Path | None,
    format_name: str | None,
    guard_formulas: bool,
    force: bool,
) -> None:
    """Write vectors for other programs."""
    from spherevec.io import FORMATS, export_vectors

    asked = {name: path for name, path in (("words", words), ("contexts", contexts), ("docs", docs)) if path}
    if not asked:
        raise click.UsageError("nothing to export: give --words, --contexts or --docs and a file name")
    if len(set(asked.values())) < len(asked):
        raise click.UsageError("--words, --contexts and --docs need a file name each")
    if Path("-") in asked.values():
        raise click.UsageError("vectors are written to files, not to standard output; give a file name")
    for path in asked.values():
        if format_name is None and path.suffix.lower() in _NOT_WRITTEN:
            hint = "write .parquet or .npy, or name the --format of the file"
            raise click.UsageError(f"{path}: vectors are not written as {path.suffix}; {hint}")
    formats = {name: format_name or _BY_ENDING.get(path.suffix.lower(), "word2vec") for name, path in asked.items()}
    if guard_formulas and set(formats.values()) != {"projector"}:
        raise click.UsageError("--guard-formulas is for the TSV files of --format projector")
    with ExitStack() as stack:
        for path in asked.values():
            stack.enter_context(output(path, force))
        model = load_model(folder)
        for name in asked:
            if getattr(model, name) is None:
                raise ConfigError(f"{folder}: has no {name}; leave out --{name}")
        for name, path in asked.items():
            vectors, table = getattr(model, name), model.documents if name == "docs" else None
            export_vectors(
                vectors,
                path,
                formats[name],
                overwrite=force,
                tokenizer=model.tokenizer,
                guard_formulas=guard_formulas,
                underscores=name != "docs",
                title=table.title if table is not None and table.titled else None,
            )
            display.tell(f"{path}: {len(vectors):,} {name} as {formats[name]}")
            if name != "docs" and not FORMATS[formats[name]].spaces and any(" " in key for key in vectors.index_to_key):
                display.tell("phrases are written with _ for their spaces, since the format takes none")
