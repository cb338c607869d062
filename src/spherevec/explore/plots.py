"""A picture of the map for papers and slides (extra `plots`)."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from spherevec.errors import ConfigError, MissingExtraError
from spherevec.explore.data import Field, PageData

if TYPE_CHECKING:
    from spherevec.model import Model

# The page's eight colours, which people with colour blindness can tell apart.
COLOURS = ("#5069c8", "#e3b831", "#a63c0c", "#2cdcaf", "#775774", "#d56f2c", "#9fa5f9", "#a9819b")
OTHER = "#8c929b"
_SECONDS_OF_A_DAY = 86_400


def plot_map(model: Model, *, axes: Any = None, colour_by: str | None = None, labels: int = 25, **options: Any) -> Any:
    """Draw the flat map with matplotlib and return its axes.

    Args:
        axes: where to draw; a new figure when not given.
        colour_by: a kept field; topics by default.
        labels: how many topics to name, the largest first.
        options: as of `write_page`: topics, seed, threads.
    """
    from spherevec.explore.from_model import page_data

    return draw_map(page_data(model, words=0, **options), axes=axes, colour_by=colour_by, labels=labels)


def draw_map(data: PageData, *, axes: Any = None, colour_by: str | None = None, labels: int = 25) -> Any:
    """Draw what a page shows; the arguments are those of `plot_map`."""
    try:
        from matplotlib import dates, patches, patheffects, pyplot, ticker
    except ImportError:
        raise MissingExtraError("plot_map()", "plots") from None
    if axes is None:
        axes = pyplot.figure(figsize=(11, 5.7), layout="constrained").add_subplot()
    centre = _centre(data)
    edge = patches.Ellipse((0, 0), 4 * math.sqrt(2), 2 * math.sqrt(2), facecolor="#e8eff5", edgecolor="#c3ced8")
    axes.add_patch(edge)
    points = flatten(data.doc_places, centre)
    size = min(max(40_000 / max(len(points), 1), 0.4), 14)
    field = _field(data, colour_by)
    if field is not None and field.kind in ("number", "date"):
        ticks: dict[str, Any] = {}
        values = np.asarray(field.values, float)
        if field.kind == "date":
            values = dates.date2num(np.datetime64(0, "s")) + values / _SECONDS_OF_A_DAY
            known = np.unique(values[~np.isnan(values)])
            locator = dates.AutoDateLocator() if len(known) > 1 else ticker.FixedLocator(known.tolist())
            ticks = {"ticks": locator, "format": dates.AutoDateFormatter(locator)}
        drawn = axes.scatter(*points.T, s=size, c=values, cmap="viridis", linewidths=0)
        axes.figure.colorbar(drawn, ax=axes, shrink=0.6, label=field.name, **ticks)
    else:
        codes = data.doc_topics if field is None else np.asarray(field.values)
        colours = _colours(codes, field is None)
        axes.scatter(
            *points.T, s=size, c=[colours.get(code, OTHER) for code in codes.tolist()], linewidths=0, alpha=0.8
        )
        if field is not None:
            own = {code: colour for code, colour in colours.items() if colour != OTHER}
            names = [field.labels[code].replace("$", r"\$") for code in own]
            keys = [patches.Patch(color=colour) for colour in (*own.values(), OTHER)]
            rest = int(len(colours) > len(own) or (codes < 0).any())
            legend = axes.legend(keys[: len(own) + rest], [*names, "other"][: len(own) + rest], title=field.name)
            legend.set(loc="center left", bbox_to_anchor=(1, 0.5))
    halo = [patheffects.withStroke(linewidth=2.5, foreground="white")]
    named = sorted(range(len(data.topics)), key=lambda row: -data.topics[row].size)[:labels]
    for (x, y), row in zip(flatten(data.topic_places[named], centre), named, strict=True):
        name = data.topics[row].name.replace("$", r"\$")
        axes.text(x, y, name, ha="center", va="center", fontsize=7, path_effects=halo)
    axes.set_xlim(-2.9, 2.9)
    axes.set_ylim(-1.47, 1.47)
    axes.set_aspect("equal")
    axes.set_axis_off()
    return axes


def flatten(places: NDArray[np.floating], centre: tuple[float, float] = (0.0, 0.0)) -> NDArray[np.float64]:
    """Hammer's equal-area projection, as the page draws it: unit rows (n, 3) to points (n, 2) inside an ellipse of
    width 4√2 and height 2√2.

    Args:
        centre: longitude and latitude of the middle of the map, in radians.

    >>> flatten(np.asarray([[1.0, 0.0, 0.0], [0.0, 0.0, 1.0]])).round(3).tolist()
    [[0.0, 0.0], [0.0, 1.414]]
    """
    lon, lat = centre
    east = np.asarray([-math.sin(lon), math.cos(lon), 0.0])
    north = np.asarray([-math.sin(lat) * math.cos(lon), -math.sin(lat) * math.sin(lon), math.cos(lat)])
    out = np.asarray([math.cos(lat) * math.cos(lon), math.cos(lat) * math.sin(lon), math.sin(lat)])
    rows = np.asarray(places, np.float64)
    up = np.clip(rows @ north, -1, 1)
    half = np.arctan2(rows @ east, rows @ out) / 2
    level = np.sqrt(1 - up**2)
    divisor = np.sqrt(np.maximum(1 + level * np.cos(half), 1e-12))
    return np.stack([2 * math.sqrt(2) * level * np.sin(half) / divisor, math.sqrt(2) * up / divisor], axis=1)


def _centre(data: PageData) -> tuple[float, float]:
    """The longitude of the largest topic, so that the cut lies elsewhere."""
    if not data.topics:
        return 0.0, 0.0
    x, y, _ = data.topic_places[int(np.argmax([topic.size for topic in data.topics]))]
    return math.atan2(float(y), float(x)), 0.0


def _field(data: PageData, name: str | None) -> Field | None:
    if name is None:
        return None
    for field in data.fields:
        if field.name == name and field.kind != "text":
            return field
    there = ", ".join(repr(field.name) for field in data.fields if field.kind != "text") or "none"
    raise ConfigError(f"no field {name!r} to colour by; there is {there}")


def _colours(codes: NDArray[Any], in_turn: bool) -> dict[int, str]:
    """The colour of each value: the most frequent ones have one of their own, the rest share these in turn, or grey."""
    values, counts = np.unique(codes[codes >= 0], return_counts=True)
    ranks = enumerate(values[np.argsort(-counts, kind="stable")].tolist())
    own = len(COLOURS)
    return {value: COLOURS[rank % own] if in_turn or rank < own else OTHER for rank, value in ranks}
