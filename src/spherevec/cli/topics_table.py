"""How topics look in a terminal: bars, sizes, words and an example each."""

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
_WORDS = 6
_TYPICAL = 3


def print_topics(topics: Topics, breakdowns: Sequence[Breakdown]) -> None:
    """A table of the topics on standard output, then one for each field."""
    from rich.table import Table

    table = Table(box=None, pad_edge=False)
    for header, right in (("topic", True), ("documents", True), ("", False), ("name", False), ("words", False)):
        table.add_column(header, justify="right" if right else "left", no_wrap=right or header == "")
    table.add_column("example", no_wrap=True, overflow="ellipsis", max_width=40)
    most = max(int(topics.sizes.max()), 1)
    for topic in topics:
        examples = topics.examples(topic.number, 1)
        identifier, title = topics.document(examples[0]) if examples else ("", "")
        bar = "█" * max(1, round(_BAR * topic.size / most)) if topic.size else ""
        cells = (topic.title, ", ".join(topic.words[:_WORDS]), title or identifier)
        table.add_row(str(topic.number), f"{topic.size:,}", bar, *map(_cell, cells))
    display.show(table)
    for found in breakdowns:
        display.show("", _breakdown_table(found))
        for what, titles in (("rising", found.rising()), ("falling", found.falling())):
            if titles:
                display.echo(f"{what}: {'; '.join(titles)}")


def _cell(text: str) -> Text:
    from rich.text import Text

    return Text(visible(text))


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
