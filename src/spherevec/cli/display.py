"""How results and progress look: results on standard output, everything else on standard error."""

from __future__ import annotations

import json
import math
import shutil
import sys
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

from spherevec.engine.figures import shown
from spherevec.search.results import is_beginning
from spherevec.terminal import number_of, visible, visible_json

if TYPE_CHECKING:
    from spherevec.corpus.count.summary import CorpusSummary
    from spherevec.model import Model
    from spherevec.search.results import SearchResult
    from spherevec.training.progress import Progress

# Seconds between two lines of progress where there is no terminal to redraw.
_LINE_INTERVAL = 5.0
_WIDTH = 120  # of tables where there is no terminal


def tell(message: str) -> None:
    """One line of chatter. Where nobody can read it, because the log is full or gone, it is lost and nothing else."""
    with suppress(OSError, ValueError):
        click.echo(visible(message), err=True)


def echo(line: str = "") -> None:
    """One line of a result; what a terminal would obey is written out."""
    click.echo(visible(line))


def json_text(value: Any) -> str:
    """JSON for programs, which has no NaN and no infinity; what a terminal would obey is escaped."""
    finite = json.loads(json.dumps(value), parse_constant=lambda name: None)
    return visible_json(json.dumps(finite, ensure_ascii=False, indent=1))


def print_hits(results: Sequence[SearchResult]) -> None:
    """Each answer: score, id, title, and below it the passage and the explanation, where there are any."""
    for number, result in enumerate(results):
        if len(results) > 1:
            if number:
                echo()
            echo(result.query)
        width = min(max((len(hit.id) for hit in result), default=0), 40)
        for hit in result:
            own_title = not is_beginning(hit.title, hit.snippet)
            shown = hit.title if own_title else hit.snippet
            echo(f"{hit.score:6.3f}  {hit.id.ljust(width)}  {shown}".rstrip(" "))
            for more in (hit.snippet if own_title else "", str(hit.explanation or "")):
                if more:
                    echo(f"{'':{width + 10}}{more}")


def print_table(
    rows: Sequence[Sequence[str]], *, right: Collection[int] = (), bold: Collection[int] = (), fitted: bool = False
) -> None:
    """Rows of equal length, each column as wide as its widest cell.

    Args:
        right: columns that are set to the right.
        bold: rows that a terminal shows in bold.
        fitted: cut lines that are longer than the terminal is wide.
    """
    from rich.cells import cell_len, set_cell_size

    shown_rows = [[visible(cell) for cell in row] for row in rows]
    widths = [max(map(cell_len, column)) for column in zip(*shown_rows, strict=True)]
    most = shutil.get_terminal_size().columns if sys.stdout.isatty() else _WIDTH
    for place, row in enumerate(shown_rows):
        cells = [
            " " * (width - cell_len(cell)) + cell if column in right else set_cell_size(cell, width)
            for column, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        line = "  ".join(cells).rstrip(" ")
        if fitted and cell_len(line) > most:
            line = set_cell_size(line, most - 1) + "…"
        click.echo(click.style(line, bold=True) if place in bold else line)


def print_value(value: Mapping[str, Any] | Sequence[Any], indent: str = "") -> None:
    """Names and values as two columns, a list of such as a table with the names above, other lists line by line."""
    if isinstance(value, Mapping):
        rows = [[name, _figure(one)] for name, one in value.items()]
    elif value and isinstance(value[0], Mapping):
        rows = [list(value[0]), *([_figure(one) for one in row.values()] for row in value)]
    else:
        rows = [[line] for line in value]
    print_table([[indent + first, *others] for first, *others in rows])


def _figure(value: Any) -> str:
    """A value for people: numbers with four digits that matter, or a mean and its spread."""
    if isinstance(value, Mapping):
        return f"{value['mean']:.3f} ± {value['std']:.3f}"
    if isinstance(value, float) and abs(value) < 1000:
        return f"{value:.4g}"
    return f"{value:,.0f}" if isinstance(value, int | float) and not isinstance(value, bool) else str(value)


def summary(model: Model, timed: bool = True) -> str:
    """One line on a model; where `timed`, with the time that its training or its last update took."""
    parts = [f"{len(model.words):,} words"]
    if model.docs is not None:
        parts.append(number_of(len(model.docs), "document"))
    parts.append(f"dimension {model.vector_size}")
    updates = model.provenance.get("updates")
    done, record = ("updated", updates[-1:]) if updates else ("trained", model.record)
    seconds = [spent for entry in record if isinstance(spent := entry.get("seconds"), int | float)]
    if seconds and timed:
        parts.append(f"{done} in {sum(seconds):.1f} s")
    return ", ".join(parts)


def corpus_summary(model: Model) -> CorpusSummary | None:
    """What was read, left out and chosen when a model was trained, and what looked wrong."""
    from spherevec.corpus.count.summary import CorpusSummary

    stored = model.provenance.get("summary")
    return CorpusSummary.from_dict(stored) if isinstance(stored, dict) else None


def _line_reporter() -> Callable[[Progress], None]:
    """Prints a line when a phase begins, and while it goes on now and then."""
    from spherevec.training.progress import duration, phase_of

    last_phase, last_time = "", -math.inf

    def report(progress: Progress) -> None:
        nonlocal last_phase, last_time
        now = time.monotonic()
        if progress.phase == last_phase and now - last_time < _LINE_INTERVAL:
            return
        last_phase, last_time = progress.phase, now
        share = [] if not progress.done else [f"{progress.done:.0%}"]
        left = [] if progress.seconds_left is None else [f"{duration(progress.seconds_left)} left"]
        tell(", ".join([phase_of(progress), *share, *shown(progress.figures), *left]))

    return report


@dataclass(frozen=True)
class Console:
    """What `--json` and `--quiet` decide: how a command shows its result, and what it keeps to itself."""

    as_json: bool
    quiet: bool

    def result(self, value: Any, show: Callable[[], object] | None = None) -> None:
        """Print a result: `value` as JSON with --json, otherwise what `show` prints, or a table of it."""
        if self.as_json:
            encoded = json_text(value)
            click.echo(encoded.encode() if hasattr(sys.stdout, "buffer") else encoded)  # whatever the locale says
        elif show is not None:
            show()
        else:
            print_value(value)

    def tell(self, message: str) -> None:
        """A message that --quiet leaves out."""
        if not self.quiet:
            tell(message)

    def written(self, message: str, value: Any) -> None:
        """What was written where: the last message of a command, or JSON with --json."""
        if not (self.quiet and self.as_json):
            tell(message)
        if self.as_json:
            self.result(value)

    def summary(self, summary: CorpusSummary | None) -> None:
        """What was read, a line each; only the warnings with --quiet."""
        if summary is not None:
            warnings = [f"warning: {warning}" for warning in summary.warnings]
            for line in warnings if self.quiet else str(summary).splitlines():
                tell(line)

    def progress(self) -> AbstractContextManager[Callable[[Progress], None]]:
        """Something to report progress to: a live bar on a terminal, a line now and then elsewhere."""
        from spherevec.training.progress import chosen_progress

        return chosen_progress(not self.quiet and (sys.stderr.isatty() or _line_reporter()))
