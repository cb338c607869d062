"""Topics as tables for people: HTML in notebooks, and data frames."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np

from spherevec.errors import MissingExtraError
from spherevec.topics.tree import further_words

if TYPE_CHECKING:
    from spherevec.topics.fields import Breakdown
    from spherevec.topics.result import Topics
    from spherevec.topics.state import Topic

_BAR = 120
_WORDS_SHOWN = 6
_TYPICAL = 3


def topics_html(topics: Topics) -> str:
    """The tree of topics: bars of their sizes, titles, further words and an example each."""
    most = max((topic.size for _, topic, _ in topics.tree), default=1)
    rows = []
    for depth, topic, finest in topics.tree:
        examples = topics.examples(topic.number, 1) if finest else []
        example = topics.document(examples[0]).title if examples else ""
        title = f"<b>{escape(topic.title)}</b>" if depth == 0 else escape(topic.title)
        cells = [
            str(topic.number) if finest else "",
            f"{topic.size:,}",
            _bar(topic.size / max(most, 1)),
            f'<span style="padding-left:{1.5 * depth}em">{title}</span>',
            escape(", ".join(further_words(topic, _WORDS_SHOWN))),
            escape(example[:60]),
        ]
        rows.append(_row(cells))
    for count, what in ((topics.n_other, "other"), (topics.n_unknown, "no known word")):
        if count:
            rows.append(_row(["-1", f"{count:,}", "", f"<i>{what}</i>", "", ""]))
    return _table(["topic", "documents", "", "name", "further words", "example"], rows, repr(topics))


def topic_html(topic: Topic) -> str:
    """One topic: its size and its words."""
    caption = f"{topic.title} ({topic.size:,} documents)"
    return _table(["topic", "words"], [_row([str(topic.number), escape(", ".join(topic.words))])], caption)


def breakdown_html(found: Breakdown) -> str:
    """Groups of documents: their sizes, and the topics that are typical of each."""
    sizes = found.counts.sum(axis=1)
    most = max(int(sizes.max(initial=1)), 1)
    rows = [
        _row([escape(group), f"{int(size):,}", _bar(size / most), escape("; ".join(found.typical(group)[:_TYPICAL]))])
        for group, size in zip(found.groups, sizes, strict=True)
    ]
    moving = [
        f"{what}: {'; '.join(titles)}" for what, titles in (("rising", found.rising()), ("falling", found.falling()))
        if titles
    ]  # fmt: skip
    return _table([escape(found.field), "documents", "", "typical topics"], rows, ". ".join(moving))


def topics_frame(topics: Topics) -> Any:
    """One row a topic."""
    broad = topics.parents
    rows = []
    for topic in topics:
        examples = topics.examples(topic.number, 1)
        example = topics.document(examples[0]).title if examples else ""
        share = topic.size / max(len(topics.labels), 1)
        parent = "" if topic.parent is None else broad[topic.parent].title
        rows.append((topic.number, topic.title, topic.size, share, ", ".join(topic.words), parent, example))
    return pandas_for("to_pandas()").DataFrame(
        rows, columns=["topic", "title", "size", "share", "words", "parent", "example"]
    )


def documents_frame(topics: Topics) -> Any:
    """One row a document."""
    pandas = pandas_for("documents()")
    table = topics.model.documents
    assert table is not None
    n = len(topics.labels)
    names = np.array([*topics.titles, ""], object)[topics.labels]
    names[(topics.labels < 0) & topics.known] = "other"
    parents = np.array([*(topic.parent for topic in topics), None], object)
    broad = {topic.number: topic.title for topic in topics.parents}
    return pandas.DataFrame(
        {
            "id": [str(one) for one in table.ids],
            "title": [table.title(row) for row in range(n)],
            "topic": np.append(topics.numbers, -1)[topics.labels],
            "name": names,
            "parent": [broad.get(one, "") for one in parents[topics.labels]],
            "probability": topics.probability,
        }
    )


def breakdown_frame(found: Breakdown) -> Any:
    """One row a group and topic."""
    n_topics = len(found.numbers)
    return pandas_for("to_pandas()").DataFrame(
        {
            found.field: np.repeat(np.array(found.groups, object), n_topics),
            "topic": np.tile(found.numbers, len(found.groups)),
            "title": np.tile(np.array(found.titles, object), len(found.groups)),
            "count": found.counts.ravel(),
            "share": found.shares.ravel(),
            "p_more": found.p_more.ravel(),
            "p_fewer": found.p_fewer.ravel(),
        }
    )


def pandas_for(what: str) -> Any:
    """The module pandas, or an error that names the extra."""
    try:
        import pandas
    except ImportError:
        raise MissingExtraError(what, "pandas") from None
    return pandas


def _bar(share: float) -> str:
    return f'<div style="background:#5069c8;height:.8em;width:{max(1, round(_BAR * share))}px"></div>'


def _row(cells: list[str]) -> str:
    joined = "".join(f'<td style="text-align:left">{cell}</td>' for cell in cells)
    return f"<tr>{joined}</tr>"


def _table(header: list[str], rows: list[str], caption: str) -> str:
    head = "".join(f'<th style="text-align:left">{name}</th>' for name in header)
    title = f"<caption>{escape(caption)}</caption>" if caption else ""
    return f"<table>{title}<thead><tr>{head}</tr></thead><tbody>{''.join(rows)}</tbody></table>"
