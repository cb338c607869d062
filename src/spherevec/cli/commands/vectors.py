"""`spherevec infer`, `spherevec export` and `spherevec import`: vectors in files."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from spherevec.cli import display, options
from spherevec.cli.display import Console
from spherevec.cli.options import PATH, force_option, option_group
from spherevec.cli.outputs import ModelOutput, load_model, outputs
from spherevec.corpus.read.options import ReadOptions
from spherevec.errors import ConfigError
from spherevec.io import FORMATS, export_model, format_of, import_vectors

if TYPE_CHECKING:
    from spherevec.corpus.count.summary import CorpusSummary


@dataclass(frozen=True)
class _Files:
    """What is written: vectors, and ids where they are asked for."""

    out: Path
    ids_file: Path | None
    force: bool


@click.command()
@options.model_argument
@options.corpus_argument
@option_group(
    "files",
    _Files,
    click.option("--out", required=True, type=PATH, metavar="VECTORS.npy", help="File to write the vectors to."),
    click.option("--ids", "ids_file", type=PATH, metavar="FILE", help="File to write the ids to, one per line."),
    force_option,
)
@option_group(
    "fitting",
    dict,
    options.tokenizer_option,
    options.threads_option,
    options.device_option,
    click.option("--subwords", is_flag=True, help="Replace unknown words by known words of similar spelling."),
)
@options.reading_options
@options.ray_options
@options.output_options
def infer(
    folder: Path,
    corpus: tuple[Path, ...],
    files: _Files,
    fitting: dict[str, Any],
    reading: ReadOptions,
    ray: dict[str, Any],
    console: Console,
) -> None:
    """Compute vectors for documents that the model has never seen.

    CORPUS is what `train` takes. The vectors are the rows of a NumPy file, in the order of the documents. Those of up
    to 100 short documents are computed without compiled code and may differ from those of many in the last bits.
    """
    with outputs(files.force, files.out, files.ids_file):
        if ray:
            from spherevec.distributed.inference import InferenceJob, infer_files
            from spherevec.model.inference import InferenceOptions

            job = InferenceJob(str(folder.absolute()), InferenceOptions(**fitting), reading)
            machines = {"ray": ray["ray"], "workers": ray["workers"]}
            rows, summary = infer_files(
                job, corpus, files.out, ids_file=files.ids_file, overwrite=files.force, **machines
            )
        else:
            rows, summary = _infer(folder, corpus, files, fitting, reading)
    console.summary(summary)
    console.written(f"{files.out}: {rows:,} document{'s' * (rows != 1)}", {"file": str(files.out), "documents": rows})


def _infer(
    folder: Path, corpus: tuple[Path, ...], files: _Files, fitting: dict[str, Any], reading: ReadOptions
) -> tuple[int, CorpusSummary]:
    import tempfile

    from spherevec.corpus.read.readers import open_source
    from spherevec.io.binary import write_ids
    from spherevec.model.documents import DocumentTable
    from spherevec.model.inference import InferenceCounts, InferenceOptions, infer_batches
    from spherevec.storage.tensors import write_rows

    model = load_model(folder)
    counts = InferenceCounts()
    with tempfile.TemporaryDirectory() as temporary:
        place = Path(temporary)
        source = open_source(list(corpus), reading, records_in=place if files.ids_file else None)

        def blocks() -> Iterator[Any]:
            for block in infer_batches(model, source.all(), InferenceOptions(**fitting, quick=True)):
                counts.add(block)
                yield block.vectors
            # Ids that cannot be written leave no vectors without them.
            if files.ids_file is not None and source.records is not None:
                with source.records as records:
                    records.write(place / "table")
                ids = DocumentTable.open(place / "table", memory_map=False).ids
                write_ids(files.ids_file, ids, overwrite=files.force)

        rows = write_rows(files.out, blocks(), model.vector_size, overwrite=files.force)
    return rows, counts.summary(source.notes)


@click.command()
@options.model_argument
@option_group(
    "files",
    options.given_settings,
    click.option("--words", type=PATH, metavar="F", help="Write the word vectors here."),
    click.option("--contexts", type=PATH, metavar="F", help="Write the context vectors here."),
    click.option("--docs", type=PATH, metavar="F", help="Write the document vectors here."),
)
@click.option("--format", "format_name", type=click.Choice(list(FORMATS)), help="Default: by the ending, or word2vec.")
@options.guard_option
@force_option
@options.output_options
def export(
    folder: Path,
    files: dict[str, Path],
    format_name: str | None,
    guard_formulas: bool,
    force: bool,
    console: Console,
) -> None:
    """Write vectors for other programs."""
    formats = _chosen_formats(files, format_name)
    if guard_formulas and set(formats.values()) != {"projector"}:
        raise click.UsageError("--guard-formulas is for the TSV files of --format projector")
    written: list[dict[str, Any]] = []
    with outputs(force, *files.values()):
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
    formats: dict[str, str] = {}
    for name, path in files.items():
        found = format_name or format_of(path)
        if found is None:
            hint = "write .parquet or .npy, or name the --format of the file"
            raise click.UsageError(f"{path}: vectors are not written as {path.suffix}; {hint}")
        formats[name] = found
    return formats


@click.command("import")
@click.argument("file", type=PATH)
@option_group(
    "output",
    ModelOutput,
    click.option("--out", required=True, type=PATH, metavar="MODEL", help="Folder to write the model to."),
    force_option,
)
@click.option("--docs", type=PATH, metavar="FILE", help="Document vectors that belong to the words, same format.")
@click.option(
    "--format",
    "format_",
    type=click.Choice([name for name, format_ in FORMATS.items() if format_.read is not None]),
    help="Format of the files; detected when not given.",
)
@options.output_options
def import_(file: Path, output: ModelOutput, docs: Path | None, format_: str | None, console: Console) -> None:
    """Make a model from vectors of another program.

    FILE holds word vectors as word2vec text or binary, GloVe text, a fastText .vec file or the output of the authors'
    program (jose), plain or compressed with gzip.
    """
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
