"""Measure search: train on each collection, ask the queries of `tasks.py`, and write the figures as JSON.

    python -m experiments.search.run search_snippets 20news:2000 --data DIR --out experiments/search/results.json \\
        [--work FOLDER] [--seed 1]

`20news:2000` is a collection of 2,000 of its documents with 300 queries. FOLDER keeps the tasks (`<name>.json`) and the
trained models; with `<name>.bm25s.json` from bm25s_answers.py or `<name>.npz` from encode_minilm.py there, these are
measured too. Figures: the share of the first ten answers that have the query's class and its nDCG (class), and the
mean reciprocal rank and nDCG of the document that a query was cut out of, within ten (known item), each with twice its
standard error over the queries; and what the hybrid gains over the others on the same queries, with twice the standard
error of that difference.
"""

from __future__ import annotations

import argparse
import json
import re
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import spherevec
from experiments.search.tasks import Task, load, make, save, subset
from spherevec.search.hybrid import MODES

TOP = 10
QUERIES_OF_SUBSETS = 300

Scores = dict[str, NDArray[np.float64]]  # of each query, by task


def scores(task: Task, class_rows: list[list[int]], item_rows: list[list[int]]) -> Scores:
    """What each query gets from one way to search."""
    discounts = 1 / np.log2(np.arange(2, TOP + 2))
    right = np.zeros((len(class_rows), TOP))
    for own, rows, label in zip(right, class_rows, task.class_labels, strict=True):
        own[: len(rows)] = [task.labels[row] == label for row in rows]
    places = [rows.index(at) if at in rows else -1 for rows, at in zip(item_rows, task.targets, strict=True)]
    return {
        "class P@10": right.mean(axis=1),
        "class nDCG@10": right @ discounts / discounts.sum(),
        "known item MRR@10": np.array([1 / (1 + place) if place >= 0 else 0.0 for place in places]),
        "known item nDCG@10": np.array([discounts[place] if place >= 0 else 0.0 for place in places]),
    }


def with_error(values: NDArray[np.float64]) -> list[float]:
    """The mean and twice its standard error."""
    return [round(float(values.mean()), 4), round(2 * float(values.std()) / len(values) ** 0.5, 4)]


def nearest(queries: NDArray[np.float32], documents: NDArray[np.float32]) -> list[list[int]]:
    return [np.argsort(-(documents @ query), kind="stable")[:TOP].tolist() for query in queries]


def plain(queries: list[str]) -> list[str]:
    """Without quotation marks and minus signs of running text, which would ask for phrases and exclude words."""
    return [re.sub(r'"|(?<!\S)-', " ", query) for query in queries]


def prepared(name: str, data: Path, work: Path) -> Task:
    """The task of that name, kept in `work`."""
    kept = work / f"{name}.json"
    if not kept.exists():
        whole, _, size = name.partition(":")
        task = make(whole, data)
        save(subset(task, int(size), QUERIES_OF_SUBSETS) if size else task, kept)
    return load(kept)


def measure(name: str, data: Path, seed: int, work: Path) -> dict[str, Any]:
    task = prepared(name, data, work)
    folder = work / f"{name}.seed{seed}"
    if not folder.exists():
        spherevec.train(task.documents, seed=seed, threads=1, progress=False).save(folder)
    model = spherevec.load(folder)
    found: dict[str, Scores] = {}
    for mode in MODES:
        answers = [
            [[hit.row for hit in result] for result in model.search(plain(queries), topn=TOP, mode=mode)]
            for queries in (task.class_queries, task.item_queries)
        ]
        found[mode] = scores(task, *answers)
    other = work / f"{name}.bm25s.json"
    if other.is_file():
        listed = json.loads(other.read_text(encoding="utf-8"))
        found["bm25s"] = scores(task, listed["class_queries"], listed["item_queries"])
    encoded = work / f"{name}.npz"
    if encoded.is_file():
        vectors = np.load(encoded)
        found["MiniLM"] = scores(
            task, *(nearest(vectors[of], vectors["documents"]) for of in ("class_queries", "item_queries"))
        )
    return {
        "documents": len(task.documents),
        "queries": {"class": len(task.class_queries), "known item": len(task.item_queries)},
        "seed": seed,
        "figures": {how: {of: with_error(own) for of, own in each.items()} for how, each in found.items()},
        "hybrid over": {
            how: {of: with_error(found["hybrid"][of] - own) for of, own in each.items()}
            for how, each in found.items()
            if how != "hybrid"
        },
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="+")
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--work", type=Path, default=Path("search-work"))
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    arguments.work.mkdir(parents=True, exist_ok=True)
    results = json.loads(arguments.out.read_text()) if arguments.out.exists() else {}
    for name in arguments.names:
        results[f"{name}, seed {arguments.seed}"] = measure(name, arguments.data, arguments.seed, arguments.work)
        arguments.out.write_text(json.dumps(results, indent=1) + "\n")


if __name__ == "__main__":
    main()
