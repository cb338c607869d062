"""Forty queries as people type them over four of the given sets, with judgements by hand; measures how search ranks.

    python -m experiments.search.judged --models FOLDER [--answers ANSWERS.json ...]

`judged.json` holds for each set ten queries and the grades (0 beside the point, 1 related, 2 what was asked for) of the
documents by row. The documents were the first ten of each way to search, pooled and shuffled; they were read without
knowing which way had found them. FOLDER holds models of the whole sets as `NAME-1`, trained by default. An answers file
holds what another program found: {set: [rows of each query, …]}. Documents that nobody judged count as 0.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

import spherevec
from spherevec.search.hybrid import MODES

TOP = 10
SAMPLES = 10_000  # of the bootstrap

Answers = dict[str, list[list[int]]]


def figures(rows: list[int], grades: dict[str, int]) -> tuple[float, float]:
    """nDCG@10 with gains 2^grade - 1, and the share of ten answers that are at least related."""
    discounts = 1 / np.log2(np.arange(2, TOP + 2))
    found = np.zeros(TOP)
    found[: len(rows)] = [grades.get(str(row), 0) for row in rows[:TOP]]
    best = np.sort([0] * TOP + list(grades.values()))[::-1][:TOP]
    ideal = float((2.0**best - 1) @ discounts)
    return float((2.0**found - 1) @ discounts) / ideal, float((found > 0).mean())


def interval(differences: NDArray[np.float64]) -> str:
    """The mean of a difference over queries and its 95 % interval, by bootstrap."""
    rng = np.random.default_rng(0)
    means = differences[rng.integers(0, len(differences), (SAMPLES, len(differences)))].mean(axis=1)
    low, high = np.percentile(means, [2.5, 97.5])
    return f"{differences.mean():+.3f} ({low:+.3f} to {high:+.3f})"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", type=Path, required=True)
    parser.add_argument("--answers", type=Path, nargs="*", default=[])
    given = parser.parse_args()
    judged = json.loads((Path(__file__).parent / "judged.json").read_text(encoding="utf-8"))
    ways: dict[str, Answers] = {file.stem: json.loads(file.read_text()) for file in given.answers}
    for name, queries in judged.items():
        model = spherevec.load(given.models / f"{name}-1")
        for mode in MODES:
            results = model.search(list(queries), topn=TOP, mode=mode)
            ways.setdefault(mode, {})[name] = [[hit.row for hit in result] for result in results]
    measured: dict[str, NDArray[np.float64]] = {}  # (queries, 2)
    for way, answers in ways.items():
        each = [
            [figures(rows, grades) for rows, grades in zip(answers[name], queries.values(), strict=True)]
            for name, queries in judged.items()
        ]
        measured[way] = np.array(each).reshape(-1, 2)
        sets = " ".join(f"{name} {np.array(own)[:, 0].mean():.3f}" for name, own in zip(judged, each, strict=True))
        print(f"{way:8} nDCG@10 {measured[way][:, 0].mean():.3f} P@10 {measured[way][:, 1].mean():.3f}   {sets}")
    for way, own in measured.items():
        if way != "hybrid":
            ahead = measured["hybrid"] - own
            print(f"hybrid over {way:8} nDCG@10 {interval(ahead[:, 0])}  P@10 {interval(ahead[:, 1])}")


if __name__ == "__main__":
    main()
