"""How topics look in a terminal: the tree of topics, then a table for each field."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from spherevec.cli import display
from spherevec.terminal import visible

if TYPE_CHECKING:
    from rich.text import Text

    from spherevec.topics.fields import Breakdown
    from spherevec.topics.result import Topics

_BAR = 12
_WORDS = 5
_TYPICAL = 3


def print_topics(topics: Topics, breakdowns: Sequence[Breakdown]) -> None:
    """The topics on standard output, one line each, finer ones below the broad ones; then a table for each field."""
    from rich.table import Table

    from spherevec.topics.tree import further_words

    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column("topic", justify="right", no_wrap=True)
    table.add_column("documents", justify="right", no_wrap=True)
    table.add_column("", no_wrap=True)
    table.add_column("name", no_wrap=True, overflow="ellipsis", ratio=3)
    table.add_column("further words", no_wrap=True, overflow="ellipsis", ratio=3)
    table.add_column("example", no_wrap=True, overflow="ellipsis", ratio=2)
    tree = list(topics.tree)
    most = max((topic.size for _, topic, _ in tree), default=1)
    for depth, topic, finest in tree:
        examples = topics.examples(topic.number, 1) if finest else []
        document = topics.document(examples[0]) if examples else None
        bar = "█" * max(1, round(_BAR * topic.size / max(most, 1))) if topic.size else ""
        name = _cell("   " * depth + topic.title, "" if finest else "bold")
        words = _cell(", ".join(further_words(topic, _WORDS)))
        example = _cell("" if document is None else document.title or document.id)
        table.add_row(str(topic.number) if finest else "", f"{topic.size:,}", bar, name, words, example)
    for count, what in ((topics.n_other, "other"), (topics.n_unknown, "no known word")):
        if count:
            table.add_row("-1", f"{count:,}", "", _cell(what, "italic"), "", "")
    display.show(table)
    display.echo(summary(topics))
    for found in breakdowns:
        display.show("", _breakdown_table(found))
        for what, titles in (("rising", found.rising()), ("falling", found.falling())):
            if titles:
                display.echo(f"{what}: {'; '.join(titles)}")


def summary(topics: Topics) -> str:
    """How many topics there are on each level, and a finer number that would still be stable."""
    from spherevec.topics.level import finest_stable

    counts = [len(topics)]
    level = topics
    for _ in topics.state.above:
        level = level.parents
        counts.append(len(level))
    broad = f"{counts[-1]} broad, " if len(counts) > 1 else ""
    between = "".join(f"{count} between, " for count in reversed(counts[1:-1]))
    more = finest_stable(topics.levels, counts[0])
    stable = f"; {more} would still be stable: --k {more}" if more else ""
    kind = "finer" if len(counts) > 1 else "topic" if counts[0] == 1 else "topics"
    return f"{broad}{between}{counts[0]} {kind}{stable}"


def _cell(text: str, style: str = "") -> Text:
    from rich.text import Text

    return Text(visible(text), style)


def _breakdown_table(found: Breakdown) -> object:
    from rich.table import Table

    table = Table(box=None, pad_edge=False)
    table.add_column(visible(found.field))
    table.add_column("documents", justify="right")
    table.add_column("typical topics")
    for row, group in enumerate(found.groups):
        typical = "; ".join(found.typical(group)[:_TYPICAL]) or "–"
        table.add_row(_cell(group), f"{int(found.counts[row].sum()):,}", _cell(typical))
    return table
