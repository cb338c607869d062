"""Vectors for unseen documents: how good, and how many a second, beside averaging word vectors and gensim's Doc2Vec.

    python -m benchmarks.inference [--seeds 2] [--repeats 3] [--json]

Needs gensim and the data sets (SPHEREVEC_DATA). Everything is trained on the 11,314 training documents of
20 Newsgroups, in shuffled order, and gives vectors to the 7,532 test documents; only "trained on all" is trained on
both. Quality is the micro-F1 of the 3 nearest training documents. Rates of ours and of averaging count from raw text,
gensim's from lists of words.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from dataclasses import asdict
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

import spherevec
from benchmarks.common import Report, command
from experiments.datasets import load_labelled
from spherevec.config import INFERENCE_EPOCHS
from spherevec.corpus import encode_texts
from spherevec.corpus.tokenize import tokenize
from spherevec.evaluation.documents import Spread, given_split
from spherevec.model.inference import vocabulary_of

DIMENSION, WINDOW = 100, 10

Rows = NDArray[np.float32]


class Documents:
    """The training and the test documents, the former shuffled."""

    def __init__(self, seed: int) -> None:
        everything = load_labelled("20news")
        assert everything.split is not None
        train, test = (np.flatnonzero(everything.split == part) for part in ("train", "test"))
        rows = np.concatenate([np.random.default_rng(seed).permutation(train), test])
        self.train = [everything.texts[row] for row in rows[: len(train)]]
        self.test = [everything.texts[row] for row in rows[len(train) :]]
        self._labels, self._split = everything.labels[rows], everything.split[rows]

    def score(self, train: Rows, test: Rows) -> float:
        return given_split(np.concatenate([train, test]), self._labels, self._split).micro_f1.mean


def averages(model: spherevec.Model, texts: list[str]) -> Rows:
    """The mean direction of each text's words; 0 where none is known."""
    ids, offsets, _ = encode_texts(texts, vocabulary_of(model), model.tokenizer)
    shape = (len(texts), len(model.words))
    return unit(csr_array((np.ones(len(ids), np.float32), ids, offsets), shape=shape) @ model.words.vectors)


def unit(rows: Rows) -> Rows:
    return np.asarray(rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-12), np.float32)


def doc2vec(texts: list[str], seed: int, workers: int) -> Any:
    from gensim.models import Doc2Vec
    from gensim.models.doc2vec import TaggedDocument

    tagged = [TaggedDocument(tokenize(text), [number]) for number, text in enumerate(texts)]
    return Doc2Vec(
        tagged, dm=0, vector_size=DIMENSION, window=WINDOW, min_count=5, negative=5, epochs=10,
        workers=workers, seed=seed,
    )  # fmt: skip


def qualities(seed: int) -> tuple[dict[str, float], spherevec.Model, Any]:
    """micro-F1 of each way, and the models of the training documents."""
    documents = Documents(seed)
    settings: dict[str, Any] = {"vector_size": DIMENSION, "window": WINDOW, "seed": seed}
    both = spherevec.train(documents.train + documents.test, **settings).docs
    model = spherevec.train(documents.train, **settings)
    gensim_model = doc2vec(documents.train, seed, os.cpu_count() or 1)
    assert both is not None and model.docs is not None
    train_rows = len(documents.train)
    gensim_test = np.stack([gensim_model.infer_vector(tokenize(text)) for text in documents.test])
    scores = {
        "trained on all": documents.score(both.vectors[:train_rows], both.vectors[train_rows:]),
        "infer": documents.score(model.docs.vectors, model.infer(documents.test)),
        "infer, both parts": documents.score(model.infer(documents.train), model.infer(documents.test)),
        "average of words": documents.score(averages(model, documents.train), averages(model, documents.test)),
        "Doc2Vec.infer_vector": documents.score(unit(gensim_model.dv.vectors), unit(gensim_test)),
    }
    return scores, model, gensim_model


def seconds_of(call: Callable[[], Any]) -> float:
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def rates(model: spherevec.Model, gensim_model: Any, repeats: int) -> dict[str, Any]:
    """Documents a second of each way, and words a second of a pass beside those of a training epoch, in turns."""
    documents = Documents(0)
    ids, offsets, _ = encode_texts(documents.test, vocabulary_of(model), model.tokenizer)
    lists = [tokenize(text) for text in documents.test[:500]]
    fitter, _ = model._inference()
    cores = os.cpu_count() or 1
    a_second: dict[str, list[float]] = {}
    words: dict[str, list[float]] = {}
    for _ in range(repeats):
        for threads in sorted({1, cores}):
            name = f"{threads} threads"
            seconds = seconds_of(partial(model.infer, documents.test, threads=threads))
            a_second.setdefault(f"infer, {name}", []).append(len(documents.test) / seconds)
            seconds = seconds_of(partial(fitter.fit, ids, offsets, threads=threads))
            words.setdefault(f"a pass of infer, {name}", []).append(len(ids) * INFERENCE_EPOCHS / seconds)
            trained = spherevec.train(documents.test, vector_size=DIMENSION, window=WINDOW, epochs=1, threads=threads)
            words.setdefault(f"a training epoch, {name}", []).append(trained.record[0]["tokens_per_second"])
        seconds = seconds_of(partial(averages, model, documents.test))
        a_second.setdefault("average of words", []).append(len(documents.test) / seconds)
        seconds = seconds_of(lambda: [gensim_model.infer_vector(text) for text in lists])
        a_second.setdefault("Doc2Vec.infer_vector", []).append(len(lists) / seconds)
        one = documents.test[:1]
        a_second.setdefault("infer, one at a time", []).append(
            1 / np.median([seconds_of(lambda: model.infer(one)) for _ in range(20)])  # noqa: B023
        )
    return {
        "documents a second": {name: asdict(Spread.of(values)) for name, values in a_second.items()},
        "words a second": {name: asdict(Spread.of(values)) for name, values in words.items()},
    }


def run(seeds: int = 2, repeats: int = 3) -> Report:
    """Every figure; qualities once for each seed."""
    runs = [qualities(seed) for seed in range(1, seeds + 1)]
    _, model, gensim_model = runs[-1]
    names = runs[0][0]
    return {
        "micro-F1": {name: asdict(Spread.of(scores[name] for scores, _, _ in runs)) for name in names},
        **rates(model, gensim_model, repeats),
    }


def show(figures: Report) -> None:
    for title, group in figures.items():
        print(title)
        for name, spread in group.items():
            digits = 4 if title == "micro-F1" else 0
            low, high = min(spread["values"]), max(spread["values"])
            print(f"  {name:34} {spread['mean']:14,.{digits}f}   ({low:,.{digits}f} to {high:,.{digits}f})")


if __name__ == "__main__":
    command(__doc__, run, show, seeds=2, repeats=3)
