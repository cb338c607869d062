"""Growing a model beside training it on everything.

    python -m experiments.update.measure CASE [--data DIR] [--seed N ...] [--threads N] [--device cpu|cuda] [--parts N]

CASE: a labelled corpus (`20news`, `google_news`, `search_snippets`, …), of which a random tenth comes later; with
`:date` the later tenth comes from its test part, which was written later than the rest; two corpora with a plus, of
which the second comes later; or `wiki`, whose second half comes later. Prints one JSON line for each model: NMI of
k-means and 3-NN micro-F1 where there are labels, word similarity for Wikipedia, processor seconds, and for updates the
mean cosine of known words, the neighbours that they keep, and the drift report.
"""

from __future__ import annotations

import argparse
import gzip
import json
import time
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

import spherevec
from experiments.datasets import SIMILARITY_SETS, find_data, load_similarity, wiki_path
from spherevec.evaluation.documents import evaluate_clustering, random_splits
from spherevec.evaluation.words import evaluate_similarity
from spherevec.model import Model
from spherevec.search.neighbors import nearest_neighbors

Named = list[tuple[str, str]]


class Case(NamedTuple):
    """Old documents, new documents, and the labels of both in that order."""

    old: Named
    new: Named
    labels: NDArray[np.int64] | None


class Labelled(NamedTuple):
    """Documents, their classes from 0, and for each whether it belongs to the test part."""

    texts: list[str]
    labels: NDArray[np.int64]
    test: NDArray[np.bool_]


def read(name: str, data: Path) -> Labelled:
    """A labelled corpus; classes may be numbered from anywhere."""
    with gzip.open(data / name / "text.txt.gz", "rt", encoding="utf-8") as file:
        texts = [line.rstrip("\n") for line in file]
    labels, parts = (np.array((data / name / file).read_text().split()) for file in ("label.txt", "split.txt"))
    return Labelled(texts, np.unique(labels, return_inverse=True)[1], parts == "test")


def split(case: str, data: Path, seed: int) -> Case:
    """The documents of a case, those that come later apart."""
    rng = np.random.default_rng(seed)
    if case == "wiki":
        with gzip.open(wiki_path(data), "rt", encoding="utf-8") as file:
            named = [(f"d{i}", line.rstrip("\n")) for i, line in enumerate(file)]
        return Case(named[: len(named) // 2], named[len(named) // 2 :], None)
    if "+" in case:
        both = [read(name, data) for name in case.split("+")]
        labels = np.concatenate([both[0].labels, both[1].labels + both[0].labels.max() + 1])
        named = [(f"d{i}", text) for i, text in enumerate([*both[0].texts, *both[1].texts])]
        return Case(named[: len(both[0].texts)], named[len(both[0].texts) :], labels)
    name, _, by_date = case.partition(":")
    corpus = read(name, data)
    if by_date:
        early, late = (rng.permutation(np.flatnonzero(part)) for part in (~corpus.test, corpus.test))
        order, cut = np.concatenate([early, late[: len(early) // 9]]), len(early)
    else:
        order, cut = rng.permutation(len(corpus.texts)), len(corpus.texts) * 9 // 10
    named = [(f"d{i}", corpus.texts[i]) for i in order]
    return Case(named[:cut], named[cut:], corpus.labels[order])


def kept_neighbours(before: Model, after: Model, n: int = 1000, k: int = 10) -> dict[str, float]:
    """The share of ten neighbours that frequent words keep: of all, and of those whose text did not change.

    Neighbours are looked for among all frequent words; `kept_among_unchanged` looks among those whose text did not
    change, too.
    """
    assert before.counts is not None and after.counts is not None
    known = len(before.words)
    grown = after.counts[:known] - before.counts
    frequent = np.flatnonzero(before.counts >= 20)
    same = frequent[grown[frequent] <= 0.02 * before.counts[frequent]]
    found = {}
    wanted = (("kept", frequent, frequent), ("kept_unchanged", same, frequent), ("kept_among_unchanged", same, same))
    for name, rows, among in wanted:
        rows = np.sort(np.random.default_rng(0).permutation(rows)[:n])
        if len(rows) < 20 or len(among) < 5 * k:
            continue
        at = [np.searchsorted(among, row) for row in rows]
        ours, theirs = (
            nearest_neighbors(model.words.vectors[rows], model.words.vectors[among], k, [[one] for one in at])[0]
            for model in (before, after)
        )
        found[name] = float(
            np.mean([len({*a} & {*b}) / k for a, b in zip(ours.tolist(), theirs.tolist(), strict=True)])
        )
    return found


def figures(model: Model, labels: NDArray[np.int64] | None, data: Path) -> dict[str, float]:
    if labels is None:
        return {
            name: evaluate_similarity(model.words, load_similarity(name, data)).spearman for name in SIMILARITY_SETS
        }
    assert model.docs is not None
    vectors, labels = np.asarray(model.docs.vectors), labels[: len(model.docs)]
    clusters = evaluate_clustering(vectors, labels, runs=3)
    return {"nmi": clusters.nmi.mean, "f1": random_splits(vectors, labels, repeats=3).micro_f1.mean}


def measure(case: str, seed: int, given: argparse.Namespace) -> None:
    """All models of one case and seed."""
    data = find_data(given.data)
    old, new, labels = split(case, data, seed)
    how: dict[str, Any] = {"ids": True, "seed": seed, "threads": given.threads, "device": given.device}

    def timed(name: str, make: Any) -> Model:
        clock = time.process_time if given.device == "cpu" else time.perf_counter
        begun = clock()
        model: Model = make()
        line: dict[str, Any] = {"case": case, "seed": seed, "model": name, "seconds": round(clock() - begun, 1)}
        line |= {key: round(value, 4) for key, value in figures(model, labels, data).items()}
        if "updates" in model.provenance:
            entry = model.provenance["updates"][-1]
            line |= {key: entry[key] for key in ("new_words", "mean_cosine")}
            line |= {key: round(value, 3) for key, value in kept_neighbours(before, model).items()}
            line |= {"drift": entry["drift"]}
        print(json.dumps(line), flush=True)
        return model

    spherevec.train(old[:100], **how | {"epochs": 1}).update(new[:50], **how)  # compiles
    if "everything" in given.models:
        timed("everything", lambda: spherevec.train([*old, *new], **how))
    before = timed("before", lambda: spherevec.train(old, **how))
    if "add" in given.models:
        timed("add only", lambda: before.update(new, add_only=True, **how))
    if "update" in given.models:
        timed("update", lambda: before.update(new, **how))
    if "replay" in given.models:
        timed("update, replay", lambda: before.update(new, replay=[text for _, text in old], **how))
    if given.parts > 1:

        def in_parts() -> Model:
            model = before
            for part in np.array_split(np.arange(len(new)), given.parts):
                model = model.update([new[i] for i in part], **how)
            return model

        timed(f"{given.parts} updates", in_parts)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("case")
    parser.add_argument("--data")
    parser.add_argument("--seed", type=int, nargs="+", default=[1])
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--parts", type=int, default=1, help="Updates that the new text comes in.")
    parser.add_argument("--models", nargs="+", default=["everything", "add", "update"], help="Also: replay.")
    given = parser.parse_args()
    for seed in given.seed:
        measure(given.case, seed, given)


if __name__ == "__main__":
    main()
