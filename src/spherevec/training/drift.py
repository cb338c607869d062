"""How far new text is from what a model has learned, in figures and in a plain sentence."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from spherevec.corpus import EncodedCorpus
from spherevec.model import Model
from spherevec.training.changes import VocabularyUpdate

DOCUMENTS_COMPARED = 2000  # new ones, at most; and old ones of as many words
FEWEST_COMPARED = 20  # documents that say anything about words
GROWING_WORDS = 10
_FEWEST = 5  # occurrences of a word that may be called growing
_OLD_SAMPLES = 5
# Beyond these the new text is called different; experiments/update/README.md has the figures behind them.
UNKNOWN_MORE, FARTHER = 0.05, 1.5


@dataclass(frozen=True)
class Drift:
    """The new text beside the old.

    Attributes:
        unknown: the share of new words (all occurrences) that the model did not know.
        unknown_before: the share that was to be expected: of the old words, if each document had come last.
        distance: how far the frequencies of the known words are from those of the old text (Jensen–Shannon
            divergence), in multiples of how far a random part of the old text is: about 1 where nothing has changed.
            None where the model does not keep the words of its documents, or where documents are few.
        growing: words that are much more frequent in the new text, the most striking first.
        joined: the most frequent words that are new to the model.
        advice: what to do, in a sentence.
    """

    unknown: float
    unknown_before: float
    distance: float | None
    growing: tuple[str, ...]
    joined: tuple[str, ...]

    @property
    def differs(self) -> bool:
        """Whether the new text is unlike the old."""
        return bool(self._reasons())

    @property
    def advice(self) -> str:
        reasons = self._reasons()
        if not reasons:
            return "The new text is like the old: updates are enough."
        return (
            f"The new text is unlike the old: {' and '.join(reasons)}. "
            "Train anew on all text when such text makes up a third of it."
        )

    def _reasons(self) -> list[str]:
        reasons = []
        if self.unknown - self.unknown_before > UNKNOWN_MORE:
            reasons.append(
                f"{self.unknown:.0%} of its words were unknown ({self.unknown_before:.0%} were to be expected)"
            )
        if self.distance is not None and self.distance > FARTHER:
            reasons.append(f"its words are {self.distance:.1f} times as far from the old ones as chance would have it")
        return reasons

    def as_dict(self) -> dict[str, Any]:
        """Ready for JSON."""
        return {**asdict(self), "growing": list(self.growing), "joined": list(self.joined), "advice": self.advice}


def measure_drift(model: Model, new: EncodedCorpus, words: VocabularyUpdate) -> Drift:
    """Compare new documents with those of a model.

    Args:
        new: the new documents in the words of the grown vocabulary.
        words: known words first, then those that join.
    """
    known = words.known
    unknown = 1 - float(words.new[:known].sum()) / max(new.raw_tokens, 1)
    joined = words.vocabulary.words[known : known + GROWING_WORDS]
    growing = _growing(words.before[:known], words.new[:known])
    names = words.vocabulary.words
    return Drift(
        round(unknown, 4),
        round(_expected_unknown(model), 4),
        _distance(model, new, known),
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
    ours = np.zeros(known, np.int64)
    for row in chosen.tolist():
        ids = new.document(row)
        np.add.at(ours, ids[ids < known], 1)
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
    p, q = some / max(some.sum(), 1), others / max(others.sum(), 1)
    middle = (p + q) / 2
    with np.errstate(divide="ignore", invalid="ignore"):
        parts = [np.where(one > 0, one * np.log(one / middle), 0.0).sum() for one in (p, q)]
    return float(sum(parts) / 2)
