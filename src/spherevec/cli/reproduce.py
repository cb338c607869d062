"""The command `reproduce`: the paper's tables, ours beside the peers'."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from spherevec.cli.display import duration, tell

if TYPE_CHECKING:
    from spherevec.reproduction.plan import Cell

_path = click.Path(path_type=Path)


def _names(context: click.Context, parameter: click.Parameter, value: str | None) -> tuple[str, ...]:
    return tuple(name.strip() for name in (value or "").split(",") if name.strip())


@click.command()
@click.option("--data", type=_path, metavar="DIR", help="Folder of the data sets. Default: $SPHEREVEC_DATA.")
@click.option("--out", required=True, type=_path, metavar="REPORT", help="Folder for the page and its measurements.")
@click.option("--quick", is_flag=True, help="A small version, in minutes: less text, fewer epochs, one seed.")
@click.option(
    "--seeds",
    type=click.IntRange(1, 100),
    metavar="N",
    help="Trainings of each method, but for those that take minutes, trained once. Default: 3, or 1 if quick.",
)
@click.option("--threads", type=click.IntRange(0, 1024), metavar="N", default=0, help="Threads. Default: all cores.")
@click.option("--methods", callback=_names, metavar="A,B", help="Measure only these rows now; the page keeps the rest.")
@click.option(
    "--only", callback=_names, metavar="KIND,…", help="Measure only these now: words, documents, order, time."
)
@click.option("--quiet", is_flag=True, help="No progress, only results and errors.")
def reproduce(
    data: Path | None,
    out: Path,
    quick: bool,
    seeds: int | None,
    threads: int,
    methods: tuple[str, ...],
    only: tuple[str, ...],
    quiet: bool,
) -> None:
    """Measure the paper's tables, ours beside the peers'.

    Writes one page, REPORT/index.html and REPORT/index.md. A run that was stopped goes on where it was when the same
    command is given again, and what has been measured is kept.
    """
    from spherevec.reproduction.plan import FULL, QUICK
    from spherevec.reproduction.run import Selection
    from spherevec.reproduction.run import reproduce as run

    with _watching(quiet) as watcher:
        try:
            page = run(
                data,
                out,
                scale=QUICK if quick else FULL,
                seeds=seeds,
                threads=threads,
                jobs=2 if quick else 1,
                selection=Selection(methods, only),
                watcher=watcher,
            )
        except KeyboardInterrupt:
            tell(f"{out}: what was measured is kept; the same command goes on from there")
            raise
    click.echo(page)


class _Silent:
    def begins(self, cells: int, known: int, seconds: float) -> None: ...
    def goes_on(self, cells: list[Cell], done: float, seconds_left: float) -> None: ...
    def ends(self, cell: Cell, seconds: float, failure: str | None) -> None: ...

    def notes(self, text: str) -> None:
        tell(text)


class _Lines(_Silent):
    """A line for every cell that has been measured."""

    def begins(self, cells: int, known: int, seconds: float) -> None:
        self._cells, self._ended, self._left = cells, 0, seconds
        if cells:
            tell(f"{cells} to measure, {known} measured before, about {duration(seconds)}")

    def goes_on(self, cells: list[Cell], done: float, seconds_left: float) -> None:
        self._left = seconds_left

    def ends(self, cell: Cell, seconds: float, failure: str | None) -> None:
        self._ended += 1
        outcome = "" if failure is None else f", FAILED: {failure}"
        left = f"about {duration(self._left)} left"
        tell(f"{self._ended} of {self._cells}: {cell.title}, {duration(seconds)}{outcome}; {left}")


class _Live(_Lines):
    """The same lines above a bar."""

    def __init__(self, progress: Any) -> None:
        self._progress = progress

    def begins(self, cells: int, known: int, seconds: float) -> None:
        super().begins(cells, known, seconds)
        self._task = self._progress.add_task("preparing", total=max(cells, 1), left=duration(seconds))

    def goes_on(self, cells: list[Cell], done: float, seconds_left: float) -> None:
        super().goes_on(cells, done, seconds_left)
        titles = " and ".join(cell.title for cell in cells) or "drawing the page"
        self._progress.update(self._task, description=titles, completed=done, left=duration(seconds_left))


@contextmanager
def _watching(quiet: bool) -> Iterator[_Silent]:
    if quiet:
        yield _Silent()
    elif sys.stderr.isatty():
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn

        columns = (
            TextColumn("{task.description}"),
            BarColumn(),
            TextColumn("{task.completed:.0f} of {task.total:.0f}"),
            TextColumn("{task.fields[left]} left"),
        )
        with Progress(*columns, console=Console(stderr=True), transient=True, redirect_stderr=True) as progress:
            yield _Live(progress)
    else:
        yield _Lines()
