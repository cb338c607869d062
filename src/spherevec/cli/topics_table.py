"""How topics look in a terminal: bars, sizes, words and an example each."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from spherevec.topics.fields import Breakdown
    from spherevec.topics.result import Topics

_BAR = 12
# Columns where there is no terminal to fit in.
_WIDTH = 120
_WORDS = 6
_TYPICAL = 3


def print_topics(topics: Topics, breakdowns: Sequence[Breakdown]) -> None:
    """A table of the topics on standard output, then one for each field."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    console = Console(file=sys.stdout, width=None if sys.stdout.isatty() else _WIDTH, highlight=False)
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
        table.add_row(str(topic.number), f"{topic.size:,}", bar, *map(Text, cells))
    console.print(table)
    for found in breakdowns:
        console.print()
        console.print(_breakdown_table(found))
        for what, titles in (("rising", found.rising()), ("falling", found.falling())):
            if titles:
                console.print(Text(f"{what}: {'; '.join(titles)}"))


def _breakdown_table(found: Breakdown) -> object:
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False)
    table.add_column(Text(found.field))
    table.add_column("documents", justify="right")
    table.add_column("typical topics")
    for row, group in enumerate(found.groups):
        typical = "; ".join(found.typical(group)[:_TYPICAL]) or "–"
        table.add_row(Text(group), f"{int(found.counts[row].sum()):,}", Text(typical))
    return table
