"""The tables of the page in Markdown, from what has been measured and from the paper's own figures."""

from __future__ import annotations

import json
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from experiments.paper.plan import DATA_TITLES, METHODS, NEWS, REFERENCE, REVIEWS, WIKI, Scale
from experiments.paper.results import LAST, Results
from spherevec.evaluation.documents import Spread

MISSING = "–"
_TIMED = ("seconds", "corpus", "peak_bytes")
SIMILARITY = {"wordsim353": "WordSim353", "men": "MEN", "simlex999": "SimLex999"}
CLUSTERING = {"mi": "MI", "nmi": "NMI", "ari": "ARI", "purity": "purity"}
F1 = {"macro_f1": "macro-F1", "micro_f1": "micro-F1"}
ORDERS = {"file": "file order", "shuffled": "shuffled"}
PAPER: dict[str, Any] = json.loads((Path(__file__).parent / "paper.json").read_text("utf-8"))
# Settings that the run chose, not the method: orders and seeds are in the tables.
_SAID_ELSEWHERE = ("min_count", "max_vocab", "order", "seed", "threads", "device", "deterministic", "documents")


@dataclass(frozen=True)
class Times:
    """One timed repeat of a method, scaled to the whole of 20 Newsgroups: seconds, tokens a second, bytes."""

    epoch: float
    whole: float
    rate: float
    peak: float


def all_tables(results: Results, scale: Scale) -> dict[str, str]:
    """Every table by the name that the template has for it."""
    tables = {"words_table": _words(results), "time_table": _time(results, scale), "settings_table": _settings(results)}
    for method in ("kmeans", "skmeans"):
        paper = {name: rows[method] for name, rows in PAPER["clustering"]["rows"].items()}
        metrics = {f"{method}.{name}": title for name, title in CLUSTERING.items()}
        tables[f"{method}_table"] = _documents(results, NEWS, metrics, paper)
    for name, data in (("news", NEWS), ("reviews", REVIEWS)):
        paper = {row: figures[data] for row, figures in PAPER["classification"]["rows"].items()}
        metrics = {f"3nn.{metric}": title for metric, title in F1.items()}
        tables[f"{name}_table"] = _documents(results, data, metrics, paper)
    return tables | {"provenance": _provenance(results)}


def _words(results: Results) -> str:
    methods = [name for name, method in METHODS.items() if method.words]
    columns = {"": [METHODS[name].title for name in methods]}
    for metric, title in (SIMILARITY | {"3cosadd": "3CosAdd", "3cosmul": "3CosMul"}).items():
        covered = results.values(f"{metric}.covered" if metric in SIMILARITY else "analogies.covered", kind="words")
        title += f", {covered[0][0]:,} of {covered[0][1]:,} known" if covered else ""
        columns[title] = best_marked([results.spread(metric, kind="words", data=WIKI, method=name) for name in methods])
    columns["n"] = [str(len(results.values("seconds", kind="words", method=name))) for name in methods]
    for place, title in enumerate(SIMILARITY.values()):
        rows = PAPER["similarity"]["rows"]
        columns[f"paper: {title}"] = [_paper(rows.get(METHODS[name].paper), place) for name in methods]
    return markdown(columns)


def _documents(results: Results, data: str, metrics: dict[str, str], paper: dict[str, Any]) -> str:
    methods = [name for name, method in METHODS.items() if method.documents]
    where: dict[str, Any] = {"kind": "documents", "data": data}
    columns = {"": [METHODS[name].document_title or METHODS[name].title for name in methods]}
    for order, heading in ORDERS.items():
        for metric, title in metrics.items():
            columns[f"{heading}: {title}"] = best_marked(
                [results.spread(metric, order=order, method=name, **where) for name in methods]
            )
    columns["n"] = [str(len(results.values("seconds", "shuffled", method=name, **where))) for name in methods]
    for place, title in enumerate(metrics.values()):
        rows = [paper.get(METHODS[name].document_paper or METHODS[name].paper) for name in methods]
        columns[f"paper: {title}"] = [_paper(row, place) for row in rows]
    return markdown(columns)


def times_of(results: Results, method: str, scale: Scale) -> list[Times]:
    """One a repeat; an epoch is the difference between a run of two and a run of one."""
    found = zip(*(results.values(name, kind="time", method=method) for name in _TIMED), strict=False)
    whole_text = max((about["tokens"] for about in results.values("corpus", kind="documents", data=NEWS)), default=0)
    turns = []
    for (first, *second), corpus, peak in found:
        larger = whole_text / corpus["tokens"] if whole_text else 1.0
        # On short texts the difference can drown in noise; it is never nothing.
        epoch = max(second[0] - first, 0.05 * first) if second else first
        whole = first + (scale.epochs[NEWS] - 1) * epoch if second else first
        turns.append(Times(epoch * larger, whole * larger, corpus["tokens"] / epoch, peak))
    return turns


