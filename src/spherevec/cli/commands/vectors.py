"""`spherevec infer`, `spherevec export` and `spherevec import`: vectors in files."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from spherevec.cli import display, options
from spherevec.cli.display import Console
from spherevec.cli.options import choice, flag, force_option, option_group, path_option
from spherevec.cli.outputs import load_model, outputs
from spherevec.corpus.read.options import ReadOptions
from spherevec.errors import ConfigError
from spherevec.io import FORMATS, export_model, format_of, import_vectors, labels_path
from spherevec.terminal import number_of

if TYPE_CHECKING:
    from spherevec.corpus.count.summary import CorpusSummary
    from spherevec.model import Model
    from spherevec.model.inference import InferenceOptions


@click.command()
@options.model_argument
@options.corpus_argument
@path_option("--out", required=True, metavar="VECTORS.npy", help="File to write the vectors to.")
@path_option("--ids", "ids_file", metavar="FILE", help="File to write the ids to, one per line.")
@force_option
@option_group(
    "fitting",
    dict,
    options.tokenizer_option,
    options.threads_option,
    options.device_option,
    flag("--subwords", help="Replace unknown words by known words of similar spelling."),
)
@options.reading_options
@options.ray_options
@options.output_options
def infer(
    folder: Path,
    corpus: tuple[Path, ...],
    out: Path,
    ids_file: Path | None,
    force: bool,
    fitting: dict[str, Any],
    reading: ReadOptions,
    ray: dict[str, Any],
    console: Console,
) -> None:
    """Compute vectors for documents that the model has never seen.

    CORPUS is what `train` takes. The vectors are the rows of a NumPy file, in the order of the documents. Those of up
    to 100 short documents are computed without compiled code and may differ from those of many in the last bits.
    """
    from spherevec.model.inference import InferenceOptions

    with outputs(force, out, ids_file):
        if ray:
            from spherevec.distributed.inference import InferenceJob, infer_files

            job = InferenceJob(str(folder.absolute()), InferenceOptions(**fitting), reading)
            machines = {"ray": ray["ray"], "workers": ray["workers"]}
            rows, summary = infer_files(job, corpus, out, ids_file=ids_file, overwrite=force, **machines)
        else:
            how = InferenceOptions(**fitting, quick=True)
            rows, summary = _infer(load_model(folder), how, (corpus, reading), out, ids_file, force)
    console.summary(summary)
    console.written(f"{out}: {number_of(rows, 'document')}", {"file": str(out), "documents": rows})


def _infer(
    model: Model,
    how: InferenceOptions,
    read: tuple[Sequence[Path], ReadOptions],
    out: Path,
    ids_file: Path | None,
    overwrite: bool,
) -> tuple[int, CorpusSummary]:
    import tempfile

    from spherevec.corpus.read.readers import open_source
    from spherevec.io.binary import write_ids
    from spherevec.model.documents import DocumentTable
    from spherevec.model.inference import infer_batches, reading_for, summary_of
    from spherevec.storage.tensors import write_rows

    counts: list[CorpusSummary] = []
    with tempfile.TemporaryDirectory() as temporary:
        place = Path(temporary)
        reading = reading_for(model, read[1], with_ids=ids_file is not None)
        source = open_source(list(read[0]), reading, records_in=place if ids_file else None)

        def blocks() -> Iterator[Any]:
            for block in infer_batches(model, source.all(), how):
                counts.append(block.summary)
                yield block.vectors
            # Ids that cannot be written leave no vectors without them.
            if ids_file is not None and source.records is not None:
                with source.records as records:
                    records.write(place / "table")
                write_ids(ids_file, DocumentTable.open(place / "table", memory_map=False).ids, overwrite=overwrite)

        rows = write_rows(out, blocks(), model.vector_size, overwrite=overwrite)
    return rows, summary_of(counts, source.notes)


@click.command()
@options.model_argument
@option_group(
    "files",
    options.given_settings,
    path_option("--words", metavar="F", help="Write the word vectors here."),
    path_option("--contexts", metavar="F", help="Write the context vectors here."),
    path_option("--docs", metavar="F", help="Write the document vectors here."),
)
@choice("--format", FORMATS, help="Default: by the ending, or word2vec.")
@options.guard_option
@force_option
@options.output_options
def export(
    folder: Path, files: dict[str, Path], format: str | None, guard_formulas: bool, force: bool, console: Console
) -> None:
    """Write vectors for other programs."""
    if not files:
        raise click.UsageError("nothing to export: give --words, --contexts or --docs and a file name")
    if len(set(files.values())) < len(files):
        raise click.UsageError("--words, --contexts and --docs need a file name each")
    if Path("-") in files.values():
        raise click.UsageError("vectors are written to files, not to standard output; give a file name")
    formats = {name: format or format_of(path) for name, path in files.items()}
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
            beside = {"labels": str(labels_path(path, formats[name]))} if FORMATS[formats[name]].labels else {}
            written.append({"file": str(path), "vectors": name, "count": count, "format": formats[name], **beside})
            names = "".join(f", their names in {labels}" for labels in beside.values())
            for note in (f"{path}: {count:,} {name} as {formats[name]}{names}", *notes):
                console.tell(note)
    console.result(written, lambda: None)


@click.command("import")
@click.argument("file", type=options.PATH)
@path_option("--out", required=True, metavar="MODEL", help="Folder to write the model to.")
@force_option
@path_option("--docs", metavar="FILE", help="Document vectors that belong to the words, same format.")
@choice(
    "--format",
    [name for name, one in FORMATS.items() if one.read is not None],
    help="Format of the files; detected when not given.",
)
@options.output_options
def import_(file: Path, out: Path, force: bool, docs: Path | None, format: str | None, console: Console) -> None:
    """Make a model from vectors of another program.

    FILE holds word vectors as word2vec text or binary, GloVe text, a fastText .vec file or the output of the authors'
    program (jose), plain or compressed with gzip.
    """
    from spherevec.model import Model

    with outputs(force, out):
        words, changes = import_vectors(file, format)
        notes, documents = [str(changes)], None
        if docs is not None:
            documents, changes = import_vectors(docs, format)
            notes.append(f"documents: {changes}")
        model = Model(words, docs=documents, provenance={"imported_from": file.name})
        model.save(out, overwrite=force)
    console.written(f"{out}: {display.summary(model)}; {'; '.join(notes)}", model.describe())
