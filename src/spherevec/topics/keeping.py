"""Topics kept with their model, and made of what was kept."""

from __future__ import annotations

import zlib
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np
from numpy.typing import NDArray

from spherevec.errors import ConfigError, FormatError
from spherevec.model import Model
from spherevec.model.parts import StoredTopics
from spherevec.topics.components import Assignment, Components
from spherevec.topics.level import Level
from spherevec.topics.result import Topics
from spherevec.topics.state import Computed, Grouping, TopicState
from spherevec.topics.titles import title_function

FORMAT = 2
_LARGEST, _MOST_CONCENTRATED = 2.0, 1e6
# Documents whose vectors tell whether a model is the same.
_COMPARED = 1000


def topics_of(model: Model, *, threads: int = 0, **options: Any) -> Topics:
    """The topics that were kept with the model; with options, or where none were kept, topics found anew.

    Args:
        options: those of `find_topics`.
    """
    if model.kept_topics is None or options:
        from spherevec.topics.find import find_topics

        return find_topics(model, threads=threads, **options)
    return restored(model, model.kept_topics, "topics kept with the model")


def stored(topics: Topics, computed: bool = False) -> StoredTopics:
    """All that `restored` needs to make the same topics again.

    Args:
        computed: store what was computed of the documents, too.
    """
    state, parts = topics.state, topics.components
    about = {
        "format": FORMAT,
        "concentration": float(parts.concentration),
        "titles": state.title_with,
        "topics": _listed(state.numbers, state.titles),
        "above": [_listed(one.numbers, one.titles) for one in state.above],
        "levels": [asdict(level) for level in state.levels],
    }
    arrays: dict[str, NDArray[Any]] = {
        "mean": np.asarray(parts.mean[None], np.float32),
        "directions": np.asarray(parts.directions, np.float32),
        "weights": np.asarray(parts.weights, np.float32),
        "topic_of": np.asarray(parts.topic_of, np.int64),
        "cell_of": parts.cells,
    }
    arrays.update({f"above{i}": np.asarray(one.group_of, np.int64) for i, one in enumerate(state.above)})
    if computed:
        on_levels = [topics]
        for _ in state.above:
            on_levels.append(on_levels[-1].parents)
        about["computed"] = {
            "model": _fingerprint(topics.model),
            "words": [level.words_by_place for level in on_levels],
            "examples": [topics.examples(number) for number in topics.numbers],
        }
        known = topics.known.astype(np.uint8)
        arrays.update(labels=topics.labels, probability=topics.probability, second=topics.second, known=known)
    return StoredTopics(about, arrays)


def _listed(numbers: Sequence[int], titles: Sequence[str | None]) -> list[dict[str, Any]]:
    return [{"number": number, "title": title} for number, title in zip(numbers, titles, strict=True)]


def restored(model: Model, kept: StoredTopics, source: str) -> Topics:
    """Topics of a model, made of what was stored of them.

    Args:
        source: what holds them, for messages.
    """
    try:
        about = kept.about
        if about["format"] != FORMAT:
            raise ValueError("they are of another release")
        numbers, titles = _read(about["topics"])
        components = _components(kept.arrays, float(about["concentration"]), len(numbers))
        above = []
        for i, listed in enumerate(about["above"]):
            group_of = np.asarray(kept.arrays[f"above{i}"], np.int64)
            if len(group_of) != len(numbers) or not np.array_equal(np.unique(group_of), np.arange(len(listed))):
                raise ValueError("the broader topics do not fit the others")
            above.append(Grouping(group_of, *_read(listed)))
        levels = tuple(Level(**level) for level in about["levels"])
        title_with = str(about["titles"])
        title_function(title_with)
        computed = None
        if "computed" in about and about["computed"]["model"] == _fingerprint(model):
            counts = [len(numbers), *(len(one.numbers) for one in above)]
            computed = _computed(about["computed"], kept.arrays, len(model.docs or ()), counts)
    except (KeyError, TypeError, ValueError, IndexError, AttributeError, ConfigError) as error:
        raise FormatError(f"{source}: no topics of spherevec ({error}); keep them again") from None
    if components.directions.shape[1] != model.vector_size:
        raise FormatError(
            f"{source}: topics of dimension {components.directions.shape[1]} do not fit a model of {model.vector_size}"
        )
    state = TopicState(components, numbers, titles, tuple(above), levels, title_with)
    return Topics(model, state, computed=computed)


def _fingerprint(model: Model) -> list[int]:
    """Tells whether documents are those that topics were computed of: how many, and a checksum of some vectors."""
    assert model.docs is not None
    n = len(model.docs)
    some = np.asarray(model.docs.vectors[:: max(n // _COMPARED, 1)], np.float32)
    return [n, zlib.crc32(some.tobytes())]


def _computed(about: Any, arrays: Mapping[str, NDArray[Any]], n: int, counts: Sequence[int]) -> Computed:
    """What was stored of n documents and so many topics on each level, the finest first; checked."""
    labels, second = (np.asarray(arrays[name], np.int64) for name in ("labels", "second"))
    probability, known = np.asarray(arrays["probability"], np.float32), np.asarray(arrays["known"], np.bool_)
    words = [[[str(word) for word in topic] for topic in level] for level in about["words"]]
    examples = [[int(row) for row in topic] for topic in about["examples"]]
    fitting = {array.shape for array in (labels, second, probability, known)} == {(n,)}
    fitting &= [len(level) for level in words] == list(counts) and len(examples) == counts[0]
    places = np.concatenate([labels, second])
    fitting &= bool(
        ((places >= -1) & (places < counts[0])).all() and ((probability >= 0) & (probability <= 1.01)).all()
    )
    if not fitting or not all(0 <= row < n for topic in examples for row in topic):
        raise ValueError("what was kept of the documents does not fit them")
    return Computed(Assignment(labels, probability, second), known, words, examples)


def _read(listed: Any) -> tuple[list[int], list[str | None]]:
    """Numbers and given titles of topics."""
    numbers = [int(topic["number"]) for topic in listed]
    if len(set(numbers)) != len(numbers) or min(numbers) < 0:
        raise ValueError("a number is given twice, or below 0")
    return numbers, [None if topic["title"] is None else str(topic["title"]) for topic in listed]


def _components(arrays: Mapping[str, NDArray[Any]], concentration: float, n_topics: int) -> Components:
    mean, directions, weights = (arrays[name] for name in ("mean", "directions", "weights"))
    topic_of, cell_of = (np.asarray(arrays[name], np.int64) for name in ("topic_of", "cell_of"))
    n, dim = directions.shape
    fitting = mean.shape == (1, dim) and weights.shape == topic_of.shape == cell_of.shape == (n,)
    # What is NaN, or far beyond the sphere, would give probabilities that are no numbers.
    bounded = all(
        array.dtype == np.float32 and (np.abs(array) <= _LARGEST).all() for array in (mean, directions, weights)
    )
    if not fitting or not bounded or not concentration <= _MOST_CONCENTRATED:
        raise ValueError("the arrays do not fit each other")
    used = np.unique(topic_of[topic_of != -1])
    if not np.array_equal(used, np.arange(n_topics)) or concentration <= 0 or (weights < 0).any():
        raise ValueError("the arrays do not fit the list of topics")
    return Components(mean[0], directions, weights, topic_of, concentration, cell_of)
