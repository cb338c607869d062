"""How topics are shown: as a tree of text, as HTML in notebooks, as data frames (extra `pandas`) and as figures of
matplotlib (extra `plots`). Most of these functions are methods of `Topics` and `Breakdown`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from html import escape
from io import BytesIO
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from spherevec.corpus.tokenize.function_words import same_word
from spherevec.errors import ConfigError, import_extra
from spherevec.html import Html, table_html
from spherevec.topics.partition import merge_order

if TYPE_CHECKING:
    from spherevec.topics.breakdown import Breakdown
    from spherevec.topics.state import Topic
    from spherevec.topics.topics import Topics

# Further words of a topic in a tree and in HTML; width of the longest bar; typical topics of a group.
_WORDS_IN_TREE, _WORDS_IN_HTML, _BAR, _TYPICAL = 4, 6, 120, 3
_LEFT = "text-align:left"  # of cells
# Panels of a figure, and in one row of it; topics in a figure of lines or bars.
_MOST_PANELS, _PANELS_A_ROW, _LINES, _BARS = 12, 4, 4, 8


class Branch(NamedTuple):
    """A topic in a tree."""

    depth: int  # 0 for the broadest
    topic: Topic
    finest: bool  # whether it is a topic of the finest level, whose number the topics go by


class TopicTree:
    """The finest topics as a tree: it prints and draws as one, and iterates over its branches from top to bottom."""

    def __init__(self, topics: Topics) -> None:
        self.topics = topics

    def __iter__(self) -> Iterator[Branch]:
        topics = self.topics
        if not topics.state.above:
            yield from (Branch(0, topic, True) for topic in topics)
            return
        for depth, topic, nearest in TopicTree(topics.parents):
            children = topic.children if nearest else ()
            if nearest and not children:
                topic = next(one for one in topics if one.parent == topic.number)
            yield Branch(depth, topic, nearest and not children)
            yield from (Branch(depth + 1, topics[number], True) for number in children)

    def __repr__(self) -> str:
        lines = []
        for depth, topic, finest in self:
            number = f"{topic.number}: " if finest else ""
            words = further_words(topic, _WORDS_IN_TREE)
            more = f" · {', '.join(words)}" if words else ""
            lines.append(f"{'   ' * depth}{number}{topic.title} ({topic.size:,}){more}")
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        return self.topics._repr_html_()

    def merges(self) -> list[tuple[int, int]]:
        """Pairs of topics in the order of their merging; the i-th merge makes the node max(numbers) + 1 + i."""
        numbers = self.topics.numbers
        next_node = max(numbers) + 1
        names = [*numbers, *range(next_node, next_node + len(numbers))]
        return [(names[a], names[b]) for a, b in merge_order(self.topics.components.sums_of_topics()).tolist()]

    def plot(self) -> Any:
        """A matplotlib figure; see `Topics.plot_tree`."""
        return self.topics.plot_tree()


def further_words(topic: Topic, topn: int) -> list[str]:
    """The best words of a topic that its title does not hold."""
    said = [word.strip().lower() for word in topic.title.split(",")]
    return [word for word in topic.words if not any(same_word(word, other) for other in said)][:topn]


def _example(topics: Topics, number: int) -> str:
    """The title of a typical document."""
    return "".join(topics.document_in(row).title for row in topics.examples(number, 1))


def topics_html(topics: Topics) -> str:
    """The tree of topics: bars of their sizes, titles, further words and an example each."""
    most = max((topic.size for _, topic, _ in topics.tree), default=1)
    rows: list[list[Any]] = []
    for depth, topic, finest in topics.tree:
        title = f"<b>{escape(topic.title)}</b>" if depth == 0 else escape(topic.title)
        number, example = (topic.number, _example(topics, topic.number)[:60]) if finest else ("", "")
        name = Html(f'<span style="padding-left:{1.5 * depth}em">{title}</span>')
        words = ", ".join(further_words(topic, _WORDS_IN_HTML))
        rows.append([number, f"{topic.size:,}", _bar(topic.size / max(most, 1)), name, words, example])
    for count, what in ((topics.n_other, "other"), (topics.n_unknown, "no known word")):
        if count:
            rows.append([-1, f"{count:,}", "", Html(f"<i>{what}</i>"), "", ""])
    return table_html(["topic", "documents", "", "name", "further words", "example"], rows, repr(topics), _LEFT)


def topic_html(topic: Topic) -> str:
    """One topic: its size and its words."""
    caption = f"{topic.title} ({topic.size:,} documents)"
    return table_html(["topic", "words"], [[topic.number, ", ".join(topic.words)]], caption, _LEFT)


def breakdown_html(found: Breakdown) -> str:
    """Groups of documents: their sizes, and the topics that are typical of each."""
    sizes = found.counts.sum(axis=1)
    most = max(int(sizes.max(initial=1)), 1)
    rows = [
        [group, f"{int(size):,}", _bar(size / most), "; ".join(found.typical(group)[:_TYPICAL])]
        for group, size in zip(found.groups, sizes, strict=True)
    ]
    moving = {"rising": found.rising(), "falling": found.falling()}
    caption = ". ".join(f"{what}: {'; '.join(titles)}" for what, titles in moving.items() if titles)
    return table_html([found.field, "documents", "", "typical topics"], rows, caption, _LEFT)


def topics_frame(topics: Topics) -> Any:
    """A data frame, one row a topic: number, title, size, share, words, parent, example (extra `pandas`)."""
    broad = topics.parents
    rows = []
    for topic in topics:
        share, example = topic.size / max(len(topics.labels), 1), _example(topics, topic.number)
        parent = "" if topic.parent is None else broad[topic.parent].title
        rows.append((topic.number, topic.title, topic.size, share, ", ".join(topic.words), parent, example))
    columns = ["topic", "title", "size", "share", "words", "parent", "example"]
    return import_extra("pandas", "to_pandas()", "pandas").DataFrame(rows, columns=columns)


def documents_frame(topics: Topics) -> Any:
    """A data frame, one row a document: id, title, topic, name, parent, probability (extra `pandas`)."""
    pandas = import_extra("pandas", "documents()", "pandas")
    table, columns = topics.model.documents, document_columns(topics)
    assert table is not None
    return pandas.DataFrame(
        {
            "id": columns["id"],
            "title": [table.title(row) for row in range(len(topics.labels))],
            "topic": columns["topic"],
            "name": columns["name"],
            "parent": columns["parent_name"],
            "probability": topics.probability,
        }
    )


def document_columns(topics: Topics) -> dict[str, Any]:
    """Which topic each document belongs to, as columns of a CSV file; −1 and empty cells where it belongs to none."""
    table, labels = topics.model.documents, topics.labels
    assert table is not None
    names = np.array([*topics.titles, ""], object)[labels]
    names[(labels < 0) & topics.known] = "other"
    broad: dict[int | None, tuple[Any, str]] = {one.number: (one.number, one.title) for one in topics.parents}
    parents: Any = np.array([*(broad.get(topic.parent, ("", "")) for topic in topics), ("", "")], object)[labels]
    return {
        "id": [str(one) for one in table.ids],
        "topic": np.append(topics.numbers, -1)[labels],
        "name": names,
        "probability": [f"{chance:.4f}" for chance in topics.probability],
        "second": np.where(labels < 0, "", np.array([*topics.numbers, ""], object)[topics.second]),
        "parent": parents[:, 0],
        "parent_name": parents[:, 1],
    }


def breakdown_frame(found: Breakdown) -> Any:
    """A data frame, one row a group and topic: count, share, p_more, p_fewer (extra `pandas`)."""
    n_topics = len(found.numbers)
    return import_extra("pandas", "to_pandas()", "pandas").DataFrame(
        {
            found.field: np.repeat(np.array(found.groups, object), n_topics),
            "topic": np.tile(found.numbers, len(found.groups)),
            "title": np.tile(np.array(found.titles, object), len(found.groups)),
            "count": found.counts.ravel(),
            "share": found.shares.ravel(),
            "p_more": found.p_more.ravel(),
            "p_fewer": found.p_fewer.ravel(),
        }
    )


def _bar(share: float) -> Html:
    return Html(f'<div style="background:#5069c8;height:.8em;width:{max(1, round(_BAR * share))}px"></div>')


def plot_words(topics: Topics, numbers: int | Sequence[int] | None = None, topn: int = 8) -> Any:
    """A matplotlib figure: bars of the best words of each topic (extra `plots`)."""
    chosen = (topics.numbers if numbers is None else _listed(numbers))[:_MOST_PANELS]
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
    """A matplotlib figure: which topics are most alike, in a colour for each broader topic (extra `plots`)."""
    from scipy.cluster.hierarchy import dendrogram

    if len(topics) < 2:
        raise ConfigError("one topic makes no tree; find more with k=…")
    figure = _figure(8, 1 + 0.28 * len(topics))
    panel = figure.subplots()
    sizes = [1] * len(topics)
    links = []
    for step, (a, b) in enumerate(merge_order(topics.components.sums_of_topics()).tolist()):
        sizes.append(sizes[a] + sizes[b])
        links.append([a, b, step + 1, sizes[-1]])
    labels = [f"{topic.title} ({topic.size:,})" for topic in topics]
    drawn = dendrogram(np.array(links, float), labels=labels, orientation="left", ax=panel, color_threshold=0)
    for label, row in zip(panel.get_yticklabels(), drawn["leaves"], strict=True):
        parent = topics.parent_of(row)
        if parent is not None:
            label.set_color(f"C{topics.parents.numbers.index(parent) % 10}")
    panel.set_xlabel("order of merging")
    return figure


def plot_breakdown(found: Breakdown, numbers: int | Sequence[int] | None = None) -> Any:
    """A matplotlib figure: shares as lines over time, or as bars by group (extra `plots`).

    Args:
        numbers: of the topics to draw; by default a few: the largest, over time those with the surest trend.
    """
    most = _LINES if found.ordered else _BARS
    # Without an order there is no trend, and sizes decide.
    telling = np.lexsort((-found.counts.sum(axis=0), -np.abs(found.trend), found.p_trend))[:most].tolist()
    chosen = telling if numbers is None else [found.numbers.index(number) for number in _listed(numbers)]
    figure = _figure(9.5, 4)
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
    panel.legend(fontsize=8, loc="upper left", bbox_to_anchor=(1, 1))  # beside the bars and lines
    return figure


def _listed(numbers: Any) -> list[Any]:
    """One topic, or several, as a list."""
    return [numbers] if isinstance(numbers, str | int | np.integer) else list(numbers)


def _figure(width: float, height: float) -> Any:
    """A figure that a notebook shows without pyplot."""
    module = import_extra("matplotlib.figure", "plot()", "plots")
    figure = module.Figure(figsize=(width, height), layout="constrained")
    figure._repr_png_ = partial(_png, figure)
    return figure


def _png(figure: Any) -> bytes:
    written = BytesIO()
    figure.savefig(written, format="png")
    return written.getvalue()
