"""Spherical k-means against scikit-learn's KMeans: the same unit rows, seeds, runs and tolerance, turn by turn.

    python -m benchmarks.clustering [--repeats 5] [--json]

Both minimise nearly the same thing; `objective` is the spherical one (mean of 1 − cos to the nearest centre) for both,
so that a run which merely stops early shows.
"""

from __future__ import annotations

import time
from functools import partial
from statistics import median
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.cluster import KMeans
from threadpoolctl import threadpool_limits

from benchmarks.common import Report, command
from spherevec.clustering import SphericalKMeans, VonMisesFisherMixture
from spherevec.sphere import normalize

# The number of documents of 20 Newsgroups, and a large collection.
SIZES = ({"rows": 18_846, "clusters": 20}, {"rows": 200_000, "clusters": 50})
DIM = 100


def document_like_rows(n_rows: int, n_topics: int, seed: int = 1) -> NDArray[np.float32]:
    """Unit rows (n, DIM), float32: topics of three subtopics each, of unequal sizes, that run into one another."""
    random = np.random.default_rng(seed)
    topics = normalize(random.standard_normal((n_topics, DIM)))
    subtopics = normalize(np.repeat(topics, 3, axis=0) + 0.08 * random.standard_normal((3 * n_topics, DIM)))
    shares = random.dirichlet(np.full(len(subtopics), 2.0))
    rows = subtopics[random.choice(len(subtopics), n_rows, p=shares)]
    return normalize(rows + 0.15 * random.standard_normal((n_rows, DIM))).astype(np.float32)


def objective(rows: NDArray[np.float32], centers: NDArray[Any]) -> float:
    nearest = [(block @ normalize(centers).T).max(axis=1) for block in np.array_split(rows, 1 + len(rows) // 16_384)]
    return float(1 - np.concatenate(nearest).mean(dtype=np.float64))


def compare(rows: NDArray[np.float32], n_clusters: int, threads: int, repeats: int) -> dict[str, Any]:
    """Medians over `repeats` seeds, the two fitted one after the other with each seed, in changing order.

    With one thread, a busy machine disturbs the comparison least; `threads` 0 is all cores.
    """
    kinds = {"spherevec": partial(SphericalKMeans, n_jobs=threads or -1), "scikit-learn": KMeans}
    seconds: dict[str, list[float]] = {name: [] for name in kinds}
    objectives: dict[str, list[float]] = {name: [] for name in kinds}
    iterations: dict[str, list[int]] = {name: [] for name in kinds}
    for seed in range(repeats):
        for name in sorted(kinds, reverse=bool(seed % 2)):
            model = kinds[name](n_clusters, init="k-means++", n_init=1, tol=1e-4, random_state=seed)
            with threadpool_limits(threads or None):
                start = time.perf_counter()
                model.fit(rows)
                seconds[name].append(time.perf_counter() - start)
            objectives[name].append(objective(rows, model.cluster_centers_))
            iterations[name].append(model.n_iter_)
    return {
        "rows": len(rows),
        "clusters": n_clusters,
        "threads": threads,
        "seconds": {name: median(values) for name, values in seconds.items()},
        "objective": {name: median(values) for name, values in objectives.items()},
        "iterations": {name: median(values) for name, values in iterations.items()},
        "times_as_fast": median(
            theirs / ours for theirs, ours in zip(seconds["scikit-learn"], seconds["spherevec"], strict=True)
        ),
        "objective_ratio": median(
            ours / theirs for theirs, ours in zip(objectives["scikit-learn"], objectives["spherevec"], strict=True)
        ),
    }


def mixture_figures(rows: NDArray[np.float32], n_clusters: int) -> dict[str, Any]:
    start = time.perf_counter()
    model = VonMisesFisherMixture(n_clusters, random_state=0).fit(rows)
    return {"seconds": time.perf_counter() - start, "iterations": model.n_iter_}


def run(repeats: int = 5) -> Report:
    """The figures of every size, and of a mixture at the first."""
    warm_up = document_like_rows(300, 3)
    SphericalKMeans(3, random_state=0).fit(warm_up)
    VonMisesFisherMixture(3, random_state=0).fit(warm_up)
    KMeans(3, random_state=0).fit(warm_up)
    first = document_like_rows(SIZES[0]["rows"], SIZES[0]["clusters"])
    return {
        "kmeans": [
            compare(document_like_rows(size["rows"], size["clusters"]), size["clusters"], threads, repeats)
            for size in SIZES
            for threads in (1, 0)
        ],
        "mixture": mixture_figures(first, SIZES[0]["clusters"]),
    }


def show(figures: Report) -> None:
    for row in figures["kmeans"]:
        ours, theirs = row["seconds"]["spherevec"], row["seconds"]["scikit-learn"]
        cores = "one thread" if row["threads"] == 1 else "all cores"
        print(
            f"{row['rows']:>8,} rows, {row['clusters']} clusters, {cores}: {ours:.3f} s against {theirs:.3f} s, "
            f"{row['times_as_fast']:.2f} times as fast, objective {row['objective_ratio']:.4f} of theirs, "
            f"iterations {row['iterations']['spherevec']:.0f} against {row['iterations']['scikit-learn']:.0f}"
        )
    mixture = figures["mixture"]
    print(f"mixture, first size: {mixture['seconds']:.2f} s, {mixture['iterations']} iterations")


if __name__ == "__main__":
    command(__doc__, run, show, repeats=5)
