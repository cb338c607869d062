"""`spherevec topics`."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from spherevec.cli import display, options
from spherevec.cli.display import Console
from spherevec.cli.options import PATH
from spherevec.cli.outputs import documents_of, load_model, outputs
from spherevec.errors import ConfigError
from spherevec.terminal import visible
from spherevec.topics.breakdown import UNITS
from spherevec.topics.titles import TITLES

if TYPE_CHECKING:
    from rich.text import Text

    from spherevec.model import Model
    from spherevec.topics.breakdown import Breakdown
    from spherevec.topics.topics import Topics


_BAR, _LONGEST_NAME = 8, 44  # characters
_FURTHER_WORDS, _TYPICAL_TOPICS = 5, 3


@click.command()
@options.model_argument
@click.option("--k", type=click.IntRange(1), metavar="N", help="How many topics on the finer level; chosen by default.")
@click.option("--levels", metavar="N,N", help="How many topics on each level, from broad to fine: 6,40.")
@click.option(
    "--names", type=PATH, metavar="FILE", help="Names, one per line: `name` or `name: word, phrase, -not this`."
)
@click.option("--subwords", is_flag=True, help="Let words that are spelled alike stand in for names the text lacks.")
@click.option("--only-names", is_flag=True, help="Give every document one of the names.")
@click.option(
    "--by", "fields", multiple=True, metavar="FIELD[:year|month|week]", help="Topics by a field or over time."
)
@click.option("--out", type=PATH, metavar="FOLDER", help="Folder for topics.json, assignments.csv and report.html.")
@click.option("--keep", is_flag=True, help="Keep these topics with the model, for all commands to come.")
@click.option("--titles", type=click.Choice(list(TITLES)), help="How topics are titled.  [default: coverage]")
@click.option("--merge", "merges", multiple=True, metavar="A,B", help="Merge topics, given by numbers.")
@click.option("--split", "splits", multiple=True, type=int, metavar="A", help="Split a topic in two.")
@click.option("--rename", "renames", multiple=True, metavar="A=TITLE", help="Give a topic a title.")
@click.option("--drop", "drops", multiple=True, type=int, metavar="A", help="Drop a topic.")
@click.option("--seed", type=click.IntRange(0), metavar="N", help="Random seed.  [default: 1]")
@options.threads_option
@options.guard_option
@options.force_option
@options.output_options
def topics(
    folder: Path,
    fields: tuple[str, ...],
    out: Path | None,
    keep: bool,
    threads: int,
    guard_formulas: bool,
    force: bool,
    console: Console,
    **given: Any,
) -> None:
    """Find the topics of the documents, or sort the documents by names.

    Prints broad topics with the finer ones below them, one line each. The numbers of topics are chosen by how well two
    halves of the documents agree about them. Topics that were kept with the model are shown again; --k, --levels,
    --names, --titles and --seed find others. Topics are changed in the order --merge, --split, --rename, --drop, and
    saved with --keep.
    """
    edits: list[tuple[str, tuple[Any, ...]]] = [("merge", (_numbers("--merge", one),)) for one in given.pop("merges")]
    edits += [("split", (one,)) for one in given.pop("splits")]
    edits += [("rename", _renaming(one)) for one in given.pop("renames")]
    edits += [("drop", (one,)) for one in given.pop("drops")]
    asked = {name: value for name, value in given.items() if value is not None and value is not False}
    if "only_names" in asked and "names" not in asked:
        raise click.UsageError("--only-names needs --names FILE")
    if "levels" in asked:
        asked["levels"] = _numbers("--levels", asked["levels"])
    from spherevec.storage.locks import owned
    from spherevec.topics import topics_of
    from spherevec.topics.persistence import describe, save_topics

    # Nobody else changes the model between reading it and writing it with its topics.
    with outputs(force, out), owned(folder, run=True) if keep and folder.is_dir() else nullcontext():
        model = load_model(folder, memory_map=not keep)
        documents_of(model, folder)
        asked_fields = [_field_and_unit(model, field) for field in fields]
        kept = model.kept_topics is not None and not asked
        doing = "topics kept with the model of" if kept else "looking for topics among"
        console.tell(f"{doing} {len(model.docs or ()):,} documents")
        found = topics_of(model, threads=threads, **asked)
        for edit, arguments in edits:
            found = getattr(found, edit)(*arguments)
        breakdowns = [found.by(name) if unit is None else found.over(name, unit) for name, unit in asked_fields]
        if out is not None:
            how = {"overwrite": force, "guard_formulas": guard_formulas}
            from spherevec.explore.report import write_report

            report = partial(write_report, found, overwrite=True)
            save_topics(found, out, breakdowns=breakdowns, report=report, **how)
        if keep:
            found.keep()
            model.save(folder, overwrite=True)
    described = {**describe(found), "by": [one.as_dict() for one in breakdowns]}
    console.result(described, lambda: print_topics(found, breakdowns))


def _renaming(text: str) -> tuple[int | str, str]:
    topic, _, title = text.partition("=")
    if not title.strip():
        raise ConfigError(f"--rename takes a number and a title, such as 4=hockey, not {text!r:.60}")
    return int(topic) if topic.strip().isdecimal() else topic.strip(), title


def _numbers(option: str, text: str) -> list[int]:
    try:
        return [int(part) for part in text.split(",")]
    except ValueError:
        raise ConfigError(f"{option} takes whole numbers with commas, such as 3,7, not {text!r:.60}") from None


def breakdown(found: Topics, field: str) -> Breakdown:
    """The topics by FIELD, or over time by FIELD:unit."""
    name, unit = _field_and_unit(found.model, field)
    return found.by(name) if unit is None else found.over(name, unit)


def _field_and_unit(model: Model, field: str) -> tuple[str, str | None]:
    table = model.documents
    unit: str | None
    name, _, unit = field.rpartition(":")
    if not name or (table is not None and field in table.fields):
        name, unit = field, None
    elif unit not in UNITS:
        raise ConfigError(f"--by {field}: the unit of time is one of {', '.join(UNITS)}, not {unit!r}")
    if table is not None:
        table.column(name)  # refused here if there is none, before topics are looked for
    return name, unit


def print_topics(topics: Topics, breakdowns: Sequence[Breakdown]) -> None:
    """The topics on standard output, one line each, finer ones below the broad ones; then a table for each field."""
    from rich.table import Table

    from spherevec.topics.views import further_words

    tree = list(topics.tree)
    names = [_cell("   " * depth + topic.title, "" if finest else "bold") for depth, topic, finest in tree]
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column("topic", justify="right", width=5)
    table.add_column("documents", justify="right", width=9)
    table.add_column("", width=_BAR)
    # The numbers are always there; names, and then further words, have what room is left.
    room = display.columns() - (5 + 9 + _BAR + 3 * 2)
    longest = min(max((name.cell_len for name in names), default=4), _LONGEST_NAME, max(room, 4))
    table.add_column("name", no_wrap=True, overflow="ellipsis", width=longest)
    if room - longest > len("further words") + 2:
        table.add_column("further words", no_wrap=True, overflow="ellipsis", width=room - longest - 2)
    most = max((topic.size for _, topic, _ in tree), default=1)
    for name, (_, topic, finest) in zip(names, tree, strict=True):
        bar = "█" * max(1, round(_BAR * topic.size / max(most, 1))) if topic.size else ""
        words = _cell(", ".join(further_words(topic, _FURTHER_WORDS)))
        row = (str(topic.number) if finest else "", f"{topic.size:,}", bar, name, words)
        table.add_row(*row[: len(table.columns)])
    for count, what in ((topics.n_other, "other"), (topics.n_unknown, "no known word")):
        if count:
            table.add_row("-1", f"{count:,}", "", _cell(what, "italic"))
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

    counts = [len(level) for level in topics.on_levels]
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
        typical = "; ".join(found.typical(group)[:_TYPICAL_TOPICS]) or "–"
        table.add_row(_cell(group), f"{int(found.counts[row].sum()):,}", _cell(typical))
    return table
