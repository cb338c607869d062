"""How results and progress look: results on standard output, everything else on standard error."""

from __future__ import annotations

import json
import math
import shutil
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

from spherevec.engine.figures import shown
from spherevec.terminal import visible, visible_json

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


def columns() -> int:
    """How wide a table may be."""
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else _WIDTH


def show(*parts: Any) -> None:
    """Tables and texts of rich; their cells have gone through `visible`."""
    from rich.console import Console

    Console(file=sys.stdout, width=columns(), markup=False, emoji=False, highlight=False).print(*parts, sep="\n")


def echo(line: str = "") -> None:
    """One line of a result; what a terminal would obey is written out."""
    click.echo(visible(line))


def json_text(value: Any) -> str:
    """JSON for programs; what a terminal would obey is escaped."""
    return visible_json(json.dumps(_finite(value), ensure_ascii=False, indent=1))


def print_json(value: Any) -> None:
    """JSON in UTF-8 whatever the locale says."""
    encoded = json_text(value)
    click.echo(encoded.encode() if hasattr(sys.stdout, "buffer") else encoded)


def print_hits(results: Sequence[SearchResult]) -> None:
    """Each answer: score, id, title, and below it the passage and the explanation, where there are any."""
    for number, result in enumerate(results):
        if len(results) > 1:
            if number:
                echo()
            echo(result.query)
        width = min(max((len(hit.id) for hit in result), default=0), 40)
        for hit in result:
            own_title = not hit.snippet.startswith(hit.title.removesuffix(" …"))
            shown = hit.title if own_title or not hit.snippet else hit.snippet
            echo(f"{hit.score:6.3f}  {hit.id.ljust(width)}  {shown}".rstrip(" "))
            for more in (hit.snippet if own_title else "", str(hit.explanation or "")):
                if more:
                    echo(f"{'':{width + 10}}{more}")


def print_columns(rows: Sequence[Sequence[str]]) -> None:
    """Rows of equal length, each column as wide as its widest cell."""
    shown_rows = [[visible(cell) for cell in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(*shown_rows, strict=True)]
    for row in shown_rows:
        echo("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip(" "))


def summary(model: Model) -> str:
    """One line on a model."""
    parts = [f"{len(model.words):,} words"]
    if model.docs is not None:
        parts.append(f"{len(model.docs):,} document{'s' * (len(model.docs) != 1)}")
    parts.append(f"dimension {model.vector_size}")
    updates = model.provenance.get("updates")
    done, record = ("updated", updates[-1:]) if updates else ("trained", model.record)
    seconds = [spent for entry in record if isinstance(spent := entry.get("seconds"), int | float)]
    if seconds:
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


def _finite(value: Any) -> Any:
    """`value` for JSON, which has no NaN and no infinity: they become null."""
    if isinstance(value, Mapping):
        return {key: _finite(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(inner) for inner in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


@dataclass(frozen=True)
class Console:
    """What `--json` and `--quiet` decide: how a command shows its result, and what it keeps to itself."""

    as_json: bool
    quiet: bool

    def result(self, value: Any, show: Callable[[], object]) -> None:
        """Print a result: `value` as JSON with --json, otherwise whatever `show` prints."""
        if self.as_json:
            print_json(value)
        else:
            show()

    def tell(self, message: str) -> None:
        """A message that --quiet leaves out."""
        if not self.quiet:
            tell(message)

    def written(self, message: str, value: Any) -> None:
        """What was written where: the last message of a command, or JSON with --json."""
        if not (self.quiet and self.as_json):
            tell(message)
        if self.as_json:
            print_json(value)

    def summary(self, summary: CorpusSummary | None) -> None:
        """What was read, a line each; only the warnings with --quiet."""
        if summary is not None:
            warnings = [f"warning: {warning}" for warning in summary.warnings]
            for line in warnings if self.quiet else str(summary).splitlines():
                tell(line)

    @contextmanager
    def progress(self) -> Iterator[Callable[[Progress], None]]:
        """Something to report progress to: a live bar on a terminal, a line now and then elsewhere."""
        if self.quiet:
            yield lambda progress: None
        elif sys.stderr.isatty():
            from spherevec.training.progress import live_bar

            with live_bar() as bar:
                yield bar
        else:
            yield _line_reporter()
