"""Words for topics: distinctive in the text and near on the sphere, one of each family of forms."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain, combinations, islice, product
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from spherevec.corpus.tokenize.function_words import same_word, without_accents
from spherevec.topics.components import Components, centered
from spherevec.topics.general_words import general_words
from spherevec.topics.graph import Labels, membership

if TYPE_CHECKING:
    from scipy.sparse import csc_array

    from spherevec.model import Model

WORDS_KEPT = 10
# Words of each topic that a title is chosen from; beginnings of documents that show how a word is written; documents
# whose beginnings are looked at for it, and characters of each, at most.
_TITLE_CHOICE, _TEXTS_A_WORD, _MOST_LOOKED_AT, _MOST_CHARACTERS = 60, 50, 1000, 2000

# A word of a topic stands in at least so many of its documents, and in this share of them.
_FEWEST_DOCUMENTS, _SMALLEST_SHARE = 3, 0.005
# … and is so many times as frequent in them as in the others.
_LEAST_RATIO = 1.2
# A word may title a topic where two documents that hold it share a topic so many times as often as two random ones, or
# less often where topics are few (a power of the share of such pairs), or where it stands in this share of the topic.
_LEAST_LIFT, _LIFT_POWER, _MOST_OF_TOPIC = 1.7, 0.3, 0.4
# Candidates looked through for forms of one word, for each word wanted.
_CANDIDATES = 5
# Candidates for each word wanted that words that stand together are chosen from; what their NPMI weighs against the
# logarithm of a score; rounds of exchanges; the words in a window; and documents looked at, at most.
_CHOICE, _COHERENCE, _ROUNDS, _WINDOW, _MOST_DOCUMENTS = 6, 10.0, 10, 10, 50_000
_BLOCK = 1 << 16
# A phrase takes the place of its parts where it is worth this share of them.
_PHRASE = 0.7

Mask = NDArray[np.bool_]


@dataclass(frozen=True)
class TopicContent:
    """What a title can be made of.

    Attributes:
        number: of the topic.
        size: how many documents it has.
        words: its ten best words: distinctive, coherent, near on the sphere.
        nearest: the words nearest to its direction.
        examples: the beginnings of typical documents, where the model keeps them.
        candidates: the words that a title may choose from; empty where the words of documents are not kept.
        holds: (documents, candidates), 1 where a document of the model holds a candidate.
        inside: (documents,), which documents belong to the topic.
        weights: (candidates,), how much each says of its documents, at most 1.
        forms: (candidates, candidates), which are forms of one word.
    """

    number: int
    size: int
    words: list[str]
    nearest: list[str]
    examples: list[str]
    candidates: list[str]
    holds: csc_array
    inside: Mask
    weights: NDArray[np.float32]
    forms: Mask


class TopicWords:
    """The words of k topics, and what titles can be made of.

    Args:
        labels: (n,), the topic of each document of the model, −1 for none.
    """

    def __init__(self, model: Model, components: Components, labels: Labels) -> None:
        self._model, self._labels = model, labels
        self._names = model.words.names or []
        self._general = general_words(model)
        inputs = np.asarray(model.inputs.vectors, np.float32)
        directions = components.directions_of_topics()
        self._vectors = centered(inputs, components.mean)
        # (k, w), of each word to each topic
        self._cosines = np.asarray(np.maximum(directions @ self._vectors.T, 0), np.float32)
        counts = model.document_terms
        self._pairs = None if counts is None else Cooccurrence(counts)

    @cached_property
    def _scores(self) -> NDArray[np.float32]:
        """(k, w), how well each word names each topic."""
        found = word_scores(self._documents, self._labels, self._cosines)
        # General words name a topic where it has no others.
        informative = np.where(self._general, 0, found)
        return np.where(informative.any(axis=1, keepdims=True), informative, found)

    @cached_property
    def _documents(self) -> NDArray[np.float32] | None:
        """(k, w), how many documents of each topic hold each word; None where that is not kept."""
        counts = self._model.document_terms
        return None if counts is None else _documents_with(counts, self._labels, len(self._cosines))

    @cached_property
    def by_place(self) -> list[list[str]]:
        """The ten best words of each topic."""
        return [self._best(scores, WORDS_KEPT) for scores in self._scores]

    def best(self, place: int, topn: int) -> list[tuple[str, float]]:
        """The best words of a topic with their scores."""
        scores, row_of = self._scores[place], self._model.words.key_to_index
        return [(word, float(scores[row_of[word]])) for word in self._best(scores, topn)]

    def _best(self, scores: NDArray[np.float32], topn: int) -> list[str]:
        return best_words(scores, self._names, topn, self._pairs, self._vectors)

    def content(self, place: int, number: int, examples: Sequence[int]) -> TopicContent:
        """What the title of a topic can be made of."""
        from scipy.sparse import csc_array

        names, terms, fit = self._names, self._model.terms, self._model.fit
        weights = np.ones(len(names), np.float32) if fit is None else np.minimum(fit.weights, 1)
        candidates: list[int] = []
        if terms is not None and self._documents is not None:
            spread = self._spread & (self._documents[place] < _MOST_OF_TOPIC * np.count_nonzero(self._labels == place))
            usable = np.where(self._general | spread | (weights <= 0), 0, self._scores[place])
            best = np.argsort(-usable, kind="stable")[: 2 * _TITLE_CHOICE]
            candidates = [row for row in best.tolist() if usable[row] > 0 and any(map(str.isalpha, names[row]))]
        candidates = candidates[:_TITLE_CHOICE]
        postings = [] if terms is None else [terms.postings(row)[0] for row in candidates]
        rows = np.concatenate([np.zeros(0, np.int32), *postings])
        inside = self._labels == place
        holds = (np.ones(len(rows)), rows, np.cumsum([0, *map(len, postings)]))
        return TopicContent(
            number,
            int(inside.sum()),
            self.by_place[place],
            [names[row] for row in np.argsort(-self._cosines[place], kind="stable")[:WORDS_KEPT].tolist()],
            [self._beginning(row) for row in examples],
            [names[row] for row in candidates],
            csc_array(holds, shape=(len(inside), len(candidates))),
            inside,
            weights[candidates],
            forms_of([names[row] for row in candidates], self._vectors[candidates]),
        )

    @cached_property
    def _spread(self) -> NDArray[np.bool_]:
        """(w,), which words go with any topic: two documents with one are of one topic hardly more often than any."""
        if self._documents is None:
            return np.zeros(len(self._names), np.bool_)
        held = self._documents.sum(axis=0)
        pairs = (self._documents * (self._documents - 1)).sum(axis=0)
        sizes = np.bincount(self._labels[self._labels >= 0])
        usual = float((sizes**2).sum() / max(sizes.sum() ** 2, 1))
        return np.asarray(pairs < min(_LEAST_LIFT, usual**-_LIFT_POWER) * usual * held * (held - 1))

    def texts_with(self, word: str) -> Iterator[str]:
        """Beginnings of some documents that hold a word."""
        row = self._model.words.key_to_index.get(word)
        if self._model.terms is not None and row is not None:
            rows, _ = self._model.terms.postings(row)
            first = word.split(" ")[0]
            some = rows[:: max(len(rows) // _MOST_LOOKED_AT, 1)].tolist()
            texts = (self._beginning(row)[:_MOST_CHARACTERS] for row in some)
            yield from islice((text for text in texts if first in text.lower()), _TEXTS_A_WORD)

    def _beginning(self, row: int) -> str:
        table = self._model.documents
        return "" if table is None else table.snippet(row)


def word_scores(
    documents: NDArray[np.float32] | None, labels: Labels, cosines: NDArray[np.float32]
) -> NDArray[np.float32]:
    """How well each word names each topic, (k, w); 0 for words that do not stand in its documents.

    The score is log(lift) · coverage · cosine². Coverage is the share of the topic's documents that hold the word,
    lift is how many times more often than in all documents that is, and the cosine (k, w) is that of the word's input
    vector to the topic. Without `documents` (k, w), how many of each topic hold each word, the cosine alone decides.
    """
    if documents is None:
        return cosines
    n_topics, n = len(cosines), max(int(np.count_nonzero(labels >= 0)), 1)
    sizes = np.maximum(np.bincount(labels[labels >= 0], minlength=n_topics), 1).astype(np.float32)[:, None]
    coverage = documents / sizes
    everywhere = np.maximum(documents.sum(axis=0), 1) / n
    lift = np.log(np.maximum(coverage / everywhere, 1))
    common = documents >= np.maximum(min(_FEWEST_DOCUMENTS, n // n_topics), _SMALLEST_SHARE * sizes)
    if n_topics > 1:
        outside = (documents.sum(axis=0) - documents) / np.maximum(n - sizes, 1)
        common &= coverage >= _LEAST_RATIO * outside
    # A single topic has no word more often than all documents have it.
    lift = lift if n_topics > 1 else np.ones_like(lift)
    return np.where(common, lift * coverage * cosines**2, 0).astype(np.float32)


def _documents_with(counts: Any, labels: Labels, n_topics: int) -> NDArray[np.float32]:
    """How many documents of each topic hold each word, (k, w), counted block by block."""
    from scipy.sparse import csr_array

    found = np.zeros((n_topics, counts.shape[1]), np.float32)
    for low in range(0, len(labels), _BLOCK):
        block = counts[low : low + _BLOCK]
        holds = csr_array((np.ones(block.nnz, np.float32), block.indices, block.indptr), shape=block.shape)
        found += (membership(labels[low : low + _BLOCK], n_topics, np.float32).T @ holds).toarray()
    return found


def best_words(
    scores: NDArray[np.float32],
    names: Sequence[str],
    topn: int,
    pairs: Cooccurrence | None = None,
    vectors: NDArray[np.float32] | None = None,
) -> list[str]:
    """The words that name a topic, those of the highest of the scores (w,) first; of several forms of a word the best.

    With `pairs`, words are chosen among them that score high and stand near each other in the documents. Unit `vectors`
    (w, d) tell forms of a word in languages other than English.
    """
    wanted = topn if pairs is None else _CHOICE * topn
    rows: list[int] = []
    best = np.argsort(-scores, kind="stable")[: _CANDIDATES * wanted]
    best = best[scores[best] > 0]
    best = best[~said_by_phrase([names[row] for row in best.tolist()], scores[best])]
    best = best[[any(map(str.isalpha, names[row])) for row in best.tolist()]]
    forms = forms_of([names[row] for row in best.tolist()], None if vectors is None else vectors[best])
    left = np.ones(len(best), np.bool_)
    for place, row in enumerate(best.tolist()):
        if left[place] and len(rows) < wanted:
            rows.append(row)
            left &= ~forms[place]
    if pairs is not None and len(rows) > topn:
        rows = [rows[place] for place in sorted(_coherent(np.log(scores[rows]), pairs.npmi(rows), topn))]
    return [names[row] for row in rows]


def forms_of(words: Sequence[str], vectors: NDArray[np.float32] | None = None) -> NDArray[np.bool_]:
    """Which of the words are forms of one, (n, n), by their spelling and, where given, their unit vectors (n, d)."""
    cosines = np.zeros((len(words), len(words))) if vectors is None else vectors @ vectors.T
    found = np.eye(len(words), dtype=np.bool_)
    # Two forms of a word begin with the same letters; a phrase is compared with all.
    groups = defaultdict[str, list[int]](list)
    for place, word in enumerate(words):
        groups[without_accents(word)[:2] if " " not in word else " "].append(place)
    phrases = groups.pop(" ", [])
    pairs = chain(product(phrases, range(len(words))), *(combinations(group, 2) for group in groups.values()))
    for one, other in pairs:
        found[one, other] = found[other, one] = same_word(words[one], words[other], float(cosines[one, other]))
    return found


def said_by_phrase(words: Sequence[str], worth: NDArray[np.floating]) -> NDArray[np.bool_]:
    """Which of the words (n,) are better said by a phrase among them: "york" by "new york", if it is worth as much.

    >>> said_by_phrase(["york", "new york", "new"], np.array([1.0, 0.9, 2.0])).tolist()
    [True, False, False]
    """
    best: dict[str, float] = {}
    for word, own in zip(words, worth.tolist(), strict=True):
        for part in word.split() if " " in word else ():
            best[part] = max(best.get(part, 0.0), own)
    return np.array([best.get(word, -1.0) for word in words]) >= _PHRASE * worth


def _coherent(logs: NDArray[np.floating], npmi: NDArray[np.float64], topn: int) -> list[int]:
    """Places of `topn` candidates whose scores and NPMI with each other are high together.

    The best comes first, then each that adds most; then words are exchanged as long as the whole gains.
    """

    def worth_beside(others: list[int], weight: float) -> NDArray[np.floating]:
        worth = logs + weight * npmi[:, others].mean(axis=1) if others else logs.copy()
        worth[others] = -np.inf
        return worth

    chosen = [0]
    while len(chosen) < topn:
        chosen.append(int(np.argmax(worth_beside(chosen, _COHERENCE))))
    for _ in range(_ROUNDS):
        before = list(chosen)
        for i in range(topn):
            # A word is in pairs with all others, and each of these has it in one of its own.
            worth = worth_beside(chosen[:i] + chosen[i + 1 :], 2 * _COHERENCE)
            best = int(np.argmax(worth))
            if worth[best] > worth[chosen[i]] + 1e-9:
                chosen[i] = best
        if chosen == before:
            break
    return chosen


class Cooccurrence:
    """How often words stand near each other, as far as the counts of documents tell: in windows of ten words, if the
    words of a document came in any order. Of very many documents a part is looked at.
    """

    def __init__(self, counts: Any) -> None:
        from scipy.sparse import csr_array

        step = -(-counts.shape[0] // _MOST_DOCUMENTS)
        part = counts[::step] if step > 1 else counts
        lengths = np.asarray(part.sum(axis=1), np.float64).ravel()
        own = np.repeat(lengths, np.diff(part.indptr))
        inside = np.where(own <= _WINDOW, 1.0, 1 - (1 - part.data / own) ** _WINDOW)
        self._by_word = csr_array((inside, part.indices, part.indptr), shape=part.shape).tocsc()
        self._windows = np.maximum(lengths - _WINDOW + 1, 1)[:, None]

    def npmi(self, words: Sequence[int]) -> NDArray[np.float64]:
        """Normalised pointwise mutual information of each pair of the words, (n, n)."""
        own = self._by_word[:, list(words)]
        weighted = own.multiply(self._windows).tocsc()
        both = np.asarray((own.T @ weighted).todense(), np.float64)
        np.fill_diagonal(both, np.asarray(weighted.sum(axis=0), np.float64).ravel())
        both = both / self._windows.sum() + 1e-12
        alone = np.diagonal(both)
        return np.asarray(np.log(both / np.outer(alone, alone)) / -np.log(np.minimum(both, 1 - 1e-9)))
