"""`spherevec import`."""

from __future__ import annotations

from pathlib import Path

import click

from spherevec.cli import display
from spherevec.cli.checks import check_model_folder
from spherevec.cli.options import PATH, LateChoice, force_option


def _readable() -> list[str]:
    from spherevec.io import FORMATS

    return [name for name, format_ in FORMATS.items() if format_.read is not None]


@click.command("import")
@click.argument("file", type=PATH)
@click.option("--out", required=True, type=PATH, metavar="MODEL", help="Folder to write the model to.")
@click.option("--docs", type=PATH, metavar="FILE", help="Document vectors that belong to the words, same format.")
@click.option("--format", "format_", type=LateChoice(_readable), help="Format of the files; found out when not given.")
@force_option
def import_(file: Path, out: Path, docs: Path | None, format_: str | None, force: bool) -> None:
    """Make a model of vectors from elsewhere.

    FILE holds word vectors as word2vec text or binary, GloVe text, a fastText .vec file or the output of the authors'
    program (jose), plain or packed with gzip.
    """
    from spherevec.io import import_vectors
    from spherevec.model import Model
    from spherevec.storage.locks import owned

    check_model_folder(out, force)
    with owned(out, run=True):
        check_model_folder(out, force)
        words, changes = import_vectors(file, format_)
        notes, documents = [str(changes)], None
        if docs is not None:
            documents, changes = import_vectors(docs, format_)
            notes.append(f"documents: {changes}")
        model = Model(words, docs=documents, provenance={"imported_from": file.name})
        model.save(out, overwrite=force)
    display.tell(f"{out}: {display.summary(model)}; {'; '.join(notes)}")
