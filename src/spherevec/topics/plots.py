"""Pictures of topics through matplotlib (extra `plots`), each one call."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from spherevec.errors import ConfigError, MissingExtraError

if TYPE_CHECKING:
    from spherevec.topics.result import Topics

_KINDS = ("words", "tree", "over")
_MOST_PANELS = 12
_PANELS_A_ROW = 4


def draw(topics: Topics, kind: str, **options: Any) -> Any:
    """A figure of the topics.

    Args:
        kind: "words": bars of the best words of each topic; "tree": which topics merge first; "over": shares over
            time, with `field` and `unit`.
        options: `numbers` chooses topics of "words" and "over".
    """
    if kind not in _KINDS:
        raise ConfigError(f"kind must be one of {', '.join(_KINDS)}, not {kind!r}")
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise MissingExtraError("plot()", "plots") from None
    figure = Figure(layout="constrained")
    {"words": _words, "tree": _tree, "over": _over}[kind](topics, figure, **options)
    return figure


def _words(topics: Topics, figure: Any, numbers: list[int] | None = None, topn: int = 8) -> None:
    chosen = (topics.numbers if numbers is None else numbers)[:_MOST_PANELS]
    columns = min(_PANELS_A_ROW, len(chosen))
    rows = -(-len(chosen) // columns)
    figure.set_size_inches(3.2 * columns, 2.2 * rows)
    panels = figure.subplots(rows, columns, squeeze=False).ravel()
    for panel, number in zip(panels, chosen, strict=False):
        found = topics.words(number, topn)[::-1]
        panel.barh([word for word, _ in found], [score for _, score in found], color="#4477aa")
        panel.set_title(f"{number}: {topics[number].title}", fontsize=9)
        panel.set_xticks([])
        panel.tick_params(labelsize=8)
    for panel in panels[len(chosen) :]:
        panel.set_axis_off()


def _tree(topics: Topics, figure: Any) -> None:
    from scipy.cluster.hierarchy import dendrogram

    if len(topics) < 2:
        raise ConfigError("one topic makes no tree; find more with k=…")
    figure.set_size_inches(8, 1 + 0.28 * len(topics))
    panel = figure.subplots()
    place = {number: row for row, number in enumerate(topics.numbers)}
    sizes = dict.fromkeys(range(len(topics)), 1)
    links = []
    for step, pair in enumerate(topics.tree()):
        a, b = (place[node] if node in place else node - max(topics.numbers) - 1 + len(topics) for node in pair)
        sizes[len(topics) + step] = sizes[a] + sizes[b]
        links.append([a, b, step + 1, sizes[a] + sizes[b]])
    labels = [f"{topic.title} ({topic.size:,})" for topic in topics]
    dendrogram(np.array(links, float), labels=labels, orientation="left", ax=panel, color_threshold=0)
    panel.set_xlabel("order of merging")


def _over(
    topics: Topics, figure: Any, field: str | None = None, unit: str = "month", numbers: list[int] | None = None
) -> None:
    if field is None:
        raise ConfigError("kind='over' needs the field of dates: plot('over', field='created')")
    found = topics.over(field, unit)
    figure.set_size_inches(8, 4)
    panel = figure.subplots()
    for number in topics.numbers[:_PANELS_A_ROW] if numbers is None else numbers:
        place = topics.place(number)
        panel.plot(found.groups, found.shares[:, place], marker="o", markersize=3, label=topics[number].title)
    panel.set_ylabel("share of documents")
    panel.set_ylim(bottom=0)
    panel.tick_params(axis="x", rotation=60, labelsize=8)
    panel.legend(fontsize=8)
