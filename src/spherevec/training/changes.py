"""What new text changes in a model: the words it adds, the documents that are new or have changed, and the drift, which
says how far the text is from what the model has learned.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from spherevec.corpus import EncodedCorpus, Vocabulary
from spherevec.corpus.count.vocabulary import RareCounts
from spherevec.engine.schedule import CHUNK_ROWS
from spherevec.errors import CorpusError
from spherevec.model import Model
from spherevec.model.documents import DocumentTable
from spherevec.model.inference import vocabulary_of
from spherevec.search.terms import DocumentTerms

Rows = NDArray[np.int64]

DOCUMENTS_COMPARED = 2000  # new ones, at most; and old ones of as many words
FEWEST_COMPARED = 20  # documents that say anything about words
GROWING_WORDS = 10
_FEWEST = 5  # occurrences of a word that may be called growing
_OLD_SAMPLES = 5
# Beyond these the new text is called different; experiments/update/README.md has the figures behind them.
UNKNOWN_MORE, FARTHER = 0.05, 1.5


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
        counts = self.before + count_words(corpus, np.arange(corpus.n_documents))
        corpus.vocabulary = replace(self.vocabulary, counts=np.maximum(counts, 1))
        return self._replace(vocabulary=corpus.vocabulary)


def add_words(
    model: Model, counts: NDArray[np.int64], words: list[str], *, min_count: int, max_vocab: int | None = None
) -> VocabularyUpdate:
    """Let words join that occur often enough in the old and the new text together, the most frequent first.

    The new text has the distinct `words`, with `counts` (n,).
    """
    position, rare_before = model.words.key_to_index, model.rare_counts or RareCounts.of({})
    rare = rare_before.as_dict()
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
    joined = [words[at] for at in joining]
    rare_after = rare_before.merged({words[at]: int(counts[at]) for at in unknown if numbers[at] < 0}, without=joined)
    vocabulary = Vocabulary([*(model.words.names or ()), *joined], grown, vocabulary_of(model).phrases)
    return VocabularyUpdate(vocabulary, known, before, numbers, rare_after)


class DocumentChanges(NamedTuple):
    """The documents of a new text that a model does not hold yet, or holds with another text."""

    rows: Rows  # (m,) of the new text
    places: Rows  # (m,) the row of the model that each replaces, -1 for a document that is new
    unchanged: int  # documents that the model holds already, word for word


def count_words(corpus: EncodedCorpus, rows: Rows) -> NDArray[np.int64]:
    """(words of the corpus,) occurrences in some of its documents."""
    counts = np.zeros(len(corpus.vocabulary), np.int64)
    for start in range(0, len(rows), CHUNK_ROWS):
        some = [corpus.document(row) for row in rows[start : start + CHUNK_ROWS].tolist()]
        counts += np.bincount(np.concatenate(some), minlength=len(counts))
    return counts


def find_changes(
    model: Model, table: DocumentTable | None, corpus: EncodedCorpus, numbers: NDArray[np.int32]
) -> DocumentChanges:
    """Compare new documents with those of a model by their ids, and where ids are equal by their known words.

    Args:
        table: of the new documents.
        numbers: (words of the corpus,) their ids in the model, -1 for unknown ones.
    """
    rows, documents, terms = np.arange(corpus.n_documents), model.documents, model.terms
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


@dataclass(frozen=True)
class Drift:
    """The new text beside the old."""

    unknown: float  # the share of new words (all occurrences) that the model did not know
    unknown_before: float  # the share that was to be expected: of the old words, if each document had come last
    # How far the frequencies of the known words are from those of the old text (Jensen–Shannon divergence), in
    # multiples of how far a random part of the old text is: about 1 where nothing has changed. None where the model
    # does not keep the words of its documents, or where documents are few
    distance: float | None
    growing: tuple[str, ...]  # words that are much more frequent in the new text, the most striking first
    joined: tuple[str, ...]  # the most frequent words that are new to the model

    @property
    def advice(self) -> str:
        """What to do, in a sentence."""
        reasons = []
        if self.unknown - self.unknown_before > UNKNOWN_MORE:
            reasons.append(
                f"{self.unknown:.0%} of its words were unknown ({self.unknown_before:.0%} were to be expected)"
            )
        if self.distance is not None and self.distance > FARTHER:
            reasons.append(f"its words are {self.distance:.1f} times as far from the old ones as expected by chance")
        if not reasons:
            return "The new text is like the old: updates are enough."
        return (
            f"The new text is unlike the old: {' and '.join(reasons)}. "
            "Train anew on all text when such text makes up a third of it."
        )

    def as_dict(self) -> dict[str, Any]:
        """Ready for JSON."""
        return {**asdict(self), "growing": list(self.growing), "joined": list(self.joined), "advice": self.advice}


def measure_drift(model: Model, new: EncodedCorpus, words: VocabularyUpdate) -> Drift:
    """Compare new documents, in the words of the grown vocabulary, with those of a model."""
    known, names = words.known, words.vocabulary.words
    unknown = 1 - float(words.new[:known].sum()) / max(new.raw_tokens, 1)
    weights = np.ones(known) if model.word_weights is None else model.word_weights
    growing = tuple(names[row] for row in _growing(words.before[:known], words.new[:known], weights))
    joined = tuple(names[known : known + GROWING_WORDS])
    return Drift(round(unknown, 4), round(_expected_unknown(model), 4), _distance(model, new, known), growing, joined)


def _growing(before: NDArray[np.int64], new: NDArray[np.int64], weights: NDArray[np.floating[Any]]) -> list[int]:
    """The words whose share has grown most beyond chance: by the signed root of the log-likelihood ratio.

    Words that say less of a document than its words do on average (weights below 1), such as "the", are left out.
    """
    if not before.sum() or not new.sum():
        return []
    share = new.sum() / (before.sum() + new.sum())
    expected = (before + new) * share
    with np.errstate(divide="ignore", invalid="ignore"):
        gain = 2 * (new * np.log(new / expected) + before * np.log(before / ((before + new) * (1 - share))))
    score = np.where((new > expected) & (new >= _FEWEST) & (before > 0) & (weights >= 1), gain, 0.0)
    order = np.lexsort((np.arange(len(score)), -score))[:GROWING_WORDS]
    return [int(row) for row in order if score[row] > 10]


def _expected_unknown(model: Model) -> float:
    """The share of unknown words in a document like those of the model.

    A word that occurs often enough only by the document at hand would be unknown, had the document come last.
    """
    raw = max(model.provenance.get("raw_tokens", 1), 1)
    unknown = raw - model.provenance.get("tokens", 1)
    counts = model.document_terms
    if counts is not None and model.counts is not None:
        least = (model.config or {}).get("min_count") or 1
        unknown += int(counts.data[model.counts[counts.indices] - counts.data < least].sum())
    return float(unknown / raw)


def _distance(model: Model, new: EncodedCorpus, known: int) -> float | None:
    """The divergence of new and old word frequencies, in multiples of that of a part of the old text and the rest."""
    counts = model.document_terms
    if counts is None or min(new.n_documents, counts.shape[0]) < FEWEST_COMPARED:
        return None
    rng = np.random.default_rng(counts.shape[0])
    lengths = np.asarray(counts.sum(axis=1)).reshape(-1)
    chosen = rng.permutation(new.n_documents)[:DOCUMENTS_COMPARED]
    # No more words than a third of the old text has: the rest is what both are compared with.
    sizes = np.cumsum([np.count_nonzero(new.document(row) < known) for row in chosen.tolist()])
    chosen = chosen[: max(1, int(np.searchsorted(sizes, lengths.sum() / 3, side="right")))]
    ours = count_words(new, chosen)[:known]
    if not ours.any():
        return None
    total = np.asarray(counts.sum(axis=0)).reshape(-1)
    by_chance, found = [], []
    for _ in range(_OLD_SAMPLES):
        order = rng.permutation(counts.shape[0])
        some = order[: int(np.searchsorted(np.cumsum(lengths[order]), ours.sum())) + 1]
        part = np.asarray(counts[np.sort(some)].sum(axis=0)).reshape(-1)
        by_chance.append(_divergence(part, total - part))
        found.append(_divergence(ours, total - part))
    return round(float(np.mean(found)) / max(float(np.mean(by_chance)), 1e-12), 3)


def _divergence(some: NDArray[np.int64], others: NDArray[np.int64]) -> float:
    """The Jensen–Shannon divergence of two distributions, given by counts (n,), in nats."""
    from scipy.special import rel_entr

    p, q = some / max(some.sum(), 1), others / max(others.sum(), 1)
    return float((rel_entr(p, (p + q) / 2) + rel_entr(q, (p + q) / 2)).sum() / 2)
