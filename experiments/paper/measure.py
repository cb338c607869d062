"""Measure one cell: train, then look at the vectors. Labels are read only after training has ended."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from numpy.typing import NDArray

from experiments import datasets
from experiments.neighbors import knn_curve
from experiments.paper.corpora import documents_of, encoded, labelled, places_of
from experiments.paper.plan import METHODS, NEWS, Cell, Scale
from experiments.peers import PEERS, Fitted, Task
from spherevec.config import TrainConfig
from spherevec.evaluation.documents import evaluate_clustering, random_rows, split_rows
from spherevec.evaluation.words import evaluate_analogies, evaluate_similarity
from spherevec.model.keyed_vectors import KeyedVectors
from spherevec.training import train_corpus

Metrics = dict[str, Any]  # name → numbers, one a clustering or split, or whatever JSON holds

_WARM_UP = 150  # documents of a run that is not counted


def measure(cell: Cell, scale: Scale, data: Path, threads: int) -> Metrics:
    """Train and evaluate one cell, and say how long it took and how much memory the process needed."""
    texts = documents_of(cell.data, data, scale)
    places = places_of(cell, len(texts), scale)
    fed = [texts[place] for place in places.tolist()]
    if cell.kind == "time":
        metrics = _times(cell, scale, fed, threads)
    else:
        seconds, fitted, metrics = _fitted(cell, scale, fed, threads, scale.epochs[cell.data])
        metrics |= {"seconds": seconds, "settings": fitted.settings}
        if cell.kind == "words":
            assert fitted.words is not None
            metrics |= _word_metrics(fitted.words, data)
        else:
            vectors = np.empty_like(fitted.documents)
            vectors[places] = fitted.documents  # back in the order of the file, which is that of the labels
            metrics |= _document_metrics(vectors, cell, scale, data)
    return metrics | {"peak_bytes": _peak_memory()}


def _fitted(cell: Cell, scale: Scale, texts: Sequence[str], threads: int, epochs: int) -> tuple[float, Fitted, Metrics]:
    """Train on `texts`; seconds from encoded text to vectors, what was learned, and the size of the corpus."""
    with TemporaryDirectory() as folder, encoded(cell.data, texts, Path(folder, "c"), scale, threads) as corpus:
        task = Task(corpus, scale.vector_size, epochs, scale.window, threads, cell.seed, texts)
        about = {"documents": corpus.n_documents, "tokens": corpus.n_tokens, "words": len(corpus.vocabulary)}
        started = time.perf_counter()
        fitted = PEERS[cell.method](task) if cell.method in PEERS else _fit_recipe(cell, task)
        return time.perf_counter() - started, fitted, {"corpus": about}


def _fit_recipe(cell: Cell, task: Task) -> Fitted:
    """Train spherevec."""
    config = TrainConfig.recipe(
        cell.method.removeprefix("spherevec-"),
        vector_size=task.vector_size,
        epochs=task.epochs,
        threads=task.threads,
        seed=task.seed,
        **({} if cell.order == "any" else {"order": cell.order}),
    )
    model = train_corpus(task.corpus, config)
    assert model.docs is not None and model.config is not None
    return Fitted(model.words, model.docs.vectors, model.config)


def _times(cell: Cell, scale: Scale, texts: Sequence[str], threads: int) -> Metrics:
    """Seconds of one epoch and of two; what is done once a run shows in the difference.

    A first, tiny run that is not counted has everything compiled and loaded.
    """
    _fitted(cell, scale, texts[:_WARM_UP], threads, 1)
    seconds = []
    for epochs in (1, 2) if METHODS[cell.method].by_epochs else (1,):
        spent, _, metrics = _fitted(cell, scale, texts, threads, epochs)
        seconds.append(spent)
    return {"seconds": seconds, "corpus": metrics["corpus"]}


def _word_metrics(words: KeyedVectors, data: Path) -> Metrics:
    metrics: Metrics = {}
    for name in datasets.SIMILARITY_SETS:
        pairs = datasets.load_similarity(name, data)
        result = evaluate_similarity(words, pairs, name)
        metrics |= {name: [result.spearman], f"{name}.covered": [result.covered, result.total]}
    sections = datasets.load_analogies(data)
    for method in ("3cosadd", "3cosmul"):
        total = evaluate_analogies(words, sections, method)[-1]
        metrics |= {method: [total.accuracy], "analogies.covered": [total.covered, total.total]}
    return metrics


def _document_metrics(vectors: NDArray[np.float32], cell: Cell, scale: Scale, data: Path) -> Metrics:
    """Of document vectors in the order of the file, (documents, dim)."""
    known = labelled(cell.data, data, scale)
    metrics: Metrics = {}
    if cell.data == NEWS:
        for method in ("kmeans",) if cell.kind == "order" else ("kmeans", "skmeans"):
            found = asdict(evaluate_clustering(vectors, known.labels, scale.clusterings, method))
            metrics |= {f"{method}.{name}": found[name]["values"] for name in ("mi", "nmi", "ari", "purity")}
    if cell.kind == "order":
        return metrics
    splits = random_rows(len(vectors), scale.splits) if known.split is None else [split_rows(known.split)]
    for result in knn_curve(vectors, known.labels, splits, range(1, 11)):
        metrics[f"{result.k}nn.macro_f1"] = list(result.macro_f1.values)
        metrics[f"{result.k}nn.micro_f1"] = list(result.micro_f1.values)
    return metrics


def _peak_memory() -> int:
    """The largest resident set of this process so far, in bytes; 0 where the system does not tell."""
    status = Path("/proc/self/status")
    if status.exists():  # ru_maxrss would include that of the process that started this one
        return next(int(line.split()[1]) for line in status.read_text().splitlines() if line.startswith("VmHWM")) * 1024
    if sys.platform == "win32":
        return 0
    import resource

    largest = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return largest if sys.platform == "darwin" else largest * 1024
