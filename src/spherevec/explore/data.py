"""What a page shows, as plain arrays and lists: `PageData` and its parts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from spherevec.sphere import Floats


@dataclass(frozen=True)
class Field:
    """One kept column of the table of documents."""

    name: str  # what people call it
    # "category" (values are codes into `labels`, -1 for none), "number", "date" (seconds since 1970, UTC) or "text" (a
    # list of strings, shown and not filtered)
    kind: str
    values: NDArray[Any] | Sequence[str]  # one value a document; NaN is a missing number or date
    labels: Sequence[str] = ()  # the categories


@dataclass(frozen=True)
class PageTopic:
    """A topic as the page shows it: its name, its words, most typical first, and how many documents it has.

    `parent` is the row of its broad topic in `PageData.parents`, -1 for none.
    """

    name: str
    words: Sequence[str]
    size: int
    parent: int = -1


@dataclass(frozen=True)
class Fit:
    """How the model fits new documents to its words, for the browser to do the same."""

    objective: str  # "vmf", "hinge" or "joint"
    weights: Floats  # what each embedded word says of its document; its keep probability where the model has no weights
    moments: Floats  # (dim + 1, dim) covariance and mean of negative samples; (0, dim) where the model has no weights
    negatives: Floats  # (m, dim) input vectors of words sampled as training samples negatives, where it has none
    # How the exponents of counts and weights change with a document's length; see `spherevec.engine.fit`
    by_length: Sequence[float]
    alpha: float  # how far a pass goes; the schedule of learning rates
    epochs: int  # passes
    least_steps: int
    concentration: float  # of the von Mises–Fisher likelihood, as the bias
    bias: float
    margin: float  # of the hinges
    negative: int  # negative samples of one step


@dataclass(frozen=True)
class PageData:
    """All that a page holds. N documents, W words, K topics; a page without one of these still works.

    Attributes:
        title: of the page.
        doc_places: (N, 3) unit rows; doc_vectors: (N, dim).
        doc_topics: (N,) number of each document's topic, -1 for none.
        ids, titles, snippets: of the documents, or None where they were not kept.
        fields: the kept columns.
        topics, topic_places (K, 3), topic_vectors (K, dim): the largest topic first.
        parents: broad topics, the largest first; empty where topics have one level.
        words: names of the words to search with, most frequent first; word_vectors: (W, dim) input vectors.
        word_counts: (W,) or None.
        place_names: rows of `words` that lie on the map, most telling first; word_places: (their number, 3).
        tokenizer: how the page splits a typed sentence, see `spherevec.explore.from_model.description`.
        fit: how sentences are placed; None to switch that off.
        vocabulary: how many words the model has.
        model_facts, settings: what the page says about the model, as names and values.
    """

    title: str
    doc_places: Floats
    doc_vectors: Floats
    doc_topics: NDArray[np.int32]
    ids: Sequence[str] | None
    titles: Sequence[str] | None
    snippets: Sequence[str] | None
    fields: Sequence[Field]
    topics: Sequence[PageTopic]
    topic_places: Floats
    topic_vectors: Floats
    words: Sequence[str]
    word_vectors: Floats
    word_counts: NDArray[np.int64] | None
    place_names: NDArray[np.int32]
    word_places: Floats
    tokenizer: Mapping[str, Any]
    fit: Fit | None
    vocabulary: int
    model_facts: Sequence[tuple[str, str]] = ()
    settings: Sequence[tuple[str, str]] = ()
    parents: Sequence[PageTopic] = ()
    generator: str = "spherevec"
