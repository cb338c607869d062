"""The offsets of the von Mises–Fisher likelihood, learned so that vectors need no common direction.

A real pair has probability sigmoid(kappa cos - b). At its best the likelihood makes kappa cos - b the pointwise mutual
information of the pair less log K, for K drawn words; its mean over drawn pairs is some negative number. With b fixed
too low the vectors supply that number themselves: all words turn to one direction and all contexts to the opposite
one. Likelihood alone cannot tell the two apart, so b is set by a second demand: drawn pairs are orthogonal on average.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from dataclasses import asdict
from typing import Any

from spherevec.engine.base import Figures

DAMPING = 0.1  # share of what is missing that one block makes up for; the vectors follow meanwhile


class Offsets:
    """b for pairs of words, and for pairs of a word and a document."""

    def __init__(self, start: float, concentration: float) -> None:
        self.words = start
        self.documents = start
        self._concentration = concentration
        self._seen = Figures()
        self._lock = threading.Lock()

    def state(self) -> dict[str, Any]:
        """All that was learned, as plain numbers."""
        return {"words": self.words, "documents": self.documents, "seen": asdict(self._seen)}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Go on from what an earlier run learned."""
        self.words, self.documents, self._seen = state["words"], state["documents"], Figures(**state["seen"])

    def learn(self, read_figures: Callable[[], Figures]) -> None:
        """Move towards orthogonal drawn pairs.

        Args:
            read_figures: gives the sums since the start of the run; what came since the last call counts. It is called
                under the lock, so that reports of several threads come in order.
        """
        with self._lock:
            figures = read_figures()
            new, self._seen = figures - self._seen, figures
            step = DAMPING * self._concentration
            self.words -= step * new.word_cosine / max(new.word_drawn, 1.0)
            self.documents -= step * new.document_cosine / max(new.document_drawn, 1.0)
