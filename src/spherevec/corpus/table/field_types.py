"""What a kept field holds: text, numbers, dates or categories. Found out while reading, or said by the user."""

from __future__ import annotations

import math
import re
from datetime import UTC, date, datetime, timedelta
from typing import Any

import numpy as np

from spherevec.errors import ConfigError

KINDS = ("text", "number", "date", "category")
MISSING_DATE = int(np.iinfo(np.int64).min)  # NumPy's "not a time"
# A field holds categories if it has at most so many different values, each twice on average; or few, of which any
# occurs twice.
MOST_CATEGORIES, FEW_CATEGORIES = 10_000, 20

_NUMBER = re.compile(r"[+-]?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?\Z")
_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}([T ].*)?\Z", re.DOTALL)
_MONTH = re.compile(r"[12][0-9]{3}(-[0-9]{2})?\Z")
_EPOCH = datetime(1970, 1, 1)
_MICROSECOND = timedelta(microseconds=1)


def split_kind(name: str, there: list[str] | None = None) -> tuple[str, str | None]:
    """`created:date` as the field `created` of kind "date"; a name that is there as it stands has no kind."""
    before, colon, kind = name.rpartition(":")
    if not colon or (there is not None and name in there):
        return name, None
    if kind not in KINDS:
        return name, None
    return before, kind


def is_missing(value: Any) -> bool:
    """Whether a cell holds nothing: None, NaN, pandas' NA and NaT."""
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return True
    return type(value).__name__ in ("NAType", "NaTType")


def as_number(text: str) -> float | int | None:
    """The number that a text spells, or None. Leading zeros make a code, not a number."""
    if not _NUMBER.match(text):
        return None
    try:
        return int(text)
    except ValueError:
        return float(text)


def as_microseconds(value: Any, *, months: bool = False) -> int | None:
    """Microseconds since 1970 of a date, a datetime or a text in ISO 8601, or None. Time zones are turned into UTC.

    Args:
        months: also take a year (`2024`) and a month (`2024-11`) for their first day.
    """
    if isinstance(value, str):
        text = value.strip()
        if months and _MONTH.match(text):
            text = f"{text}-01-01" if len(text) == 4 else f"{text}-01"
        if not _DATE.match(text):
            return None
        try:
            value = datetime.fromisoformat(text)
        except ValueError:
            return None
    elif isinstance(value, date) and not isinstance(value, datetime):
        value = datetime(value.year, value.month, value.day)
    if not isinstance(value, datetime):
        return None
    if value.tzinfo is not None:
        value = value.astimezone(UTC).replace(tzinfo=None)
    return int((value - _EPOCH) // _MICROSECOND)


def check_kind(kind: str | None) -> None:
    if kind is not None and kind not in KINDS:
        raise ConfigError(f"a kept field is one of {', '.join(KINDS)}, not {kind!r:.40}")


class KindFinder:
    """Looks at the values of one field as they come, and says at the end what they are.

    Args:
        kind: what the user says that they are; None to find out.
    """

    def __init__(self, kind: str | None) -> None:
        check_kind(kind)
        self.declared = kind
        self._number = self._date = True
        self.whole = True
        self._distinct: set[str] | None = set()
        self.n_filled = 0

    def text_of(self, value: Any, spelled: bool) -> str:
        """How a value is written down until its kind is known; '' where it is missing.

        Args:
            spelled: the source knows no types (CSV), so that text may spell a number.

        Raises:
            ValueError: the value is not of the declared kind, or of no kind at all; says what it is.
        """
        if isinstance(value, np.generic):
            value = value.item()
        if is_missing(value) or value == "":
            return ""
        text = _written(value)
        self.n_filled += 1
        if self.declared:
            self._check_declared(text)
        else:
            self._look(value, text, spelled)
        return text

    def _check_declared(self, text: str) -> None:
        if self.declared == "number":
            number = as_number(text)
            if number is None:
                raise ValueError(f"{text!r:.40} is not a number")
            self.whole = self.whole and isinstance(number, int) and abs(number) < 2**63
        elif self.declared == "date" and as_microseconds(text, months=True) is None:
            raise ValueError(f"{text!r:.40} is not a date as in 2024-11-30 or 2024-11-30T12:00:00Z")

    def _look(self, value: Any, text: str, spelled: bool) -> None:
        if self._number:
            typed = isinstance(value, int | float) and not isinstance(value, bool)
            number = as_number(text) if typed or spelled else None
            self._number = number is not None
            self.whole = self.whole and isinstance(number, int) and abs(number) < 2**63
        if self._date and as_microseconds(text) is None:
            self._date = False
        if self._distinct is not None:
            self._distinct.add(text)
            if len(self._distinct) > MOST_CATEGORIES:
                self._distinct = None

    @property
    def kind(self) -> str:
        if self.declared:
            return self.declared
        if self.n_filled == 0:
            return "text"
        if self._number:
            return "number"
        if self._date:
            return "date"
        if self._distinct is None:
            return "text"
        different = len(self._distinct)
        few = different <= FEW_CATEGORIES and different < self.n_filled
        return "category" if few or 2 * different <= self.n_filled else "text"


def _written(value: Any) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float):
        if not math.isfinite(value):
            raise ValueError(f"{value} is no number that can be kept")
        return str(int(value)) if value.is_integer() and abs(value) < 2**53 else repr(value)
    if isinstance(value, datetime | date):
        return value.isoformat()
    if isinstance(value, list | tuple | dict | set | bytes):
        raise ValueError(f"holds {type(value).__name__} {str(value)[:40]!r}; keep a field of texts, numbers or dates")
    return str(value)
