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
    """A topic as the page shows it."""

    name: str
    words: Sequence[str]  # most typical first
    size: int  # documents
    parent: int = -1  # the row of its broad topic in `PageData.parents`, -1 for none


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
    """All that a page holds. N documents, W words, K topics; a page without one of these still works."""

    title: str  # of the page
    doc_places: Floats  # (N, 3) unit rows
    doc_vectors: Floats  # (N, dim)
    doc_topics: NDArray[np.int32]  # (N,) number of each document's topic, -1 for none
    ids: Sequence[str] | None  # of the documents, or None where they were not kept, as titles and snippets
    titles: Sequence[str] | None
    snippets: Sequence[str] | None
    fields: Sequence[Field]  # the kept columns
    topics: Sequence[PageTopic]  # the largest first
    topic_places: Floats  # (K, 3)
    topic_vectors: Floats  # (K, dim)
    words: Sequence[str]  # names of the words to search with, most frequent first
    word_vectors: Floats  # (W, dim) input vectors
    word_counts: NDArray[np.int64] | None  # (W,)
    place_names: NDArray[np.int32]  # rows of `words` that lie on the map, most telling first
    word_places: Floats  # (their number, 3)
    tokenizer: Mapping[str, Any]  # how the page splits a typed sentence, see `spherevec.explore.from_model.description`
    fit: Fit | None  # how sentences are placed; None to switch that off
    vocabulary: int  # how many words the model has
    model_facts: Sequence[tuple[str, str]] = ()  # what the page says about the model, as names and values
    settings: Sequence[tuple[str, str]] = ()
    parents: Sequence[PageTopic] = ()  # broad topics, the largest first; empty where topics have one level
    generator: str = "spherevec"
