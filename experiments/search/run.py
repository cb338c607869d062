"""Measure search: train on each collection, ask the queries of `tasks.py`, and write the figures as JSON.

    python experiments/search/run.py search_snippets google_news --data DIR --out experiments/search/results.json \
        [--minilm FOLDER] [--seed 1]

FOLDER holds `<name>.npz` from encode_minilm.py. Figures: the share of the first ten answers that have the query's class
(class), and the mean reciprocal rank of the document that a query was cut out of, within ten (known item), each with
twice its standard error over the queries.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from tasks import Task, make  # type: ignore[import-not-found]  # run as a script, beside it

import spherevec
from spherevec.model.search import MODES

TOP = 10


def figures(task: Task, class_rows: list[list[int]], item_rows: list[list[int]]) -> dict[str, list[float]]:
    """Both figures of one way to search, each with twice its standard error."""
    right = [
        np.mean([task.labels[row] == label for row in rows]) if rows else 0.0
        for rows, label in zip(class_rows, task.class_labels, strict=True)
    ]
    reciprocal = [
        1 / (1 + rows.index(target)) if target in rows else 0.0
        for rows, target in zip(item_rows, task.targets, strict=True)
    ]
    return {
        name: [round(float(np.mean(scores)), 4), round(2 * float(np.std(scores)) / len(scores) ** 0.5, 4)]
        for name, scores in (("class", right), ("known item", reciprocal))
    }


def nearest(queries: NDArray[np.float32], documents: NDArray[np.float32]) -> list[list[int]]:
    return [np.argsort(-(documents @ query), kind="stable")[:TOP].tolist() for query in queries]


def measure(name: str, data: Path, seed: int, minilm: Path | None) -> dict[str, Any]:
    task = make(name, data)
    model = spherevec.train(task.documents, seed=seed, threads=1, progress=False)
    found = {}
    for mode in MODES:
        answers = [
            [[hit.row for hit in result] for result in model.search(queries, top=TOP, mode=mode)]
            for queries in (task.class_queries, task.item_queries)
        ]
        found[mode] = figures(task, *answers)
    if minilm is not None and (minilm / f"{name}.npz").is_file():
        vectors = np.load(minilm / f"{name}.npz")
        answers = [nearest(vectors[of], vectors["documents"]) for of in ("class_queries", "item_queries")]
        found["MiniLM"] = figures(task, *answers)
    queries = {"class": len(task.class_queries), "known item": len(task.item_queries)}
    return {"documents": len(task.documents), "queries": queries, "seed": seed, "figures": found}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="+")
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--minilm", type=Path)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    results = json.loads(arguments.out.read_text()) if arguments.out.exists() else {}
    for name in arguments.names:
        results[f"{name}, seed {arguments.seed}"] = measure(name, arguments.data, arguments.seed, arguments.minilm)
        arguments.out.write_text(json.dumps(results, indent=1) + "\n")


if __name__ == "__main__":
    main()
