"""The topics of a model: found, named, those that were kept with it, and the nearest to a query."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from difflib import get_close_matches
from itertools import pairwise
from typing import Any

import numpy as np

from spherevec.errors import ConfigError, CorpusError
from spherevec.model import Model
from spherevec.process import one_blas_thread
from spherevec.search.hybrid import Query
from spherevec.search.results import Hit, SearchResult, SearchResults
from spherevec.topics import names as naming
from spherevec.topics.components import Components, centered
from spherevec.topics.documents import TopicDocuments, documents_from, documents_of, shuffled_documents
from spherevec.topics.graph import Labels, Rows, renumbered
from spherevec.topics.names import Name, NameDirections
from spherevec.topics.partition import find_components
from spherevec.topics.persistence import restored
from spherevec.topics.state import Grouping, TopicState
from spherevec.topics.titles import DEFAULT, Title, title_function
from spherevec.topics.topics import Topics
from spherevec.topics.weak_topics import weak_topics

_FEWEST_DOCUMENTS = 4
# What other libraries call k.
_OTHER_NAMES = ("n_topics", "nr_topics", "num_topics", "n_components", "n_clusters")
# For a word that the text lacks: how like another is spelled to stand for it, and neighbours of that.
_ALIKE, _NEIGHBORS, _LONGEST_COMPARED = 0.6, 4, 100


def find_topics(
    model: Model,
    k: int | None = None,
    names: Any = None,
    only_names: bool = False,
    *,
    levels: Sequence[int] | None = None,
    titles: str | Title = DEFAULT,
    examples: Mapping[str, Sequence[str]] | None = None,
    subwords: bool = False,
    seed: int = 1,
    threads: int = 0,
    **unknown: Any,
) -> Topics:
    """Find the topics of a model's documents, broad ones and finer ones below them, or give them names.

    The same model and seed give the same topics with any number of threads.

    Args:
        model: with documents.
        k: how many topics on the finer level; by default as many as two halves of the documents still agree about
            clearly. With names, how many there would be without them.
        names: a mapping from a title to words, phrases and exclusions (`{"billing": ["invoice", "-bank"]}`), a list of
            titles, or a file of them; names guide topics, and topics that fit no name stand beside them.
        only_names: every document gets one of the names.
        levels: how many topics on each level, from broad to fine, such as `[6, 40]`; the last is `k`.
        titles: how topics are titled: "coverage" by words that most of their documents hold, "distinctive" by their
            best words, "nearest" by the words nearest on the sphere, or by a function of a
            `spherevec.topics.words.TopicContent`.
        examples: a few texts that belong to a name, by its title.
        subwords: let known words that are spelled alike stand in for a name that the text lacks, with a warning.
        seed: of the samples that are drawn.
        threads: 0 = all cores.

    Returns:
        The finer topics, the largest first, with the broad ones as `parents`; named ones in the order of their names,
        before the others.

    Examples:
        >>> from spherevec import train
        >>> lines = [f"{a} {b} {a}" for a in ("goal match", "bank money") for b in ("team", "rate", "day") * 20]
        >>> model = train(lines, min_count=1, vector_size=10, epochs=20, threads=1)
        >>> topics = find_topics(model, names={"sport": ["match"], "finance": ["bank"]}, only_names=True)
        >>> topics.titles, topics.sizes.tolist()
        (['sport', 'finance'], [60, 60])
    """
    for option in unknown:
        hint = f"{option} is called k here: topics(k=20)" if option in _OTHER_NAMES else f"topics has no {option!r:.40}"
        raise ConfigError(f"{hint}; see help(spherevec.topics.find_topics) for all options")
    title_function(titles)
    documents = documents_of(model, threads)
    counts = _counts(k, levels, documents)
    if names is None and (only_names or examples):
        raise ConfigError("only_names and examples need names; give names={'billing': ['invoice'], …}")
    vectors = documents.vectors[documents.rows]

    def without_structure(some: Labels, groups: Labels, random: np.random.Generator) -> Rows:
        return shuffled_documents(model, documents.rows[some], groups, random, threads)

    with one_blas_thread():
        if names is None:
            shuffled = None if model.document_terms is None or model.fit is None else without_structure
            found = find_components(vectors, counts, seed, threads, shuffled)
            components, above = found.components, found.above
            if counts is None:
                inside = above[0] if above else np.zeros(components.n_topics, np.int64)
                weak = weak_topics(model, documents, components, inside)
                components, above = components.joined(weak, inside), [group_of[~weak] for group_of in above]
            more: dict[str, Any] = {"levels": tuple(found.levels), "title_method": titles}
            return _by_size(model, documents, components, above, **more)
        if levels is not None:
            raise ConfigError("levels and names exclude each other; indent names in a file to have two levels")
        given = _checked_names(model, names, only_names, examples or {}, subwords)
        components = naming.named_components(
            vectors,
            _directions(model, given, examples or {}, threads),
            np.asarray(model.inputs.vectors, np.float32),
            only_names=only_names,
            k=None if counts is None else counts[-1],
            seed=seed,
            threads=threads,
        )
        above = [naming.name_groups(given, components.n_topics)] if any(name.parent for name in given) else []
        return _by_size(model, documents, components, above, [name.title for name in given], title_method=titles)


def topics_of(model: Model, *, threads: int = 0, **options: Any) -> Topics:
    """The topics that were kept with the model; with options of `find_topics`, or where none were kept, found anew."""
    if model.kept_topics is None or options:
        return find_topics(model, threads=threads, **options)
    return restored(model, model.kept_topics, "topics kept with the model")


def search_topics(model: Model, queries: Sequence[Query], topn: int) -> SearchResults:
    """The topics nearest to each query, with their numbers, titles and cosines.

    Cosines are taken after the mean of all documents is taken off, as topics are found.
    """
    topics = topics_of(model)
    directions, found = topics.components.directions_of_topics(), list(topics)
    results = []
    for query in queries:
        if query.vector is None:
            results.append(SearchResult(query.text, [], f"no word of {query.text!r:.60} is known to the model"))
            continue
        cosines = directions @ centered(query.vector[None, :], topics.components.mean)[0]
        hits = []
        for place in np.argsort(-cosines, kind="stable")[:topn].tolist():
            topic = found[place]
            hits.append(Hit(str(topic.number), float(cosines[place]), topic.title, ", ".join(topic.words), place))
        results.append(SearchResult(query.text, hits))
    return SearchResults(results)


def _counts(k: Any, levels: Any, documents: TopicDocuments) -> list[int] | None:
    """How many topics on each level, checked."""
    n = len(documents.rows)
    if n < _FEWEST_DOCUMENTS:
        raise CorpusError(f"too few documents for topics, {n}; give at least {_FEWEST_DOCUMENTS}")
    if levels is not None and k is not None:
        raise ConfigError("k is the last of levels; give only one of the two")
    if k is None and levels is None:
        return None
    if levels is not None and (isinstance(levels, str) or not isinstance(levels, Iterable)):
        raise ConfigError(f"levels are a list, from broad to fine, such as [6, 40], not {levels!r:.40}")
    counts = [k] if levels is None else list(levels)
    for count in counts:
        if isinstance(count, bool) or not isinstance(count, int | np.integer) or not 1 <= count <= n:
            what = "k is" if levels is None else "levels are"
            raise ConfigError(f"{what} a whole number from 1 to {n:,}, the number of documents, not {count!r}")
    if not counts or any(a >= b for a, b in pairwise(counts)):
        raise ConfigError(f"levels go from broad to fine, such as 6,40, not {','.join(map(str, counts)) or 'none'}")
    return [int(count) for count in counts]


def _checked_names(
    model: Model, names: Any, only_names: bool, examples: Mapping[str, Sequence[str]], subwords: bool
) -> list[Name]:
    given = naming.read_names(names)
    if only_names and len(given) == 1:
        raise ConfigError(f"with only_names, one name alone ({given[0].title!r}) gets every document; give two or more")
    titles = [name.title for name in given]
    strange = [title for title in examples if title not in titles]
    if strange:
        raise ConfigError(f"examples for {strange[0]!r}, which is no name; names are {', '.join(titles)[:80]}")
    return naming.spelled_as_known(given, model.words) if subwords else given


def _directions(
    model: Model, names: Sequence[Name], examples: Mapping[str, Sequence[str]], threads: int
) -> NameDirections:
    inputs = np.asarray(model.inputs.vectors, np.float32)
    vocabulary = {word: row for row, word in enumerate(model.words.names or ())}
    known = {title: documents_from(model, texts, threads).vectors for title, texts in examples.items()}
    often = np.ones(len(inputs)) if model.counts is None else model.counts

    def near_words(word: str) -> list[str]:
        """For a word that the model lacks the one spelled most like it, and its neighbours on the sphere."""
        alike = get_close_matches(word[:_LONGEST_COMPARED], vocabulary, n=1, cutoff=_ALIKE)
        return [*alike, *(str(key) for one in alike for key, _ in model.words.most_similar(one, topn=_NEIGHBORS))]

    return naming.name_directions(names, vocabulary, inputs, often, known, near_words)


def _by_size(
    model: Model,
    documents: TopicDocuments,
    components: Components,
    above: Sequence[Labels],
    named: Sequence[str] = (),
    **more: Any,
) -> Topics:
    """Topics numbered by size; the first ones, with the titles `named`, keep their places.

    For each broader level, the nearest first, `above` holds the group of each topic.
    """
    labels = components.assign(documents.vectors[documents.rows]).labels
    sizes = np.bincount(labels, minlength=components.n_topics)
    found = [topic for topic in range(len(named), components.n_topics) if sizes[topic]]
    order = [*range(len(named)), *sorted(found, key=lambda topic: -sizes[topic])]
    place = np.full(components.n_topics, -1)
    place[order] = np.arange(len(order))
    topic_of = place[components.topic_of]
    used = topic_of >= 0
    kept = replace(
        components, directions=components.directions[used], weights=components.weights[used], topic_of=topic_of[used]
    )
    groupings = []
    for group_of in above:
        own = renumbered(group_of[order])
        rank = np.argsort(np.argsort(-np.bincount(own, sizes[order]), kind="stable"), kind="stable")
        groupings.append(Grouping(rank[own], list(range(len(rank))), [None for _ in rank]))
    titles = [*named, *[None] * (len(order) - len(named))]
    state = TopicState(kept, list(range(len(order))), titles, tuple(groupings), **more)
    topics = Topics(model, state, documents=lambda: documents)
    return topics.with_fixed_titles(str) if callable(state.title_method) else topics
