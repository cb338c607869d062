"""How plots look, and how they become SVG: the same input gives the same file."""

from __future__ import annotations

import io
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from spherevec.reproduction.methods import METHODS

WIDTH = 8.2  # inches; at 100 pixels an inch, about what a page shows

# One colour and one mark a method, everywhere; colours that the colour-blind can tell apart, ours the strongest.
_COLOURS = {
    "spherevec-default": "#0b57d0",
    "spherevec-paper": "#6fb1ff",
    "word2vec": "#d55e00",
    "fasttext": "#a6761d",
    "glove": "#117733",
    "poincare-glove": "#88a61d",
    "doc2vec-dbow": "#aa3377",
    "doc2vec-dm": "#e39ac2",
    "sif": "#e69f00",
    "tfidf-svd": "#555555",
    "minilm": "#000000",
}
_MARKS = dict(zip(METHODS, "DoXP^v<>ps*", strict=True))


def colour(method: str) -> str:
    return _COLOURS[method]


def mark(method: str) -> str:
    return _MARKS[method]


@contextmanager
def figure(height: float, rows: int = 1, columns: int = 1, **options: Any) -> Iterator[tuple[Any, Any]]:
    """A figure as wide as the page and its axes; closed at the end."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    style = {
        "font.size": 9,
        "axes.titlesize": 10,
        "axes.spines.top": False,
        "axes.spines.right": False,
        "axes.grid": True,
        "axes.axisbelow": True,
        "grid.color": "#e3e6ea",
        "legend.frameon": False,
        "svg.hashsalt": "spherevec",
        "figure.dpi": 100,
    }
    with pyplot.rc_context(style):
        drawn, axes = pyplot.subplots(rows, columns, figsize=(WIDTH, height), layout="constrained", **options)
        try:
            yield drawn, axes
        finally:
            pyplot.close(drawn)


def svg(drawn: Any) -> str:
    buffer = io.StringIO()
    drawn.savefig(buffer, format="svg", dpi=160, metadata={"Date": None, "Creator": None})
    text = buffer.getvalue()
    return "\n".join(line.rstrip() for line in text.splitlines()) + "\n"
