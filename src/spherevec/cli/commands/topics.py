"""`spherevec topics`."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from spherevec.cli.checks import documents_of, load_model, output
from spherevec.cli.console import Console
from spherevec.cli.options import (
    PATH,
    LateChoice,
    force_option,
    guard_option,
    model_argument,
    output_options,
    threads_option,
)
from spherevec.cli.topics_table import print_topics
from spherevec.errors import ConfigError

if TYPE_CHECKING:
    from spherevec.topics.breakdown import Breakdown
    from spherevec.topics.topics import Topics


def _titles() -> list[str]:
    from spherevec.topics.titles import TITLES

    return list(TITLES)


@click.command()
@model_argument
@click.option("--k", type=click.IntRange(1), metavar="N", help="How many topics on the finer level; chosen by default.")
@click.option("--levels", metavar="N,N", help="How many topics on each level, from broad to fine: 6,40.")
@click.option(
    "--names", type=PATH, metavar="FILE", help="Names, one a line: `name` or `name: word, phrase, -not this`."
)
@click.option("--subwords", is_flag=True, help="Let words that are spelled alike stand in for names the text lacks.")
@click.option("--only-names", is_flag=True, help="Give every document one of the names.")
@click.option(
    "--by", "fields", multiple=True, metavar="FIELD[:year|month|week]", help="Topics by a field or over time."
)
@click.option("--out", type=PATH, metavar="FOLDER", help="Folder for topics.json and assignments.csv.")
@click.option("--keep", is_flag=True, help="Keep these topics with the model, for all commands to come.")
@click.option("--titles", type=LateChoice(_titles), help="How topics are titled.  [default: coverage]")
@click.option("--merge", "merges", multiple=True, metavar="A,B", help="Merge topics, given by numbers.")
@click.option("--split", "splits", multiple=True, type=int, metavar="A", help="Split a topic in two.")
@click.option("--rename", "renames", multiple=True, metavar="A=TITLE", help="Give a topic a title.")
@click.option("--drop", "drops", multiple=True, type=int, metavar="A", help="Drop a topic.")
@click.option("--seed", type=click.IntRange(0), help="Random seed.  [default: 1]")
@threads_option
@guard_option
@force_option
@output_options
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
    edits = [(edit, given.pop(f"{edit}s")) for edit in ("merge", "split", "rename", "drop")]
    options = {name: value for name, value in given.items() if value is not None and value is not False}
    if "only_names" in options and "names" not in options:
        raise click.UsageError("--only-names needs --names FILE")
    if "levels" in options:
        options["levels"] = _numbers("--levels", options["levels"])
    from spherevec.explore.report import write_report
    from spherevec.storage.locks import owned
    from spherevec.topics import topics_of
    from spherevec.topics.persistence import describe, save_topics

    with ExitStack() as stack:
        if out is not None:
            stack.enter_context(output(out, force))
        if keep and folder.is_dir():
            # Nobody else changes the model between reading it and writing it with its topics.
            stack.enter_context(owned(folder, run=True))
        model = load_model(folder, memory_map=not keep)
        documents_of(model, folder)
        kept = model.kept_topics is not None and not options
        doing = "topics kept with the model of" if kept else "looking for topics among"
        console.tell(f"{doing} {len(model.docs or ()):,} documents")
        found = _edited(topics_of(model, threads=threads, **options), edits)
        breakdowns = [breakdown(found, field) for field in fields]
        if out is not None:
            how = {"overwrite": force, "guard_formulas": guard_formulas}
            report = partial(write_report, found, overwrite=True)
            save_topics(found, out, breakdowns=breakdowns, report=report, **how)
        if keep:
            found.keep()
            model.save(folder, overwrite=True)
    described = {**describe(found), "by": [one.as_dict() for one in breakdowns]}
    console.result(described, lambda: print_topics(found, breakdowns))


def _edited(found: Topics, edits: Sequence[tuple[str, Sequence[Any]]]) -> Topics:
    """The topics after the changes that were asked for."""
    for edit, values in edits:
        for value in values:
            if edit == "merge":
                found = found.merge(_numbers("--merge", value))
            elif edit == "rename":
                topic, sign, title = value.partition("=")
                if not sign or not title.strip():
                    raise ConfigError(f"--rename takes a number and a title, such as 4=hockey, not {value!r:.60}")
                found = found.rename(int(topic) if topic.strip().isdecimal() else topic.strip(), title)
            else:
                found = found.split(value) if edit == "split" else found.drop(value)
    return found


def _numbers(option: str, text: str) -> list[int]:
    try:
        return [int(part) for part in text.split(",")]
    except ValueError:
        raise ConfigError(f"{option} takes whole numbers with commas, such as 3,7, not {text!r:.60}") from None


def breakdown(found: Topics, field: str) -> Breakdown:
    """The topics by FIELD, or over time by FIELD:unit."""
    from spherevec.topics.breakdown import UNITS

    name, _, unit = field.rpartition(":")
    documents = found.model.documents
    if not name or (documents is not None and field in documents.fields):
        return found.by(field)
    if unit not in UNITS:
        raise ConfigError(f"--by {field}: the unit of time is one of {', '.join(UNITS)}, not {unit!r}")
    return found.over(name, unit)
