"""How results and progress look: results on standard output, everything else on standard error."""

from __future__ import annotations

import json
import math
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

import click

from spherevec.engine.figures import REPORTED, shown
from spherevec.terminal import visible, visible_json

if TYPE_CHECKING:
    from spherevec.corpus.count.summary import CorpusSummary
    from spherevec.evaluation import AnalogyResult, SimilarityResult
    from spherevec.model import Model
    from spherevec.model.keyed_vectors import Key
    from spherevec.search.results import SearchResult
    from spherevec.training.progress import Progress

Answers = Sequence[tuple["Key", float]]

# Seconds between two lines of progress where there is no terminal to redraw.
_LINE_INTERVAL = 5.0
_HEADS = {"mean_resultant_length": "anisotropy", "tokens_per_second": "tokens/s"}
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


def tell_summary(summary: CorpusSummary, only_warnings: bool = False) -> None:
    """What was read, a line each."""
    for line in [f"warning: {one}" for one in summary.warnings] if only_warnings else str(summary).splitlines():
        tell(line)


def tell_corpus(model: Model, only_warnings: bool = False) -> None:
    """What was read, what was left out and chosen, and what looks wrong."""
    from spherevec.corpus.count.summary import CorpusSummary

    stored = model.provenance.get("summary")
    if isinstance(stored, dict):
        tell_summary(CorpusSummary.from_dict(stored), only_warnings)


def print_json(value: Any) -> None:
    """JSON for programs, in UTF-8 whatever the locale says."""
    encoded = visible_json(json.dumps(_finite(value), ensure_ascii=False, indent=1))
    click.echo(encoded.encode() if hasattr(sys.stdout, "buffer") else encoded)


def print_hits(results: Sequence[SearchResult]) -> None:
    """One line an answer: cosine, id, title or beginning; the query above them where there are several."""
    for number, result in enumerate(results):
        if len(results) > 1:
            if number:
                echo()
            echo(result.query)
        width = max((len(hit.id) for hit in result), default=0)
        for hit in result:
            cosine = "     –" if hit.cosine is None else f"{hit.cosine:6.3f}"
            echo(f"{cosine}  {hit.id.ljust(min(width, 40))}  {hit.title}".rstrip(" "))


def print_neighbors(
    answers: Sequence[tuple[str, Answers]],
    as_json: bool,
    titles: Mapping[object, str] | None = None,
    guessed: Sequence[str] = (),
) -> None:
    """One list an entry: the query, then its answers with their cosines.

    Args:
        titles: what to show beside the key of a document.
        guessed: the queries whose vectors are guesses.
    """
    titles = titles or {}
    if as_json:
        print_json(
            [
                {
                    "query": query,
                    **({"guessed": True} if query in guessed else {}),
                    "neighbors": [
                        {"key": key, "cosine": cosine, **({"title": titles[key]} if key in titles else {})}
                        for key, cosine in found
                    ],
                }
                for query, found in answers
            ]
        )
        return
    for place, (query, found) in enumerate(answers):
        lines = [f"  {cosine:6.3f}  {key}  {titles.get(key, '')}".rstrip(" ") for key, cosine in found]
        for line in ([] if place == 0 else [""]) + [f"{query} (guessed)" if query in guessed else query, *lines]:
            echo(line)


def print_clusters(sizes: Sequence[int], names: Sequence[Sequence[str]], as_json: bool) -> None:
    if as_json:
        print_json(
            [{"cluster": i, "documents": sizes[i], "nearest_words": list(words)} for i, words in enumerate(names)]
        )
        return
    rows = [(str(i), f"{sizes[i]:,}", ", ".join(words)) for i, words in enumerate(names)]
    print_columns([("cluster", "documents", "nearest words"), *rows])


def print_similarity(results: Sequence[SimilarityResult], as_json: bool) -> None:
    if as_json:
        print_json([vars(result) for result in results])
        return
    rows = [(one.name, f"{one.spearman:.3f}", f"{one.covered} of {one.total}") for one in results]
    print_columns([("data set", "Spearman", "pairs known"), *rows])


