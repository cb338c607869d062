"""Topics kept with their model, and made of what was kept."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

import numpy as np
from numpy.typing import NDArray

from spherevec.errors import FormatError
from spherevec.model import Model
from spherevec.model.stored_topics import StoredTopics
from spherevec.topics.components import Components
from spherevec.topics.find import find_topics
from spherevec.topics.level import Level
from spherevec.topics.result import Topics

FORMAT = 1
_LARGEST, _MOST_CONCENTRATED = 2.0, 1e6


def topics_of(model: Model, *, threads: int = 0, **options: Any) -> Topics:
    """The topics that were kept with the model; with options, or where none were kept, topics found anew.

    Args:
        options: those of `find_topics`.
    """
    if model.kept_topics is None or options:
        return find_topics(model, threads=threads, **options)
    return restored(model, model.kept_topics, "topics kept with the model")


def stored(topics: Topics) -> StoredTopics:
    """All that `restored` needs to make the same topics again."""
    parts = topics.components
    listed = [
        {"number": number, "title": title, "parent": parent}
        for number, title, parent in zip(topics.numbers, topics.given_titles(), topics.parents, strict=True)
    ]
    about = {
        "format": FORMAT,
        "concentration": float(parts.concentration),
        "topics": listed,
        "levels": [asdict(level) for level in topics.levels],
    }
    arrays: dict[str, NDArray[Any]] = {
        "mean": np.asarray(parts.mean[None], np.float32),
        "directions": np.asarray(parts.directions, np.float32),
        "weights": np.asarray(parts.weights, np.float32),
        "topic_of": np.asarray(parts.topic_of, np.int64),
    }
    return StoredTopics(about, arrays)


def restored(model: Model, kept: StoredTopics, source: str) -> Topics:
    """Topics of a model, made of what was stored of them.

    Args:
        source: what holds them, for messages.
    """
    try:
        about = kept.about
        if about["format"] != FORMAT:
            raise ValueError("they are of a later release")
        listed = about["topics"]
        components = _components(kept.arrays, float(about["concentration"]), len(listed))
        numbers = [int(topic["number"]) for topic in listed]
        if len(set(numbers)) != len(numbers) or min(numbers) < 0:
            raise ValueError("a number is given twice, or below 0")
        titles = [None if topic["title"] is None else str(topic["title"]) for topic in listed]
        parents = [str(topic["parent"]) for topic in listed]
        levels = [Level(**level) for level in about["levels"]]
    except (KeyError, TypeError, ValueError, IndexError, AttributeError) as error:
        raise FormatError(f"{source}: no topics of spherevec ({error}); keep them again") from None
    if components.directions.shape[1] != model.vector_size:
        raise FormatError(
            f"{source}: topics of dimension {components.directions.shape[1]} do not fit a model of {model.vector_size}"
        )
    return Topics(model, components, numbers=numbers, titles=titles, parents=parents, levels=levels)


def _components(arrays: Mapping[str, NDArray[Any]], concentration: float, n_topics: int) -> Components:
    mean, directions, weights, topic_of = (arrays[name] for name in ("mean", "directions", "weights", "topic_of"))
    n, dim = directions.shape
    fitting = mean.shape == (1, dim) and weights.shape == topic_of.shape == (n,)
    # What is NaN, or far beyond the sphere, would give probabilities that are no numbers.
    bounded = all(
        array.dtype == np.float32 and (np.abs(array) <= _LARGEST).all() for array in (mean, directions, weights)
    )
    if not fitting or not bounded or not concentration <= _MOST_CONCENTRATED:
        raise ValueError("the arrays do not fit each other")
    if not np.array_equal(np.unique(topic_of), np.arange(n_topics)) or concentration <= 0 or (weights < 0).any():
        raise ValueError("the arrays do not fit the list of topics")
    return Components(mean[0], directions, weights, np.asarray(topic_of, np.int64), concentration)
