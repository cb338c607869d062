"""What the study trains and scores on: sets to search on, and others to confirm what the search found.

A search and its confirmation are scored by different pairs of words, and by different posts where small parts of 20
Newsgroups are trained on. They share half of Wikipedia, the training posts, and the movie reviews, which are too few.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from experiments.datasets import SIMILARITY_SETS, cross_validated, load_labelled, load_similarity, wiki_path
from spherevec.corpus import EncodedCorpus, encode, read_documents
from spherevec.evaluation.documents import evaluate_clustering, given_split, random_splits
from spherevec.evaluation.words import evaluate_similarity
from spherevec.model.keyed_vectors import KeyedVectors

Scores = dict[str, float]
MIDDLE = 10_000_000  # words of Wikipedia before those of the small search


@dataclass(frozen=True)
class StudySet:
    """A text, how long to train on it, and how to score the vectors.

    Attributes:
        epochs: None where the program chooses.
        score_words, score_documents: figures by name; None where the text has no such score.
    """

    name: str
    texts: Callable[[], Iterator[str]]
    min_count: int
    epochs: int | None
    score_words: Callable[[KeyedVectors], Scores] | None = None
    score_documents: Callable[[NDArray[np.float32]], Scores] | None = None

    def encoded(self, folder: Path, threads: int) -> EncodedCorpus:
        return encode(self.texts(), folder, min_count=self.min_count, threads=threads)


def study_sets() -> dict[str, StudySet]:
    sets = (
        StudySet("search: wiki, every 2nd paragraph", lambda: _wiki(1, 2), 10, 5, score_words=_similarity(0)),
        StudySet("search: wiki, 2 M words", lambda: _wiki_words(MIDDLE, MIDDLE + 2_000_000), 5, 10, _similarity(0)),
        _news("search: 20news, training part", lambda split, _: split == "train"),
        _news("search: 20news, documents 7 of 20", lambda _, place: place % 20 == 7),
        _reviews("reviews"),
        StudySet("confirm: wiki", lambda: _wiki(0, 1), 10, 5, score_words=_similarity(1)),
        StudySet("confirm: wiki, first 2 M words", lambda: _wiki_words(0, 2_000_000), 5, 10, _similarity(1)),
        _news("confirm: 20news", lambda split, _: split != ""),
        _news("confirm: 20news, documents 0 of 20", lambda _, place: place % 20 == 0),
    )
    return {chosen.name: chosen for chosen in sets}


def _wiki(first: int, step: int) -> Iterator[str]:
    for number, text in enumerate(read_documents(wiki_path())):
        if number % step == first:
            yield str(text)


def _wiki_words(first: int, last: int) -> Iterator[str]:
    seen = 0
    for text in _wiki(0, 1):
        if first <= seen < last:
            yield text
        seen += len(text.split())


def _similarity(half: int) -> Callable[[KeyedVectors], Scores]:
    """Spearman correlations: with every second pair from `half` on, and with all pairs."""

    def score(words: KeyedVectors) -> Scores:
        scores = {}
        for name in SIMILARITY_SETS:
            pairs = load_similarity(name)
            scores[name] = evaluate_similarity(words, pairs[half::2]).spearman
            scores[f"{name}, all"] = evaluate_similarity(words, pairs).spearman
        return scores

    return score


def _news(name: str, chosen: Callable[[NDArray[np.str_], NDArray[np.intp]], NDArray[np.bool_]]) -> StudySet:
    data = load_labelled("20news")
    assert data.split is not None
    places = np.flatnonzero(chosen(data.split, np.arange(len(data.texts))))
    labels, split = data.labels[places], data.split[places]
    small = len(places) < 2000

    def score(vectors: NDArray[np.float32]) -> Scores:
        if len(np.unique(split)) == 2 and not small:
            found = given_split(vectors, labels, split)
        else:
            found = cross_validated(vectors, labels)
        scores = {"3-NN micro-F1": found.micro_f1.mean}
        if not small:
            clusters = evaluate_clustering(vectors, labels, runs=10)
            scores |= {"NMI": clusters.nmi.mean, "purity": clusters.purity.mean}
        return scores

    return StudySet(name, lambda: (data.texts[place] for place in places), 5, None, score_documents=score)


def _reviews(name: str) -> StudySet:
    data = load_labelled("movie_reviews")

    def score(vectors: NDArray[np.float32]) -> Scores:
        return {"3-NN macro-F1": random_splits(vectors, data.labels, repeats=10).macro_f1.mean}

    return StudySet(name, lambda: iter(data.texts), 5, None, score_documents=score)
