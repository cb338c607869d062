"""A printable page of topics: sizes, names, words, examples and the course over time. It runs no script."""

from __future__ import annotations

import html
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from spherevec.explore.page import clean_title, fill, policy, template

if TYPE_CHECKING:
    from spherevec.topics import Topics

EXAMPLES = 3
_LONGEST_TEXT = 160
_BAR, _COURSE_WIDTH, _COURSE_HEIGHT = 220, 240, 44
# A course over time has at least so many periods, where a finer unit gives them, and at most so many.
_FEW_PERIODS, _MANY_PERIODS = 6, 120


class ReportTopic(NamedTuple):
    """A topic in the report."""

    number: int
    title: str
    words: Sequence[str]
    size: int
    examples: Sequence[tuple[str, str, str]] = ()  # id, title and beginning of documents that stand for it
    course: Sequence[float] = ()  # its share of the documents of each period; empty without a date
    parent: str = ""  # title of the broad topic that it is part of


class ReportData(NamedTuple):
    """All that the report shows."""

    title: str
    documents: int  # in all
    topics: Sequence[ReportTopic]
    periods: Sequence[str] = ()  # of all courses
    field: str = ""  # the date that they were counted by
    notes: Sequence[str] = ()  # sentences at the beginning
    generator: str = "spherevec"


def write_report(topics: Topics, path: str | Path, *, title: str | None = None, overwrite: bool = False) -> Path:
    """Write a printable page of topics.

    Args:
        topics: what `spherevec.topics.find_topics` gave.
        title: of the page; by default it says how many topics there are.
        overwrite: replace a file that is there.

    Returns:
        The path of the page.
    """
    from spherevec.storage.files import atomic_file

    text = report_html(report_data(topics, title))
    with atomic_file(path, overwrite=overwrite) as temporary:
        temporary.write_text(text, encoding="utf-8", newline="\n")
    return Path(path)


def report_data(topics: Topics, title: str | None = None) -> ReportData:
    """What the report of some topics shows; their course over the first kept date, if there is one."""
    table = topics.model.documents
    dates = [] if table is None else [name for name, kind in table.fields.items() if kind == "date"]
    breakdown = _over_time(topics, dates[0]) if dates else None
    entries = [
        ReportTopic(
            topic.number,
            topic.title,
            topic.words,
            topic.size,
            [_example(topics, row) for row in topics.examples(topic.number, EXAMPLES)],
            [] if breakdown is None else breakdown.shares[:, place].tolist(),
            "" if topic.parent is None else topics.parents[topic.parent].title,
        )
        for place, topic in enumerate(topics)
    ]
    broad = Counter[str]()
    for entry in entries:
        broad[entry.parent] += entry.size
    entries.sort(key=lambda entry: (-broad[entry.parent], entry.parent, -entry.size))
    unknown, courses = topics.n_unknown, [] if breakdown is None else [breakdown.rising(), breakdown.falling()]
    notes = [f"{unknown:,} documents without a known word belong to no topic."] if unknown else []
    for name, titles in zip(("Rising", "Falling"), courses, strict=False):
        if titles:
            notes.append(f"{name} over time: {'; '.join(titles[:5])}.")
    return ReportData(
        title or f"{len(topics)} topics of {len(topics.labels):,} documents",
        len(topics.labels),
        entries,
        [] if breakdown is None else breakdown.groups,
        dates[0] if breakdown is not None else "",
        notes,
        f"spherevec {topics.model.version}",
    )


def _example(topics: Topics, row: int) -> tuple[str, str, str]:
    """Id and title of a document, and the beginning of its text where that says more."""
    id_, title, *_ = topics.document(row)
    table = topics.model.documents
    text = "" if table is None else table.snippet(row, _LONGEST_TEXT)
    return id_, title, "" if text.startswith(title.rstrip(" …")) else text


def _over_time(topics: Topics, field: str) -> Any:
    """The topics over periods of a date: the coarsest unit that gives enough of them; None where none does."""
    for unit in ("year", "month", "week", "day"):
        breakdown = topics.over(field, unit)
        if len(breakdown.groups) >= _FEW_PERIODS:
            return breakdown if len(breakdown.groups) <= _MANY_PERIODS else None
    return breakdown if len(breakdown.groups) > 1 else None


