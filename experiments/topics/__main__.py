"""Measure topics: python -m experiments.topics --data DIR --out RESULTS.jsonl [--sets A,B] [--seeds 1,2]

One line a measurement. Models are trained by the default recipe; --models keeps them for the next run. Rivals run in
the environments given by --rival METHOD=PYTHON.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.metrics import adjusted_rand_score, normalized_mutual_info_score

import spherevec
from experiments.topics.corpora import SETS, load, names_of
from spherevec import Model
from spherevec.corpus.tokenizer import tokenize
from spherevec.evaluation.coherence import topic_diversity, topic_npmi
from spherevec.topics import find_topics


def model_of(name: str, seed: int, texts: list[str], models: Path) -> tuple[Model, float]:
    folder = models / f"{name}-{seed}"
    if folder.exists():
        return Model.load(folder), 0.0
    start = time.perf_counter()
    model = spherevec.train(texts, seed=seed, threads=1, progress=False)
    model.save(folder)
    return model, time.perf_counter() - start


def expected_calibration_error(chance: Any, right: Any, bins: int = 10) -> float:
    place = np.minimum((chance * bins).astype(int), bins - 1)
    gaps = [
        abs(chance[place == i].mean() - right[place == i].mean()) * np.mean(place == i)
        for i in range(bins)
        if (place == i).any()
    ]
    return float(sum(gaps))


def quality(words: list[list[str]], labels: Any, classes: Any, tokens: list[list[str]]) -> dict[str, float]:
    return {
        "npmi": topic_npmi(words, tokens),
        "diversity": topic_diversity(words),
        "nmi": float(normalized_mutual_info_score(classes, labels)),
        "ari": float(adjusted_rand_score(classes, labels)),
    }


def measure(name: str, seeds: list[int], data: Path, models: Path, rivals: dict[str, str], write: Any) -> None:
    texts, classes = load(name, data)
    n_classes = len(np.unique(classes))
    tokens = [tokenize(text) for text in texts]
    found = []
    for seed in seeds:
        model, training = model_of(name, seed, texts, models)
        for k in (None, n_classes):
            start = time.process_time()
            topics = find_topics(model, k=k, threads=1)
            words = topics.words_by_place
            seconds = time.process_time() - start
            write(
                {
                    "set": name,
                    "method": "spherevec" if k is None else "spherevec, k given",
                    "seed": seed,
                    "classes": n_classes,
                    "topics": len(topics),
                    "cpu_seconds": seconds,
                    "training_seconds": training,
                    **quality(words, topics.labels, classes, tokens),
                }
            )
            if k is None:
                found.append(topics.labels)
        names = names_of(name, data)
        if names is not None:
            named = find_topics(model, names=names, only_names=True, threads=1)
            right = named.labels == classes
            write(
                {
                    "set": name,
                    "method": "names only",
                    "seed": seed,
                    "accuracy": float(right.mean()),
                    "calibration_error": expected_calibration_error(named.probability, right),
                }
            )
    if len(found) > 1:
        write({"set": name, "method": "spherevec", "ari_between_seeds": float(adjusted_rand_score(*found[:2]))})
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "texts.json"
        path.write_text(json.dumps(tokens))
        for method, python in rivals.items():
            script = str(Path(__file__).with_name("rivals.py"))
            done = subprocess.run(
                [python, script, method, str(path), str(n_classes), "1"], capture_output=True, text=True, check=True
            )
            answer = json.loads(done.stdout)
            figures = quality(answer["words"], answer["labels"], classes, tokens)
            kept = {key: answer[key] for key in ("seconds", "peak_mb")}
            write({"set": name, "method": method, "classes": n_classes, "topics": n_classes, **kept, **figures})


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--models", type=Path)
    parser.add_argument("--sets", default=",".join(SETS))
    parser.add_argument("--seeds", default="1,2")
    parser.add_argument("--rival", action="append", default=[], metavar="METHOD=PYTHON")
    args = parser.parse_args()
    rivals = dict(one.split("=", 1) for one in args.rival)

    def write(line: dict[str, Any]) -> None:
        with args.out.open("a") as file:
            file.write(json.dumps({key: round(v, 4) if isinstance(v, float) else v for key, v in line.items()}) + "\n")
        print(line, flush=True)

    with tempfile.TemporaryDirectory() as folder:
        for name in args.sets.split(","):
            seeds = [int(seed) for seed in args.seeds.split(",")]
            measure(name, seeds, args.data, args.models or Path(folder), rivals, write)


if __name__ == "__main__":
    main()
