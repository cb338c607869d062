"""Topics of a model: the one place of this room that opens a model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

import numpy as np

from spherevec.errors import ConfigError, CorpusError
from spherevec.process import one_blas_thread
from spherevec.topics.named import named_components
from spherevec.topics.names import name_directions, read_names
from spherevec.topics.partition import find_components
from spherevec.topics.result import Topics
from spherevec.topics.spelling import with_stand_ins

if TYPE_CHECKING:
    from spherevec.model import Model

_FEWEST_DOCUMENTS = 4
# For a word that the text lacks: how like another is spelled to stand for it, and neighbours of that.
_ALIKE, _NEIGHBORS = 0.6, 4


def find_topics(
    model: Model,
    k: int | None = None,
    names: Any = None,
    only_names: bool = False,
    *,
    examples: Mapping[str, Sequence[str]] | None = None,
    subwords: bool = False,
    seed: int = 1,
    threads: int = 0,
) -> Topics:
    """Find the topics of a model's documents, or give them names.

    The same model and seed give the same topics with any number of threads.

    Args:
        model: with documents.
        k: how many topics; by default as many as two halves of the documents agree about. With names, how many there
            would be without them.
        names: a mapping from a title to words, phrases and exclusions (`{"billing": ["invoice", "-bank"]}`), a list of
            titles, or a file of them; names guide topics, and topics that fit no name stand beside them.
        only_names: every document gets one of the names.
        examples: a few texts that belong to a name, by its title.
        subwords: let known words that are spelled alike stand in for a name that the text lacks, with a warning.
        seed: of the samples that are drawn.
        threads: 0 = all cores.

    Returns:
        The topics, the largest first; named ones in the order of their names, before the others.

    Examples:
        >>> from spherevec import train
        >>> lines = [f"{a} {b} {a}" for a in ("goal match", "bank money") for b in ("team", "rate", "day") * 20]
        >>> model = train(lines, min_count=1, vector_size=10, epochs=20, threads=1)
        >>> topics = find_topics(model, names={"sport": ["match"], "finance": ["bank"]}, only_names=True)
        >>> topics.titles, topics.sizes.tolist()
        (['sport', 'finance'], [60, 60])
    """
    if model.docs is None:
        raise ConfigError(
            "this model has no documents, hence no topics; train it with documents=True, or import their vectors"
        )
    vectors = model.docs.vectors
    n_documents = len(vectors)
    if n_documents < _FEWEST_DOCUMENTS:
        raise CorpusError(f"{n_documents} documents are too few for topics; give at least {_FEWEST_DOCUMENTS}")
    if k is not None and (isinstance(k, bool) or not isinstance(k, int | np.integer) or not 1 <= k <= n_documents):
        raise ConfigError(f"k is a whole number from 1 to {n_documents:,}, the number of documents, not {k!r}")
    if names is None:
        if only_names or examples:
            raise ConfigError("only_names and examples need names; give names={'billing': ['invoice'], …}")
        with one_blas_thread():
            components, levels = find_components(vectors, k, seed, threads)
            return Topics.sorted_by_size(model, components, levels=levels)
    given = read_names(names)
    if subwords:
        given = with_stand_ins(given, model.words)
    if only_names and len(given) == 1:
        raise ConfigError(f"with only_names, one name alone ({given[0].title!r}) gets every document; give two or more")
    titles = [name.title for name in given]
    strange = [title for title in examples or () if title not in titles]
    if strange:
        raise ConfigError(f"examples for {strange[0]!r}, which is no name; names are {', '.join(titles)[:80]}")
    inputs = np.asarray(model.inputs.vectors, np.float32)
    vocabulary = {word: row for row, word in enumerate(model.words.names or ())}
    known = {title: model.infer(texts, threads=threads) for title, texts in (examples or {}).items()}
    counts = np.ones(len(inputs)) if model.counts is None else model.counts
    words, owners, said = name_directions(
        given, vocabulary, inputs, counts, known, lambda word: _near_words(model, word, vocabulary)
    )
    with one_blas_thread():
        components = named_components(
            vectors, words, owners, said, len(given), inputs, only_names=only_names, k=k, seed=seed, threads=threads
        )
        n_found = components.n_topics - len(given)
        parents = [name.parent for name in given] + [""] * n_found
        return Topics.sorted_by_size(model, components, n_named=len(given), titles=titles, parents=parents)


def _near_words(model: Model, word: str, vocabulary: Mapping[str, int]) -> list[str]:
    """Words of the model for one that it lacks: the one spelled most like it, and its neighbours on the sphere."""
    alike = get_close_matches(word, vocabulary, n=1, cutoff=_ALIKE)
    if not alike:
        return []
    return [alike[0], *(str(key) for key, _ in model.words.most_similar(alike[0], topn=_NEIGHBORS))]
