"""Measure one cell: train, then look at the vectors. Labels are read only after training has ended."""

from __future__ import annotations

import resource
import sys
import time
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from numpy.typing import NDArray

from spherevec import evaluation
from spherevec.corpus import EncodedCorpus
from spherevec.evaluation.classification import random_rows, split_rows
from spherevec.evaluation.similarity import pair_cosines
from spherevec.keyed_vectors import KeyedVectors
from spherevec.reproduction.corpora import labelled, places_of, texts_of, write_first
from spherevec.reproduction.fitting import Report, Task, Trained, fit
from spherevec.reproduction.maps import document_map, word_map
from spherevec.reproduction.methods import METHODS
from spherevec.reproduction.plan import NEWS, Cell, Scale
from spherevec.sphere import random_directions

NEIGHBOURS = range(1, 11)
_WARM_UP = 150  # documents of a run that is not counted


@dataclass(frozen=True)
class Surroundings:
    """What a cell is measured with: its encoded corpus, the data sets, and how many threads."""

    scale: Scale
    corpus: Path
    data: Path | None
    threads: int


@dataclass(frozen=True)
class Outcome:
    """Figures for the page, as JSON can hold them, and word vectors that another cell needs."""

    figures: dict[str, Any]
    words: KeyedVectors | None


def measure(cell: Cell, around: Surroundings, given: KeyedVectors | None, report: Report) -> Outcome:
    """Train and evaluate.

    Args:
        given: the word vectors of the cell that this one needs.
    """
    if cell.kind == "time":
        return Outcome(_times(cell, around, report), None)
    with EncodedCorpus.open(around.corpus) as corpus:
        seconds, trained = _fitted(cell, around, corpus, given, around.scale.epochs[cell.data], report)
        about = {"documents": corpus.n_documents, "tokens": corpus.n_tokens, "words": len(corpus.vocabulary)}
    figures: dict[str, Any] = {
        "seconds": seconds,
        "peak_bytes": peak_memory(),
        "corpus": about,
        "settings": trained.settings,
        "losses": trained.losses,
        "record": trained.record,
    }
    if cell.kind == "words":
        assert trained.words is not None
        figures |= _word_figures(trained.words, around)
        if cell.mapped:
            figures["map"] = word_map(trained.words, around.scale.mapped[1])
    else:
        assert trained.documents is not None
        vectors = np.empty_like(trained.documents)
        # Back in the order of the file, which is that of the labels.
        vectors[places_of(cell, len(vectors), around.scale)] = trained.documents
        figures |= _document_figures(vectors, cell, around)
    return Outcome(figures, trained.words)


def peak_memory() -> int:
    """The largest resident set of this process so far, in bytes."""
    largest = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return largest if sys.platform == "darwin" else largest * 1024


def _times(cell: Cell, around: Surroundings, report: Report) -> dict[str, Any]:
    """Seconds of one epoch and of two, from encoded text to vectors; what is done once a run shows in the difference.

    A first, tiny run that is not counted has everything compiled and loaded.
    """
    method = METHODS[cell.method]
    with EncodedCorpus.open(around.corpus) as corpus:
        with TemporaryDirectory() as folder, write_first(corpus, _WARM_UP, Path(folder) / "few") as few:
            _fitted(cell, around, few, _words_to_weigh(cell, few, around.scale.dim), 1, report)
        words = _words_to_weigh(cell, corpus, around.scale.dim)
        figures: dict[str, Any] = {"tokens": corpus.n_tokens, "documents": corpus.n_documents, "seconds": []}
        for epochs in (1, 2) if method.by_epochs else (1,):
            seconds, trained = _fitted(cell, around, corpus, words, epochs, report)
            figures["seconds"].append(seconds)
        return figures | {"peak_bytes": peak_memory(), "settings": trained.settings}


def _fitted(
    cell: Cell,
    around: Surroundings,
    corpus: EncodedCorpus,
    words: KeyedVectors | None,
    epochs: int,
    report: Report,
) -> tuple[float, Trained]:
    """Train on `corpus`; also returns the seconds that it took."""
    texts = _texts(cell, around, corpus.n_documents) if METHODS[cell.method].reads_text else None
    task = Task(
        corpus,
        dim=around.scale.dim,
        window=around.scale.window,
        epochs=epochs,
        threads=around.threads,
        seed=cell.seed,
        order=None if cell.order == "any" else cell.order,
        texts=None if texts is None else lambda: texts,
        words=words,
    )
    started = time.perf_counter()
    trained = fit(METHODS[cell.method], task, report)
    return time.perf_counter() - started, trained


def _texts(cell: Cell, around: Surroundings, documents: int) -> list[str]:
    whole = list(texts_of(cell.data, around.data, around.scale))
    return [whole[place] for place in places_of(cell, len(whole), around.scale)[:documents].tolist()]


def _words_to_weigh(cell: Cell, corpus: EncodedCorpus, dim: int) -> KeyedVectors | None:
    """Random vectors for a method that weighs given ones: how long that takes does not depend on what they are."""
    if cell.method != "sif":
        return None
    rng = np.random.default_rng(1)
    vectors = random_directions(len(corpus.vocabulary), dim, rng).astype(np.float32)
    return KeyedVectors(corpus.vocabulary.words, vectors, corpus.vocabulary.counts)


def _word_figures(words: KeyedVectors, around: Surroundings) -> dict[str, Any]:
    table = (words.names or [], words.vectors)
    figures: dict[str, Any] = {"similarity": {}, "scatter": {}, "analogy": {}}
    for name in evaluation.SIMILARITY_SETS:
        pairs = evaluation.load_similarity(name, around.data)
        figures["similarity"][name] = asdict(evaluation.evaluate_similarity(table, pairs, name))
        cosines, scores = pair_cosines(table, pairs)
        figures["scatter"][name] = [np.round(cosines, 4).tolist(), scores.tolist()]
    sections = evaluation.load_analogies(around.data)
    for method in ("3cosadd", "3cosmul"):
        result = evaluation.evaluate_analogies(table, sections, method)
        figures["analogy"][method] = {
            kind: {**asdict(part), "accuracy": part.accuracy}
            for kind, part in (("total", result.total), ("semantic", result.semantic), ("syntactic", result.syntactic))
        }
    return figures


def _document_figures(vectors: NDArray[np.float32], cell: Cell, around: Surroundings) -> dict[str, Any]:
    """Figures of document vectors in the order of the file, (documents, dim)."""
    scale = around.scale
    known = labelled(cell.data, around.data, scale.every[cell.data])
    figures: dict[str, Any] = {}
    if cell.data == NEWS:
        methods: Iterable[str] = ("kmeans",) if cell.kind == "order" else ("kmeans", "skmeans")
        figures["clustering"] = {
            method: asdict(evaluation.evaluate_clustering(vectors, known.labels, scale.clusterings, method))
            for method in methods
        }
    splits = random_rows(len(vectors), scale.splits) if known.split is None else [split_rows(known.split)]
    curve = evaluation.knn_curve(vectors, known.labels, splits, NEIGHBOURS)
    figures["classification"] = [asdict(result) for result in curve]
    if cell.mapped:
        figures["map"] = document_map(vectors, known.labels, known.classes, scale.mapped[0])
    return figures
