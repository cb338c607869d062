"""Small tables in HTML, for notebooks."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import Any


def table_html(header: Sequence[str], rows: Sequence[Sequence[Any]], caption: str = "") -> str:
    """A table that follows the notebook's own style; every cell is escaped.

    >>> table_html(["a"], [["<b>"]])
    '<table><thead><tr><th>a</th></tr></thead><tbody><tr><td>&lt;b&gt;</td></tr></tbody></table>'
    """
    head = "".join(f"<th>{escape(name)}</th>" for name in header)
    body = "".join(f"<tr>{''.join(f'<td>{escape(_shown(cell))}</td>' for cell in row)}</tr>" for row in rows)
    title = f"<caption>{escape(caption)}</caption>" if caption else ""
    return f"<table>{title}<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def _shown(cell: Any) -> str:
    if cell is None:
        return ""
    return f"{cell:.3f}" if isinstance(cell, float) else str(cell)
