"""How documents of different lengths are fitted to the same trained words: exponents by length, and passes.

    python -m experiments.recipe.lengths --out lengths.jsonl [--sets movie_reviews 20news] [--seeds 3] [--device cuda]

Each line of the file is one way to fit one training. All labelled sets of the data folder by default.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

import spherevec
from experiments.datasets import LabelledTexts, cross_validated, labelled_sets, load_labelled
from spherevec.engine.fit import BY_LENGTH
from spherevec.evaluation.documents import evaluate_clustering, given_split, random_splits
from spherevec.model import Model
from spherevec.model.inference import DocumentFitter

Floats = NDArray[np.float32]

# What twice the length takes from the exponent of counts and adds to that of weights, and the passes.
FITS: dict[str, tuple[tuple[float, float], int]] = {
    "as built": ((float(BY_LENGTH[0]), float(BY_LENGTH[1])), 6),
    "weights alone, four passes": ((0.0, 0.0), 4),
    "weights alone": ((0.0, 0.0), 6),
    "damped counts": ((0.125, 0.0), 6),
    "sharpened weights": ((0.0, 0.4), 6),
    "four passes": ((0.125, 0.4), 4),
    "twelve passes": ((0.125, 0.4), 12),
}


def fitted(model: Model, by_length: tuple[float, float], passes: int, device: str) -> Floats:
    """The documents that a model was trained on, fitted to its words."""
    assert model.fit is not None and model.document_terms is not None
    counts = model.document_terms
    ids = np.repeat(counts.indices, counts.data).astype(np.int32)
    lengths = np.asarray(counts.sum(axis=1), np.int64).reshape(-1)
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    model.fit = model.fit._replace(by_length=np.array(by_length, np.float32))
    return DocumentFitter(model).fit(ids, offsets, epochs=passes, device=device)


def scores(vectors: Floats, data: LabelledTexts) -> dict[str, float]:
    if data.split is not None:
        found = {"micro-F1": given_split(vectors, data.labels, data.split).micro_f1.mean}
    else:
        found = {"micro-F1": cross_validated(vectors, data.labels).micro_f1.mean}
    found["macro-F1, 10 splits"] = random_splits(vectors, data.labels, repeats=10).macro_f1.mean
    clusters = evaluate_clustering(vectors, data.labels, runs=10)
    return found | {"NMI": clusters.nmi.mean, "purity": clusters.purity.mean}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--sets", nargs="*", metavar="NAME")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--threads", type=int, default=0)
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu")
    arguments = parser.parse_args()
    with arguments.out.open("a") as file:
        for name in arguments.sets or labelled_sets():
            data = load_labelled(name)
            for seed in range(1, arguments.seeds + 1):
                model = spherevec.train(data.texts, seed=seed, threads=arguments.threads, device=arguments.device)
                for fit, (by_length, passes) in FITS.items():
                    vectors = fitted(model, by_length, passes, arguments.device)
                    file.write(json.dumps({"set": name, "seed": seed, "fit": fit, **scores(vectors, data)}) + "\n")
                    file.flush()


if __name__ == "__main__":
    main()
