"""How topics look in a terminal: the tree of topics, then a table for each field."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from spherevec.cli import display
from spherevec.terminal import visible

if TYPE_CHECKING:
    from rich.text import Text

    from spherevec.topics.breakdown import Breakdown
    from spherevec.topics.topics import Topics

_BAR = 8
_LONGEST_NAME = 44
_WORDS = 5
_TYPICAL = 3


def print_topics(topics: Topics, breakdowns: Sequence[Breakdown]) -> None:
    """The topics on standard output, one line each, finer ones below the broad ones; then a table for each field."""
    from rich.table import Table

    from spherevec.topics.views import further_words

    tree = list(topics.tree)
    names = [_cell("   " * depth + topic.title, "" if finest else "bold") for depth, topic, finest in tree]
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column("topic", justify="right", no_wrap=True, min_width=5)
    table.add_column("documents", justify="right", no_wrap=True, min_width=9)
    table.add_column("", no_wrap=True, min_width=_BAR)
    longest = min(max((name.cell_len for name in names), default=4), _LONGEST_NAME)
    table.add_column("name", no_wrap=True, overflow="ellipsis", min_width=longest)
    table.add_column("further words", no_wrap=True, overflow="ellipsis", ratio=1)
    most = max((topic.size for _, topic, _ in tree), default=1)
    for name, (_, topic, finest) in zip(names, tree, strict=True):
        bar = "█" * max(1, round(_BAR * topic.size / max(most, 1))) if topic.size else ""
        words = _cell(", ".join(further_words(topic, _WORDS)))
        table.add_row(str(topic.number) if finest else "", f"{topic.size:,}", bar, name, words)
    for count, what in ((topics.n_other, "other"), (topics.n_unknown, "no known word")):
        if count:
            table.add_row("-1", f"{count:,}", "", _cell(what, "italic"), "")
    display.show(table)
    display.echo(summary(topics))
    for found in breakdowns:
        display.show("", _breakdown_table(found))
        for what, titles in (("rising", found.rising()), ("falling", found.falling())):
            if titles:
                display.echo(f"{what}: {'; '.join(titles)}")


def summary(topics: Topics) -> str:
    """How many topics there are on each level, and a finer number that would still be stable."""
    from spherevec.topics.levels import finest_stable

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
