"""The training objectives: each is described here once, and everything else asks the description.

CONTRIBUTING.md lists what a new objective needs besides its row.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType


@dataclass(frozen=True)
class Objective:
    """What the rooms around the kernels need to know of an objective."""

    name: str
    code: int  # its number in the kernels
    likelihood: bool  # it is a likelihood with a concentration and a learned bias; the others are hinges with a margin
    needs_documents: bool  # it cannot train words alone
    kernel: str  # the kernel that trains it ("batches": several anchors against the same negatives at once)
    refit_alpha: float  # learning rate at the start of a fit of documents to fixed words
    # Share of the concentration in that fit: a hundred numbers fitted to a few dozen words make these look too sharp
    refit_concentration: float = 1.0

    def kernel_for(self, batch: int) -> str:
        """The kernel that trains it with batches of this size: hinges have one of their own for single pairs."""
        return "triples" if self.kernel == "batches" and batch == 1 and not self.likelihood else self.kernel

    def one_by_one(self, batch: int) -> bool:
        """Whether training takes one triple at a time with batches of this size."""
        return self.kernel_for(batch) != "batches"


OBJECTIVES: Mapping[str, Objective] = MappingProxyType(
    {
        objective.name: objective
        for objective in (
            # The von Mises–Fisher likelihood with negative sampling.
            Objective("vmf", 0, True, False, "batches", refit_alpha=0.01, refit_concentration=0.75),
            # One hinge a pair, as in the authors' program.
            Objective("hinge", 1, False, False, "batches", refit_alpha=0.03),
            # The paper's joint hinge over a word, a context and a document.
            Objective("joint", 2, False, True, "joint", refit_alpha=0.03),
        )
    }
)

# How far a negative at cosine h is pushed away: the hinges' rules, by their number in the kernels.
NEGATIVE_RULES: Mapping[str, int] = MappingProxyType({"1+h": 0, "h": 1, "2h": 2})
