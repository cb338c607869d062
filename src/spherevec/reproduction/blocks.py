"""What a page consists of, before it becomes Markdown or HTML."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from spherevec.reproduction.results import Figure

MISSING = "–"


@dataclass(frozen=True)
class Heading:
    text: str
    level: int = 2


@dataclass(frozen=True)
class Paragraph:
    """Text in which `backquotes` mark code."""

    text: str


@dataclass(frozen=True)
class Bullets:
    items: tuple[str, ...]


@dataclass(frozen=True)
class Drawing:
    """A plot: the name of its file, an SVG document, and what it shows."""

    name: str
    svg: str
    caption: str


@dataclass(frozen=True)
class Column:
    """A column; those with the same `group` stand under one heading. `paper` marks figures that were not measured."""

    title: str
    group: str = ""
    paper: bool = False
    numbers: bool = True


@dataclass(frozen=True)
class Entry:
    text: str
    best: bool = False


@dataclass(frozen=True)
class Table:
    caption: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[Entry, ...], ...] = field(default=())


Block: TypeAlias = Heading | Paragraph | Bullets | Drawing | Table


def figure_text(figure: Figure | None, digits: int = 3) -> str:
    if figure is None:
        return MISSING
    spread = "" if figure.std is None else f" ± {figure.std:.{digits}f}"
    return f"{figure.mean:.{digits}f}{spread}"


def marked(figures: Sequence[Figure | None], digits: int = 3) -> list[Entry]:
    """A column of figures of which more is better; those within the deviation of the best are marked."""
    known = [figure for figure in figures if figure is not None]
    best = max(known, key=lambda figure: figure.mean, default=None)
    return [
        Entry(
            figure_text(figure, digits),
            best is not None and figure is not None and len(known) > 1 and figure.is_as_good_as(best),
        )
        for figure in figures
    ]


def from_columns(caption: str, columns: Sequence[tuple[Column, Sequence[Entry]]]) -> Table:
    """A table of columns that are equally long."""
    return Table(
        caption,
        tuple(column for column, _ in columns),
        tuple(zip(*(entries for _, entries in columns), strict=True)),
    )