def print_analogies(added: AnalogyResult, multiplied: AnalogyResult, as_json: bool) -> None:
    """The same questions answered by 3CosAdd and by 3CosMul, section by section."""
    first, second = (
        [*result.sections, result.semantic, result.syntactic, result.total] for result in (added, multiplied)
    )
    scores = list(zip(first, second, strict=True))
    if as_json:
        print_json(
            [
                {
                    **vars(one),
                    "accuracy": one.accuracy,
                    "correct_3cosmul": other.correct,
                    "accuracy_3cosmul": other.accuracy,
                }
                for one, other in scores
            ]
        )
        return
    rows = [
        (one.name, f"{one.accuracy:.3f}", f"{other.accuracy:.3f}", f"{one.covered} of {one.total}")
        for one, other in scores
    ]
    print_columns([("section", "3CosAdd", "3CosMul", "questions known"), *rows])


def print_scores(data_set: str, scores: Mapping[str, Any], as_json: bool) -> None:
    """Scores that were measured several times, beside the settings they were measured with."""
    if as_json:
        print_json({"data_set": data_set, **scores})
        return
    shown = {
        name: f"{score['mean']:.3f} ± {score['std']:.3f}" if isinstance(score, Mapping) else str(score)
        for name, score in scores.items()
    }
    print_columns([("data set", data_set), *shown.items()])


def print_info(about: Mapping[str, Any], as_json: bool) -> None:
    """What `Model.describe` says."""
    if as_json:
        print_json(about)
        return
    plain = {name: value for name, value in about.items() if not isinstance(value, dict | list) and value is not None}
    plain["trained"] = "no, imported" if about["config"] is None else "yes"
    if about.get("fields"):
        plain["fields"] = ", ".join(f"{name} ({kind})" for name, kind in about["fields"].items())
    others = {name: value for name, value in about["provenance"].items() if not isinstance(value, dict | list)}
    print_columns([(name, _figure(value)) for name, value in (plain | others).items()])
    read = about["provenance"].get("summary")
    if isinstance(read, dict):
        from spherevec.corpus.count.summary import CorpusSummary

        echo()
        echo("what was read")
        for line in str(CorpusSummary.from_dict(read)).splitlines():
            echo(f"  {line}")
    if about["config"] is not None:
        echo()
        echo("settings")
        print_columns([(f"  {name}", str(value)) for name, value in about["config"].items()])
    if about["parameters"]:
        echo()
        echo("learned parameters")
        print_columns([(f"  {name}", _figure(value)) for name, value in about["parameters"].items()])
    if about["record"]:
        echo()
        echo("training record")
        hidden = {figure.name for figure in REPORTED if figure.shown is None}
        columns = [name for name in about["record"][0] if name not in hidden]
        heads = [_HEADS.get(name, name) for name in columns]
        print_columns([heads, *([_figure(row[name]) for name in columns] for row in about["record"])])
        echo("loss falls as long as training helps; anisotropy is 0 where words point everywhere, 1 where all agree")


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
        parts.append(f"{len(model.docs):,} documents")
    parts.append(f"dimension {model.vector_size}")
    seconds = [spent for epoch in model.record if isinstance(spent := epoch.get("seconds"), int | float)]
    if seconds:
        parts.append(f"trained in {sum(seconds):.1f} s")
    return ", ".join(parts)


@contextmanager
def progress_display(quiet: bool = False) -> Iterator[Callable[[Progress], None]]:
    """Something to report progress to: a live bar on a terminal, a line now and then elsewhere, nothing if `quiet`."""
    if quiet:
        yield lambda progress: None
    elif sys.stderr.isatty():
        from spherevec.training.progress_bar import live_bar

        with live_bar() as bar:
            yield bar
    else:
        yield _line_reporter()


def _line_reporter() -> Callable[[Progress], None]:
    """Prints a line when a phase begins, and while it goes on now and then."""
    from spherevec.training.progress_bar import duration, phase_of

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


def _figure(value: Any) -> str:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return str(value)
    return f"{value:,}" if isinstance(value, int) else f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"


def _finite(value: Any) -> Any:
    """`value` for JSON, which has no NaN and no infinity: they become null."""
    if isinstance(value, Mapping):
        return {key: _finite(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(inner) for inner in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
