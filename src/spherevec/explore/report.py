"""A printable page of topics: sizes, names, words, examples and the course over time. It runs no script."""

from __future__ import annotations

import html
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from spherevec.explore.page import clean_title, fill, policy, template
from spherevec.html import check_page_name
from spherevec.search.results import is_beginning
from spherevec.terminal import number_of

if TYPE_CHECKING:
    from spherevec.topics import Topics
    from spherevec.topics.state import Topic

EXAMPLES = 3
_MOVING = 5  # rising or falling topics that are named
_LONGEST_TEXT = 160
_BAR, _COURSE_WIDTH, _COURSE_HEIGHT = 220, 240, 44
# A course over time has at least so many periods, where a finer unit gives them, and at most so many.
_FEW_PERIODS, _MANY_PERIODS = 6, 120


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

    check_page_name(path, "report")
    text = report_html(topics, title)
    with atomic_file(path, overwrite=overwrite) as temporary:
        temporary.write_text(text, encoding="utf-8", newline="\n")
    return Path(path)


def report_html(topics: Topics, title: str | None = None) -> str:
    """The report as text, with courses over the first kept date; every word of the corpus is escaped."""
    table = topics.model.documents
    dates = [] if table is None else [name for name, kind in table.fields.items() if kind == "date"]
    courses = _over_time(topics, dates[0]) if dates else None
    unknown = number_of(topics.n_unknown, "document")
    notes = [f"In no topic: {unknown} without a known word."] if topics.n_unknown else []
    if courses is not None:
        for name, titles in (("Rising", courses.rising()), ("Falling", courses.falling())):
            some = f" ({_MOVING} of {len(titles)})" if len(titles) > _MOVING else ""
            notes += [f"{name} over time{some}: {'; '.join(titles[:_MOVING])}."] if titles else []
    broad: dict[str, list[Topic]] = {}
    for topic in topics:
        parent = "" if topic.parent is None else topics.parents[topic.parent].title
        broad.setdefault(parent, []).append(topic)
    groups = [(parent, sorted(own, key=lambda topic: -topic.size)) for parent, own in broad.items()]
    groups.sort(key=lambda group: (-sum(topic.size for topic in group[1]), group[0]))
    levels = "" if "" in broad or not broad else f" in {len(broad)} broad ones"
    heading = title or f"{len(topics)} topics{levels}, {len(topics.labels):,} documents"
    style = template("report.css")
    return fill(
        template("report.html"),
        policy=policy("", style),
        generator=html.escape(f"spherevec {topics.model.version}"),
        title=html.escape(clean_title(heading)),
        style=style,
        notes="\n".join(f"<p>{_shown(note)}</p>" for note in notes),
        rows="\n".join(_rows(groups, len(topics.labels))),
        topics="\n".join(_section(topics, topic, courses) for _, own in groups for topic in own),
    )


def _example(topics: Topics, row: int) -> tuple[str, str, str]:
    """Id and title of a document, and the beginning of its text, alone where it begins with its title cut."""
    id_, title, *_ = topics.document_in(row)
    table = topics.model.documents
    text = "" if table is None else table.snippet(row, _LONGEST_TEXT)
    return (id_, text, "") if is_beginning(title, text) else (id_, title, text)


def _over_time(topics: Topics, field: str) -> Any:
    """The topics over periods of a date: the coarsest unit that gives enough of them; None where none does."""
    for unit in ("year", "month", "week", "day"):
        breakdown = topics.over(field, unit)
        if len(breakdown.groups) >= _FEW_PERIODS:
            return breakdown if len(breakdown.groups) <= _MANY_PERIODS else None
    return breakdown if len(breakdown.groups) > 1 else None


def _rows(groups: Sequence[tuple[str, Sequence[Topic]]], documents: int) -> Iterator[str]:
    """The rows of the table: broad topics in their order, each with its finer ones below it."""
    most = max((sum(topic.size for topic in topics) for _, topics in groups), default=0)
    for parent, topics in groups:
        nested = bool(parent) and len(topics) > 1
        if nested:
            yield _row(_shown(parent), sum(topic.size for topic in topics), documents, most, "broad")
        for topic in topics:
            link = f'<a href="#topic-{topic.number}">{_shown(topic.title)}</a>'
            yield _row(link, topic.size, documents, most, "finer" if nested else "")


def _row(title: str, size: int, documents: int, most: int, level: str) -> str:
    width = round(_BAR * size / max(most, 1), 1)
    return (
        f'<tr class="{level}"><th scope="row">{title}</th>'
        f'<td class="number">{size:,}</td><td class="number">{size / max(documents, 1):.1%}</td>'
        f'<td><svg class="bar" width="{_BAR}" height="12" aria-hidden="true">'
        f'<rect width="{width}" height="12" rx="2"/></svg></td></tr>'
    )


def _section(topics: Topics, topic: Topic, courses: Any) -> str:
    items = []
    for row in topics.examples(topic.number, EXAMPLES):
        id_, title, text = map(_shown, _example(topics, row))
        items.append(f'<li>{title} <span class="id">{id_}</span>{f"<br><q>{text}</q>" if text else ""}</li>')
    parts = [
        f'<section id="topic-{topic.number}">',
        f"<h2>{_shown(topic.title)}</h2>",
        f'<p class="size">{topic.size:,} documents, {topic.size / max(len(topics.labels), 1):.1%}</p>',
        f'<p class="words">{", ".join(map(_shown, topic.words))}</p>',
        "" if courses is None else _course(courses, topics.place(topic.number)),
        f"<h3>Typical documents</h3><ul>{''.join(items)}</ul>" if items else "",
        "</section>",
    ]
    return "\n".join(filter(None, parts))


def _course(courses: Any, place: int) -> str:
    """The share of a topic in each period as a line, with its figures for screen readers."""
    values = courses.shares[:, place]
    highest = max(float(values.max()), 1e-9)
    across = np.linspace(2, _COURSE_WIDTH - 2, len(values)) if len(values) > 1 else np.asarray([_COURSE_WIDTH / 2])
    down = _COURSE_HEIGHT - 3 - values / highest * (_COURSE_HEIGHT - 8)
    line = " ".join(f"{x:.1f},{y:.1f}" for x, y in zip(across, down, strict=True))
    first, last = _shown(courses.groups[0]), _shown(courses.groups[-1])
    label = f"Share of documents from {first} to {last}, at most {highest:.1%}"
    field, _, unit = courses.field.rpartition(":")
    over = f"field {_shown(repr(field))}, by {unit}"
    size = f'width="{_COURSE_WIDTH}" height="{_COURSE_HEIGHT}"'
    return (
        f'<figure><svg class="course" role="img" aria-label="{label}" {size}>'
        f'<polyline points="{line}"/></svg>'
        f"<figcaption>{first} to {last}, {over}, at most {highest:.1%}</figcaption></figure>"
    )


def _shown(text: str) -> str:
    """Text of the corpus as HTML, in one line."""
    line = clean_title(text)
    return html.escape(line if len(line) <= _LONGEST_TEXT else line[: _LONGEST_TEXT - 1] + "…")
