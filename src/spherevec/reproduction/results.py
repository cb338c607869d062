"""What has been measured, gathered for the page: figures with their spread."""

from __future__ import annotations

import json
import statistics
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from spherevec.reproduction.methods import METHODS, Method
from spherevec.reproduction.plan import NEWS, WIKI, WORDS_OF_SIF, Cell
from spherevec.reproduction.queue import Run

Figures = dict[str, Any]

# The row that ratios of speed and memory refer to.
REFERENCE = "word2vec"


@dataclass(frozen=True)
class Figure:
    """The mean of `n` measurements, and their sample deviation where there are several."""

    mean: float
    std: float | None
    n: int

    @classmethod
    def of(cls, values: Iterable[float]) -> Figure | None:
        kept = [value for value in values if value is not None and value == value]
        if not kept:
            return None
        return cls(statistics.fmean(kept), statistics.stdev(kept) if len(kept) > 1 else None, len(kept))

    def is_as_good_as(self, best: Figure) -> bool:
        """Whether the distance to `best` is within the larger of both deviations."""
        return abs(self.mean - best.mean) <= max(self.std or 0.0, best.std or 0.0)


@dataclass(frozen=True)
class Times:
    """One timed turn of a method, brought to the whole of 20 Newsgroups.

    Attributes:
        epoch: seconds of one more epoch, or of the only pass.
        whole: seconds of a whole training, from encoded text to vectors.
        rate: tokens a second.
        peak: bytes.
    """

    epoch: float
    whole: float
    rate: float
    peak: int


class Results:
    """Everything that has been measured for a run."""

    def __init__(self, run: Run) -> None:
        self.run = run
        self.paper = paper_figures()
        loaded = ((cell, run.store.load(cell)) for cell in run.cells)
        self.found: dict[Cell, Figures] = {cell: figures for cell, figures in loaded if figures is not None}

    def of(self, kind: str, data: str, method: str, order: str | None = None) -> list[Figures]:
        """The figures of one row, a seed or repeat each; where the order cannot matter, whichever was asked for."""
        return [
            figures
            for cell, figures in self.found.items()
            if (cell.kind, cell.data, cell.method) == (kind, data, method)
            and (order is None or cell.order in (order, "any"))
        ]

    def figure(
        self, kind: str, data: str, method: str, order: str | None, take: Callable[[Figures], Any]
    ) -> Figure | None:
        """Mean and deviation of what `take` finds: one number, or several, for each seed."""
        values: list[float] = []
        for figures in self.of(kind, data, method, order):
            found = take(figures)
            values += found if isinstance(found, list | tuple) else [found]
        return Figure.of(values)

    def clustering(self, method: str, order: str, clusterer: str, measure: str) -> Figure | None:
        return self.figure(
            "documents", NEWS, method, order, lambda found: found["clustering"][clusterer][measure]["values"]
        )

    def classification(self, data: str, method: str, order: str, measure: str, k: int = 3) -> Figure | None:
        def take(found: Figures) -> list[float]:
            return next(list(result[measure]["values"]) for result in found["classification"] if result["k"] == k)

        return self.figure("documents", data, method, order, take)

    def similarity(self, method: str, name: str) -> Figure | None:
        return self.figure("words", WIKI, method, None, lambda found: found["similarity"][name]["spearman"])

    def analogy(self, method: str, kind: str) -> Figure | None:
        return self.figure("words", WIKI, method, None, lambda found: found["analogy"][kind]["total"]["accuracy"])

    def times(self, method: str) -> list[Times]:
        """One a turn, in order; SIF needs Word2Vec's vectors, so their training counts too."""
        turns = [
            _times(METHODS[method], found, self.run.scale.epochs[NEWS], self._tokens())
            for found in self.of("time", NEWS, method)
        ]
        if method != "sif":
            return turns
        return [
            Times(own.epoch, own.whole + base.whole, own.rate, own.peak)
            for own, base in zip(turns, self.times(WORDS_OF_SIF), strict=False)
        ]

    def training_seconds(self, method: str) -> float | None:
        """Of a whole training on 20 Newsgroups: the median of the timed turns."""
        turns = self.times(method)
        return statistics.median(turn.whole for turn in turns) if turns else None

    def rows(self, kind: str, data: str) -> list[Method]:
        """The methods that such a table has, measured or not."""
        planned = {cell.method for cell in self.run.cells if (cell.kind, cell.data) == (kind, data)}
        return [method for method in METHODS.values() if method.name in planned]

    def _tokens(self) -> int | None:
        """Of the whole of 20 Newsgroups."""
        return next(
            (
                found["corpus"]["tokens"]
                for cell, found in self.found.items()
                if cell.kind == "documents" and cell.data == NEWS
            ),
            None,
        )


def _times(method: Method, found: Figures, epochs: int, tokens: int | None) -> Times:
    first, *second = found["seconds"]
    larger = (tokens or found["tokens"]) / found["tokens"]
    # On texts of a moment the difference can drown in noise; it is never nothing.
    epoch = max(second[0] - first, 0.05 * first) if second else first
    whole = first + (epochs - 1) * epoch if second else first
    return Times(epoch * larger, whole * larger, found["tokens"] / epoch, found["peak_bytes"])


@cache
def paper_figures() -> dict[str, Any]:
    """The paper's own figures."""
    figures: dict[str, Any] = json.loads((Path(__file__).parent / "paper.json").read_text("utf-8"))
    return figures
