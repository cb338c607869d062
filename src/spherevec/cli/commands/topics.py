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
from spherevec.cli.options import choice, flag, number, path_option
from spherevec.cli.outputs import documents_of, load_model, outputs
from spherevec.errors import ConfigError
from spherevec.topics.breakdown import UNITS
from spherevec.topics.titles import TITLES

if TYPE_CHECKING:
    from spherevec.model import Model
    from spherevec.topics.breakdown import Breakdown
    from spherevec.topics.topics import Topics

_BAR, _LONGEST_NAME = 8, 44  # characters
_FURTHER_WORDS, _TYPICAL_TOPICS = 5, 3
_CHANGES = ("merge", "split", "rename", "drop")  # in this order


def _numbers(text: str) -> list[int]:
    try:
        return [int(part) for part in text.split(",")]
    except ValueError:
        raise click.BadParameter(f"give whole numbers with commas, such as 3,7, not {text!r:.60}") from None


def _renaming(text: str) -> tuple[int | str, str]:
    topic, _, title = text.partition("=")
    if not title.strip():
        raise click.BadParameter(f"give a number and a title, such as 4=hockey, not {text!r:.60}")
    return int(topic) if topic.strip().isdecimal() else topic.strip(), title


@click.command()
@options.model_argument
@number("--k", help="How many topics on the finer level; chosen by default.")
@click.option("--levels", type=_numbers, metavar="N,N", help="How many topics on each level, from broad to fine: 6,40.")
@path_option("--names", metavar="FILE", help="Names, one per line: `name` or `name: word, phrase, -not this`.")
@flag("--subwords", help="Let words that are spelled alike stand in for names the text lacks.")
@flag("--only-names", help="Give every document one of the names.")
@click.option(
    "--by", "fields", multiple=True, metavar="FIELD[:year|month|week]", help="Topics by a field or over time."
)
@path_option("--out", metavar="FOLDER", help="Folder for topics.json, assignments.csv and report.html.")
@flag("--keep", help="Store these topics in the model; later commands show and search them.")
@choice("--titles", TITLES, show_default="coverage", help="How topics are titled.")
@click.option("--merge", multiple=True, type=_numbers, metavar="A,B", help="Merge topics, given by numbers.")
@click.option("--split", multiple=True, type=int, metavar="A", help="Split a topic in two.")
@click.option("--rename", multiple=True, type=_renaming, metavar="A=TITLE", help="Give a topic a title.")
@click.option("--drop", multiple=True, type=int, metavar="A", help="Drop a topic.")
@number("--seed", type=click.IntRange(0), show_default="1", help="Random seed.")
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
    saved with --keep; to undo changes that were saved, find topics anew: --seed 1 --keep.
    """
    changes = {name: given.pop(name) for name in _CHANGES}
    asked = {name: value for name, value in given.items() if value is not None and value is not False}
    if "only_names" in asked and "names" not in asked:
        raise click.UsageError("--only-names needs --names FILE")
    from spherevec.storage.locks import owned
    from spherevec.topics import topics_of
    from spherevec.topics.persistence import describe, save_topics

    # Nobody else changes the model between reading it and writing it with its topics.
    with outputs(force, out), owned(folder, run=True) if keep and folder.is_dir() else nullcontext():
        model = load_model(folder, memory_map=not keep)
        documents_of(model, folder)
        for field in fields:  # refused before topics are looked for
            _field_and_unit(model, field)
        kept = model.kept_topics is not None and not asked
        doing = "topics kept with the model of" if kept else "looking for topics among"
        console.tell(f"{doing} {len(model.docs or ()):,} documents")
        found = topics_of(model, threads=threads, **asked)
        for change, values in changes.items():
            for value in values:
                found = found.rename(*value) if change == "rename" else getattr(found, change)(value)
        breakdowns = [breakdown(found, field) for field in fields]
        if out is not None:
            from spherevec.explore.report import write_report

            report = partial(write_report, found, overwrite=True)
            how = {"overwrite": force, "guard_formulas": guard_formulas}
            save_topics(found, out, breakdowns=breakdowns, report=report, **how)
        if keep:
            found.keep()
            model.save(folder, overwrite=True)
        elif any(changes.values()):
            console.tell("the changes are not saved; add --keep to save them in the model")
    described = {**describe(found), "by": [one.as_dict() for one in breakdowns]}
    console.result(described, lambda: print_topics(found, breakdowns))


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
    from spherevec.topics.views import further_words

    tree = list(topics.tree)
    most = max((topic.size for _, topic, _ in tree), default=1)
    rows = [("topic", "documents", "", "name", "further words")]
    for depth, topic, finest in tree:
        name = "   " * depth + topic.title
        rows.append(
            (
                str(topic.number) if finest else "",
                f"{topic.size:,}",
                "█" * (topic.size and max(1, round(_BAR * topic.size / most))),
                name if len(name) <= _LONGEST_NAME else f"{name[: _LONGEST_NAME - 1]}…",
                ", ".join(further_words(topic, _FURTHER_WORDS)),
            )
        )
    for count, what in ((topics.n_other, "other"), (topics.n_unknown, "no known word")):
        if count:
            rows.append(("-1", f"{count:,}", "", what, ""))
    broad = [place for place, (_, _, finest) in enumerate(tree, 1) if not finest]
    display.print_table(rows, right=(0, 1), bold=broad, fitted=True)
    display.echo(summary(topics))
    for found in breakdowns:
        display.echo()
        groups = [(found.field, "documents", "typical topics")]
        for group, counts in zip(found.groups, found.counts, strict=True):
            if typical := found.typical(group):
                groups.append((group, f"{counts.sum():,}", "; ".join(typical[:_TYPICAL_TOPICS])))
        display.print_table(groups, right=(1,), fitted=True)
        if left_out := len(found.groups) + 1 - len(groups):
            display.echo(f"{left_out} of {len(found.groups)} without a typical topic are left out")
        for what, titles in (("rising", found.rising()), ("falling", found.falling())):
            if titles:
                display.echo(f"{what}: {'; '.join(titles)}")


def summary(topics: Topics) -> str:
    """How many topics there are on each level, and an example of a finer number that is stable, too."""
    from spherevec.topics.levels import finest_stable

    counts = [len(level) for level in topics.on_levels]
    broad = f"{counts[-1]} broad, " if len(counts) > 1 else ""
    between = "".join(f"{count} between, " for count in reversed(counts[1:-1]))
    more = finest_stable(topics.levels, counts[0], len(topics.labels))
    stable = f"; finer topics are stable, too, for example --k {more}" if more else ""
    kind = "finer" if len(counts) > 1 else "topic" if counts[0] == 1 else "topics"
    return f"{broad}{between}{counts[0]} {kind}{stable}"
