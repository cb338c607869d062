"""The figures of the page as SVG; the same results give the same files. What has not been measured is not drawn."""

from __future__ import annotations

import io
from collections.abc import Callable
from typing import Any

import matplotlib
import numpy as np

from experiments.paper.plan import DATA_TITLES, METHODS, NEWS, ORDER_METHODS, REVIEWS, Scale
from experiments.paper.results import Results
from experiments.paper.tables import times_of

matplotlib.use("Agg")
from matplotlib import pyplot

WIDTH = 8.2  # inches
# One colour and one mark a method, everywhere; the default recipe has the strong blue, the paper's the pale one.
_STYLES = zip(METHODS, matplotlib.colormaps["tab20"]([1, 0, *range(2, 20)]), "DoXP^v<>ps*", strict=False)
STYLE = {name: {"color": colour, "marker": mark} for name, colour, mark in _STYLES}
_LOOK = {
    "font.size": 9, "axes.titlesize": 10, "axes.spines.top": False, "axes.spines.right": False, "axes.grid": True,
    "axes.axisbelow": True, "grid.color": "#e3e6ea", "legend.frameon": False, "svg.hashsalt": "spherevec",
}  # fmt: skip


class Nothing(Exception):
    """Nothing has been measured for a figure."""


def all_figures(results: Results, scale: Scale) -> dict[str, str]:
    """Name → SVG."""
    figures = {}
    with pyplot.rc_context(_LOOK):
        for name, draw in FIGURES.items():
            try:
                figure = draw(results, scale)
            except Nothing:
                continue
            buffer = io.StringIO()
            figure.savefig(buffer, format="svg", dpi=160, metadata={"Date": None, "Creator": None})
            pyplot.close(figure)
            figures[name] = "\n".join(line.rstrip() for line in buffer.getvalue().splitlines()) + "\n"
    return figures


def _axes(height: float, rows: int = 1, columns: int = 1) -> tuple[Any, Any]:
    figure, axes = pyplot.subplots(rows, columns, figsize=(WIDTH, height), layout="constrained", squeeze=False)
    return figure, axes


def _measured(found: list[Any]) -> list[Any]:
    if not found:
        raise Nothing
    return found


def _bars(data: str, metric: str, title: str) -> Callable[[Results, Scale], Any]:
    def draw(results: Results, scale: Scale) -> Any:
        where: dict[str, Any] = {"kind": "documents", "data": data}
        methods = _measured([name for name in METHODS if results.spread(metric, method=name, **where)])
        figure, ((axis,),) = _axes(0.9 + 0.42 * len(methods))
        places = np.arange(len(methods))[::-1]
        for order, shift, alpha in (("file", 0.2, 0.35), ("shuffled", -0.2, 1.0)):
            for place, name in zip(places + shift, methods, strict=True):
                if found := results.spread(metric, order=order, method=name, **where):
                    axis.barh(place, found.mean, 0.38, xerr=found.std, color=STYLE[name]["color"], alpha=alpha)
                    axis.text(found.mean + found.std + 0.006, place, f"{found.mean:.3f}", va="center", fontsize=7.5)
        axis.set_yticks(places, [METHODS[name].document_title or METHODS[name].title for name in methods])
        axis.set(xlabel=f"{title}; pale: file order, full: shuffled")
        return figure

    return draw


def _neighbours(results: Results, scale: Scale) -> Any:
    figure, axes = _axes(3.9, 1, 2)
    for axis, data, metric in zip(axes[0], (NEWS, REVIEWS), ("micro_f1", "macro_f1"), strict=True):
        for name in METHODS:
            where: dict[str, Any] = {"kind": "documents", "data": data, "method": name, "order": "shuffled"}
            curve = [(k, found.mean) for k in range(1, 11) if (found := results.spread(f"{k}nn.{metric}", **where))]
            if curve:
                axis.plot(*zip(*curve, strict=True), **STYLE[name], markersize=4, label=METHODS[name].title)
        axis.set(title=DATA_TITLES[data], xlabel="k, neighbours that vote", ylabel=metric, xticks=range(1, 11))
    return _with_legend(figure, axes[0])


def _quality_time(results: Results, scale: Scale) -> Any:
    figure, axes = _axes(4.3, 1, 2)
    for axis, metric in zip(axes[0], ("skmeans.nmi", "3nn.micro_f1"), strict=True):
        for name in METHODS:
            seconds = [turn.whole for turn in times_of(results, name, scale)]
            found = results.spread(metric, order="shuffled", kind="documents", data=NEWS, method=name)
            if seconds and found:
                axis.errorbar(
                    np.median(seconds), found.mean, yerr=found.std, **STYLE[name], markersize=8, linestyle="none",
                    label=METHODS[name].title,
                )  # fmt: skip
        axis.set(title=f"{metric}, {DATA_TITLES[NEWS]}", xlabel="seconds for a whole training", xscale="log")
    return _with_legend(figure, axes[0])


def _order(results: Results, scale: Scale) -> Any:
    figure, ((axis,),) = _axes(3.6)
    for name in ORDER_METHODS:
        kept = [(1.0, results.spread("kmeans.nmi", order="file", kind="documents", data=NEWS, method=name, seed=1))]
        kept += [
            (1 - share, results.spread("kmeans.nmi", kind="order", method=name, share=share)) for share in scale.shares
        ]
        points = sorted((share, found.mean, found.std) for share, found in kept if found)
        if points:
            shares, means, deviations = zip(*points, strict=True)
            axis.errorbar(shares, means, yerr=deviations, **STYLE[name], capsize=3, label=METHODS[name].title)
    axis.set(xlabel="share of documents left where the file has them, sorted by class", ylabel="NMI, K-Means")
    return _with_legend(figure, [axis])


def _with_legend(figure: Any, axes: Any) -> Any:
    entries = {label: handle for axis in axes for handle, label in zip(*axis.get_legend_handles_labels(), strict=True)}
    _measured(list(entries))
    figure.legend(entries.values(), entries.keys(), loc="outside lower center", ncols=3, fontsize=8)
    return figure


FIGURES: dict[str, Callable[[Results, Scale], Any]] = {
    "order": _order,
    "nmi": _bars(NEWS, "skmeans.nmi", "NMI, spherical K-Means"),
    "f1-news": _bars(NEWS, "3nn.micro_f1", "micro-F1 of 3-NN, 20 Newsgroups"),
    "f1-reviews": _bars(REVIEWS, "3nn.macro_f1", "macro-F1 of 3-NN, movie reviews"),
    "neighbours": _neighbours,
    "quality-time": _quality_time,
}
