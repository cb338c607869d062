"""The page as Markdown, and as one HTML file that needs nothing else."""

from __future__ import annotations

import base64
import html
import re
from collections.abc import Iterable, Sequence
from itertools import groupby
from pathlib import Path

from spherevec.reproduction.blocks import Block, Bullets, Column, Drawing, Entry, Heading, Paragraph, Table

_CODE = re.compile(r"`([^`]+)`")
_DEVIATION = re.compile(r" (± [0-9.]+|\([^()]+ to [^()]+\))$")


def as_markdown(title: str, blocks: Iterable[Block], pictures: str) -> str:
    """`pictures` is the folder of the plots, beside the page."""
    parts = [f"# {title}"]
    for block in blocks:
        match block:
            case Heading(text, level):
                parts.append(f"{'#' * level} {text}")
            case Paragraph(text):
                parts.append(text)
            case Bullets(items):
                parts.append("\n".join(f"- {item}" for item in items))
            case Drawing(name, _, caption):
                parts.append(f"![{caption}]({pictures}/{name}.svg)\n\n*{caption}*")
            case Table():
                parts.append(_markdown_table(block))
    return "\n\n".join(parts) + "\n"


def as_html(title: str, blocks: Iterable[Block]) -> str:
    body = "\n".join(_html_block(block) for block in blocks)
    style = (Path(__file__).parent / "page.css").read_text("utf-8")
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{html.escape(title)}</title>\n<style>\n{style}</style>\n</head>\n<body>\n"
        f"<h1>{_inline(title)}</h1>\n{body}\n</body>\n</html>\n"
    )


def _markdown_table(table: Table) -> str:
    heads = [_piped(f"{column.group}: {column.title}" if column.group else column.title) for column in table.columns]
    rules = ["---:" if column.numbers else "---" for column in table.columns]
    rows = [[f"**{entry.text}**" if entry.best else _piped(entry.text) for entry in row] for row in table.rows]
    lines = [f"| {' | '.join(cells)} |" for cells in (heads, rules, *rows)]
    return f"*{table.caption}*\n\n" + "\n".join(lines)


def _piped(text: str) -> str:
    return text.replace("|", "\\|")


def _html_block(block: Block) -> str:
    match block:
        case Heading(text, level):
            return f"<h{level}>{_inline(text)}</h{level}>"
        case Paragraph(text):
            return f"<p>{_inline(text)}</p>"
        case Bullets(items):
            return "<ul>\n" + "\n".join(f"<li>{_inline(item)}</li>" for item in items) + "\n</ul>"
        case Drawing(_, svg, caption):
            picture = f"data:image/svg+xml;base64,{base64.b64encode(svg.encode()).decode()}"
            shown = f'<img src="{picture}" alt="{html.escape(caption)}">'
            return f"<figure><div>{shown}</div><figcaption>{_inline(caption)}</figcaption></figure>"
        case Table():
            return _html_table(block)


def _html_table(table: Table) -> str:
    edges = _first_of_groups(table.columns)
    rows = "\n".join(_html_row(row, table.columns, edges) for row in table.rows)
    heads = "".join(
        f"<th{_classes(column, place in edges)}>{_inline(column.title)}</th>"
        for place, column in enumerate(table.columns)
    )
    groups = ""
    if any(column.group for column in table.columns):
        spans = [(group, len(list(columns))) for group, columns in groupby(table.columns, lambda column: column.group)]
        cells = (
            f'<th colspan="{span}"{" class=group" if place else ""}>{_inline(group)}</th>'
            for place, (group, span) in enumerate(spans)
        )
        groups = f"<tr>{''.join(cells)}</tr>\n"
    return (
        f'<div class="wide"><table><caption>{_inline(table.caption)}</caption>\n'
        f"<thead>\n{groups}<tr>{heads}</tr>\n</thead>\n<tbody>\n{rows}\n</tbody></table></div>"
    )


def _html_row(row: Sequence[Entry], columns: Sequence[Column], edges: set[int]) -> str:
    cells = []
    for place, (entry, column) in enumerate(zip(row, columns, strict=True)):
        shown = _figure(entry.text) if column.numbers else _inline(entry.text)
        text = f"<strong>{shown}</strong>" if entry.best else shown
        tag = "th" if place == 0 else "td"
        cells.append(f"<{tag}{_classes(column, place in edges)}>{text}</{tag}>")
    return f"<tr>{''.join(cells)}</tr>"


def _first_of_groups(columns: Sequence[Column]) -> set[int]:
    return {place for place in range(1, len(columns)) if columns[place - 1].group != columns[place].group}


def _classes(column: Column, edge: bool) -> str:
    names = [("n" if column.numbers else "text"), *(["paper"] if column.paper else []), *(["group"] if edge else [])]
    return f' class="{" ".join(names)}"'


def _inline(text: str) -> str:
    return _CODE.sub(r"<code>\1</code>", html.escape(text, quote=False))


def _figure(text: str) -> str:
    """A deviation stands small beside its mean."""
    return _DEVIATION.sub(lambda found: f" <small>{found[1].replace('± ', '±')}</small>", _inline(text))
