"""The words of topics, and what titles can be made of."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from spherevec.topics.components import Components
from spherevec.topics.general_words import general_words
from spherevec.topics.graph import Labels
from spherevec.topics.titles import TopicContent, candidate_words, holds_matrix
from spherevec.topics.words import Together, best_words, word_cosines, word_scores

if TYPE_CHECKING:
    from spherevec.model import Model

WORDS_KEPT = 10
# Words of each topic that a title is chosen from; beginnings of documents that show how a word is written.
_TITLE_CHOICE, _TEXTS_A_WORD = 60, 50


class TopicVocabulary:
    """The words of k topics.

    Args:
        labels: (n,), the topic of each document of the model, −1 for none.
    """

    def __init__(self, model: Model, components: Components, labels: Labels) -> None:
        self._model, self._labels = model, labels
        self._names = model.words.names or []
        self._general = general_words(model)
        inputs = np.asarray(model.inputs.vectors, np.float32)
        self._cosines = word_cosines(inputs, components.directions_of_topics(), components.mean)
        counts = model.document_terms
        self._together = None if counts is None else Together(counts)

    @cached_property
    def _scores(self) -> NDArray[np.float32]:
        """(k, w), how well each word names each topic."""
        found = word_scores(self._model.document_terms, self._labels, self._cosines)
        # General words name a topic where it has no others.
        informative = np.where(self._general, 0, found)
        return np.where(informative.any(axis=1, keepdims=True), informative, found)

    @cached_property
    def words_by_place(self) -> list[list[str]]:
        """The ten best words of each topic."""
        return [best_words(scores, self._names, WORDS_KEPT, self._together) for scores in self._scores]

    def best(self, place: int, topn: int) -> list[tuple[str, float]]:
        """The best words of a topic with their scores."""
        scores, row_of = self._scores[place], self._model.words.key_to_index
        return [(word, float(scores[row_of[word]])) for word in best_words(scores, self._names, topn, self._together)]

    def content(self, place: int, number: int, examples: Sequence[int]) -> TopicContent:
        """What the title of a topic can be made of."""
        model, names = self._model, self._names
        weights = np.ones(len(names), np.float32) if model.fit is None else np.minimum(model.fit.weights, 1)
        rows = np.zeros(0, np.int64)
        if model.terms is not None:
            rows = candidate_words(self._scores[place], weights, self._general, names, _TITLE_CHOICE)
        inside = self._labels == place
        return TopicContent(
            number,
            int(inside.sum()),
            self.words_by_place[place],
            [names[row] for row in np.argsort(-self._cosines[place], kind="stable")[:WORDS_KEPT].tolist()],
            [self._beginning(row) for row in examples],
            [names[row] for row in rows.tolist()],
            holds_matrix(model.terms, rows, len(inside)),
            inside,
            weights[rows],
        )

    def texts_with(self, word: str) -> Iterator[str]:
        """Beginnings of some documents that hold a word."""
        if self._model.terms is not None:
            rows, _ = self._model.terms.postings(self._model.words.key_to_index[word])
            yield from map(self._beginning, rows[:_TEXTS_A_WORD].tolist())

    def _beginning(self, row: int) -> str:
        table = self._model.documents
        return "" if table is None else table.snippet(row)
