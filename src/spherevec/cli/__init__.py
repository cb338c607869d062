"""The command line: each command parses, calls and prints.

Results go to standard output, progress and chatter to standard error.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

from spherevec.cli import display
from spherevec.cli.checks import (
    check_checkpoint_folder,
    check_free,
    check_model_folder,
    document_position,
    documents_of,
    labelled_set,
    load_model,
)
from spherevec.cli.exit import exit_code_of, tidy_termination
from spherevec.cli.options import LateChoice, given_settings, training_settings
from spherevec.config import RECIPES
from spherevec.errors import ConfigError

_CLUSTER_RUNS = 5

_path = click.Path(path_type=Path)
_model = click.argument("folder", metavar="MODEL", type=_path)
_top = click.option("--top", type=click.IntRange(1), default=10, show_default=True, help="How many answers.")
_json = click.option("--json", "as_json", is_flag=True, help="Print JSON for programs.")
_quiet = click.option("--quiet", is_flag=True, help="No progress, only results and errors.")
_force = click.option("--force", is_flag=True, help="Replace what is there.")


def _formats() -> list[str]:
    from spherevec.io import FORMATS

    return list(FORMATS)


def _readable() -> list[str]:
    from spherevec.io import FORMATS

    return [name for name, format_ in FORMATS.items() if format_.read is not None]


@click.group(invoke_without_command=True, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="spherevec")
@click.pass_context
def cli(context: click.Context) -> None:
    """Word and document vectors from your own text, learned together on the unit sphere."""
    if context.invoked_subcommand is None:
        click.echo(context.get_help())


@cli.command()
@click.option("--corpus", type=_path, help="Tour your own text instead: one document a line, or a folder of files.")
@_quiet
def demo(corpus: Path | None, quiet: bool) -> None:
    """Train, then show neighbours and clusters: no download.

    The text is the docstrings of Python, numpy, scipy and scikit-learn, found on this machine.
    """
    from spherevec.demo.tour import tour

    tour(corpus, quiet)


@cli.command()
@click.argument("corpus", type=_path)
@click.option("--out", required=True, type=_path, metavar="MODEL", help="Folder to write the model to.")
@click.option(
    "--recipe",
    type=click.Choice(list(RECIPES)),
    default="default",
    show_default=True,
    help="Settings to start from; those you give below win.",
)
@training_settings
@click.option("--pretokenized", is_flag=True, help="The text is already split: words are what stands between spaces.")
@click.option("--text-field", metavar="NAME", help="Column of a .jsonl, .csv or .parquet file that holds the text.")
@click.option("--encoding", default="utf-8", show_default=True, help="How the text is written as bytes.")
@click.option(
    "--checkpoint-every",
    metavar="TIME|EPOCHS|off",
    default="10m",
    show_default=True,
    help="How often to save the unfinished run, beside MODEL: 90s, 10m, 2h, or 2e for every second epoch.",
)
@click.option("--resume", is_flag=True, help="Go on with a run that was interrupted: the same text and settings again.")
@_force
@_quiet
@_json
def train(
    corpus: Path,
    out: Path,
    recipe: str,
    pretokenized: bool,
    text_field: str | None,
    encoding: str,
    checkpoint_every: str,
    resume: bool,
    force: bool,
    quiet: bool,
    as_json: bool,
    **settings: Any,
) -> None:
    """Learn vectors from text.

    CORPUS is a text file with one document a line, a folder of text files, or a .jsonl, .csv or .parquet file; any
    but the last may be compressed (.gz, .xz, .zst).
    """
    from spherevec.training import checkpoint
    from spherevec.training import train as learn

    check_model_folder(out, force)
    unfinished = check_checkpoint_folder(out, resume, force, quiet)
    beside = out.absolute().parent  # the folder for temporary files may be small, or in memory
    beside.mkdir(parents=True, exist_ok=True)
    with display.progress_display(quiet) as progress, tidy_termination():
        model = learn(
            corpus,
            recipe=recipe,
            tokenizer="whitespace" if pretokenized else "words",
            text_field=text_field,
            encoding=encoding,
            workdir=beside,
            progress=progress,
            checkpoint=unfinished,
            checkpoint_every=checkpoint_every,
            resume=resume,
            **given_settings(settings),
        )
        model.save(out, overwrite=force)
        checkpoint.remove(unfinished)
    if not quiet:
        display.tell(f"{out}: {display.summary(model)}")
    if as_json:
        display.print_json(model.describe())


@cli.command()
@_model
@click.argument("corpus", type=_path)
@click.option("--out", required=True, type=_path, metavar="VECTORS.npy", help="File to write the vectors to.")
@click.option("--pretokenized", is_flag=True, help="The text is already split: words are what stands between spaces.")
@click.option("--text-field", metavar="NAME", help="Column of a .jsonl, .csv or .parquet file that holds the text.")
@click.option("--encoding", default="utf-8", show_default=True, help="How the text is written as bytes.")
@click.option("--threads", type=click.IntRange(0, 1024), metavar="N", default=0, help="Threads. Default: all cores.")
@click.option("--device", type=click.Choice(["cpu", "cuda"]), default="cpu", show_default=True, help="Where to fit.")
@_force
def infer(
    folder: Path,
    corpus: Path,
    out: Path,
    pretokenized: bool,
    text_field: str | None,
    encoding: str,
    threads: int,
    device: str,
    force: bool,
) -> None:
    """Vectors for documents that the model has never seen.

    CORPUS is what `train` takes. The vectors are the rows of a NumPy file, in the order of the documents.
    """
    check_free(out, force)
    model = load_model(folder)

    from spherevec.corpus import read_documents
    from spherevec.model.inference import infer_batches
    from spherevec.storage.npy_rows import write_rows

    known = unknown = 0

    def blocks() -> Iterator[Any]:
        nonlocal known, unknown
        texts = read_documents(corpus, text_field=text_field, encoding=encoding)
        tokenizer = "whitespace" if pretokenized else None
        for block in infer_batches(model, texts, threads=threads, device=device, tokenizer=tokenizer):
            known += int(block.known.sum())
            unknown += int(block.unknown.sum())
            yield block.vectors

    rows = write_rows(out, blocks(), model.vector_size, overwrite=force)
    display.tell(f"{out}: {rows:,} documents; {unknown / max(known + unknown, 1):.1%} of their words are unknown")


@cli.command()
@_model
@click.argument("words", metavar="WORD...", nargs=-1)
@click.option("--doc", "documents", metavar="ID", multiple=True, help="Documents like this one: its name or number.")
@_top
@_json
def neighbors(folder: Path, words: tuple[str, ...], documents: tuple[str, ...], top: int, as_json: bool) -> None:
    """Nearest words, or documents, with their cosines.

    One list for each WORD: the words nearest to it. One list for each --doc: the documents nearest to it.
    """
    if not words and not documents:
        raise click.UsageError("give a word, or a document with --doc")
    model = load_model(folder)
    queries = [(word, model.words, model.words.position(word)) for word in words]
    for identifier in documents:
        docs = documents_of(model, folder)
        queries.append((identifier, docs, document_position(docs, identifier)))
    answers = [(query, table.most_similar(row, topn=top)) for query, table, row in queries]
    display.print_neighbors(answers, as_json)


@cli.command()
@_model
@click.argument("a")
@click.argument("b")
@click.argument("c")
@_top
@_json
def analogy(folder: Path, a: str, b: str, c: str, top: int, as_json: bool) -> None:
    """A is to B as C is to … what?"""
    answers = load_model(folder).words.analogy(a, b, c, topn=top)
    display.print_neighbors([(f"{a} : {b} = {c} : ?", answers)], as_json)


@cli.command()
@_model
@click.option("--k", type=click.IntRange(1), default=20, show_default=True, help="How many clusters.")
@click.option("--out", required=True, type=_path, metavar="LABELS.txt", help="File for one cluster number a document.")
@click.option(
    "--method",
    type=click.Choice(["skmeans", "kmeans", "movmf"]),
    default="skmeans",
    show_default=True,
    help="Spherical k-means, plain k-means, or a mixture of von Mises-Fisher distributions.",
)
@_force
@_json
def cluster(folder: Path, k: int, out: Path, method: str, force: bool, as_json: bool) -> None:
    """Cluster the documents and name the clusters.

    Prints the size of each cluster and the words nearest to its centre.
    """
    check_free(out, force)
    model = load_model(folder)
    docs = documents_of(model, folder)
    if k > len(docs):
        raise ConfigError(f"--k {k} is more than the {len(docs)} documents of {folder}; ask for fewer clusters")

    import numpy as np

    from spherevec.clustering import name_clusters
    from spherevec.storage.files import atomic_file

    with atomic_file(out, overwrite=force) as file:
        found = _clusterer(method, k).fit(docs.vectors)
        file.write_text("".join(f"{label}\n" for label in found.labels_), encoding="ascii")
    names = name_clusters(found.cluster_centers_, model.inputs, distinctive=True)  # type: ignore[arg-type]
    display.print_clusters(np.bincount(found.labels_, minlength=k).tolist(), names, as_json)


@cli.command()
@click.argument("task", type=click.Choice(["similarity", "analogy", "clustering", "classification"]))
@_model
@click.option("--data", type=_path, metavar="DIR", help="Folder of the data sets. Default: $SPHEREVEC_DATA.")
@_json
def evaluate(task: str, folder: Path, data: Path | None, as_json: bool) -> None:
    """Measure a model against human judgement or classes.

    For clustering and classification the model must have been trained on the documents of a labelled data set, in
    the order of its file.
    """
    from spherevec import evaluation

    model = load_model(folder)
    if task == "similarity":
        display.print_similarity(
            [
                evaluation.evaluate_similarity(model.words, evaluation.load_similarity(name, data), name)  # type: ignore[arg-type]
                for name in evaluation.SIMILARITY_SETS
            ],
            as_json,
        )
    elif task == "analogy":
        sections = evaluation.load_analogies(data)
        words: Any = model.words
        added, multiplied = (evaluation.evaluate_analogies(words, sections, how) for how in ("3cosadd", "3cosmul"))
        display.print_analogies(added, multiplied, as_json)
    else:
        docs = documents_of(model, folder)
        texts = labelled_set(model, data)
        if task == "clustering":
            result: Any = evaluation.evaluate_clustering(docs.vectors, texts.labels)
        elif texts.split is not None:
            result = evaluation.given_split(docs.vectors, texts.labels, texts.split)
        else:
            result = evaluation.random_splits(docs.vectors, texts.labels)
        display.print_scores(texts.name, asdict(result), as_json)


@cli.command()
@_model
@click.option("--words", type=_path, metavar="F", help="Write the word vectors here.")
@click.option("--contexts", type=_path, metavar="F", help="Write the context vectors here.")
@click.option("--docs", type=_path, metavar="F", help="Write the document vectors here.")
@click.option("--format", "format_name", type=LateChoice(_formats), default="word2vec", help="Default: word2vec.")
@_force
def export(
    folder: Path, words: Path | None, contexts: Path | None, docs: Path | None, format_name: str, force: bool
) -> None:
    """Write vectors for other programs."""
    from spherevec.io import export_vectors

    asked = {name: path for name, path in (("words", words), ("contexts", contexts), ("docs", docs)) if path}
    if not asked:
        raise click.UsageError("nothing to export: give --words, --contexts or --docs and a file name")
    if len(set(asked.values())) < len(asked):
        raise click.UsageError("--words, --contexts and --docs need a file name each")
    for path in asked.values():
        check_free(path, force)
    model = load_model(folder)
    for name in asked:
        if getattr(model, name) is None:
            raise ConfigError(f"{folder}: has no {name}; leave out --{name}")
    for name, path in asked.items():
        export_vectors(getattr(model, name), path, format_name, overwrite=force, tokenizer=model.tokenizer)
        display.tell(f"{path}: {len(getattr(model, name)):,} {name}")


@cli.command("import")
@click.argument("file", type=_path)
@click.option("--out", required=True, type=_path, metavar="MODEL", help="Folder to write the model to.")
@click.option("--docs", type=_path, metavar="FILE", help="Document vectors that belong to the words, same format.")
@click.option("--format", "format_", type=LateChoice(_readable), help="Format of the files; found out when not given.")
@_force
def import_(file: Path, out: Path, docs: Path | None, format_: str | None, force: bool) -> None:
    """Make a model of vectors from elsewhere.

    FILE holds word vectors as word2vec text or binary, GloVe text, a fastText .vec file or the output of the authors'
    program (jose), plain or packed with gzip.
    """
    from spherevec.io import import_vectors
    from spherevec.model import Model

    check_model_folder(out, force)
    words, changes = import_vectors(file, format_)
    notes, documents = [str(changes)], None
    if docs is not None:
        documents, changes = import_vectors(docs, format_)
        notes.append(f"documents: {changes}")
    model = Model(words, docs=documents, provenance={"imported_from": file.name})
    model.save(out, overwrite=force)
    display.tell(f"{out}: {display.summary(model)}; {'; '.join(notes)}")


@cli.command()
@_model
@_json
def info(folder: Path, as_json: bool) -> None:
    """What a model holds and how it was trained."""
    display.print_info(load_model(folder).describe(), as_json)


def _clusterer(method: str, k: int) -> Any:
    if method == "kmeans":
        from sklearn.cluster import KMeans

        return KMeans(k, n_init=_CLUSTER_RUNS, random_state=1)
    from spherevec.clustering import SphericalKMeans, VonMisesFisherMixture

    if method == "movmf":
        return VonMisesFisherMixture(k, tied=True, n_init=_CLUSTER_RUNS, random_state=1)
    return SphericalKMeans(k, n_init=_CLUSTER_RUNS, random_state=1)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command and return the exit code."""

    def run() -> None:
        with cli.make_context("spherevec", list(sys.argv[1:] if arguments is None else arguments)) as context:
            cli.invoke(context)

    return exit_code_of(run)
