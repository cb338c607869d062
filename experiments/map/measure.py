"""How well a map keeps neighbourhoods: the globe beside UMAP, PaCMAP and t-SNE, and what a globe costs.

    python -m experiments.map.measure quality VECTORS.npy LABELS.txt --rivals PLACES_FOLDER --out RESULTS.json
    python -m experiments.map.measure scale --out RESULTS.json

`quality` places the vectors (n, dim) with several seeds and reads what rivals.py wrote. `scale` places random clusters
of growing number and reports seconds and memory.
"""

from __future__ import annotations

import argparse
import json
import resource
import time
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from spherevec.explore import place_on_globe

NEIGHBOURS = 15
QUERIES = 2000
CENTRES = 50

Floats = NDArray[np.floating[Any]]


def measures(vectors: Floats, places: Floats, labels: NDArray[np.int64], seed: int = 0) -> dict[str, float]:
    """Figures of a map (n, 2) or (n, 3), from a random choice of documents against all of them.

    trustworthiness: 1 less a penalty for neighbours on the map that are far away in truth (Venna and Kaski).
    preservation: share of the 15 nearest documents that are also among the 15 nearest on the map.
    accuracy: of a vote of the 15 nearest documents on the map about the class; accuracy_full: in all dimensions.
    """
    n = len(vectors)
    chosen = np.sort(np.random.default_rng(seed).permutation(n)[:QUERIES])
    itself = (np.arange(len(chosen)), chosen)
    cosines = vectors[chosen] @ vectors.T
    cosines[itself] = -np.inf
    order = np.argsort(-cosines, axis=1, kind="stable")
    ranks = np.empty_like(order)
    np.put_along_axis(ranks, order, np.broadcast_to(np.arange(n), order.shape), axis=1)
    flat = np.asarray(places, np.float64)
    squares = (flat**2).sum(axis=1)
    distances = squares[chosen, None] + squares[None] - 2 * flat[chosen] @ flat.T
    distances[itself] = np.inf
    near = np.argpartition(distances, NEIGHBOURS, axis=1)[:, :NEIGHBOURS]
    true_ranks = np.take_along_axis(ranks, near, axis=1)
    penalty = np.maximum(true_ranks + 1 - NEIGHBOURS, 0).sum()
    k = NEIGHBOURS
    return {
        "trustworthiness": 1 - 2 / (len(chosen) * k * (2 * n - 3 * k - 1)) * float(penalty),
        "preservation": float((true_ranks < k).mean()),
        "accuracy": _vote(labels[near], labels[chosen]),
        "accuracy_full": _vote(labels[order[:, :k]], labels[chosen]),
    }


def _vote(votes: NDArray[np.int64], truth: NDArray[np.int64]) -> float:
    winners = np.asarray([np.bincount(row).argmax() for row in votes])
    return float((winners == truth).mean())


def quality(vectors: Path, labels: Path, rivals: Path | None, seeds: list[int]) -> list[dict[str, Any]]:
    rows, classes = np.load(vectors), np.loadtxt(labels, dtype=np.int64)
    place_on_globe(rows[:100], epochs=2)  # compiles
    results: list[dict[str, Any]] = []
    for seed in seeds:
        start = time.perf_counter()
        places = place_on_globe(rows, seed=seed).docs
        seconds = time.perf_counter() - start
        results.append(
            {"method": "spherevec globe", "seed": seed, "seconds": seconds, **measures(rows, places, classes)}
        )
    for file in sorted(rivals.glob("*.npy")) if rivals else []:
        method, _, seed_text = file.stem.rpartition("-")
        taken = json.loads(file.with_suffix(".json").read_text())
        results.append({"method": method, "seed": int(seed_text), **taken, **measures(rows, np.load(file), classes)})
    return results


def clustered(n: int, dim: int = 100) -> NDArray[np.float32]:
    rng = np.random.default_rng(1)
    centres = rng.standard_normal((CENTRES, dim)).astype(np.float32)
    centres /= np.linalg.norm(centres, axis=1, keepdims=True)
    rows = np.empty((n, dim), np.float32)
    for first in range(0, n, 100_000):
        block = rng.standard_normal((min(100_000, n - first), dim), np.float32) * np.float32(0.08)
        block += centres[rng.integers(CENTRES, size=len(block))]
        rows[first : first + len(block)] = block / np.linalg.norm(block, axis=1, keepdims=True)
    return rows


def scale(sizes: list[int], threads: int) -> list[dict[str, Any]]:
    results = []
    place_on_globe(clustered(5000)[:100], epochs=2)
    for n in sizes:
        rows = clustered(n)
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        start, used = time.perf_counter(), time.process_time()
        place_on_globe(rows, rows[:3000], rows[:50], threads=threads)
        results.append(
            {
                "documents": n,
                "threads": threads,
                "seconds": round(time.perf_counter() - start, 1),
                "processor_seconds": round(time.process_time() - used, 1),
                "vectors_mb": round(rows.nbytes / 1e6),
                "peak_mb_above_vectors": round((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1e3),
            }
        )
        print(results[-1], flush=True)
    return results


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    first = commands.add_parser("quality")
    first.add_argument("vectors", type=Path)
    first.add_argument("labels", type=Path)
    first.add_argument("--rivals", type=Path)
    first.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3])
    second = commands.add_parser("scale")
    second.add_argument("--sizes", type=int, nargs="+", default=[10_000, 100_000, 1_000_000])
    second.add_argument("--threads", type=int, default=0)
    for command in (first, second):
        command.add_argument("--out", type=Path, required=True)
    arguments = parser.parse_args()
    if arguments.command == "quality":
        results = quality(arguments.vectors, arguments.labels, arguments.rivals, arguments.seeds)
    else:
        results = scale(arguments.sizes, arguments.threads)
    arguments.out.write_text(json.dumps(results, indent=1) + "\n")


if __name__ == "__main__":
    main()
