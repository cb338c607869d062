"""Does tuning the word layer on the sphere help a supervised task? The last open question of the paper.

    python -m experiments.tuning --data DIR --out runs.jsonl [--sets NAME ...] [--device cpu|cuda]
    python -m experiments.tuning --out runs.jsonl --table

Sets and seeds that are in the file already are not run again.

A document is the weighted mean of its word vectors, brought to length 1. On it stands a linear model or a network with
one hidden layer. The word vectors come from an unsupervised run over all texts, and are then left as they are or tuned
together with the layers above. Learning rate and number of steps are chosen on a fifth of the labels in each run.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections import defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from scipy import sparse

from experiments.datasets import LabelledTexts, labelled_sets, load_labelled
from spherevec.config import TrainConfig
from spherevec.corpus import encode
from spherevec.training import train_corpus

STEPS, EVERY = 120, 10
HIDDEN, SCALE = 128, 8.0  # SCALE: the layers above see documents of this length, as the default concentration has it
COMMON = 1e-3  # words more frequent than this share of the text weigh less than half
LABELS = {"ten": 10, "all": None}


class WeightedMean(torch.autograd.Function):
    """Documents as weighted sums of rows, with the transposed matrix kept for the way back."""

    @staticmethod
    def forward(ctx: Any, bags: torch.Tensor, transposed: torch.Tensor, words: torch.Tensor) -> torch.Tensor:
        ctx.transposed = transposed
        return bags @ words

    @staticmethod
    def backward(ctx: Any, gradient: torch.Tensor) -> tuple[None, None, torch.Tensor]:
        return None, None, ctx.transposed @ gradient


class PaperStep(torch.optim.Optimizer):
    """The paper's step: the Riemannian gradient times the cosine factor, then back to the sphere."""

    def __init__(self, parameters: list[torch.Tensor], lr: float) -> None:
        super().__init__(parameters, {"lr": lr})

    @torch.no_grad()
    def step(self, closure: None = None) -> None:
        for group in self.param_groups:
            for rows in group["params"]:
                gradient = rows.grad
                along = (rows * gradient).sum(1, keepdim=True)
                factor = 1 + along / gradient.norm(dim=1, keepdim=True).clamp_min(1e-20)
                rows -= group["lr"] * factor * (gradient - along * rows)
                to_sphere(rows)


@torch.no_grad()
def to_sphere(rows: torch.Tensor) -> None:
    rows /= rows.norm(dim=1, keepdim=True)


def riemannian_adam(rows: torch.Tensor, rate: float) -> tuple[torch.Tensor, torch.optim.Optimizer]:
    import geoopt

    tuned = geoopt.ManifoldParameter(rows, manifold=geoopt.Sphere())
    return tuned, geoopt.optim.RiemannianAdam([tuned], lr=rate)


def _tuned(optimizer: Callable[[list[torch.Tensor], float], torch.optim.Optimizer]) -> Callable[..., Any]:
    def build(rows: torch.Tensor, rate: float) -> tuple[torch.Tensor, torch.optim.Optimizer]:
        tuned = rows.requires_grad_()
        return tuned, optimizer([tuned], rate)

    return build


# How the word layer is tuned: what makes its optimizer, the rates to choose from, what is done after each step.
LAYERS: dict[str, tuple[Callable[..., Any] | None, tuple[float, ...], Callable[[torch.Tensor], None] | None]] = {
    "frozen": (None, (0.0,), None),
    "free": (_tuned(torch.optim.Adam), (0.001, 0.003, 0.01), None),
    "constrained": (_tuned(torch.optim.Adam), (0.001, 0.003, 0.01), to_sphere),
    "Riemannian Adam": (riemannian_adam, (0.001, 0.003, 0.01), None),
    "paper's step": (_tuned(PaperStep), (3.0, 30.0, 300.0), None),
}


def head(kind: str, width: int, classes: int) -> torch.nn.Module:
    if kind == "linear":
        return torch.nn.Linear(width, classes)
    return torch.nn.Sequential(torch.nn.Linear(width, HIDDEN), torch.nn.ReLU(), torch.nn.Linear(HIDDEN, classes))


def word_vectors(data: LabelledTexts, seed: int, device: str) -> tuple[NDArray[np.float32], sparse.csr_matrix]:
    """The vectors of an unsupervised run, and each document's weights of words."""
    with tempfile.TemporaryDirectory() as folder, encode(iter(data.texts), Path(folder), min_count=5) as corpus:
        config = TrainConfig(seed=seed, device=device).resolved(corpus.n_tokens, len(corpus.vocabulary))
        vectors = train_corpus(corpus, config).words.vectors.copy()
        offsets, counts = np.asarray(corpus.offsets), np.asarray(corpus.vocabulary.counts, dtype=np.float64)
        ones = np.ones(offsets[-1], dtype=np.float32)
        bags = sparse.csr_matrix(
            (ones, np.array(corpus.ids), np.array(offsets)), shape=(len(offsets) - 1, len(vectors))
        )
    bags.sum_duplicates()
    bags.data = np.log1p(bags.data) * (COMMON / (COMMON + counts / counts.sum()))[bags.indices].astype(np.float32)
    return vectors, bags


