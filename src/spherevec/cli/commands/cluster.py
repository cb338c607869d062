"""`spherevec cluster`."""

from __future__ import annotations

from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from spherevec.cli import display
from spherevec.cli.checks import documents_of, load_model, output
from spherevec.cli.options import PATH, force_option, guard_option, json_option, model_argument
from spherevec.errors import ConfigError

if TYPE_CHECKING:
    from spherevec.model import Model

_CLUSTER_RUNS = 5


@click.command()
@model_argument
@click.option("--k", type=click.IntRange(1), default=20, show_default=True, help="How many clusters.")
@click.option(
    "--out",
    required=True,
    type=PATH,
    metavar="LABELS.txt",
    help="File for one cluster number a document; with ids and titles if it ends with .csv.",
)
@click.option(
    "--method",
    type=click.Choice(["skmeans", "kmeans", "movmf"]),
    default="skmeans",
    show_default=True,
    help="Spherical k-means, plain k-means, or a mixture of von Mises-Fisher distributions.",
)
@guard_option
@force_option
@json_option
def cluster(folder: Path, k: int, out: Path, method: str, guard_formulas: bool, force: bool, as_json: bool) -> None:
    """Cluster the documents and name the clusters.

    Prints the size of each cluster and the words nearest to its centre.
    """
    with output(out, force):
        model = load_model(folder)
        docs = documents_of(model, folder)
        if k > len(docs):
            raise ConfigError(f"--k {k} is more than the {len(docs)} documents of {folder}; ask for fewer clusters")

        import numpy as np

        from spherevec.clustering import name_clusters
        from spherevec.search.neighbors import check_finite
        from spherevec.storage.files import atomic_file

        check_finite(docs.vectors)
        found = _clusterer(method, k).fit(docs.vectors)
        with atomic_file(out, overwrite=force) as file:
            _write_labels(file, out.suffix.lower() == ".csv", found.labels_.tolist(), model, guard_formulas)
    names = name_clusters(found.cluster_centers_, model.inputs, distinctive=True)  # type: ignore[arg-type]
    display.print_clusters(np.bincount(found.labels_, minlength=k).tolist(), names, as_json)


def _write_labels(file: Path, as_table: bool, labels: list[int], model: Model, guard_formulas: bool) -> None:
    """One number a line, or a table of ids, titles and numbers."""
    if not as_table:
        file.write_text("".join(f"{label}\n" for label in labels), encoding="ascii")
        return
    from spherevec.storage.csv_file import write_csv

    table = model.documents
    assert table is not None
    rows = ((table.ids[row], table.title(row), label) for row, label in enumerate(labels))
    write_csv(file, chain([("id", "title", "cluster")], rows), guard_formulas=guard_formulas)


def _clusterer(method: str, k: int) -> Any:
    if method == "kmeans":
        from sklearn.cluster import KMeans

        return KMeans(k, n_init=_CLUSTER_RUNS, random_state=1)
    from spherevec.clustering import SphericalKMeans, VonMisesFisherMixture

    if method == "movmf":
        return VonMisesFisherMixture(k, tied=True, n_init=_CLUSTER_RUNS, random_state=1)
    return SphericalKMeans(k, n_init=_CLUSTER_RUNS, random_state=1)