def _time(results: Results, scale: Scale) -> str:
    turns = {name: found for name in METHODS if (found := times_of(results, name, scale))}
    reference, title = turns.get(REFERENCE, []), METHODS[REFERENCE].title
    hours = PAPER["hours_per_epoch"]["rows"]

    def medians(what: str, text: str, unit: float = 1.0) -> list[str]:
        return [
            text.format(statistics.median(getattr(turn, what) for turn in found) / unit) for found in turns.values()
        ]

    def ratios(what: str) -> list[str]:
        return [_ratios([getattr(turn, what) for turn in found], [getattr(turn, what) for turn in reference])
                for found in turns.values()]  # fmt: skip

    return markdown(
        {
            "": [METHODS[name].title for name in turns],
            "seconds an epoch": medians("epoch", "{:,.1f}"),
            "seconds for a whole training": medians("whole", "{:,.1f}"),
            "M tokens/s": medians("rate", "{:.2f}", 1e6),
            f"rate / {title}, median (range)": ratios("rate"),
            "peak memory, MB": medians("peak", "{:,.0f}", 2**20),
            f"memory / {title}": ratios("peak"),
            f"paper: rate / {title}": [
                f"{hours[METHODS[REFERENCE].paper] / hours[METHODS[name].paper]:.2f}"
                if METHODS[name].paper in hours
                else MISSING
                for name in turns
            ],
        }
    )


def _settings(results: Results) -> str:
    """The settings of every method as its trainer reported them."""
    rows = []
    for row in results.rows:
        if row["metric"] == "settings" and row["kind"] != "order" and row["seed"] == 1 and row["order"] != "file":
            shown = (
                f"{name} {value:g}" if isinstance(value, float) else f"{name} {value}"
                for name, value in row["value"].items()
                if name not in _SAID_ELSEWHERE
            )
            rows.append((METHODS[row["method"]].title, DATA_TITLES[row["data"]], ", ".join(shown)))
    titles = ("method", "data", "settings")
    return markdown({title: [row[place] for row in rows] for place, title in enumerate(titles)})


def _provenance(results: Results) -> str:
    """Machines, versions and times, one a line."""
    places = [row["value"] for row in results.rows if row["metric"] == LAST]
    lines = {f"{one['processor']}, {one['cores']} cores, {one['system']}" for one in places}
    lines |= {", ".join(f"{name} {version}" for name, version in one["versions"].items()) for one in places}
    when = sorted(one["finished"] for one in places)
    return "\n".join(f"- {line}" for line in [*sorted(lines), *(when[:1] + when[-1:] if when else [])])


def best_marked(figures: Sequence[Spread | None]) -> list[str]:
    """A column of figures of which more is better: bold if no further from the best than the larger deviation."""
    known = [figure for figure in figures if figure is not None]
    best = max(known, key=lambda figure: figure.mean, default=None)
    texts = []
    for figure in figures:
        if figure is None or best is None:
            texts.append(MISSING)
            continue
        text = str(figure) if len(figure.values) > 1 else f"{figure.mean:.3f}"
        close = len(known) > 1 and best.mean - figure.mean <= max(figure.std, best.std)
        texts.append(f"**{text}**" if close else text)
    return texts


def markdown(columns: dict[str, list[str]]) -> str:
    """A table from its columns, which are equally long."""
    head = [f"| {' | '.join(columns)} |", f"|{' --- |' * len(columns)}"]
    return "\n".join([*head, *(f"| {' | '.join(row)} |" for row in zip(*columns.values(), strict=True))])


def _paper(row: Any, place: int) -> str:
    if row is None:
        return MISSING
    return "{:.3f} ± {:.3f}".format(*row[place]) if isinstance(row[place], list) else f"{row[place]:.3f}"


def _ratios(values: Sequence[float], reference: Sequence[float]) -> str:
    """Median and range of the ratios repeat by repeat: what disturbed a repeat disturbed both."""
    found = sorted(value / other for value, other in zip(values, reference, strict=False))
    return f"{statistics.median(found):.2f} ({found[0]:.2f} to {found[-1]:.2f})" if found else MISSING
