"""The tables of the page, from what has been measured and from the paper's own figures."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from typing import Any

from spherevec.reproduction.blocks import MISSING, Column, Entry, Table, figure_text, from_columns, marked
from spherevec.reproduction.methods import METHODS, document_paper_row, document_title
from spherevec.reproduction.plan import DATA_TITLES, NEWS, REVIEWS, WIKI
from spherevec.reproduction.results import REFERENCE, Figure, Results, Times

SIMILARITY_TITLES = {"wordsim353": "WordSim353", "men": "MEN", "simlex999": "SimLex999"}
ANALOGY_TITLES = {"3cosadd": "3CosAdd", "3cosmul": "3CosMul"}
CLUSTERING_TITLES = {"mi": "MI", "nmi": "NMI", "ari": "ARI", "purity": "purity"}
CLUSTERER_TITLES = {"kmeans": "K-Means", "skmeans": "spherical K-Means"}
F1_TITLES = {"macro_f1": "macro-F1", "micro_f1": "micro-F1"}
ORDER_TITLES = {"file": "file order (leaks the classes)", "shuffled": "shuffled (the one that counts)"}
# Settings that the run chose, not the method: corpora are encoded before, and orders and seeds are in the tables.
_SAID_ELSEWHERE = ("min_count", "max_vocab", "order", "seed", "threads", "device", "reproducible", "documents")
PAPER_GROUP = "the paper's figures, not measured here"


def similarity_table(results: Results) -> Table:
    methods = results.rows("words", WIKI)
    columns = [_names([method.title for method in methods])]
    for name, title in SIMILARITY_TITLES.items():
        figures = [results.similarity(method.name, name) for method in methods]
        columns.append((Column(f"{title}, {_coverage(results, name)}", "Spearman correlation"), marked(figures)))
    for kind, title in ANALOGY_TITLES.items():
        figures = [results.analogy(method.name, kind) for method in methods]
        columns.append((Column(title, f"analogies answered, {_questions(results)}"), marked(figures)))
    columns.append(_trainings([len(results.of("words", WIKI, method.name)) for method in methods]))
    paper = results.paper["similarity"]
    for place, name in enumerate(paper["columns"]):
        entries = [_paper_entry(paper["rows"].get(method.paper), place) for method in methods]
        columns.append((Column(SIMILARITY_TITLES[name], PAPER_GROUP, paper=True), entries))
    return from_columns("Word similarity and analogies, trained on Wikipedia", columns)


def clustering_table(results: Results, clusterer: str) -> Table:
    methods = results.rows("documents", NEWS)
    columns = [_names([document_title(method) for method in methods])]
    for order, group in ORDER_TITLES.items():
        for measure, title in CLUSTERING_TITLES.items():
            figures = [results.clustering(method.name, order, clusterer, measure) for method in methods]
            columns.append((Column(title, group), marked(figures)))
    columns.append(_trainings([len(results.of("documents", NEWS, method.name, "shuffled")) for method in methods]))
    paper = results.paper["clustering"]
    for place, measure in enumerate(paper["columns"]):
        rows = [paper["rows"].get(document_paper_row(method), {}).get(clusterer) for method in methods]
        columns.append(
            (Column(CLUSTERING_TITLES[measure], PAPER_GROUP, paper=True), [_paper_entry(row, place) for row in rows])
        )
    return from_columns(f"Document clustering by {CLUSTERER_TITLES[clusterer]}, 20 Newsgroups", columns)


def classification_table(results: Results, data: str) -> Table:
    methods = results.rows("documents", data)
    columns = [_names([document_title(method) for method in methods])]
    for order, group in ORDER_TITLES.items():
        for measure, title in F1_TITLES.items():
            figures = [results.classification(data, method.name, order, measure) for method in methods]
            columns.append((Column(title, group), marked(figures)))
    columns.append(_trainings([len(results.of("documents", data, method.name, "shuffled")) for method in methods]))
    paper = results.paper["classification"]
    for place, measure in enumerate(paper["columns"]):
        rows = [paper["rows"].get(document_paper_row(method), {}).get(data) for method in methods]
        columns.append(
            (Column(F1_TITLES[measure], PAPER_GROUP, paper=True), [_paper_entry(row, place) for row in rows])
        )
    title = {NEWS: "20 Newsgroups, its own test set", REVIEWS: "movie reviews, random tests of a fifth"}[data]
    return from_columns(f"3-NN classification, {title}", columns)


def time_table(results: Results) -> Table:
    """Times, rates and memory beside those of the reference, measured in the same turns."""
    methods = results.rows("time", NEWS)
    turns = {method.name: results.times(method.name) for method in methods}
    reference = turns.get(REFERENCE, [])
    title = METHODS[REFERENCE].title
    hours = results.paper["hours_per_epoch"]["rows"]

    def column(take: Any) -> list[Entry]:
        return [Entry(take(method, turns[method.name])) if turns[method.name] else Entry(MISSING) for method in methods]

    return from_columns(
        "Training time and memory on 20 Newsgroups",
        [
            _names([method.title for method in methods]),
            (Column("seconds an epoch"), column(lambda _, found: _number(_median(found, "epoch")))),
            (Column("seconds for a whole training"), column(lambda _, found: _number(_median(found, "whole")))),
            (Column("tokens/s"), column(lambda _, found: _rate(_median(found, "rate")))),
            (
                Column(f"rate / {title}, median (range)"),
                column(lambda _, found: _ratios([turn.rate for turn in found], [turn.rate for turn in reference])),
            ),
            (Column("peak memory, MB"), column(lambda _, found: f"{_median(found, 'peak') / 2**20:,.0f}")),
            (
                Column(f"memory / {title}"),
                column(lambda _, found: _ratios([turn.peak for turn in found], [turn.peak for turn in reference])),
            ),
            (
                Column(f"rate / {title}", PAPER_GROUP, paper=True),
                [_paper_ratio(hours, method.paper) for method in methods],
            ),
        ],
    )


def settings_table(results: Results) -> Table:
    """The settings of every method as its trainer reported them."""
    rows = []
    for method in METHODS.values():
        for data in (WIKI, NEWS, REVIEWS):
            found = results.of("words" if data == WIKI else "documents", data, method.name)
            if not found:
                continue
            settings = ", ".join(
                f"{name} {_setting(value)}"
                for name, value in found[0]["settings"].items()
                if name not in _SAID_ELSEWHERE
            )
            rows.append(
                (method.title, DATA_TITLES[data], settings, _number(statistics.median(f["seconds"] for f in found)))
            )
    columns = (
        Column("method", numbers=False),
        Column("data", numbers=False),
        Column("settings", numbers=False),
        Column("training took, s (other work may have been going on)"),
    )
    return Table("Settings of every method", columns, tuple(tuple(Entry(text) for text in row) for row in rows))


def _names(titles: Sequence[str]) -> tuple[Column, list[Entry]]:
    return Column("", numbers=False), [Entry(title) for title in titles]


def _trainings(counts: Sequence[int]) -> tuple[Column, list[Entry]]:
    return Column("n"), [Entry(str(count) if count else MISSING) for count in counts]


def _coverage(results: Results, name: str) -> str:
    found = [
        figures["similarity"][name]
        for method in results.rows("words", WIKI)
        for figures in results.of("words", WIKI, method.name)
    ]
    if not found:
        return "pairs"
    return f"{_range([one['covered'] for one in found])} of {found[0]['total']} pairs"


def _questions(results: Results) -> str:
    found = [
        figures["analogy"]["3cosadd"]["total"]
        for method in results.rows("words", WIKI)
        for figures in results.of("words", WIKI, method.name)
    ]
    if not found:
        return "share of those covered"
    return f"share of {_range([one['covered'] for one in found])} covered of {found[0]['total']:,}"


def _range(counts: Sequence[int]) -> str:
    low, high = min(counts), max(counts)
    return f"{low:,}" if low == high else f"{low:,} to {high:,}"


def _paper_entry(row: Any, place: int) -> Entry:
    if row is None:
        return Entry(MISSING)
    value = row[place]
    mean, std = value if isinstance(value, list) else (value, None)
    return Entry(figure_text(Figure(mean, std, 1)))


def _paper_ratio(hours: dict[str, float], name: str | None) -> Entry:
    if name not in hours:
        return Entry(MISSING)
    return Entry(_times_as_much(hours[METHODS[REFERENCE].paper or ""] / hours[name]))


def _median(turns: Sequence[Times], what: str) -> float:
    return statistics.median(float(getattr(turn, what)) for turn in turns)


def _ratios(values: Sequence[float], reference: Sequence[float]) -> str:
    """Ratios turn by turn: what disturbed a turn disturbed both."""
    ratios = [value / other for value, other in zip(values, reference, strict=False)]
    if not ratios:
        return MISSING
    middle = _times_as_much(statistics.median(ratios))
    return middle if len(ratios) == 1 else f"{middle} ({_times_as_much(min(ratios))} to {_times_as_much(max(ratios))})"


def _times_as_much(ratio: float) -> str:
    return f"{ratio:.1f}" if ratio >= 10 else f"{ratio:.2f}" if ratio >= 0.1 else f"{ratio:.3f}"


def _number(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.1f}"


def _rate(per_second: float) -> str:
    return f"{per_second / 1e6:.2f} M" if per_second >= 1e5 else f"{per_second / 1e3:.1f} k"


def _setting(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)
