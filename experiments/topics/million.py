"""Topics of very many documents: python -m experiments.topics.million [--documents 1000000]

Vectors around random directions, von Mises–Fisher like, and words by topic. Prints the topics found, seconds, and the
memory above that of vectors and counts.
"""

from __future__ import annotations

import argparse
import json
import resource
import time
from types import SimpleNamespace
from typing import Any

import numpy as np
from scipy.sparse import csr_array
from sklearn.metrics import adjusted_rand_score

from spherevec.sphere import normalize
from spherevec.topics import find_topics

DIMENSION, TOPICS, WORDS, LENGTH, OWN = 100, 60, 20_000, 30, 100
NOISE = 0.15  # a standard deviation of each coordinate, so that a cosine to the own direction is about 0.55
BLOCK = 50_000


def corpus(n: int, seed: int = 1) -> Any:
    """What `find_topics` asks of a model, with the topic of each document in `truth`."""
    random = np.random.default_rng(seed)
    centers = np.asarray(normalize(random.standard_normal((TOPICS, DIMENSION))), np.float32)
    truth = random.integers(0, TOPICS, n)
    vectors = np.empty((n, DIMENSION), np.float32)
    columns = np.empty((n, LENGTH), np.int32)
    for low in range(0, n, BLOCK):
        here = truth[low : low + BLOCK]
        noise = random.standard_normal((len(here), DIMENSION), np.float32)
        vectors[low : low + BLOCK] = normalize(centers[here] + NOISE * noise)
        own = random.integers(0, OWN, (len(here), LENGTH)) + OWN * here[:, None]
        common = random.integers(0, WORDS, (len(here), LENGTH))
        columns[low : low + BLOCK] = np.sort(np.where(random.random((len(here), LENGTH)) < 0.5, own, common), axis=1)
    counts = csr_array((np.ones(n * LENGTH, np.int32), columns.ravel(), np.arange(0, n * LENGTH + 1, LENGTH)))
    inputs = np.asarray(normalize(random.standard_normal((WORDS, DIMENSION))), np.float32)
    inputs[: TOPICS * OWN] = normalize(np.repeat(centers, OWN, axis=0) + NOISE * inputs[: TOPICS * OWN])
    words = SimpleNamespace(names=[f"word{number}" for number in range(WORDS)], vectors=inputs)
    return SimpleNamespace(
        docs=SimpleNamespace(vectors=vectors), words=words, inputs=words, document_terms=counts, truth=truth
    )


def peak_mb() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--documents", type=int, default=1_000_000)
    parser.add_argument("--threads", type=int, default=2)
    args = parser.parse_args()
    model = corpus(args.documents)
    before, started, used = peak_mb(), time.perf_counter(), time.process_time()
    topics = find_topics(model, threads=args.threads)
    words = topics.words_by_place
    figures = {
        "documents": args.documents,
        "topics": len(topics),
        "seconds": time.perf_counter() - started,
        "cpu_seconds": time.process_time() - used,
        "peak_mb": peak_mb(),
        "mb_above": peak_mb() - before,
        "ari": float(adjusted_rand_score(model.truth, topics.labels)),
    }
    print(json.dumps({name: round(value, 3) for name, value in figures.items()}))