def report_html(data: ReportData) -> str:
    """The report as text; every word of the corpus is escaped."""
    style = template("report.css")
    return fill(
        template("report.html"),
        policy=policy("", style),
        generator=html.escape(data.generator),
        title=html.escape(clean_title(data.title)),
        style=style,
        notes="\n".join(f"<p>{_shown(note)}</p>" for note in data.notes),
        rows="\n".join(_rows(data)),
        topics="\n".join(_section(topic, data) for topic in data.topics),
    )


def _rows(data: ReportData) -> Iterator[str]:
    """The rows of the table: broad topics in their order, each with its finer ones below it."""
    groups = [(parent, list(topics)) for parent, topics in groupby(data.topics, lambda topic: topic.parent)]
    most = max((sum(topic.size for topic in topics) for _, topics in groups), default=0)
    for parent, topics in groups:
        if parent and len(topics) > 1:
            yield _row(_shown(parent), sum(topic.size for topic in topics), data, most, "broad")
        for topic in topics:
            level = "finer" if parent and len(topics) > 1 else ""
            yield _row(f'<a href="#topic-{topic.number}">{_shown(topic.title)}</a>', topic.size, data, most, level)


def _row(title: str, size: int, data: ReportData, most: int, level: str) -> str:
    width = round(_BAR * size / max(most, 1), 1)
    return (
        f'<tr class="{level}"><th scope="row">{title}</th>'
        f'<td class="number">{size:,}</td><td class="number">{size / max(data.documents, 1):.1%}</td>'
        f'<td><svg class="bar" width="{_BAR}" height="12" aria-hidden="true">'
        f'<rect width="{width}" height="12" rx="2"/></svg></td></tr>'
    )


def _section(topic: ReportTopic, data: ReportData) -> str:
    items = []
    for example in topic.examples:
        id_, title, text = map(_shown, example)
        items.append(f'<li>{title} <span class="id">{id_}</span>{f"<br><q>{text}</q>" if text else ""}</li>')
    parts = [
        f'<section id="topic-{topic.number}">',
        f"<h2>{_shown(topic.title)}</h2>",
        f'<p class="size">{topic.size:,} documents, {topic.size / max(data.documents, 1):.1%}</p>',
        f'<p class="words">{", ".join(map(_shown, topic.words))}</p>',
        _course(topic, data) if topic.course else "",
        f"<h3>Typical documents</h3><ul>{''.join(items)}</ul>" if items else "",
        "</section>",
    ]
    return "\n".join(filter(None, parts))


def _course(topic: ReportTopic, data: ReportData) -> str:
    """The share of a topic in each period as a line, with its figures for screen readers."""
    values = np.asarray(topic.course)
    highest = max(float(values.max()), 1e-9)
    across = np.linspace(2, _COURSE_WIDTH - 2, len(values)) if len(values) > 1 else np.asarray([_COURSE_WIDTH / 2])
    down = _COURSE_HEIGHT - 3 - values / highest * (_COURSE_HEIGHT - 8)
    line = " ".join(f"{x:.1f},{y:.1f}" for x, y in zip(across, down, strict=True))
    first, last = _shown(data.periods[0]), _shown(data.periods[-1])
    label = f"Share of documents from {first} to {last}, at most {highest:.1%}"
    size = f'width="{_COURSE_WIDTH}" height="{_COURSE_HEIGHT}"'
    return (
        f'<figure><svg class="course" role="img" aria-label="{label}" {size}>'
        f'<polyline points="{line}"/></svg>'
        f"<figcaption>{first} to {last} by {_shown(data.field)}, at most {highest:.1%}</figcaption></figure>"
    )


def _shown(text: str) -> str:
    """Text of the corpus as HTML, in one line."""
    line = clean_title(text)
    return html.escape(line if len(line) <= _LONGEST_TEXT else line[: _LONGEST_TEXT - 1] + "…")
