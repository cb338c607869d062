"""The plots of the page; each returns None where nothing has been measured for it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from spherevec.reproduction.blocks import Drawing
from spherevec.reproduction.drawing import colour, figure, mark, svg
from spherevec.reproduction.methods import METHODS, document_title
from spherevec.reproduction.plan import DATA_TITLES, MAPPED_METHOD, NEWS, ORDER_METHODS, REVIEWS, WIKI
from spherevec.reproduction.results import Figure, Results
from spherevec.reproduction.tables import SIMILARITY_TITLES

SCATTERED = ("spherevec-default", "word2vec")
CURVES = ("spherevec-default", "spherevec-paper")


def drawings(results: Results, kinds: Iterable[Callable[[Results], Drawing | None]]) -> list[Drawing]:
    return [drawn for drawn in (draw(results) for draw in kinds) if drawn is not None]


def similarity_scatter(results: Results) -> Drawing | None:
    rows = [(method, found[0]) for method in SCATTERED if (found := results.of("words", WIKI, method))]
    if not rows:
        return None
    with figure(2.6 * len(rows), len(rows), 3, sharey=True, squeeze=False) as (drawn, axes):
        for line, (method, measured) in zip(axes, rows, strict=True):
            for axis, (name, title) in zip(line, SIMILARITY_TITLES.items(), strict=True):
                cosines, scores = measured["scatter"][name]
                axis.plot(scores, cosines, ".", color=colour(method), alpha=0.3, markersize=4, rasterized=True)
                spearman = measured["similarity"][name]["spearman"]
                shown = "" if spearman is None or spearman != spearman else f", Spearman {spearman:.3f}"
                axis.set_title(f"{title}{shown}")
                axis.set_xlabel("human score")
            line[0].set_ylabel(f"{METHODS[method].title}\ncosine")
        return Drawing(
            "similarity",
            svg(drawn),
            "Human judgement against the cosine of two words, every covered pair (first seed).",
        )


def clustering_bars(results: Results) -> Drawing | None:
    return _order_bars(
        results,
        NEWS,
        "nmi",
        "NMI, spherical K-Means",
        lambda method, order: results.clustering(method, order, "skmeans", "nmi"),
        "Agreement of clusters with classes on 20 Newsgroups. Bars are means, lines one deviation to each side.",
    )


def news_bars(results: Results) -> Drawing | None:
    return _order_bars(
        results,
        NEWS,
        "f1-news",
        "micro-F1 of 3-NN, 20 Newsgroups",
        lambda method, order: results.classification(NEWS, method, order, "micro_f1"),
        "3-NN classification of 20 Newsgroups; deviation over trainings, where there are several.",
    )


def review_bars(results: Results) -> Drawing | None:
    return _order_bars(
        results,
        REVIEWS,
        "f1-reviews",
        "macro-F1 of 3-NN, movie reviews",
        lambda method, order: results.classification(REVIEWS, method, order, "macro_f1"),
        "3-NN classification of movie reviews; deviation over random splits and trainings.",
    )


def neighbour_curves(results: Results) -> Drawing | None:
    panels = [(NEWS, "micro_f1", "micro-F1"), (REVIEWS, "macro_f1", "macro-F1")]
    panels = [panel for panel in panels if any(results.of("documents", panel[0], name) for name in METHODS)]
    if not panels:
        return None
    with figure(3.9, 1, len(panels), squeeze=False) as (drawn, axes):
        for axis, (data, measure, title) in zip(axes[0], panels, strict=True):
            for method in results.rows("documents", data):
                curve = [
                    (k, found.mean)
                    for k in range(1, 11)
                    if (found := results.classification(data, method.name, "shuffled", measure, k))
                ]
                if curve:
                    axis.plot(
                        *zip(*curve, strict=True),
                        color=colour(method.name),
                        marker=mark(method.name),
                        markersize=4,
                        linewidth=1.4,
                        label=document_title(method),
                    )
            axis.set(title=DATA_TITLES[data], xlabel="k, neighbours that vote", ylabel=title, xticks=range(1, 11))
        _legend_below(drawn, axes[0])
        return Drawing(
            "neighbours", svg(drawn), "Classification by k nearest neighbours, k from 1 to 10, shuffled order."
        )


def quality_against_time(results: Results) -> Drawing | None:
    """Points of (seconds, quality), and the quicker and better the further to the upper left."""
    panels: list[tuple[str, str, list[tuple[str, float, Figure]]]] = []
    news: list[tuple[str, Callable[[str], Figure | None]]] = [
        ("NMI, 20 Newsgroups", lambda name: results.clustering(name, "shuffled", "skmeans", "nmi")),
        ("micro-F1, 20 Newsgroups", lambda name: results.classification(NEWS, name, "shuffled", "micro_f1")),
    ]
    for title, take in news:
        points = [
            (method.name, seconds, found)
            for method in results.rows("documents", NEWS)
            if (seconds := results.training_seconds(method.name)) and (found := take(method.name))
        ]
        panels.append((title, "seconds for a whole training", points))
    words = [
        (method.name, seconds, found)
        for method in results.rows("words", WIKI)
        if (seconds := _seconds_on_wiki(results, method.name)) and (found := results.similarity(method.name, "men"))
    ]
    panels.append(("Spearman on MEN, Wikipedia", "seconds, from the rate", words))
    panels = [panel for panel in panels if panel[2]]
    if not panels:
        return None
    with figure(4.3, 1, len(panels), squeeze=False) as (drawn, axes):
        for axis, (title, seconds_title, points) in zip(axes[0], panels, strict=True):
            for name, seconds, found in points:
                axis.errorbar(
                    seconds,
                    found.mean,
                    yerr=found.std,
                    color=colour(name),
                    marker=mark(name),
                    markersize=8,
                    linestyle="none",
                    label=METHODS[name].title,
                )
            axis.set(title=title, xlabel=seconds_title, xscale="log")
            _plain_log_ticks(axis)
        _legend_below(drawn, axes[0])
        return Drawing(
            "quality-time",
            svg(drawn),
            "Quality against training time: up is better, left is quicker (time on a logarithmic scale). Documents in"
            " shuffled order; seconds on Wikipedia follow from the rate on 20 Newsgroups.",
        )


def learning_curves(results: Results) -> Drawing | None:
    sources = {NEWS: "documents", WIKI: "words"}
    lines = [
        (data, method, found[0]["record"])
        for data, kind in sources.items()
        for method in CURVES
        if (found := results.of(kind, data, method, "shuffled"))
    ]
    if not lines:
        return None
    titles = [f"loss, {METHODS[method].title.removeprefix('spherevec, ')}" for method in CURVES]
    with figure(3.2, 1, 3) as (drawn, axes):
        for data, method, record in lines:
            epochs = [epoch["epoch"] for epoch in record]
            style = {
                "color": colour(method),
                "linestyle": "-" if data == NEWS else "--",
                "marker": "o",
                "markersize": 3,
            }
            label = DATA_TITLES[data]
            axes[CURVES.index(method)].plot(epochs, [epoch["loss"] for epoch in record], label=label, **style)
            lengths = [epoch["mean_resultant_length"] for epoch in record]
            recipe = METHODS[method].title.removeprefix("spherevec, ")
            axes[2].plot(epochs, lengths, label=f"{recipe}, {label}", **style)
        for axis, title in zip(axes, [*titles, "mean resultant length"], strict=True):
            axis.set(title=title, xlabel="epoch")
            # The last one has four lines, and needs room above them for its legend.
            axis.set_ylim(0, axis.get_ylim()[1] * (1.5 if axis is axes[2] else 1.0))
            axis.xaxis.get_major_locator().set_params(integer=True)
            if axis.has_data():
                axis.legend(fontsize=8)
        return Drawing(
            "learning",
            svg(drawn),
            "Learning curves. The two losses are different functions and cannot be compared with each other. The mean"
            " resultant length is that of the word vectors while they are trained: 0 is a perfect spread, 1 is all in"
            " one direction.",
        )


def sortedness(results: Results) -> Drawing | None:
    lines: dict[str, list[tuple[float, Figure]]] = {}
    for cell, found in results.found.items():
        whole_file = cell.kind == "documents" and cell.data == NEWS and cell.order == "file" and cell.seed == 1
        if cell.method in ORDER_METHODS and (cell.kind == "order" or whole_file):
            nmi = Figure.of(found["clustering"]["kmeans"]["nmi"]["values"])
            assert nmi is not None
            lines.setdefault(cell.method, []).append((1 - (cell.share or 0.0), nmi))
    if not lines:
        return None
    with figure(3.6) as (drawn, axis):
        for method in ORDER_METHODS:
            if method in lines:
                shares, figures = zip(*sorted(lines[method], key=lambda point: point[0]), strict=True)
                axis.errorbar(
                    shares,
                    [one.mean for one in figures],
                    yerr=[one.std or 0.0 for one in figures],
                    color=colour(method),
                    marker=mark(method),
                    capsize=3,
                    label=METHODS[method].title,
                )
        axis.set(
            xlabel="share of documents left where the file has them, sorted by class",
            ylabel="NMI, K-Means",
            title="The order of the text, and what it does to the figures",
        )
        axis.xaxis.set_major_formatter("{x:.0%}")
        axis.legend()
        return Drawing(
            "order",
            svg(drawn),
            "NMI against how sorted 20 Newsgroups is when it is trained: 0 % is shuffled, 100 % the order of the file."
            " Every method visits documents in the order given here.",
        )


def document_map(results: Results) -> Drawing | None:
    found = next((one["map"] for one in results.of("documents", NEWS, MAPPED_METHOD) if "map" in one), None)
    if found is None:
        return None
    from matplotlib import colormaps

    places, labels = np.array(found["places"]), np.array(found["labels"])
    colours = colormaps["tab20"](range(20))
    with figure(6.2) as (drawn, axis):
        for number, name in enumerate(found["classes"]):
            chosen = places[labels == number]
            axis.plot(
                chosen[:, 0], chosen[:, 1], ".", color=colours[number % 20], markersize=4, label=name, rasterized=True
            )
        _bare(axis)
        drawn.legend(*axis.get_legend_handles_labels(), loc="outside right center", fontsize=8, markerscale=2.5)
        return Drawing(
            "map-documents",
            svg(drawn),
            f"{len(places):,} documents of 20 Newsgroups, drawn at random, in two dimensions (t-SNE of"
            f" {METHODS[MAPPED_METHOD].title}, shuffled). Classes give the colours and nothing else.",
        )


def word_map(results: Results) -> Drawing | None:
    found = next((one["map"] for one in results.of("words", WIKI, MAPPED_METHOD) if "map" in one), None)
    if found is None:
        return None
    from matplotlib import colormaps

    places = np.array(found["places"])
    colours = colormaps["tab10"](range(10))
    with figure(7.2) as (drawn, axis):
        axis.plot(places[:, 0], places[:, 1], ".", color="#ffffff", markersize=1)
        for (x, y), word, group in zip(places, found["words"], found["labels"], strict=True):
            axis.text(x, y, word, fontsize=6.2, color=colours[group % 10], ha="center", va="center", clip_on=True)
        _bare(axis)
        return Drawing(
            "map-words",
            svg(drawn),
            f"The {len(places)} most frequent words of Wikipedia that carry meaning, in two dimensions (t-SNE of"
            f" {METHODS[MAPPED_METHOD].title}). Colours are clusters of the vectors themselves.",
        )


def _order_bars(
    results: Results,
    data: str,
    name: str,
    title: str,
    take: Callable[[str, str], Figure | None],
    caption: str,
) -> Drawing | None:
    methods = [method for method in results.rows("documents", data) if take(method.name, "shuffled")]
    if not methods:
        return None
    with figure(0.9 + 0.42 * len(methods)) as (drawn, axis):
        places = np.arange(len(methods))[::-1]
        for order, shift, fill in (("file", 0.2, 0.35), ("shuffled", -0.2, 1.0)):
            found = [take(method.name, order) for method in methods]
            axis.barh(
                places + shift,
                [one.mean if one else 0.0 for one in found],
                0.38,
                xerr=[np.nan if one is None or one.std is None else one.std for one in found],
                color=[colour(method.name) for method in methods],
                alpha=fill,
                error_kw={"elinewidth": 1, "capsize": 2},
            )
            for place, one in zip(places + shift, found, strict=True):
                if one:
                    axis.text(one.mean + (one.std or 0.0) + 0.006, place, f"{one.mean:.3f}", va="center", fontsize=7.5)
        axis.set_yticks(places, [document_title(method) for method in methods])
        axis.grid(axis="y", visible=False)
        axis.set(xlabel=title)
        return Drawing(name, svg(drawn), f"{caption} Pale: file order, which leaks the classes; full: shuffled.")


def _seconds_on_wiki(results: Results, method: str) -> float | None:
    turns = results.times(method)
    found = results.of("words", WIKI, method)
    if not turns or not found:
        return None
    rate = float(np.median([turn.rate for turn in turns]))
    return float(found[0]["corpus"]["tokens"] * results.run.scale.epochs[WIKI] / rate)


def _legend_below(drawn: Any, axes: Any) -> None:
    entries: dict[str, Any] = {}
    for axis in axes:
        for handle, label in zip(*axis.get_legend_handles_labels(), strict=True):
            entries.setdefault(label, handle)
    drawn.legend(entries.values(), entries.keys(), loc="outside lower center", ncols=3, fontsize=8)


def _plain_log_ticks(axis: Any) -> None:
    """1, 2, 5, 10, 20, …: as many as fit, in plain figures."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    low, high = axis.get_xlim()
    axis.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5) if high / low < 200 else (1,)))
    axis.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axis.xaxis.set_minor_formatter(NullFormatter())


def _bare(axis: Any) -> None:
    axis.grid(visible=False)
    axis.set(xticks=[], yticks=[])
    for side in axis.spines.values():
        side.set_visible(False)
