"""From a model to a page: the one place of this room that knows what a model is."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from spherevec.config import INFERENCE_STEPS
from spherevec.corpus.tokenize import characters
from spherevec.corpus.tokenize.cleaning import TAG_NAMES
from spherevec.corpus.tokenize.function_words import FUNCTION_WORDS
from spherevec.corpus.tokenize.phrases import LONGEST
from spherevec.corpus.tokenize.tokenizer import WHITESPACE, WORDS, Tokenizer
from spherevec.corpus.tokenize.words import ELISION, javascript_rules
from spherevec.engine.sampling import UNIGRAM_POWER, keep_probabilities
from spherevec.errors import ConfigError
from spherevec.explore.data import Field, Fit, PageData, PageTopic
from spherevec.explore.layout import LANDMARKS, Rows, place_on_globe
from spherevec.explore.page import NotebookPage, save_page
from spherevec.html import check_page_name
from spherevec.model.inference import DocumentFitter
from spherevec.sphere import Floats
from spherevec.topics import find_topics, topics_of
from spherevec.topics.graph import nearest_rows, sample_of

if TYPE_CHECKING:
    from spherevec.model import Model
    from spherevec.model.documents import DocumentTable
    from spherevec.topics import Topics

WORD_BYTES = 6_000_000  # of word vectors in a page, unless the caller says how many words
NEGATIVES = 1024  # sampled once, for the expectation over negative samples
MOST_PLACE_NAMES = 3000
_PLACE_NAME_RANKS = 20_000  # place names are looked for among the most frequent words
_PLACE_NAME_NEIGHBOURS = 15
FEWEST_DOCUMENTS = 4  # for topics
_CATEGORIES = 200  # a text field with at most so many values is shown as a category
_MICROSECONDS = 1e6
# Characters that the page must know to split a typed sentence as training did.
_RANGES = {
    "unspaced": characters.UNSPACED_RANGES,
    "emoji": characters.EMOJI_RANGES,
    "symbols": characters.SYMBOL_RANGES,
    "variation": characters.VARIATION_SELECTORS,
}


def write_page(
    model: Model,
    path: str | Path,
    *,
    topics: Topics | None = None,
    words: int | None = None,
    title: str | None = None,
    seed: int = 1,
    threads: int = 0,
    overwrite: bool = False,
) -> Path:
    """Write the map of a model as one HTML file that opens by double click, without a server or a network.

    The same model and seed give the same file, for any number of threads.

    Args:
        topics: what `spherevec.topics.find_topics` gave; by default those kept with the model, or found anew.
        words: how many of the most frequent words to embed, to place typed sentences with; 0 for none. By default
            as many as fit into 6 MB.
        title: of the page; by default it says how many documents there are.
        threads: 0 = all cores.
        overwrite: replace a file that is there.

    Returns:
        The path of the page.

    See Also:
        spherevec.explore.show: the same page in a cell of a notebook.
    """
    check_page_name(path, "map")
    data = page_data(model, topics=topics, words=words, title=title, seed=seed, threads=threads)
    return save_page(data, path, overwrite=overwrite)


def show(model: Model, *, height: int = 640, **options: Any) -> NotebookPage:
    """The map of a model in a cell of a notebook; other arguments are those of `write_page`.

    Args:
        height: of the frame in pixels.
    """
    return NotebookPage(page_data(model, **options), height)


def page_data(
    model: Model,
    *,
    topics: Topics | None = None,
    words: int | None = None,
    title: str | None = None,
    seed: int = 1,
    threads: int = 0,
) -> PageData:
    """All that the page of a model shows; the arguments are those of `write_page`."""
    if words is not None and words < 0:
        raise ConfigError(f"words must be 0 or more, not {words}")
    dim, vocabulary = model.vector_size, len(model.words)
    docs: Floats = np.zeros((0, dim), np.float32) if model.docs is None else np.asarray(model.docs.vectors)
    embedded = min(vocabulary, max(1, WORD_BYTES // dim) if words is None else words)
    inputs = np.asarray(model.inputs.vectors)
    names = list((model.words.names or [])[:vocabulary])
    shown = topics_to_show(model, topics, seed, threads)
    found = None if shown is None else TopicTable(shown)
    topic_vectors = np.zeros((0, dim), np.float32) if found is None else found.vectors
    # Frequent words are good names of places, but not the most frequent ones.
    weights = keep_shares(model) * (1.0 if model.counts is None else np.log(np.maximum(model.counts, 1) + 1.0))
    place_names = place_name_words(docs, inputs, names, weights, seed, threads)
    place_names = place_names[place_names < embedded] if embedded else place_names[:0]
    places = place_on_globe(docs, inputs[place_names], topic_vectors, seed=seed, threads=threads)
    table = model.documents
    n = len(docs)
    return PageData(
        title=title or (f"A map of {n:,} documents" if n else f"A map of {vocabulary:,} words"),
        doc_places=places.docs,
        doc_vectors=docs,
        doc_topics=np.full(n, -1, np.int32) if found is None else found.labels,
        ids=None if table is None or not table.named else list(table.ids),
        titles=None if table is None else _kept(table.title(row) for row in range(n)),
        snippets=None if table is None else _kept(table.snippet(row) for row in range(n)),
        fields=[] if table is None else [kept_field(table, name, kind) for name, kind in table.fields.items()],
        topics=() if found is None else found.topics,
        parents=() if found is None else found.parents,
        topic_places=places.topics,
        topic_vectors=topic_vectors,
        words=names[:embedded],
        word_vectors=inputs[:embedded],
        word_counts=None if model.counts is None else model.counts[:embedded],
        place_names=place_names,
        word_places=places.words,
        tokenizer=description(model.tokenizer, bool((model.config or {}).get("phrases"))),
        fit=fit_of(model, embedded) if embedded and vocabulary > 1 else None,
        vocabulary=vocabulary,
        model_facts=_facts(model),
        settings=[(name, str(value)) for name, value in (model.config or {}).items() if value is not None],
        generator=f"spherevec {model.version}",
    )


class TopicTable:
    """Topics as the page needs them, the largest first, with the broad ones above them."""

    def __init__(self, topics: Topics) -> None:
        broad = sorted(topics.parents if topics.state.above else (), key=lambda topic: -topic.size)
        rows: dict[int | None, int] = {topic.number: row for row, topic in enumerate(broad)}
        found = [PageTopic(one.title, one.words, one.size, rows.get(one.parent, -1)) for one in topics]
        order = sorted(range(len(found)), key=lambda row: -found[row].size)
        new = np.full(len(found) + 1, -1, np.int32)  # the last one is for documents without a topic
        new[order] = np.arange(len(found), dtype=np.int32)
        self.topics = [found[row] for row in order]
        self.parents = [PageTopic(one.title, one.words, one.size) for one in broad]
        self.vectors: Floats = np.ascontiguousarray(topics.components.directions_of_topics()[order], np.float32)
        self.labels: Rows = new[topics.labels]


def topics_to_show(model: Model, topics: Topics | None, seed: int, threads: int) -> Topics | None:
    """The given topics, those kept with the model, or new ones; None for too few documents to have any."""
    n = 0 if model.docs is None else len(model.docs)
    if topics is None and n >= FEWEST_DOCUMENTS:
        kept = model.kept_topics is not None
        topics = topics_of(model, threads=threads) if kept else find_topics(model, seed=seed, threads=threads)
    if topics is not None and len(topics.labels) != n:
        raise ConfigError(f"the topics are of {len(topics.labels)} documents, the model has {n}; find them anew")
    return topics


def place_name_words(
    docs: Floats, inputs: Floats, names: Sequence[str], weights: NDArray[np.float64], seed: int, threads: int
) -> Rows:
    """Rows of the words that make good place names, best first: frequent, and at the heart of some documents.

    The score of a word is its weight times its mean cosine to the documents nearest to it, which is low for words that
    occur everywhere. `weights` (V,) say how much the frequency of each word speaks for it.
    """
    ranks = [
        row
        for row, word in enumerate(names[:_PLACE_NAME_RANKS])
        if len(word) > 2 and any(character.isalpha() for character in word) and not word[0].isdigit()
    ]
    rows = np.asarray(ranks or range(min(len(names), MOST_PLACE_NAMES)), np.int32)
    if len(docs) == 0 or len(rows) == 0:
        return rows[:MOST_PLACE_NAMES]
    some = docs[sample_of(len(docs), LANDMARKS, seed)]
    _, cosines = nearest_rows(inputs[rows], some, min(_PLACE_NAME_NEIGHBOURS, len(some)), threads)
    score = weights[rows] * cosines.mean(axis=1, dtype=np.float64)
    best: Rows = rows[np.argsort(-score, kind="stable")[:MOST_PLACE_NAMES]]
    return best


def keep_shares(model: Model) -> NDArray[np.float64]:
    """Keep probability of each word when documents are fitted; 1 where counts are not known."""
    if model.counts is None:
        return np.ones(len(model.words))
    threshold = DocumentFitter(model).settings().sample_threshold
    return np.asarray(keep_probabilities(np.maximum(model.counts, 1), threshold) / 2.0**32)


def description(tokenizer: Tokenizer, phrases: bool) -> dict[str, Any]:
    """The tokenizer for the page.

    `exact` says whether the page does as training did. It cannot call a function of the user's; then it splits at
    spaces and signs. Words of unspaced scripts are looked up in the browser's dictionary, which need not be the
    model's: the page says so where a text has such words. Entries of several words may be phrases.
    """
    options = None if tokenizer.options is None else asdict(tokenizer.options)
    return {
        "name": tokenizer.name,
        "exact": tokenizer.name in (WORDS, WHITESPACE),
        "options": options,
        "rules": None if tokenizer.options is None else javascript_rules(tokenizer.options),
        "elision": ELISION.pattern if tokenizer.drops_elisions else None,
        "ranges": None if options is None else _RANGES,
        "tags": None if options is None else {name.decode(): shown.decode() for name, shown in TAG_NAMES.items()},
        "particles": None if options is None else "".join(word for word in sorted(FUNCTION_WORDS) if len(word) == 1),
        "longest": LONGEST if phrases else 1,
    }


def fit_of(model: Model, embedded: int) -> Fit:
    """How the model fits documents: with its weights, or with a fixed set of negative samples."""
    config = DocumentFitter(model).settings()
    dim = model.vector_size
    if model.fit is None:
        counts = np.ones(len(model.words), np.int64) if model.counts is None else np.maximum(model.counts, 1)
        weights = keep_shares(model)[:embedded].astype(np.float32)
        moments, by_length = np.zeros((0, dim), np.float32), np.zeros(2, np.float32)
        # Evenly spaced in the cumulated distribution: each word as often as its probability says, within one.
        share = np.cumsum(counts**UNIGRAM_POWER)
        negatives = np.searchsorted(share, (np.arange(NEGATIVES) + 0.5) / NEGATIVES * share[-1])
    else:
        weights = model.fit.weights[:embedded]
        moments = np.vstack([model.fit.covariance, model.fit.mean[None, :]])
        negatives, by_length = np.zeros(0, np.intp), model.fit.by_length
    return Fit(
        objective=config.objective,
        weights=weights,
        moments=moments,
        negatives=np.asarray(model.inputs.vectors)[negatives],
        by_length=by_length.tolist(),
        alpha=config.alpha,
        epochs=config.epoch_count,
        least_steps=INFERENCE_STEPS,
        concentration=config.concentration,
        bias=model.parameters.get("document_bias", config.bias),
        margin=config.margin,
        negative=config.negative,
    )


def kept_field(table: DocumentTable, name: str, kind: str) -> Field:
    """A kept column as the page shows it."""
    if kind == "category":
        codes, labels = table.codes(name)
        return Field(name, "category", np.asarray(codes, np.int32), labels)
    values = table.column(name)
    if kind == "date":
        seconds = values.astype("datetime64[us]").astype(np.float64) / _MICROSECONDS
        return Field(name, "date", np.where(np.isnat(values), np.nan, seconds))
    if kind == "number":
        return Field(name, "number", values.astype(np.float64))
    distinct = sorted(set(values.tolist()) - {""})
    if 0 < len(distinct) <= min(_CATEGORIES, len(values) // 2):
        number = {label: code for code, label in enumerate(distinct)}
        return Field(name, "category", np.asarray([number.get(value, -1) for value in values], np.int32), distinct)
    return Field(name, "text", [str(value) for value in values])


def _kept(texts: Iterable[str]) -> list[str] | None:
    """The texts, or None where all are empty: they were not kept."""
    kept = list(texts)
    return kept if any(kept) else None


def _facts(model: Model) -> list[tuple[str, str]]:
    about = model.describe()
    numbers = [("Documents", "documents"), ("Words", "words"), ("Tokens", "tokens"), ("Dimension", "vector_size")]
    facts = [(shown, f"{about[name]:,}") for shown, name in numbers if about[name] is not None]
    made = ("Made", model.created), ("With", f"spherevec {model.version}")
    return [*facts, ("Tokenizer", str(model.tokenizer)), *made]
