"""Topics as a folder: topics.json and assignments.csv for people and programs, components.safetensors for us."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from numpy.typing import NDArray

from spherevec.errors import FormatError
from spherevec.model.parts import StoredTopics
from spherevec.storage import schema
from spherevec.storage.csv_file import write_csv
from spherevec.storage.files import atomic_folder
from spherevec.storage.folders import OpenFolder
from spherevec.storage.tensors import read_tensors, write_tensors
from spherevec.topics.fields import Breakdown
from spherevec.topics.keeping import FORMAT, restored, stored
from spherevec.topics.result import NONE, OTHER, Topics

if TYPE_CHECKING:
    from spherevec.model import Model

TOPICS, ASSIGNMENTS, COMPONENTS = "topics.json", "assignments.csv", "components.safetensors"
REPORT = "report.html"  # written by `spherevec topics --out`, see spherevec.explore.report
_LONGEST = 1 << 28


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
        write_csv(place / ASSIGNMENTS, _assignments(topics), guard_formulas=guard_formulas)
        if report is not None:
            report(place / REPORT)
        write_tensors(place / COMPONENTS, stored(topics).arrays)


def load_topics(folder: str | Path, model: Model) -> Topics:
    """Read saved topics, for the model that they were found in or one that has grown from it."""
    place = Path(folder)
    try:
        about, arrays = _opened(place)
        listed, *above = [
            [{**topic, "title": topic["title"] if topic["given"] else None} for topic in level]
            for level in (about["topics"], *about["above"])
        ]
    except FileNotFoundError:
        raise FormatError(f"{folder}: holds no {TOPICS} and {COMPONENTS}; save topics there first") from None
    except OSError as error:
        raise FormatError(f"{folder}: cannot read: {error.strerror or error}") from None
    except (KeyError, TypeError, ValueError) as error:
        raise FormatError(f"{folder}: no topics of spherevec ({error}); save them again") from None
    return restored(model, StoredTopics({**about, "topics": listed, "above": above}, arrays), str(folder))


def _opened(place: Path) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """What topics.json says, and the arrays beside it; both from one folder, neither through a link or a pipe."""
    with OpenFolder(place) as opened:
        about = schema.parsed(opened.read(TOPICS, _LONGEST))
        schema.map_of(schema.plain)(about, TOPICS)
        return about, read_tensors(place / COMPONENTS, memory_map=False, opened=opened.open(COMPONENTS))


def describe(topics: Topics) -> dict[str, Any]:
    """The topics ready for JSON: titles, sizes, words, examples, the tree, and how their number was chosen."""
    listed = []
    for topic in topics:
        examples = [topics.document(row) for row in topics.examples(topic.number)]
        listed.append(
            {
                **asdict(topic),
                "share": topic.size / max(len(topics.labels), 1),
                "examples": [{"id": one.id, "title": one.title} for one in examples],
            }
        )
    above, level = [], topics
    for _ in topics.state.above:
        level = level.parents
        above.append([asdict(topic) for topic in level])
    return {
        "format": FORMAT,
        "documents": len(topics.labels),
        "without_known_word": topics.n_unknown,
        "other": topics.n_other,
        "concentration": topics.components.concentration,
        "titles": topics.state.title_with,
        "topics": listed,
        "above": above,
        "tree": topics.tree.merges(),
        "levels": [asdict(level) for level in topics.levels],
    }


def _assignments(topics: Topics) -> Iterator[Sequence[object]]:
    """A heading, then one row a document."""
    documents = topics.model.documents
    assert documents is not None
    yield ["id", "topic", "name", "probability", "second", "parent", "parent_name"]
    numbers, titles, broad = topics.numbers, topics.titles, topics.parents
    parents = ["" if (parent := topics.parent_of(place)) is None else parent for place in range(len(topics))]
    parent_names = ["" if parent == "" else broad[int(parent)].title for parent in parents]
    for row, (label, chance, second) in enumerate(zip(topics.labels, topics.probability, topics.second, strict=True)):
        if label < 0:
            name = OTHER if topics.known[row] else ""
            yield [documents.ids[row], NONE, name, f"{0:.4f}", "", "", ""]
            continue
        other = "" if second < 0 else numbers[second]
        yield [
            documents.ids[row], numbers[label], titles[label], f"{chance:.4f}", other, parents[label],
            parent_names[label],
        ]  # fmt: skip
