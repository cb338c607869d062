"""A figure measured several times."""

from __future__ import annotations

import statistics
from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True)
class Spread:
    """Mean and sample standard deviation of repeated measurements; a single one has deviation 0.

    Examples:
        >>> print(Spread.of([0.5, 0.7]))
        0.600 ± 0.141
    """

    mean: float
    std: float
    values: tuple[float, ...]

    @classmethod
    def of(cls, values: Iterable[float]) -> Spread:
        kept = tuple(float(value) for value in values)
        return cls(statistics.fmean(kept), statistics.stdev(kept) if len(kept) > 1 else 0.0, kept)

    def __str__(self) -> str:
        return f"{self.mean:.3f} ± {self.std:.3f}"
