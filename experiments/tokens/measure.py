"""Train on encoded corpora and measure their documents: `python -m experiments.tokens.measure FOLDER DEVICE SEEDS`.

One line of JSON a run: 3-nearest-neighbour micro-F1 (the set's own split, else five folds) and NMI of k-means.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.cluster import KMeans
from sklearn.metrics import f1_score, normalized_mutual_info_score
from sklearn.neighbors import KNeighborsClassifier

from spherevec.corpus import EncodedCorpus
from spherevec.training import train

FOLDS = 5


def f1(vectors: Any, labels: Any, train_rows: Any, test_rows: Any) -> float:
    neighbours = KNeighborsClassifier(3, metric="cosine", algorithm="brute").fit(
        vectors[train_rows], labels[train_rows]
    )
    return float(f1_score(labels[test_rows], neighbours.predict(vectors[test_rows]), average="micro"))


def measured(folder: Path, device: str, seed: int) -> dict[str, Any]:
    about = np.load(folder / "labels.npz")
    labels, split = np.unique(about["labels"], return_inverse=True)[1], about["split"]
    with EncodedCorpus.open(folder) as corpus:
        model = train(corpus, device=device, seed=seed, phrases=corpus.phrases)
        words = len(corpus.vocabulary)
    assert model.docs is not None
    vectors = np.asarray(model.docs.vectors)
    rows = np.random.default_rng(seed).permutation(len(labels))
    if len(set(split)) == 2:
        scores = [f1(vectors, labels, np.flatnonzero(split == "train"), np.flatnonzero(split != "train"))]
    else:
        parts = np.array_split(rows, FOLDS)
        scores = [f1(vectors, labels, np.setdiff1d(rows, part), part) for part in parts]
    found = KMeans(len(set(labels)), n_init=3, random_state=seed).fit_predict(vectors)
    name, variant = folder.name.split(",")
    nmi = float(normalized_mutual_info_score(labels, found))
    return {"set": name, "variant": variant, "seed": seed, "f1": float(np.mean(scores)), "nmi": nmi, "words": words}


if __name__ == "__main__":
    for seed in range(1, int(sys.argv[3]) + 1):
        for folder in sorted(Path(sys.argv[1]).iterdir()):
            print(json.dumps(measured(folder, sys.argv[2], seed)), flush=True)
