"""What new text changes in a model: the words it adds, and the documents that are new or have changed."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from spherevec.corpus import EncodedCorpus, Vocabulary
from spherevec.corpus.count.vocabulary import RareCounts
from spherevec.errors import CorpusError
from spherevec.model import Model
from spherevec.model.documents import DocumentTable
from spherevec.model.inference import vocabulary_of
from spherevec.search.terms import DocumentTerms

Rows = NDArray[np.int64]

_COUNTED_AT_ONCE = 1 << 22


class VocabularyUpdate(NamedTuple):
    """The words of a model and those that join it; V of them, the known ones first and in their order."""

    vocabulary: Vocabulary  # with the counts of both texts
    known: int  # how many the model knows already
    before: NDArray[np.int64]  # (V,) occurrences in the text that the model has seen
    numbers: NDArray[np.int32]  # (words of the new text,) their ids, -1 for those that stay rare
    rare: RareCounts  # those that stay rare, of both texts

    @property
    def new(self) -> NDArray[np.int64]:
        """(V,) occurrences in the new text."""
        return self.vocabulary.counts - self.before

    def counted(self, corpus: EncodedCorpus) -> VocabularyUpdate:
        """With the counts of the new text as it was encoded, where phrases are counted too."""
        counts = np.zeros(len(self.vocabulary), np.int64)
        for start in range(0, corpus.n_tokens, _COUNTED_AT_ONCE):
            counts += np.bincount(corpus.ids[start : start + _COUNTED_AT_ONCE], minlength=len(counts))
        corpus.vocabulary = replace(self.vocabulary, counts=np.maximum(self.before + counts, 1))
        return self._replace(vocabulary=corpus.vocabulary)


def add_words(
    model: Model, counts: NDArray[np.int64], words: list[str], *, min_count: int, max_vocab: int | None = None
) -> VocabularyUpdate:
    """Let words join that occur often enough in the old and the new text together.

    Args:
        counts: (n,) occurrences of each of `words` in the new text.
        words: the n distinct words of the new text.
        min_count: how often a word must occur.
        max_vocab: the most words that a model may have; the most frequent of the new ones join first.
    """
    position = model.words.key_to_index
    rare = (model.rare_counts or RareCounts.of({})).as_dict()
    numbers = np.array([position.get(word, -1) for word in words], np.int32)
    unknown = np.flatnonzero(numbers < 0)
    room = len(words) if max_vocab is None else max(0, max_vocab - len(model.words))
    total = {int(at): int(counts[at]) + rare.get(words[at], 0) for at in unknown}
    joining = sorted((at for at in total if total[at] >= min_count), key=lambda at: (-total[at], words[at]))[:room]
    known = len(model.words)
    numbers[joining] = np.arange(known, known + len(joining))
    old_counts = np.ones(known, np.int64) if model.counts is None else model.counts
    before = np.concatenate([old_counts, np.array([rare.get(words[at], 0) for at in joining], np.int64)])
    grown = before.copy()
    there = numbers >= 0
    np.add.at(grown, numbers[there], counts[there])
    staying = (model.rare_counts or RareCounts.of({})).merged(
        {words[at]: int(counts[at]) for at in unknown if numbers[at] < 0}, without=(words[at] for at in joining)
    )
    phrases = vocabulary_of(model).phrases
    names = [*(model.words.names or ()), *(words[at] for at in joining)]
    return VocabularyUpdate(Vocabulary(names, grown, phrases), known, before, numbers, staying)


class DocumentChanges(NamedTuple):
    """The documents of a new text that a model does not hold yet, or holds with another text."""

    rows: Rows  # (m,) of the new text
    places: Rows  # (m,) the row of the model that each replaces, -1 for a document that is new
    unchanged: int  # documents that the model holds already, word for word

    def word_counts(self, corpus: EncodedCorpus) -> NDArray[np.int64]:
        """(words of the corpus,) occurrences in these documents."""
        counts = np.zeros(len(corpus.vocabulary), np.int64)
        for row in self.rows.tolist():
            np.add.at(counts, corpus.document(row), 1)
        return counts


def find_changes(
    documents: DocumentTable | None, terms: DocumentTerms | None, table: DocumentTable | None, corpus: EncodedCorpus,
    numbers: NDArray[np.int32],
) -> DocumentChanges:  # fmt: skip
    """Compare new documents with those of a model by their ids, and where ids are equal by their known words.

    Args:
        documents, terms: of the model.
        table: of the new documents.
        corpus: the new documents.
        numbers: (words of the corpus,) their ids in the model, -1 for unknown ones.
    """
    rows = np.arange(corpus.n_documents)
    places = np.full(len(rows), -1, np.int64)
    if documents is None or table is None or not (table.named and documents.named):
        return DocumentChanges(rows, places, 0)  # positions are no ids
    unchanged = np.zeros(len(rows), np.bool_)
    for row in rows.tolist():
        one = table.ids[row]
        if one not in documents.ids:
            continue
        places[row] = documents.row_of(one)
        unchanged[row] = terms is not None and _same_words(terms, int(places[row]), numbers[corpus.document(row)])
        if not unchanged[row] and not table.has_own_ids:
            raise CorpusError(
                f"{one!r:.300} is in the model already, with another text; rename the file, "
                "or name the field that holds ids (id_field=NAME), so that changed documents replace their old version"
            )
    return DocumentChanges(rows[~unchanged], places[~unchanged], int(np.count_nonzero(unchanged)))


def _same_words(terms: DocumentTerms, row: int, ids: NDArray[np.int32]) -> bool:
    """Whether a document of the model has these words; those that the model does not know are left out."""
    words, counts = np.unique(ids[(ids >= 0) & (ids < terms.n_words)], return_counts=True)
    here = slice(int(terms.starts[row]), int(terms.starts[row + 1]))
    own = terms.counts
    return np.array_equal(own.indices[here], words) and np.array_equal(own.data[here], counts)