def parts(data: LabelledTexts, wanted: int | None, random: np.random.Generator) -> tuple[NDArray[np.intp], ...]:
    """Documents to learn from, to choose by, and to test with: the given split, or four fifths at random."""
    given = data.split is not None and set(data.split) >= {"train", "test"}
    learned = data.split == "train" if given else random.random(len(data.texts)) < 0.8
    rows = random.permutation(np.flatnonzero(learned))
    if wanted is not None:
        rows = np.concatenate([rows[data.labels[rows] == label][:wanted] for label in np.unique(data.labels[rows])])
        rows = random.permutation(rows)
    return rows[len(rows) // 5 :], rows[: len(rows) // 5], np.flatnonzero(~learned)


def tuned_accuracy(
    bags: list[tuple[torch.Tensor, torch.Tensor, torch.Tensor]], words: torch.Tensor, layer: str, kind: str, rate: float
) -> tuple[float, float]:
    """Accuracy on the documents to choose by and on those to test with, at the step that is best for the former."""
    build, _, after = LAYERS[layer]
    classes = 1 + int(max(labels.max() for *_, labels in bags))
    above = head(kind, words.shape[1], classes).to(words.device)
    tuned, optimizer = build(words.clone(), rate) if build else (words, None)
    layers_above = torch.optim.Adam(above.parameters(), lr=0.01, weight_decay=1e-4)

    def scores(part: int) -> tuple[torch.Tensor, torch.Tensor]:
        matrix, transposed, labels = bags[part]
        documents = torch.nn.functional.normalize(WeightedMean.apply(matrix, transposed, tuned)) * SCALE
        return above(documents), labels

    best = (-1.0, 0.0)
    for step in range(1, STEPS + 1):
        layers_above.zero_grad()
        if optimizer:
            optimizer.zero_grad()
        torch.nn.functional.cross_entropy(*scores(0)).backward()
        layers_above.step()
        if optimizer:
            optimizer.step()
        if after:
            after(tuned)
        if step % EVERY == 0:
            with torch.no_grad():
                found = [
                    (predicted.argmax(1) == labels).float().mean().item() for predicted, labels in map(scores, (1, 2))
                ]
            best = max(best, (found[0], found[1]))
    return best


def runs(data: LabelledTexts, seed: int, device: str) -> Iterator[dict[str, Any]]:
    vectors, matrix = word_vectors(data, seed, device)
    idf = np.log(matrix.shape[0] / np.maximum(np.bincount(matrix.indices, minlength=matrix.shape[1]), 1)) + 1
    words = torch.tensor(vectors / np.linalg.norm(vectors, axis=1, keepdims=True), device=device)
    for amount, wanted in LABELS.items():
        chosen = parts(data, wanted, np.random.default_rng(seed))
        bags = [_tensors(matrix[rows], data.labels[rows], device) for rows in chosen]
        for kind in ("linear", "network"):
            for layer, (_, rates, _) in LAYERS.items():
                torch.manual_seed(seed)
                tried = {rate: tuned_accuracy(bags, words, layer, kind, rate) for rate in rates}
                rate = max(tried, key=lambda rate: tried[rate][0])
                yield {"labels": amount, "head": kind, "layer": layer, "rate": rate, "accuracy": tried[rate][1]}
        yield {
            "labels": amount,
            "head": "linear",
            "layer": "tf-idf",
            "accuracy": _tfidf(matrix, idf, data.labels, chosen),
        }


def _tensors(matrix: sparse.csr_matrix, labels: NDArray[np.int64], device: str) -> tuple[torch.Tensor, ...]:
    def tensor(rows: sparse.csr_matrix) -> torch.Tensor:
        return torch.sparse_csr_tensor(rows.indptr, rows.indices, rows.data, rows.shape, device=device)

    return tensor(matrix), tensor(matrix.T.tocsr()), torch.tensor(labels, device=device)


def _tfidf(matrix: sparse.csr_matrix, idf: NDArray[np.float64], labels: NDArray[np.int64], chosen: Any) -> float:
    from sklearn.preprocessing import normalize
    from sklearn.svm import LinearSVC

    learn, choose, test = chosen
    rows = normalize(matrix.multiply(idf[None, :]).tocsr())
    tried = {}
    for strength in (0.1, 1.0, 10.0):
        model = LinearSVC(C=strength).fit(rows[learn], labels[learn])
        tried[model.score(rows[choose], labels[choose])] = model.score(rows[test], labels[test])
    return float(tried[max(tried)])


def table(out: Path) -> None:
    """Means over the seeds, one line a set; then the mean over sets and the gain over frozen words with its error."""
    found: dict[tuple[str, str, str], dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for run in map(json.loads, out.read_text().splitlines()):
        found[run["labels"], run["head"], run["layer"]][run["set"]].append(run["accuracy"])
    sets = sorted({name for scores in found.values() for name in scores})
    for amount in LABELS:
        columns = [key for key in found if key[0] == amount]
        print(f"\n| {amount} labels | " + " | ".join(f"{head}, {layer}" for _, head, layer in columns) + " |")
        print("| --- " * (len(columns) + 1) + "|")
        for name in sets:
            print(f"| {name} | " + " | ".join(f"{np.mean(found[key][name]):.3f}" for key in columns) + " |")
        gains = []
        for key in columns:
            base = found[amount, key[1], "frozen"]
            gain = np.array([np.mean(found[key][name]) - np.mean(base[name]) for name in sets])
            gains.append(f"{gain.mean():+.3f} ± {gain.std(ddof=1) / len(sets) ** 0.5:.3f}")
        print("| mean gain | " + " | ".join(gains) + " |")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--data", type=Path)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--sets", nargs="*")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--table", action="store_true")
    arguments = parser.parse_args()
    arguments.out.touch()
    done = {(run["set"], run["seed"]) for run in map(json.loads, arguments.out.read_text().splitlines())}
    for seed in () if arguments.table else range(1, arguments.seeds + 1):
        for name in arguments.sets or labelled_sets(arguments.data):
            if (name, seed) not in done:
                found = list(runs(load_labelled(name, arguments.data), seed, arguments.device))
                with arguments.out.open("a") as file:
                    file.writelines(json.dumps({"set": name, "seed": seed, **run}) + "\n" for run in found)
    table(arguments.out)


if __name__ == "__main__":
    main()
