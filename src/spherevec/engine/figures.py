"""The figures of a training run: the sums that kernels count, and what is reported of them.

A new figure of the kernels is a field of `Sums` (and its line in the kernels); a new reported figure is a row of
`REPORTED`. Progress displays, the record of a model and checkpoints go by these.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import astuple, dataclass, fields


@dataclass(frozen=True)
class Sums:
    """Sums over what has been trained, in the order of the kernels' slots."""

    tokens: float = 0.0  # of the text, subsampled ones included
    words: float = 0.0  # trained on
    pairs: float = 0.0
    loss: float = 0.0  # over the compared pairs, a sample of all
    violated: float = 0.0
    compared: float = 0.0
    word_cosine: float = 0.0  # over the compared pairs of a negative and a context
    word_negatives: float = 0.0  # how many
    document_cosine: float = 0.0
    document_negatives: float = 0.0

    def __sub__(self, other: Sums) -> Sums:
        return Sums(*(mine - theirs for mine, theirs in zip(astuple(self), astuple(other), strict=True)))


SLOTS: dict[str, int] = {field.name: slot for slot, field in enumerate(fields(Sums))}


@dataclass(frozen=True)
class Figure:
    """A figure that is reported of an epoch."""

    name: str
    # From the sums of the epoch so far, the seconds it took, and the mean resultant length of the words
    value: Callable[[Sums, float, float], float]
    # How a progress display writes it; None where it is only kept in the record
    shown: Callable[[float], str] | None = None


REPORTED: tuple[Figure, ...] = (
    Figure(
        "tokens_per_second", lambda sums, seconds, _: sums.tokens / max(seconds, 1e-9), lambda v: f"{rate(v)} tokens/s"
    ),
    Figure("words", lambda sums, *_: int(sums.words)),
    Figure("pairs", lambda sums, *_: int(sums.pairs)),
    # Mean loss for each negative that was compared.
    Figure("loss", lambda sums, *_: sums.loss / max(sums.compared, 1.0), "loss {:.3f}".format),
    # Share of negatives that come within the margin of the real word.
    Figure("violated", lambda sums, *_: sums.violated / max(sums.compared, 1.0)),
    # Length of the mean word vector: near 1, all words share a common direction; 0, they are spread out.
    Figure("mean_resultant_length", lambda _sums, _seconds, length: length, "anisotropy {:.2f}".format),
)


def reported(sums: Sums, seconds: float, mean_resultant_length: float) -> dict[str, float]:
    """All reported figures of an epoch, or of its beginning."""
    return {figure.name: figure.value(sums, seconds, mean_resultant_length) for figure in REPORTED}


def shown(figures: Mapping[str, float]) -> list[str]:
    """Those that a progress display shows, in few words: all of them fit on a line of 80 characters."""
    return [one.shown(figures[one.name]) for one in REPORTED if one.shown is not None and one.name in figures]


def rate(per_second: float) -> str:
    """1.2 M or 340 k."""
    return f"{per_second / 1e6:.1f} M" if per_second >= 1e6 else f"{per_second / 1e3:.0f} k"
