"""Topics stored with their model, and in a folder: topics.json and assignments.csv for people and programs,
components.safetensors for us."""

from __future__ import annotations

import json
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from spherevec.errors import ConfigError, FormatError
from spherevec.model import Model
from spherevec.model.parts import StoredTopics
from spherevec.storage import schema
from spherevec.storage.csv_file import write_csv
from spherevec.storage.files import OpenFolder, atomic_folder
from spherevec.storage.tensors import read_tensors, write_tensors
from spherevec.topics.breakdown import Breakdown
from spherevec.topics.components import Assignment, Components
from spherevec.topics.levels import Level
from spherevec.topics.state import Grouping, KeptTitle, TopicState, is_given
from spherevec.topics.titles import title_function
from spherevec.topics.topics import Topics
from spherevec.topics.views import document_columns

TOPICS, ASSIGNMENTS, COMPONENTS = "topics.json", "assignments.csv", "components.safetensors"
REPORT = "report.html"  # written by `spherevec topics --out`, see spherevec.explore.report
_FORMAT = 2
_LONGEST = 1 << 28
_LARGEST, _MOST_CONCENTRATED = 2.0, 1e6
# Documents whose vectors tell whether a model is the same.
_COMPARED = 1000


def stored(topics: Topics, computed: bool = False) -> StoredTopics:
    """All that `restored` needs to make the same topics again, perhaps with what was computed of the documents."""
    state, parts = topics.state, topics.components
    about = {
        "format": _FORMAT,
        "concentration": float(parts.concentration),
        "titles": state.title_method,
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
        about["computed"] = {
            "model": _fingerprint(topics.model),
            "words": [level.words_by_place for level in topics.on_levels],
            "examples": [topics.examples(number) for number in topics.numbers],
        }
        known = topics.known.astype(np.uint8)
        arrays.update(labels=topics.labels, probability=topics.probability, second=topics.second, known=known)
    try:
        StoredTopics.check(about)
    except ValueError as error:
        raise ConfigError(f"these topics could not be read again: {error}") from None
    return StoredTopics(about, arrays)


def _listed(numbers: Sequence[int], titles: Sequence[str | None]) -> list[dict[str, Any]]:
    plain = [None if title is None else str(title) for title in titles]
    entries = zip(numbers, plain, map(is_given, titles), strict=True)
    return [{"number": number, "title": title, "given": given} for number, title, given in entries]


def restored(model: Model, kept: StoredTopics, source: str) -> Topics:
    """Topics of a model, made of what was stored of them; messages name their `source`."""
    try:
        about = kept.about
        if about["format"] != _FORMAT:
            raise ValueError("they are of another release")
        numbers, titles = _read(about["topics"])
        components = _components(kept.arrays, float(about["concentration"]), len(numbers))
        above = []
        for i, listed in enumerate(about["above"]):
            group_of = np.asarray(kept.arrays[f"above{i}"], np.int64)
            if len(group_of) != len(numbers) or not np.array_equal(np.unique(group_of), np.arange(len(listed))):
                raise ValueError("the broader topics do not fit the others")
            above.append(Grouping(group_of, *_read(listed)))
        for level in about["levels"]:
            schema.map_of(schema.number)(level, "levels")
        levels = tuple(Level(**level) for level in about["levels"])
        title_method = str(about["titles"])
        title_function(title_method)
        computed = None
        if "computed" in about and about["computed"]["model"] == _fingerprint(model):
            counts = [len(numbers), *(len(one.numbers) for one in above)]
            computed = _computed(about["computed"], kept.arrays, len(model.docs or ()), counts)
    except (KeyError, TypeError, ValueError, IndexError, AttributeError, ConfigError) as error:
        raise FormatError(f"{source}: not the topics of a model ({error}); keep them again") from None
    if components.directions.shape[1] != model.vector_size:
        raise FormatError(
            f"{source}: topics of dimension {components.directions.shape[1]} do not fit a model of {model.vector_size}"
        )
    state = TopicState(components, numbers, titles, tuple(above), levels, title_method)
    return Topics(model, state, computed=computed)


def _fingerprint(model: Model) -> list[int]:
    """Tells whether documents are those that topics were computed of: how many, and a checksum of some vectors."""
    assert model.docs is not None
    n = len(model.docs)
    some = np.asarray(model.docs.vectors[:: max(n // _COMPARED, 1)], np.float32)
    return [n, zlib.crc32(some.tobytes())]


def _computed(about: Any, arrays: Mapping[str, NDArray[Any]], n: int, counts: Sequence[int]) -> dict[str, Any]:
    """What was stored of n documents and so many topics on each level, the finest first; checked, for `Topics`."""
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
    assignment = Assignment(labels, probability, second)
    return {
        "_assignment": assignment,
        "known": known,
        "words_by_place": words[0],
        "broader_words": words[1:],
        "examples_by_place": examples,
    }


def _read(listed: Any) -> tuple[list[int], list[str | None]]:
    """Numbers of topics, and titles that were given or kept."""
    numbers = [int(topic["number"]) for topic in listed]
    if len(set(numbers)) != len(numbers) or min(numbers) < 0:
        raise ValueError("a number is given twice, or below 0")
    kinds = [str if topic["given"] else KeptTitle for topic in listed]
    titles = [topic["title"] for topic in listed]
    return numbers, [None if title is None else kind(title) for kind, title in zip(kinds, titles, strict=True)]


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


def save_topics(
    topics: Topics,
    folder: str | Path,
    *,
    overwrite: bool = False,
    breakdowns: Sequence[Breakdown] = (),
    guard_formulas: bool = False,
    report: Callable[[Path], object] | None = None,
) -> None:
    """Write the three files, completely or not at all.

    Args:
        breakdowns: by fields or over time, for topics.json.
        guard_formulas: in assignments.csv, put an apostrophe before cells that a spreadsheet would run.
        report: writes a fourth file, the report, to the path that it is called with.
    """
    with atomic_folder(folder, overwrite=overwrite, ours={TOPICS, ASSIGNMENTS, COMPONENTS, REPORT}) as place:
        described = {**describe(topics), "by": [one.as_dict() for one in breakdowns]}
        text = json.dumps(described, ensure_ascii=False, indent=1)
        # Half characters, as in odd file names, become JSON escapes.
        (place / TOPICS).write_text(text, encoding="utf-8", errors="backslashreplace")
        columns = document_columns(topics)
        lines = chain([list(columns)], zip(*columns.values(), strict=True))
        write_csv(place / ASSIGNMENTS, lines, guard_formulas=guard_formulas)
        if report is not None:
            report(place / REPORT)
        write_tensors(place / COMPONENTS, stored(topics).arrays)


def load_topics(folder: str | Path, model: Model) -> Topics:
    """Read saved topics, for the model that they were found in or one that has grown from it."""
    try:
        # Both files from one folder, neither through a link or a pipe.
        with OpenFolder(Path(folder)) as opened:
            about = schema.parsed(opened.read(TOPICS, _LONGEST))
            schema.map_of(schema.plain)(about, TOPICS)
            arrays = read_tensors(Path(folder) / COMPONENTS, memory_map=False, opened=opened.open(COMPONENTS))
        listed, *above = [
            [{**topic, "title": topic["title"] if topic["given"] else None} for topic in level]
            for level in (about["topics"], *about["above"])
        ]
    except FileNotFoundError:
        raise FormatError(f"{folder}: holds no {TOPICS} and {COMPONENTS}; save topics there first") from None
    except OSError as error:
        raise FormatError(f"{folder}: cannot read: {error.strerror or error}") from None
    except (KeyError, TypeError, ValueError) as error:
        raise FormatError(f"{folder}: not a folder of topics ({error}); save them again") from None
    return restored(model, StoredTopics({**about, "topics": listed, "above": above}, arrays), str(folder))


def describe(topics: Topics) -> dict[str, Any]:
    """The topics ready for JSON: titles, sizes, words, examples, the tree, and how their number was chosen."""
    listed = []
    for topic in topics:
        examples = [topics.document_in(row) for row in topics.examples(topic.number)]
        listed.append(
            {
                **asdict(topic),
                "share": topic.size / max(len(topics.labels), 1),
                "examples": [{"id": one.id, "title": one.title} for one in examples],
            }
        )
    return {
        "format": _FORMAT,
        "documents": len(topics.labels),
        "without_known_word": topics.n_unknown,
        "other": topics.n_other,
        "concentration": topics.components.concentration,
        "titles": topics.state.title_method,
        "topics": listed,
        "above": [[asdict(topic) for topic in level] for level in topics.on_levels[1:]],
        "tree": topics.tree.merges(),
        "levels": [asdict(level) for level in topics.levels],
    }
