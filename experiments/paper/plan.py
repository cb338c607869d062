"""What is measured: the methods (one row of every table each), the two scales, and the cells of a run."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

WIKI, NEWS, REVIEWS = "wiki20m", "20news", "movie_reviews"
DATA_TITLES = {WIKI: "Wikipedia", NEWS: "20 Newsgroups", REVIEWS: "movie reviews"}
KINDS = ("words", "documents", "order", "time")


@dataclass(frozen=True)
class Method:
    """One system: a key of `PEERS`, or "spherevec-" and a recipe.

    Attributes:
        title, document_title: in word tables and in document tables.
        paper, document_paper: its row in the paper's tables, or the nearest there is.
        words, documents: which tables it is in.
        slow: takes minutes for a run on two cores, so it is trained with one seed only.
        by_epochs: passes over the text as often as it is told; others read it once.
        ordered: the order of the documents can change its result.
        reads_text: encodes raw text, so slowly that it is timed on a few documents.
    """

    title: str
    paper: str = ""
    words: bool = False
    documents: bool = False
    slow: bool = False
    by_epochs: bool = True
    ordered: bool = True
    reads_text: bool = False
    document_title: str = ""
    document_paper: str = ""


METHODS = {
    "spherevec-paper": Method("spherevec, paper recipe", "JoSE", words=True, documents=True),
    "spherevec-default": Method("spherevec, default recipe", "JoSE", words=True, documents=True),
    "word2vec": Method(
        "Word2Vec", "Word2Vec", words=True, documents=True, slow=True,
        document_title="averaged Word2Vec", document_paper="Avg. W2V",
    ),
    "fasttext": Method("FastText", "fastText", words=True, slow=True),
    "glove": Method("GloVe", "GloVe", words=True, slow=True),
    "poincare-glove": Method("Poincaré GloVe", "Poincaré GloVe", words=True, slow=True),
    "doc2vec-dbow": Method("Doc2Vec, DBOW", "Doc2Vec", documents=True),
    "doc2vec-dm": Method("Doc2Vec, DM", "Doc2Vec", documents=True),
    "sif": Method("SIF", "SIF", documents=True, slow=True),
    "tfidf-svd": Method("tf-idf, truncated SVD", documents=True, by_epochs=False, ordered=False),
    "minilm": Method(
        "MiniLM sentence encoder", "BERT", documents=True, slow=True, by_epochs=False, ordered=False, reads_text=True
    ),
}  # fmt: skip
ORDER_METHODS = ("spherevec-paper", "spherevec-default", "doc2vec-dbow")  # whose sensitivity to sorted text is drawn
REFERENCE = "word2vec"  # that ratios of speed and memory refer to


@dataclass(frozen=True)
class Scale:
    """How much is measured.

    Attributes:
        every: keep one document in so many of a labelled set, evenly spaced, so that its order stays as it is.
        wiki_words: read so many words of Wikipedia, all when None.
        sampled: documents given to a method that `reads_text`, when it is timed.
        shares: of documents moved to random places, for the figure of sortedness.
        seeds, repeats: trainings of each method that is not slow, and timed runs.
        left_out: methods that take too long for this scale.
    """

    every: dict[str, int]
    wiki_words: int | None
    min_count: dict[str, int]
    epochs: dict[str, int]
    sampled: int
    clusterings: int = 10
    splits: int = 10
    vector_size: int = 100
    window: int = 10
    shares: tuple[float, ...] = (0.25, 0.5, 1.0)
    seeds: int = 3
    repeats: int = 3
    left_out: tuple[str, ...] = ()

    def settings(self) -> dict[str, Any]:
        """What a result depends on: everything but how many cells there are."""
        counts = ("shares", "seeds", "repeats", "left_out")
        return {name: value for name, value in asdict(self).items() if name not in counts}


FULL = Scale(
    every={NEWS: 1, REVIEWS: 1},
    wiki_words=None,
    min_count={WIKI: 10, NEWS: 5, REVIEWS: 5},
    epochs={WIKI: 5, NEWS: 10, REVIEWS: 10},
    sampled=600,
)
QUICK = Scale(
    every={NEWS: 20, REVIEWS: 10},
    wiki_words=250_000,
    min_count={WIKI: 5, NEWS: 3, REVIEWS: 3},
    epochs={WIKI: 2, NEWS: 2, REVIEWS: 2},
    sampled=60,
    clusterings=3,
    splits=3,
    shares=(1.0,),
    seeds=1,
    repeats=1,
    left_out=("fasttext", "minilm", "poincare-glove"),
)


@dataclass(frozen=True)
class Cell:
    """One thing to measure: a method, trained on a data set in some order with a seed.

    Attributes:
        kind: one of `KINDS`.
        order: "file", "shuffled", or "any" where it cannot matter.
        share: of documents moved to random places, for kind "order".
        seed: of training; the number of the repeat for kind "time".
    """

    kind: str
    data: str
    method: str
    order: str
    seed: int
    share: float = 0.0

    def __str__(self) -> str:
        return f"{self.kind} {self.data} {self.method} {self.order} seed {self.seed}" + (
            f" share {self.share:g}" if self.share else ""
        )


def all_cells(scale: Scale) -> Iterator[Cell]:
    """Quality first; times last and in turns, so that noise of the machine affects all alike."""
    methods = {name: method for name, method in METHODS.items() if name not in scale.left_out}
    for kind, data in (("words", WIKI), ("documents", NEWS), ("documents", REVIEWS)):
        for name, method in methods.items():
            if getattr(method, kind):
                orders = ("file", "shuffled") if kind == "documents" and method.ordered else ("any",)
                for order in orders:
                    for seed in range(1, 2 if method.slow else scale.seeds + 1):
                        yield Cell(kind, data, name, order, seed)
    for name in ORDER_METHODS:
        for share in scale.shares:
            yield Cell("order", NEWS, name, "file", 1, share)
    for repeat in range(1, scale.repeats + 1):
        for name in methods:
            yield Cell("time", NEWS, name, "any", repeat)
