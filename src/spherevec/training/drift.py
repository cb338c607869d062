"""How far new text is from what a model has learned, in figures and in a plain sentence."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from spherevec.corpus import EncodedCorpus
from spherevec.model import Model
from spherevec.training.arrivals import GrownWords

DOCUMENTS_COMPARED = 2000  # old and new ones each
GROWING_WORDS = 10
_FEWEST = 5  # occurrences of a word that may be called growing
# Beyond these the new text is called different; docs/guides/update.md has the figures behind them.
UNKNOWN_MORE, FIT_LESS = 0.05, 1.0


@dataclass(frozen=True)
class Drift:
    """The new text beside the old.

    Attributes:
        unknown: the share of new words (all occurrences) that the model did not know; `unknown_before`: of the old.
        fit: how much lower the new documents' likelihood is than the old ones', in standard deviations of the old;
            None where the model does not keep the words of its documents.
        growing: words that are much more frequent in the new text, the most striking first.
        joined: the most frequent words that are new to the model.
        advice: what to do, in a sentence.
    """

    unknown: float
    unknown_before: float
    fit: float | None
    growing: tuple[str, ...]
    joined: tuple[str, ...]

    @property
    def differs(self) -> bool:
        """Whether the new text is unlike the old."""
        return self.unknown - self.unknown_before > UNKNOWN_MORE or (self.fit is not None and self.fit < -FIT_LESS)

    @property
    def advice(self) -> str:
        if not self.differs:
            return "The new text is like the old: updates are enough."
        reasons = []
        if self.unknown - self.unknown_before > UNKNOWN_MORE:
            reasons.append(f"{self.unknown:.0%} of its words were unknown ({self.unknown_before:.0%} before)")
        if self.fit is not None and self.fit < -FIT_LESS:
            reasons.append(f"its documents fit the words less well by {-self.fit:.1f} standard deviations")
        return (
            f"The new text is unlike the old: {' and '.join(reasons)}. "
            "Train anew on all text when such text makes up a third of it."
        )

    def as_dict(self) -> dict[str, Any]:
        """Ready for JSON."""
        return {**asdict(self), "growing": list(self.growing), "joined": list(self.joined), "advice": self.advice}


def measure_drift(model: Model, new: EncodedCorpus, words: GrownWords) -> Drift:
    """Compare new documents with those of a model.

    Args:
        new: the new documents in the words of the grown vocabulary.
        words: known words first, then those that join.
    """
    known = words.known
    unknown = 1 - float(words.new[:known].sum()) / max(new.raw_tokens, 1)
    before = 1 - model.provenance.get("tokens", 1) / max(model.provenance.get("raw_tokens", 1), 1)
    joined = words.vocabulary.words[known : known + GROWING_WORDS]
    growing = _growing(words.before[:known], words.new[:known])
    names = words.vocabulary.words
    return Drift(
        round(unknown, 4),
        round(float(before), 4),
        _fit(model, new, known),
        tuple(names[row] for row in growing),
        tuple(joined),
    )


def _growing(before: NDArray[np.int64], new: NDArray[np.int64]) -> list[int]:
    """The words whose share has grown most beyond chance: by the signed root of the log-likelihood ratio."""
    if not before.sum() or not new.sum():
        return []
    share = new.sum() / (before.sum() + new.sum())
    expected = (before + new) * share
    with np.errstate(divide="ignore", invalid="ignore"):
        gain = 2 * (new * np.log(new / expected) + before * np.log(before / ((before + new) * (1 - share))))
    score = np.where((new > expected) & (new >= _FEWEST) & (before > 0), gain, 0.0)
    order = np.lexsort((np.arange(len(score)), -score))[:GROWING_WORDS]
    return [int(row) for row in order if score[row] > 10]


def _fit(model: Model, new: EncodedCorpus, known: int) -> float | None:
    """How much less likely new documents are than old ones, per word, in standard deviations of the old."""
    if model.docs is None or model.document_terms is None or model.counts is None or not new.n_documents:
        return None
    rng = np.random.default_rng(len(model.docs))
    rows = np.sort(rng.permutation(len(model.docs))[:DOCUMENTS_COMPARED])
    counts = model.document_terms[rows]
    old_ids = np.repeat(counts.indices, counts.data).astype(np.int32)
    old_offsets = np.concatenate([[0], np.cumsum(np.asarray(counts.sum(axis=1)).reshape(-1))]).astype(np.int64)
    taken = np.sort(rng.permutation(new.n_documents)[:DOCUMENTS_COMPARED])
    # In the order of their ids, as the counts of the old documents give them.
    documents = [np.sort(ids[ids < known]) for ids in (new.document(row) for row in taken.tolist())]
    new_ids = np.concatenate(documents) if documents else np.zeros(0, np.int32)
    new_offsets = np.concatenate([[0], np.cumsum([len(one) for one in documents])]).astype(np.int64)
    old, fresh = _likeness(model, old_ids, old_offsets), _likeness(model, new_ids, new_offsets)
    if len(old) < 2 or not len(fresh) or not old.std():
        return None
    return round(float((fresh.mean() - old.mean()) / old.std()), 3)


def _likeness(model: Model, ids: NDArray[np.int32], offsets: NDArray[np.int64]) -> NDArray[np.float64]:
    """The mean cosine of each document with its words, rare words counting most; documents without words are left out.

    Every word is held against the other half of its document's words, so that a document does not vouch for itself.
    """
    inputs, counts = model.inputs.vectors, model.counts
    assert counts is not None
    weight = 1 / (1e-3 + counts[ids] / counts.sum())
    owner = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
    half = (np.arange(len(ids)) - offsets[owner]) % 2
    sums = np.zeros((2, len(offsets) - 1, model.vector_size))
    for side in (0, 1):
        np.add.at(sums[side], owner[half == side], inputs[ids[half == side]] * weight[half == side, None])
    lengths = np.linalg.norm(sums, axis=2)
    there = (lengths > 1e-9).all(axis=0)
    products = np.einsum("nd,nd->n", sums[0][there], sums[1][there])
    return np.asarray(products / (lengths[0] * lengths[1])[there])
