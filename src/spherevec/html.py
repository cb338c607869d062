"""Small tables in HTML, for notebooks."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from pathlib import Path
from typing import Any

from spherevec.errors import ConfigError


class Html(str):
    """A cell that is HTML already."""


def check_page_name(path: str | Path, what: str) -> None:
    """Refuse a name whose ending promises something other than a web page.

    >>> check_page_name("map.html", "map")
    """
    if Path(path).suffix.lower() not in ("", ".html", ".htm"):
        raise ConfigError(f"{path}: the {what} is a web page; give a name that ends in .html")


def table_html(header: Sequence[str], rows: Sequence[Sequence[Any]], caption: str = "", style: str = "") -> str:
    """A table that follows the notebook's own style, and `style` of its cells; every cell is escaped but for `Html`.

    >>> table_html(["a"], [["<b>"]])
    '<table><thead><tr><th>a</th></tr></thead><tbody><tr><td>&lt;b&gt;</td></tr></tbody></table>'
    """

    def row(tag: str, cells: Sequence[Any]) -> str:
        begin = f'<{tag} style="{style}">' if style else f"<{tag}>"
        return f"<tr>{''.join(f'{begin}{_shown(cell)}</{tag}>' for cell in cells)}</tr>"

    title = f"<caption>{escape(caption)}</caption>" if caption else ""
    body = "".join(row("td", cells) for cells in rows)
    return f"<table>{title}<thead>{row('th', header)}</thead><tbody>{body}</tbody></table>"


def _shown(cell: Any) -> str:
    if isinstance(cell, Html):
        return cell
    return "" if cell is None else f"{cell:.3f}" if isinstance(cell, float) else escape(str(cell))
