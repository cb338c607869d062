"""Train on each collection with each way to cut words, and measure search and documents.

    python -m experiments.tokens.measure SET… --data DIR --out RESULTS.jsonl [--work FOLDER] [--seeds 1 2]
        [--only default hyphens=split]

One line of JSON a run; what RESULTS holds is not run again. A variant that changes fewer than ten of 10,000 words of a
collection is not run on it. Figures: the two of `experiments.search` by hybrid search (class, known item),
3-nearest-neighbour micro-F1 in five folds, and the NMI of k-means.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.cluster import KMeans
from sklearn.metrics import normalized_mutual_info_score
from sklearn.model_selection import cross_val_score
from sklearn.neighbors import KNeighborsClassifier

from experiments.search.run import TOP, prepared, scores, with_error
from experiments.search.tasks import Task
from spherevec import Model, train
from spherevec.corpus.tokenize import tokenize

VARIANTS: dict[str, dict[str, Any]] = {
    "default": {},
    **{
        option: {"tokenizer": f"words:{option}"}
        for option in (
            "hyphens=split", "hyphens=join", "numbers=off", "symbols=off", "abbreviations=off", "tags=off", "emoji=off",
            "html=off", "urls=split", "urls=keep", "urls=drop", "emails=split", "emails=keep", "emails=drop",
        )
    },
    "phrases": {"phrases": True},
}  # fmt: skip
FOLDS = 5
FEWEST_CHANGED = 10  # of 10,000 words


def changed(task: Task, variant: str) -> int:
    """How many of 10,000 words of (a part of) a collection this variant changes."""
    text = "\n".join(task.documents[:: max(1, len(task.documents) // 2000)])
    usual, other = tokenize(text), tokenize(text, VARIANTS[variant].get("tokenizer", "words"))
    counts: dict[str, int] = {}
    for words, sign in ((usual, 1), (other, -1)):
        for word in words:
            counts[word] = counts.get(word, 0) + sign
    return round(1e4 * sum(map(abs, counts.values())) / max(len(usual), 1))


def figures(task: Task, model: Model, seed: int) -> dict[str, Any]:
    """Search and documents of one trained model."""
    found = [
        [[hit.row for hit in result] for result in model.search(queries, topn=TOP)] if queries else []
        for queries in (task.class_queries, task.item_queries)
    ]
    result: dict[str, Any] = {of: with_error(own) for of, own in scores(task, *found).items() if len(own)}
    if task.class_queries:
        assert model.docs is not None
        vectors, labels = np.asarray(model.docs.vectors), np.unique(task.labels, return_inverse=True)[1]
        order = np.random.default_rng(seed).permutation(len(labels))
        nearest = KNeighborsClassifier(3, metric="cosine", algorithm="brute")
        folds = cross_val_score(nearest, vectors[order], labels[order], cv=FOLDS, scoring="f1_micro")
        clusters = KMeans(labels.max() + 1, n_init=3, random_state=seed).fit_predict(vectors)
        result["f1"] = round(float(folds.mean()), 4)
        result["nmi"] = round(float(normalized_mutual_info_score(labels, clusters)), 4)
    return result


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sets", nargs="+")
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--work", type=Path, default=Path("search-work"))
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--only", nargs="+", choices=list(VARIANTS), default=list(VARIANTS))
    given = parser.parse_args()
    given.work.mkdir(parents=True, exist_ok=True)
    known = [json.loads(line) for line in given.out.read_text().splitlines()] if given.out.exists() else []
    done = {(line["set"], line["variant"], line["seed"]) for line in known}
    for name in given.sets:
        task = prepared(name, given.data, given.work)
        share = {variant: changed(task, variant) for variant in given.only}
        for seed in given.seeds:
            for variant in given.only:
                idle = share[variant] < FEWEST_CHANGED and variant not in ("default", "phrases")
                if idle or (name, variant, seed) in done:
                    continue
                model = train(task.documents, seed=seed, threads=1, progress=False, **VARIANTS[variant])
                line = {"set": name, "variant": variant, "seed": seed, "changed": share[variant]}
                line |= {"words": len(model.words), **figures(task, model, seed)}
                with given.out.open("a", encoding="utf-8") as out:
                    out.write(json.dumps(line) + "\n")
                if variant == "default":
                    model.save(given.work / f"{name}.seed{seed}", overwrite=True)


if __name__ == "__main__":
    main()
