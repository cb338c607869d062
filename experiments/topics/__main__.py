"""Measure topics: python -m experiments.topics --data DIR --out RESULTS.jsonl [--sets A,B] [--seeds 1,2]

One line a measurement; one that the file has is not taken again. Models are trained by the default recipe; --models
keeps them, and what rivals answered, for the next run. Rivals run in the environments given by --rival METHOD=PYTHON
(rivals.py lists the methods), each for --limit seconds at most; one that fails or takes longer is recorded as such.
--minilm is a folder for vectors of all-MiniLM-L6-v2, SET.npy, which BERTopic, KeyNMF and FASTopic share; BERTopic runs
with our vectors, too. --outside is a file of gensim's KeyedVectors of another text, for the coherence by outside
vectors. Seconds are those of the processor, since machines are shared.
"""

from __future__ import annotations

import argparse
import json
import resource
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
from gensim.models import KeyedVectors
from sklearn.metrics import adjusted_rand_score

import spherevec
from experiments.topics.corpora import SETS, load, names_of
from experiments.topics.measuring import Results, expected_calibration_error, quality, run_rival
from spherevec import Model
from spherevec.corpus.tokenize.tokenizer import tokenize
from spherevec.topics import find_topics


def model_of(name: str, seed: int, texts: list[str], models: Path) -> tuple[Model, float]:
    folder = models / f"{name}-{seed}"
    if folder.exists():
        return Model.load(folder), 0.0
    start = time.perf_counter()
    model = spherevec.train(texts, seed=seed, threads=1, progress=False)
    model.save(folder)
    return model, time.perf_counter() - start


def measure_rivals(
    name: str,
    seeds: list[int],
    held: Path,
    ours: Path,
    classes: Any,
    tokens: list[list[str]],
    args: Any,
    results: Results,
) -> None:
    """All rivals on one set: with the number of classes given, and with their own number where they find one."""
    n_classes = len(np.unique(classes))
    encoded = None if args.minilm is None else args.minilm / f"{name}.npy"
    minilm = [str(encoded)] if encoded is not None and encoded.exists() else []
    for rival in args.rival:
        method, python = rival.split("=", 1)
        runs = [(method, minilm if method in ("bertopic", "keynmf", "fastopic") else [])]
        if method == "bertopic":
            runs.append(("bertopic, our vectors", [str(ours)]))
        for title, vectors in runs:
            found: dict[str, list[list[int]]] = {}
            for seed in seeds:
                line: dict[str, Any] = {"set": name, "seed": seed, "classes": n_classes}
                kept = None if args.models is None else args.models / f"answers/{name}-{title}-{seed}.json"
                arguments = [method, str(held), str(n_classes), str(seed), *vectors]
                answer = run_rival(python, arguments, args.limit, kept)
                if "failed" in answer:
                    results.write({**line, "method": title, **answer})
                    break
                cost = {key: answer[key] for key in ("cpu_seconds", "peak_mb", "packages")}
                for number, topics in answer["topics"].items():
                    figures = quality(topics["words"], topics["labels"], classes, tokens, args.outside_vectors)
                    results.write({**line, "method": title + number, "topics": len(topics["words"]), **cost, **figures})
                    found.setdefault(title + number, []).append(topics["labels"])
            for key, labels in found.items():
                if len(labels) > 1:
                    agreement = float(adjusted_rand_score(*labels[:2]))
                    results.write({"set": name, "method": key, "ari_between_seeds": agreement})


def measure(name: str, seeds: list[int], data: Path, models: Path, args: Any, results: Results) -> None:
    texts, classes = load(name, data)
    n_classes = len(np.unique(classes))
    tokens = [tokenize(text) for text in texts]
    found = []
    for seed in seeds:
        model, training = model_of(name, seed, texts, models)
        if all({"set": name, "method": "spherevec", "seed": one} in results for one in seeds):
            continue
        for k in (None, n_classes):
            start = time.process_time()
            topics = find_topics(model, k=k, threads=1)
            words = topics.words_by_place
            seconds = time.process_time() - start
            results.write(
                {
                    "set": name,
                    "method": "spherevec" if k is None else "spherevec, k given",
                    "seed": seed,
                    "classes": n_classes,
                    "topics": len(topics),
                    "cpu_seconds": seconds,
                    "training_seconds": training,
                    "peak_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
                    **quality(words, topics.labels, classes, tokens, args.outside_vectors),
                }
            )
            if k is None:
                found.append(topics.labels)
        names = names_of(name, data)
        if names is not None:
            named = find_topics(model, names=names, only_names=True, threads=1)
            right = named.labels == classes
            results.write(
                {
                    "set": name,
                    "method": "names only",
                    "seed": seed,
                    "accuracy": float(right.mean()),
                    "calibration_error": expected_calibration_error(named.probability, right),
                }
            )
    if len(found) > 1:
        results.write({"set": name, "method": "spherevec", "ari_between_seeds": float(adjusted_rand_score(*found[:2]))})
    if args.rival:
        with tempfile.TemporaryDirectory() as folder:
            held, ours = Path(folder) / "texts.json", Path(folder) / "ours.npy"
            held.write_text(json.dumps({"texts": texts, "tokens": tokens}))
            assert model.docs is not None
            np.save(ours, np.asarray(model.docs.vectors))
            measure_rivals(name, seeds, held, ours, classes, tokens, args, results)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--models", type=Path)
    parser.add_argument("--sets", default=",".join(SETS))
    parser.add_argument("--seeds", default="1,2")
    parser.add_argument("--rival", action="append", default=[], metavar="METHOD=PYTHON")
    parser.add_argument("--minilm", type=Path, metavar="FOLDER")
    parser.add_argument("--outside", type=Path, metavar="FILE")
    parser.add_argument("--limit", type=int, default=900)
    args = parser.parse_args()

    results = Results(args.out)
    args.outside_vectors = None if args.outside is None else KeyedVectors.load(str(args.outside), mmap="r")
    with tempfile.TemporaryDirectory() as folder:
        for name in args.sets.split(","):
            seeds = [int(seed) for seed in args.seeds.split(",")]
            measure(name, seeds, args.data, args.models or Path(folder), args, results)


if __name__ == "__main__":
    main()
