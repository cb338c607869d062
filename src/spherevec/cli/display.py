"""How results and progress look: results on standard output, everything else on standard error."""

from __future__ import annotations

import json
import math
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import click

from spherevec.engine.figures import shown
from spherevec.terminal import visible, visible_json

if TYPE_CHECKING:
    from spherevec.cli.console import Console
    from spherevec.corpus.count.summary import CorpusSummary
    from spherevec.model import Model
    from spherevec.model.keyed_vectors import Key
    from spherevec.search.results import SearchResult
    from spherevec.training.progress import Progress

# Seconds between two lines of progress where there is no terminal to redraw.
_LINE_INTERVAL = 5.0
_WIDTH = 120  # of tables where there is no terminal


def tell(message: str) -> None:
    """One line of chatter. Where nobody can read it, because the log is full or gone, it is lost and nothing else."""
    with suppress(OSError, ValueError):
        click.echo(visible(message), err=True)


def show(*parts: Any, style: str | None = None, width: int = _WIDTH) -> None:
    """Tables and texts of rich; their cells have gone through `visible`.

    Args:
        width: columns where there is no terminal to fit in.
    """
    from rich.console import Console

    columns = None if sys.stdout.isatty() else width
    Console(file=sys.stdout, width=columns, markup=False, emoji=False, highlight=False).print(
        *parts, sep="\n", style=style
    )


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


@dataclass(frozen=True)
class Neighbors:
    """The answers to one query: keys with their cosines, the titles of documents, and other forms of words.

    A query is `guessed` when its vector is a guess.
    """

    query: str
    answers: Sequence[tuple[Key, float]]
    titles: Mapping[Key, str] = field(default_factory=dict)
    guessed: bool = False
    forms: Mapping[Key, Sequence[str]] = field(default_factory=dict)

    def as_dict(self) -> dict[str, Any]:
        rows: list[dict[str, Any]] = [{"key": key, "cosine": cosine} for key, cosine in self.answers]
        for row in rows:
            row |= {"title": self.titles[row["key"]]} if row["key"] in self.titles else {}
            row |= {"forms": list(self.forms[row["key"]])} if self.forms.get(row["key"]) else {}
        return {"query": self.query, **({"guessed": True} if self.guessed else {}), "neighbors": rows}


def print_neighbors(found: Sequence[Neighbors], console: Console) -> None:
    """One list for each query: its answers with their cosines."""

    def show() -> None:
        for place, one in enumerate(found):
            if place:
                echo()
            echo(f"{one.query} (guessed)" if one.guessed else one.query)
            for key, cosine in one.answers:
                forms = f" ({', '.join(one.forms[key])})" if one.forms.get(key) else ""
                echo(f"  {cosine:6.3f}  {key}{forms}  {one.titles.get(key, '')}".rstrip(" "))

    console.result([one.as_dict() for one in found], show)


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


@contextmanager
def progress_display(quiet: bool = False) -> Iterator[Callable[[Progress], None]]:
    """Something to report progress to: a live bar on a terminal, a line now and then elsewhere, nothing if `quiet`."""
    if quiet:
        yield lambda progress: None
    elif sys.stderr.isatty():
        from spherevec.training.progress import live_bar

        with live_bar() as bar:
            yield bar
    else:
        yield _line_reporter()


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
