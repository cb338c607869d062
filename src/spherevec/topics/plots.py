"""Pictures of topics through matplotlib (extra `plots`), each one call."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from spherevec.errors import ConfigError, MissingExtraError

if TYPE_CHECKING:
    from spherevec.topics.fields import Breakdown
    from spherevec.topics.result import Topics

_MOST_PANELS = 12
_PANELS_A_ROW = 4
_LINES = 4
_BARS = 8


def plot_words(topics: Topics, numbers: Sequence[int] | None, topn: int) -> Any:
    """Bars of the best words of each topic."""
    chosen = (topics.numbers if numbers is None else list(numbers))[:_MOST_PANELS]
    columns = min(_PANELS_A_ROW, len(chosen))
    rows = -(-len(chosen) // columns)
    figure = _figure(3.2 * columns, 2.2 * rows)
    panels = figure.subplots(rows, columns, squeeze=False).ravel()
    for panel, number in zip(panels, chosen, strict=False):
        found = topics.words(number, topn)[::-1]
        panel.barh([word for word, _ in found], [score for _, score in found], color="#4477aa")
        panel.set_title(f"{number}: {topics[number].title}", fontsize=9)
        panel.set_xticks([])
        panel.tick_params(labelsize=8)
    for panel in panels[len(chosen) :]:
        panel.set_axis_off()
    return figure


def plot_tree(topics: Topics) -> Any:
    """A dendrogram of the topics, in a colour for each broader topic."""
    from scipy.cluster.hierarchy import dendrogram

    if len(topics) < 2:
        raise ConfigError("one topic makes no tree; find more with k=…")
    figure = _figure(8, 1 + 0.28 * len(topics))
    panel = figure.subplots()
    place = {number: row for row, number in enumerate(topics.numbers)}
    sizes = dict.fromkeys(range(len(topics)), 1)
    links = []
    for step, pair in enumerate(topics.tree.merges()):
        a, b = (place[node] if node in place else node - max(topics.numbers) - 1 + len(topics) for node in pair)
        sizes[len(topics) + step] = sizes[a] + sizes[b]
        links.append([a, b, step + 1, sizes[a] + sizes[b]])
    labels = [f"{topic.title} ({topic.size:,})" for topic in topics]
    drawn = dendrogram(np.array(links, float), labels=labels, orientation="left", ax=panel, color_threshold=0)
    for label, row in zip(panel.get_yticklabels(), drawn["leaves"], strict=True):
        parent = topics.parent_of(row)
        if parent is not None:
            label.set_color(f"C{topics.parents.numbers.index(parent) % 10}")
    panel.set_xlabel("order of merging")
    return figure


def plot_breakdown(found: Breakdown, numbers: Sequence[int] | None) -> Any:
    """Shares of topics: lines over periods, bars by group."""
    most = _LINES if found.ordered else _BARS
    largest = [found.numbers[place] for place in np.argsort(-found.counts.sum(axis=0), kind="stable")[:most]]
    chosen = [found.numbers.index(number) for number in (largest if numbers is None else numbers)]
    figure = _figure(8, 4)
    panel = figure.subplots()
    steps = np.arange(len(found.groups))
    for order, topic in enumerate(chosen):
        shares, title = found.shares[:, topic], found.titles[topic]
        if found.ordered:
            panel.plot(steps, shares, marker="o", markersize=3, label=title)
        else:
            panel.bar(steps + 0.8 * (order / len(chosen) - 0.5), shares, 0.8 / len(chosen), align="edge", label=title)
    panel.set_xticks(steps, found.groups)
    panel.set_ylabel("share of documents")
    panel.set_ylim(bottom=0)
    panel.tick_params(axis="x", rotation=60, labelsize=8)
    panel.legend(fontsize=8)
    return figure


def _figure(width: float, height: float) -> Any:
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise MissingExtraError("plot()", "plots") from None
    return Figure(figsize=(width, height), layout="constrained")
