"""Growing a model beside training it on everything.

    python -m experiments.update.measure CASE [--data DIR] [--seed N] [--threads N] [--device cpu|cuda] [--parts N]

CASE: a labelled corpus (`20news`, `google_news`, `search_snippets`, …), of which a random tenth comes later; or two of
them with a plus, of which the second comes later. Prints one JSON line for each model: NMI of k-means, 3-NN micro-F1,
seconds, and for updates the mean cosine of known words, the neighbours they keep, and the drift report.
"""

from __future__ import annotations

import argparse
import gzip
import json
import time
from pathlib import Path
from typing import Any

import numpy as np

import spherevec
from spherevec.evaluation import evaluate_clustering, find_data, random_splits
from spherevec.model import Model
from spherevec.model.neighbors import top_k


def read(name: str, data: Path) -> tuple[list[str], np.ndarray]:
    """The texts and labels of a corpus."""
    with gzip.open(data / name / "text.txt.gz", "rt", encoding="utf-8") as file:
        texts = [line.rstrip("\n") for line in file]
    labels = (data / name / "label.txt").read_text().split("\n")[: len(texts)]
    return texts, np.unique(labels, return_inverse=True)[1]


def split(case: str, data: Path, seed: int) -> tuple[list[tuple[str, str]], list[tuple[str, str]], np.ndarray]:
    """Old documents, new documents, and the labels of both in that order."""
    rng = np.random.default_rng(seed)
    if "+" in case:
        (old, old_labels), (new, new_labels) = (read(name, data) for name in case.split("+"))
        labels = np.concatenate([old_labels, new_labels + old_labels.max() + 1])
        named = [(f"d{i}", text) for i, text in enumerate([*old, *new])]
        return named[: len(old)], named[len(old) :], labels
    texts, labels = read(case, data)
    order = rng.permutation(len(texts))
    named = [(f"d{i}", texts[i]) for i in order]
    cut = len(texts) * 9 // 10
    return named[:cut], named[cut:], labels[order]


def kept_neighbours(before: Model, after: Model, entry: dict[str, Any], n: int = 1000, k: int = 10) -> dict[str, float]:
    """The share of ten neighbours that frequent words keep: of all, and of those whose text did not change."""
    assert before.counts is not None and after.counts is not None
    known = len(before.words)
    grown = after.counts[:known] - before.counts
    frequent = np.flatnonzero(before.counts >= 20)
    same = frequent[grown[frequent] <= 0.02 * before.counts[frequent]]
    found = {}
    for name, rows in (("kept", frequent), ("kept_unchanged", same)):
        rows = np.sort(np.random.default_rng(0).permutation(rows)[:n])
        if len(rows) == 0:
            continue
        at = [np.searchsorted(frequent, row) for row in rows]
        ours, theirs = (
            top_k(model.words.vectors[rows], model.words.vectors[frequent], k, [[one] for one in at])[0]
            for model in (before, after)
        )
        found[name] = float(
            np.mean([len({*a} & {*b}) / k for a, b in zip(ours.tolist(), theirs.tolist(), strict=True)])
        )
    return found


def figures(model: Model, labels: np.ndarray) -> dict[str, float]:
    assert model.docs is not None
    vectors = np.asarray(model.docs.vectors)
    clusters = evaluate_clustering(vectors, labels, runs=3)
    return {"nmi": clusters.nmi.mean, "f1": random_splits(vectors, labels, repeats=3).micro_f1.mean}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("case")
    parser.add_argument("--data")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--parts", type=int, default=1, help="Updates that the new text comes in.")
    parser.add_argument("--replay", action="store_true", help="Also measure with the old text at hand.")
    given = parser.parse_args()
    old, new, labels = split(given.case, find_data(given.data), given.seed)
    how: dict[str, Any] = {"ids": True, "seed": given.seed, "threads": given.threads, "device": given.device}

    def timed(name: str, make: Any) -> Model:
        begun = time.process_time() if given.device == "cpu" else time.perf_counter()
        model: Model = make()
        seconds = (time.process_time() if given.device == "cpu" else time.perf_counter()) - begun
        line = {"case": given.case, "seed": given.seed, "model": name, "seconds": round(seconds, 1)}
        line |= {key: round(value, 4) for key, value in figures(model, labels[: len(model.docs or ())]).items()}
        if "updates" in model.provenance:
            entry = model.provenance["updates"][-1]
            line |= {key: entry[key] for key in ("new_words", "mean_cosine")}
            line |= {key: round(value, 3) for key, value in kept_neighbours(before, model, entry).items()}
            line |= {"drift": entry["drift"]}
        print(json.dumps(line), flush=True)
        return model

    spherevec.train(old[:100], **how | {"epochs": 1})  # compiles
    timed("everything", lambda: spherevec.train([*old, *new], **how))
    before = timed("before", lambda: spherevec.train(old, **how))
    timed("add only", lambda: before.update(new, add_only=True, **how))
    timed("update", lambda: before.update(new, **how))
    if given.replay:
        timed("update, replay", lambda: before.update(new, replay=[text for _, text in old], **how))
    if given.parts > 1:

        def in_parts() -> Model:
            model = before
            for part in np.array_split(np.arange(len(new)), given.parts):
                model = model.update([new[i] for i in part], **how)
            return model

        timed(f"{given.parts} updates", in_parts)


if __name__ == "__main__":
    main()
