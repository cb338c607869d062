"""Tables for people and spreadsheets: CSV in UTF-8, with a guard against cells that a spreadsheet would run."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Sequence
from pathlib import Path

# What begins a formula; the wide forms are taken for the others where Chinese or Japanese is spoken.
_BEGINS_A_FORMULA = tuple("=+-@＝＋－＠")
# What a spreadsheet may pass over before it, and what may begin a cell there: the table may be opened with another
# separator than the one it was written with.
_BEGINS_A_CELL = re.compile(r'(?:^|[,;|\t\r\n])[,;|"\s\x00-\x20\x7f\u200b\ufeff]*+')
_NUMBER = re.compile(r"[+-](?:\d++(?:\.\d*+)?|\.\d++)(?:[eE][+-]?\d++)?\s*+(?:$|[,;|])", re.ASCII)


def write_csv(path: Path, rows: Iterable[Sequence[object]], *, guard_formulas: bool = False) -> None:
    """Write rows, the heading first, perhaps with `guarded` cells; half characters, as in odd file names, are written
    out.
    """
    with path.open("w", encoding="utf-8", errors="backslashreplace", newline="") as file:
        writer = csv.writer(file)
        for row in rows:
            writer.writerow([guarded(str(cell)) for cell in row] if guard_formulas else row)


def guarded(cell: str) -> str:
    """A cell that no spreadsheet runs: what would be a formula gets an apostrophe before it. Numbers stay numbers.

    Examples:
        >>> guarded("=1+1"), guarded("-0.5"), guarded(" @SUM(A1)"), guarded("a=b"), guarded("a;=b")
        ("'=1+1", '-0.5', " '@SUM(A1)", 'a=b', "a;'=b")
    """

    def text(begins: re.Match[str]) -> str:
        at = begins.end()
        is_formula = cell.startswith(_BEGINS_A_FORMULA, at) and not _NUMBER.match(cell, at)
        return begins[0] + "'" * is_formula

    return _BEGINS_A_CELL.sub(text, cell)
