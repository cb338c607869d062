"""The biases of the von Mises–Fisher likelihood, learned so that vectors need no common direction.

A real pair has probability sigmoid(kappa cos - b). At its best the likelihood makes kappa cos - b the pointwise mutual
information of the pair less log K, for K negatives; its mean over negative pairs is some negative number. With b fixed
too low the vectors supply that number themselves: all words turn to one direction and all contexts to the opposite
one. Likelihood alone cannot tell the two apart, so b is set by a second demand: negative pairs are orthogonal
on average.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from dataclasses import asdict
from typing import Any

from spherevec.engine.figures import Sums

DAMPING = 0.1  # share of what is missing that one block makes up for; the vectors follow meanwhile


class Biases:
    """b for pairs of words, and for pairs of a word and a document."""

    def __init__(self, start: float, concentration: float) -> None:
        self.words = start
        self.documents = start
        self._concentration = concentration
        self._seen = Sums()
        self._lock = threading.Lock()

    def state(self) -> dict[str, Any]:
        """All that was learned, as plain numbers."""
        return {"words": self.words, "documents": self.documents, "seen": asdict(self._seen)}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Go on from what an earlier run learned."""
        self.words, self.documents, self._seen = state["words"], state["documents"], Sums(**state["seen"])

    def learn(self, read_sums: Callable[[], Sums]) -> None:
        """Move towards orthogonal negative pairs.

        Args:
            read_sums: gives the sums since the start of the run; what came since the last call counts. It is called
                under the lock, so that reports of several threads come in order.
        """
        with self._lock:
            sums = read_sums()
            new, self._seen = sums - self._seen, sums
            step = DAMPING * self._concentration
            self.words -= step * new.word_cosine / max(new.word_negatives, 1.0)
            self.documents -= step * new.document_cosine / max(new.document_negatives, 1.0)
