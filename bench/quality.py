"""Quality on public data: the paper's recipe beside the authors' program's published behaviour, and the default.

    python -m bench.quality [--seeds 1] [--json]

20 Newsgroups, lower-cased and split into words and single punctuation marks, 10 epochs: k-means NMI and purity (mean of
ten runs) and 3-NN micro-F1. Wikipedia, 20 M words, `min_count` 10, 5 epochs: Spearman correlation with word similarity.
File order leaks the labels of 20 Newsgroups into document vectors; it is here to compare with published figures alone.
"""

from __future__ import annotations

import argparse
import json
import re
import tempfile
from typing import Any

import numpy as np

import spherevec
from spherevec.corpus import encode, read_documents
from spherevec.evaluation import (
    SIMILARITY_SETS,
    evaluate_clustering,
    evaluate_similarity,
    find_data,
    given_split,
    load_labelled,
    load_similarity,
    wiki_path,
)


def documents(seeds: int) -> dict[str, Any]:
    data = load_labelled("20news")
    tokens = re.compile(r"\w+|[^\w\s]")
    texts = [tokens.findall(str(text).lower()) for text in read_documents(find_data() / "20news" / "text.txt.gz")]
    cases = {
        "paper, file order": {"recipe": "paper"},
        "paper, shuffled": {"recipe": "paper", "order": "shuffled"},
        "default": {"recipe": "default", "epochs": 10},
    }
    report: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as folder, encode(texts, folder, threads=2) as corpus:
        for name, settings in cases.items():
            runs = []
            for seed in range(1, seeds + 1):
                model = spherevec.train(corpus, seed=seed, **settings)
                assert model.docs is not None
                vectors = model.docs.vectors
                clusters = evaluate_clustering(vectors, data.labels, runs=10)
                neighbours = given_split(vectors, data.labels, data.split)
                runs.append((clusters.nmi.mean, clusters.purity.mean, neighbours.micro_f1.mean))
            report[name] = {"nmi, purity, micro_f1": np.mean(runs, axis=0).tolist(), "runs": runs}
    return report


def words(seeds: int) -> dict[str, Any]:
    report: dict[str, Any] = {}
    with (
        tempfile.TemporaryDirectory() as folder,
        encode(wiki_path(), folder, min_count=10, threads=2) as corpus,
    ):
        for name, settings in {"paper, file order": {"recipe": "paper"}, "default": {"recipe": "default"}}.items():
            runs = []
            for seed in range(1, seeds + 1):
                model = spherevec.train(corpus, seed=seed, epochs=5, min_count=10, **settings)
                norms = np.linalg.norm(model.words.vectors, axis=1)
                assert np.abs(norms - 1).max() < 1e-5
                runs.append([evaluate_similarity(model.words, load_similarity(s)).spearman for s in SIMILARITY_SETS])
            report[name] = {", ".join(SIMILARITY_SETS): np.mean(runs, axis=0).tolist(), "runs": runs}
            report[name]["mean_resultant_length"] = model.record[-1]["mean_resultant_length"]
    return report


def run(seeds: int = 1) -> dict[str, Any]:
    return {"20news": documents(seeds), "wiki20m": words(seeds)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    report = run(arguments.seeds)
    if arguments.json:
        print(json.dumps(report, indent=2))
        return
    for data, rows in report.items():
        for name, figures in rows.items():
            (columns, values), *_ = figures.items()
            print(f"{data:8s} {name:20s} {columns}: {' · '.join(f'{value:.3f}' for value in values)}")


if __name__ == "__main__":
    main()
