"""Vectors, search and topics of text in other languages, beside tf-idf (words, characters) and Doc2Vec.

    python -m experiments.languages --data DIR --out runs.jsonl --models FOLDER [--sets manual_de ...] [--seeds 3]
    python -m experiments.languages --out runs.jsonl --models FOLDER --topics
    python -m experiments.languages --out runs.jsonl --table

A page's class is its section. Figures: 3-NN accuracy over ten random splits; precision at ten, where the first words
of 300 pages (their name and one line of description) are the query and pages of the same section are right. A
measurement that the file has is not taken again. The second command prints the topics of the models of seed 1, and how
well the seeds agree: the numbers of topics, and the adjusted Rand index of two seeds, the mean of all pairs. Japanese
and Chinese need the extra `cjk`.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections import defaultdict
from collections.abc import Callable, Iterator
from functools import cache, partial
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import adjusted_rand_score

import spherevec
from experiments.datasets import LabelledTexts, labelled_sets, load_labelled
from experiments.peers import PEERS, Task
from spherevec.corpus import encode
from spherevec.evaluation.documents import random_splits

QUERIES, TOPN, QUERY_WORDS = 300, 10, 12


def accuracy(vectors: NDArray[Any], data: LabelledTexts) -> float:
    return random_splits(vectors, data.labels).micro_f1.mean


def character_vectors(data: LabelledTexts, seed: int) -> NDArray[Any]:
    from sklearn.decomposition import TruncatedSVD
    from sklearn.feature_extraction.text import TfidfVectorizer

    rows = TfidfVectorizer(analyzer="char_wb", ngram_range=(2, 4), min_df=5, sublinear_tf=True).fit_transform(
        data.texts
    )
    return np.asarray(TruncatedSVD(100, random_state=seed).fit_transform(rows))


def precision(model: spherevec.Model, data: LabelledTexts, mode: str) -> float:
    """The share of pages of the query's section among the first ten; the page itself is left out."""
    right = []
    for row in np.random.default_rng(1).permutation(len(data.texts))[:QUERIES]:
        query = " ".join(data.texts[row].split()[1 : 1 + QUERY_WORDS]).replace('"', " ").replace(" -", " ")
        hits = [hit.row for hit in model.search(query, topn=TOPN + 1, mode=mode) if hit.row != row][:TOPN]
        right.append(np.mean(data.labels[hits] == data.labels[row]) if hits else 0.0)
    return float(np.mean(right))


def runs(data: LabelledTexts, seed: int, threads: int, folder: Path) -> Iterator[tuple[str, Callable[[], float]]]:
    """What is measured, and how."""

    def peer(name: str) -> float:
        with tempfile.TemporaryDirectory() as place, encode(data.texts, Path(place), min_count=5) as corpus:
            fitted = PEERS[name](Task(corpus, vector_size=100, epochs=20, window=10, threads=threads, seed=seed))
            return accuracy(fitted.documents, data)

    @cache
    def model() -> Any:
        if not folder.exists():
            spherevec.train(data.texts, seed=seed, threads=threads, progress=False).save(folder)
        return spherevec.Model.load(folder)

    yield "spherevec", lambda: accuracy(model().docs.vectors, data)
    for mode in ("hybrid", "dense", "lexical"):
        yield f"search, {mode}", partial(lambda mode: precision(model(), data, mode), mode)
    for name in ("tfidf-svd", "doc2vec-dbow"):
        yield name, partial(peer, name)
    yield "tf-idf of characters", lambda: accuracy(character_vectors(data, seed), data)


def table(out: Path) -> None:
    found: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for run in map(json.loads, out.read_text().splitlines()):
        found[run["set"]][run["method"]].append(run["accuracy"])
    methods = list(dict.fromkeys(method for scores in found.values() for method in scores))
    print("| mean (largest less smallest) | " + " | ".join(found) + " |")
    print("| --- " * (len(found) + 1) + "|")
    for method in methods:
        shown = [one[method] and f"{np.mean(one[method]):.3f} ({np.ptp(one[method]):.3f})" for one in found.values()]
        print(f"| {method} | {' | '.join(cell or '–' for cell in shown)} |")


def show_topics(models: Path) -> None:
    for folder in sorted(models.glob("*-1")):
        seeds = sorted(models.glob(f"{folder.name[:-1]}*"))
        found = [spherevec.Model.load(seed).topics() for seed in seeds]
        print(f"{folder.name}\n{found[0].tree}")
        for level, topics in (("broad", [one.parents for one in found]), ("finer", found)):
            pairs = [adjusted_rand_score(one.labels, other.labels) for one, other in combinations(topics, 2)]
            print(f"{level}: {', '.join(str(len(one)) for one in topics)} topics; seeds agree by {np.mean(pairs):.2f}")
        print(flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--data", type=Path)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--sets", nargs="*")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--models", type=Path)
    parser.add_argument("--topics", action="store_true")
    parser.add_argument("--table", action="store_true")
    arguments = parser.parse_args()
    if arguments.topics:
        show_topics(arguments.models)
        return
    if not arguments.table:
        measure(arguments)
    table(arguments.out)


def measure(arguments: argparse.Namespace) -> None:
    arguments.out.touch()
    done = [json.loads(line) for line in arguments.out.read_text().splitlines()]
    known = {(run["set"], run["seed"], run["method"]) for run in done}
    for seed in range(1, arguments.seeds + 1):
        for name in arguments.sets or [name for name in labelled_sets(arguments.data) if "manual" in name]:
            data = load_labelled(name, arguments.data)
            for method, run in runs(data, seed, arguments.threads, arguments.models / f"{name}-{seed}"):
                if (name, seed, method) not in known:
                    line = {"set": name, "seed": seed, "method": method, "accuracy": round(run(), 4)}
                    with arguments.out.open("a") as file:
                        file.write(json.dumps(line) + "\n")


if __name__ == "__main__":
    main()
