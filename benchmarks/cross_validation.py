"""Five-fold cross-validation with scikit-learn: 1,200 posts of 20 Newsgroups, vectors learned anew in each fold.

    python -m benchmarks.cross_validation [--posts 1200] [--repeats 1] [--json]

A logistic regression on our vectors, and on tf-idf. Seconds by the clock and of the processor; accuracy is the mean
of the folds.
"""

from __future__ import annotations

import statistics
import time
from typing import Any

import numpy as np
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline

import spherevec
from benchmarks.common import Report, command
from experiments.datasets import find_data
from spherevec.corpus import read_documents


def measured(features: Any, texts: list[str], classes: list[str]) -> Report:
    started, cpu = time.perf_counter(), time.process_time()
    scores = cross_val_score(make_pipeline(features, LogisticRegression(max_iter=1000)), texts, classes, cv=5)
    return {
        "seconds": time.perf_counter() - started,
        "cpu_seconds": time.process_time() - cpu,
        "accuracy": float(scores.mean()),
    }


def run(posts: int = 1200, repeats: int = 1) -> Report:
    folder = find_data() / "20news"
    texts = [str(text) for text in read_documents(folder / "text.txt.gz")]
    classes = (folder / "label.txt").read_text("utf-8").split()
    chosen = np.random.default_rng(0).choice(len(texts), posts, replace=False)
    some, labels = [texts[at] for at in chosen], [classes[at] for at in chosen]
    spherevec.SphericalEmbedding(epochs=1).fit(some[:20])  # compiles
    report: Report = {}
    for name, features in (
        ("vectors", spherevec.SphericalEmbedding(random_state=1)),
        ("tf-idf", TfidfVectorizer()),
    ):
        turns = [measured(features, some, labels) for _ in range(repeats)]
        report[name] = {key: statistics.median(turn[key] for turn in turns) for key in turns[0]}
    return report


def show(report: Report) -> None:
    for name, figures in report.items():
        print(
            f"{name:8s} {figures['seconds']:6.1f} s, {figures['cpu_seconds']:6.1f} s of the processor, "
            f"accuracy {figures['accuracy']:.3f}"
        )


if __name__ == "__main__":
    command(__doc__, run, show, posts=1200, repeats=1)
