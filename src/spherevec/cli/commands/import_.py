"""`spherevec import`."""

from __future__ import annotations

from pathlib import Path

import click

from spherevec.cli import display
from spherevec.cli.console import Console
from spherevec.cli.groups import option_group
from spherevec.cli.model_output import ModelOutput
from spherevec.cli.options import PATH, LateChoice, force_option, output_options


def _readable() -> list[str]:
    from spherevec.io import FORMATS

    return [name for name, format_ in FORMATS.items() if format_.read is not None]


@click.command("import")
@click.argument("file", type=PATH)
@option_group(
    "output",
    ModelOutput,
    click.option("--out", required=True, type=PATH, metavar="MODEL", help="Folder to write the model to."),
    force_option,
)
@click.option("--docs", type=PATH, metavar="FILE", help="Document vectors that belong to the words, same format.")
@click.option("--format", "format_", type=LateChoice(_readable), help="Format of the files; detected when not given.")
@output_options
def import_(file: Path, output: ModelOutput, docs: Path | None, format_: str | None, console: Console) -> None:
    """Make a model from vectors of another program.

    FILE holds word vectors as word2vec text or binary, GloVe text, a fastText .vec file or the output of the authors'
    program (jose), plain or compressed with gzip.
    """
    from spherevec.io import import_vectors
    from spherevec.model import Model

    output.check()
    with output.owned():
        output.check()
        words, changes = import_vectors(file, format_)
        notes, documents = [str(changes)], None
        if docs is not None:
            documents, changes = import_vectors(docs, format_)
            notes.append(f"documents: {changes}")
        model = Model(words, docs=documents, provenance={"imported_from": file.name})
        model.save(output.out, overwrite=output.force)
    console.written(f"{output.out}: {display.summary(model)}; {'; '.join(notes)}", model.describe())
