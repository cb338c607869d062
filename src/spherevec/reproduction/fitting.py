"""Train one method on one corpus, whichever package it comes from."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from spherevec.corpus import EncodedCorpus
from spherevec.keyed_vectors import KeyedVectors
from spherevec.reproduction.methods import Method

Report = Callable[[float], None]


@dataclass(frozen=True)
class Trained:
    """What a method has learned.

    Attributes:
        words: None where the method has none.
        documents: (documents, dim) unit rows in the order of the corpus, or None.
        settings: everything that was set, for the page.
        losses: one an epoch, where the method tells.
        record: one mapping of figures an epoch, for spherevec.
    """

    words: KeyedVectors | None
    documents: NDArray[np.float32] | None
    settings: dict[str, Any]
    losses: list[float] = field(default_factory=list)
    record: list[dict[str, Any]] = field(default_factory=list)


@dataclass(frozen=True)
class Task:
    """What is the same for every method: the corpus, and how it is trained.

    Attributes:
        order: in which spherevec visits documents, the recipe's own when None.
        texts: the documents as text, for methods that split them in their own way.
        words: vectors for a method that is given some.
    """

    corpus: EncodedCorpus
    dim: int
    window: int
    epochs: int
    threads: int
    seed: int
    order: str | None = None
    texts: Callable[[], Iterable[str]] | None = None
    words: KeyedVectors | None = None


def fit(method: Method, task: Task, report: Report) -> Trained:
    return _fit_recipe(method.recipe, task, report) if method.recipe else _fit_baseline(method, task, report)


def _fit_recipe(recipe: str, task: Task, report: Report) -> Trained:
    from spherevec.config import TrainConfig
    from spherevec.training import train_corpus

    order = {} if task.order is None else {"order": task.order}
    config = TrainConfig.recipe(
        recipe, vector_size=task.dim, epochs=task.epochs, threads=task.threads, seed=task.seed, **order
    )
    model = train_corpus(task.corpus, config, progress=lambda progress: report(progress.done or 0.0))
    assert model.config is not None
    return Trained(
        model.words,
        None if model.docs is None else model.docs.vectors,
        model.config,
        [float(epoch["loss"]) for epoch in model.record],
        model.record,
    )


def _fit_baseline(method: Method, task: Task, report: Report) -> Trained:
    from spherevec.evaluation.baselines import BASELINES

    fitted = BASELINES[method.name].fit(
        task.corpus,
        dim=task.dim,
        epochs=task.epochs,
        window=task.window,
        threads=task.threads,
        seed=task.seed,
        texts=task.texts,
        words=task.words,
        progress=report,
    )
    return Trained(fitted.words, fitted.documents, fitted.settings, list(fitted.losses))
