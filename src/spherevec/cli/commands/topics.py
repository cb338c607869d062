"""`spherevec topics`."""

from __future__ import annotations

from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from spherevec.cli import display
from spherevec.cli.checks import documents_of, load_model, output
from spherevec.cli.options import PATH, force_option, guard_option, json_option, model_argument, quiet_option
from spherevec.cli.topics_table import print_topics
from spherevec.errors import ConfigError

if TYPE_CHECKING:
    from spherevec.topics.fields import Breakdown
    from spherevec.topics.result import Topics


@click.command()
@model_argument
@click.option("--k", type=click.IntRange(1), metavar="N", help="How many topics; chosen when not given.")
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
@click.option("--seed", type=click.IntRange(0), help="Random seed.  [default: 1]")
@click.option("--threads", type=click.IntRange(0), default=0, show_default=True, help="Threads; 0 = all cores.")
@guard_option
@force_option
@quiet_option
@json_option
def topics(
    folder: Path,
    k: int | None,
    names: Path | None,
    subwords: bool,
    only_names: bool,
    fields: tuple[str, ...],
    out: Path | None,
    keep: bool,
    seed: int | None,
    threads: int,
    guard_formulas: bool,
    force: bool,
    quiet: bool,
    as_json: bool,
) -> None:
    """Find the topics of the documents, or sort the documents by names.

    Prints the topics with their sizes, words and an example each. The number of topics is chosen by how well two halves
    of the documents agree about it. Topics that were kept with the model are shown again; --k, --names and --seed find
    others.
    """
    if only_names and names is None:
        raise click.UsageError("--only-names needs --names FILE")
    from spherevec.explore.report import write_report
    from spherevec.storage.locks import owned
    from spherevec.topics import topics_of
    from spherevec.topics.folder import describe, save_topics

    given = {"k": k, "names": names, "only_names": only_names or None, "subwords": subwords or None, "seed": seed}
    options = {name: value for name, value in given.items() if value is not None}
    with ExitStack() as stack:
        if out is not None:
            stack.enter_context(output(out, force))
        if keep and folder.is_dir():
            # Nobody else changes the model between reading it and writing it with its topics.
            stack.enter_context(owned(folder, run=True))
        model = load_model(folder, memory_map=not keep)
        documents_of(model, folder)
        if not quiet:
            kept = model.kept_topics is not None and not options
            doing = "topics kept with the model of" if kept else "looking for topics among"
            display.tell(f"{doing} {len(model.docs or ()):,} documents")
        found = topics_of(model, threads=threads, **options)
        breakdowns = [_breakdown(found, field) for field in fields]
        if out is not None:
            how = {"overwrite": force, "guard_formulas": guard_formulas}
            report = partial(write_report, found, overwrite=True)
            save_topics(found, out, breakdowns=breakdowns, report=report, **how)
        if keep:
            found.keep()
            model.save(folder, overwrite=True)
    if as_json:
        display.print_json({**describe(found), "by": [one.as_dict() for one in breakdowns]})
    else:
        print_topics(found, breakdowns)


def _breakdown(found: Topics, field: str) -> Breakdown:
    from spherevec.topics.fields import UNITS

    name, _, unit = field.rpartition(":")
    documents = found.model.documents
    if not name or (documents is not None and field in documents.fields):
        return found.by(field)
    if unit not in UNITS:
        raise ConfigError(f"--by {field}: the unit of time is one of {', '.join(UNITS)}, not {unit!r}")
    return found.over(name, unit)
