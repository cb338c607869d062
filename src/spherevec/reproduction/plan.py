"""What a run measures: cells, at one of two scales."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from typing import Any

from spherevec.reproduction.methods import METHODS, Method

KINDS = ("words", "documents", "order", "time")
WIKI, NEWS, REVIEWS = "wiki20m", "20news", "movie_reviews"
DATA_TITLES = {WIKI: "Wikipedia", NEWS: "20 Newsgroups", REVIEWS: "movie reviews"}

# The methods whose sensitivity to sorted text is drawn, and the one whose vectors are drawn as maps.
ORDER_METHODS = ("spherevec-paper", "spherevec-default", "doc2vec-dbow")
MAPPED_METHOD = "spherevec-default"
# SIF weighs the vectors of this method.
WORDS_OF_SIF = "word2vec"


@dataclass(frozen=True)
class Scale:
    """How much is measured.

    Attributes:
        every: keep one document in so many of a labelled set, evenly spaced, so that its order stays as it is.
        wiki_words: read so many words of Wikipedia, all when None.
        shares: of documents moved to random places, for the plot of sortedness; none moved is the file's order, which
            is measured anyway.
        seeds: trainings of each method that is not slow, unless the user wants more or fewer.
        repeats: of timed runs.
        sampled: documents given to methods that would take minutes to encode them, when they are timed.
        mapped: documents and words in the maps.
        left_out: methods that take too long for this scale.
    """

    name: str
    every: dict[str, int]
    wiki_words: int | None
    min_count: dict[str, int]
    epochs: dict[str, int]
    shares: tuple[float, ...]
    repeats: int
    seeds: int = 3
    sampled: int = 600
    mapped: tuple[int, int] = (3000, 350)
    dim: int = 100
    window: int = 10
    clusterings: int = 10
    splits: int = 10
    left_out: tuple[str, ...] = ()


FULL = Scale(
    "full",
    every={NEWS: 1, REVIEWS: 1},
    wiki_words=None,
    min_count={WIKI: 10, NEWS: 5, REVIEWS: 5},
    epochs={WIKI: 5, NEWS: 10, REVIEWS: 10},
    shares=(0.25, 0.5, 1.0),
    repeats=3,
)
QUICK = Scale(
    "quick",
    every={NEWS: 20, REVIEWS: 10},
    wiki_words=250_000,
    min_count={WIKI: 5, NEWS: 3, REVIEWS: 3},
    epochs={WIKI: 2, NEWS: 2, REVIEWS: 2},
    shares=(1.0,),
    seeds=1,
    repeats=1,
    sampled=60,
    mapped=(600, 150),
    left_out=("fasttext", "minilm", "poincare-glove"),
)
SCALES = {scale.name: scale for scale in (FULL, QUICK)}


@dataclass(frozen=True)
class Cell:
    """One thing to measure: a method, trained on a data set in some order with a seed.

    Attributes:
        kind: one of `KINDS`.
        order: "file", "shuffled", or "any" where it cannot matter.
        seed: of training; the number of the repeat for kind "time".
        share: of documents moved to random places, for kind "order".
        mapped: also lay the vectors out in two dimensions.
        needs: the cell whose word vectors this one is given.
    """

    kind: str
    data: str
    method: str
    order: str
    seed: int
    share: float | None = None
    mapped: bool = False
    needs: Cell | None = field(default=None)

    @property
    def title(self) -> str:
        parts = [METHODS[self.method].title, DATA_TITLES[self.data]]
        if self.kind == "order":
            parts.append(f"{self.share:.0%} moved")
        elif self.kind == "time":
            parts.append(f"timing {self.seed}")
        else:
            parts += [f"{self.order} order", f"seed {self.seed}"] if self.order != "any" else [f"seed {self.seed}"]
        return " · ".join(parts)

    @property
    def slug(self) -> str:
        """A file name for people; what tells cells apart is their key."""
        share = "" if self.share is None else f"-{self.share:g}"
        return f"{self.kind}-{self.data}-{self.method}-{self.order}{share}-{self.seed}"

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> Cell:
        needs = values["needs"]
        return cls(**{**values, "needs": cls.from_dict(needs) if needs else None})


def all_cells(scale: Scale, seeds: int, data_sets: tuple[str, ...]) -> list[Cell]:
    """Every cell of a run: quality first, and times last, in turns, so that noise of the machine hits all alike."""
    methods = [method for method in METHODS.values() if method.name not in scale.left_out]
    cells: list[Cell] = []
    if WIKI in data_sets:
        cells += [cell for method in methods if method.words for cell in _word_cells(method, seeds)]
    for data in (NEWS, REVIEWS):
        if data in data_sets:
            cells += [cell for method in methods if method.documents for cell in _document_cells(method, data, seeds)]
    if NEWS in data_sets:
        cells += [
            Cell("order", NEWS, method.name, "file", 1, share)
            for method in methods
            if method.name in ORDER_METHODS
            for share in scale.shares
        ]
        cells += [
            Cell("time", NEWS, method.name, "any", repeat)
            for repeat in range(1, scale.repeats + 1)
            for method in methods
        ]
    return cells


def _seeds(method: Method, seeds: int) -> range:
    return range(1, 2 if method.slow else seeds + 1)


def _word_cells(method: Method, seeds: int) -> Iterator[Cell]:
    for seed in _seeds(method, seeds):
        yield Cell("words", WIKI, method.name, "any", seed, mapped=method.name == MAPPED_METHOD and seed == 1)


def _document_cells(method: Method, data: str, seeds: int) -> Iterator[Cell]:
    for order in ("file", "shuffled") if method.ordered else ("any",):
        for seed in _seeds(method, seeds):
            mapped = data == NEWS and method.name == MAPPED_METHOD and seed == 1 and order == "shuffled"
            needs = Cell("documents", data, WORDS_OF_SIF, order, seed) if method.name == "sif" else None
            yield Cell("documents", data, method.name, order, seed, mapped=mapped, needs=needs)
