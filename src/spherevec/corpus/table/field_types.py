"""What a kept field holds: text, numbers, dates or categories. Found out while reading, or said by the user."""

from __future__ import annotations

import math
import re
import warnings
from collections.abc import Callable, Iterable
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from itertools import islice
from typing import Any

import numpy as np

from spherevec.corpus.read.options import EXCEL, check_kind

MISSING_DATE = int(np.iinfo(np.int64).min)  # NumPy's "not a time"
# A field holds categories if it has at most so many different values, each twice on average; or few, of which any
# occurs twice.
MOST_CATEGORIES, FEW_CATEGORIES = 10_000, 20
# A few values, at most this share of at least so many, are probably mistakes in a field of numbers or dates.
MISTAKES, FEWEST_VALUES = 0.05, 20

_NUMBER = re.compile(r"[+-]?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]{1,4})?\Z")
# Numbers whose thousands may be parted, by what stands before the decimals.
_GROUPED = {
    ".": re.compile(r"[+-]?[1-9][0-9]{0,2}(,[0-9]{3})+(\.[0-9]+)?\Z"),
    ",": re.compile(r"[+-]?(0|[1-9][0-9]{0,2}(\.[0-9]{3})+|[1-9][0-9]*)(,[0-9]+)?\Z"),
}
_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}([T ].*)?\Z", re.DOTALL)
_MONTH = re.compile(r"[12][0-9]{3}(-[0-9]{2}|\.0)?\Z")  # 2008.0 is a year of a column that has gaps
# What a day looks like where it is not ISO 8601: 25.02.2024, 2/25/2024, 25 Feb 2024, February 25, 2024; then a time.
_TIME = r"(?:,?\s+(\d{1,2})(:\d{2}(?::\d{2})?)(?:\s?([AaPp])\.?[Mm]\.?)?)?\Z"
_DIGITS = re.compile(r"(\d{1,2})([./-])\s?(\d{1,2})\2\s?(\d{4})" + _TIME)
_DAY_FIRST = re.compile(r"(\d{1,2})\.?[\s-]([A-Za-z]{3,9})\.?,?[\s-](\d{4})" + _TIME)
_NAME_FIRST = re.compile(r"([A-Za-z]{3,9})\.?\s(\d{1,2})(?:st|nd|rd|th)?,?\s(\d{4})" + _TIME)
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
# The orders in which dates may be written, as formats of `strptime`.
ISO, DAY_FIRST, MONTH_FIRST = "ISO 8601", "%d/%m/%Y", "%m/%d/%Y"
_FOUND_FORMS = {ISO, DAY_FIRST, MONTH_FIRST}
# What no cell can be kept as; written down it would be Python's name for it.
NO_CELL: tuple[type, ...] = (list, tuple, dict, set, frozenset, bytes, bytearray, memoryview, np.ndarray)
_EPOCH = datetime(1970, 1, 1)
_EXCEL_EPOCH = datetime(1899, 12, 30)
_MICROSECOND = timedelta(microseconds=1)


def python_value(value: Any) -> Any:
    """What a scalar of NumPy is in Python; dates to the microsecond, as texts where Python's calendar has ended."""
    if not isinstance(value, np.generic):
        return value
    if isinstance(value, np.datetime64 | np.timedelta64) and isinstance(value.item(), int):  # of nanoseconds
        exact = value.astype(f"{value.dtype.kind}8[us]").item()
        return str(value) if isinstance(exact, int) else exact
    return value.item()


def is_missing(value: Any) -> bool:
    """Whether a cell holds nothing: None, NaN, pandas' NA and NaT."""
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return True
    if isinstance(value, Decimal) and value.is_nan():
        return True
    return type(value).__name__ in ("NAType", "NaTType")


def as_number(text: str, decimal: str | None = None) -> float | int | None:
    """The number that a text spells, or None. Leading zeros make a code, not a number; so does one that is too large.

    Args:
        decimal: "." or ",": the other sign may part groups of three digits, 1,234.5 or 1.234,5; None for plain numbers.
    """
    if decimal is not None and _GROUPED[decimal].match(text):
        text = text.replace("," if decimal == "." else ".", "").replace(decimal, ".")
    elif decimal == "," or not _NUMBER.match(text):
        return None
    number = int(text) if len(text) < 300 and text.lstrip("+-").isdigit() else float(text)
    return number if math.isfinite(number) else None


def as_microseconds(value: Any, *, months: bool = False) -> int | None:
    """Microseconds since 1970 of a date, a datetime or a text in ISO 8601, or None. Time zones are turned into UTC.

    With `months` a year (`2024`) and a month (`2024-11`) are taken for their first day.
    """
    if isinstance(value, str):
        text = value.strip()
        if months and _MONTH.match(text):
            text = f"{text}-01" if "-" in text else f"{text[:4]}-01-01"
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
        try:
            value = value.astimezone(UTC)
        except OverflowError:  # at the ends of the calendar, as .NET writes "no date"
            value = datetime.min if value.year == 1 else datetime.max
            # The same words for all such dates: by default Python shows them once.
            warnings.warn(f"dates that are not between the years 1 and 9999 in UTC become {value}", stacklevel=1)
    return int((value.replace(tzinfo=None) - _EPOCH) // _MICROSECOND)


def date_as(text: str, form: str) -> int | None:
    """As `as_microseconds`, of a date in one of the orders above, of Excel, or in a format of `strptime`.

    >>> date_as("25.02.2024", DAY_FIRST) == date_as("Feb 25, 2024", MONTH_FIRST) == as_microseconds("2024-02-25")
    True
    """
    if form == ISO:
        return as_microseconds(text, months=True)
    if form in (DAY_FIRST, MONTH_FIRST):
        return as_microseconds(_as_iso(text.strip(), form))
    try:
        if form == EXCEL:
            return as_microseconds(_EXCEL_EPOCH + timedelta(days=float(text)))
        return as_microseconds(datetime.strptime(text, form))
    except (ValueError, OverflowError):
        return None


def iso_date(text: str) -> str | None:
    """A date that can be read in one way only, in ISO 8601; None for others.

    >>> iso_date("25.02.2024"), iso_date("Feb 25, 2024"), iso_date("2/3/2024")
    ('2024-02-25', '2024-02-25', None)
    """
    readings = {_as_iso(text.strip(), form) for form in (DAY_FIRST, MONTH_FIRST)}
    dates = [one for one in readings if as_microseconds(one) is not None]
    return dates[0] if len(dates) == 1 else None


def _as_iso(text: str, form: str) -> str:
    """A date with the day or the month first in ISO 8601; '' where it is none."""
    if match := _DIGITS.match(text):
        first, sign, second, year, *time = match.groups()
        if sign == "." and form == MONTH_FIRST:  # nobody writes points so
            return ""
        day, month = (first, second) if form == DAY_FIRST else (second, first)
    elif match := _DAY_FIRST.match(text) or _NAME_FIRST.match(text):
        day, name, year, *time = match.groups()
        day, name = (day, name) if day.isdigit() else (name, day)
        month = str(_MONTHS.index(name[:3].lower()) + 1) if name[:3].lower() in _MONTHS else "0"
    else:
        return ""
    date = f"{year}-{int(month):02}-{int(day):02}"
    hour, minutes, half = time
    if hour is None:
        return date
    return f"{date} {int(hour) % 12 + 12 * (half in 'pP') if half else int(hour):02}{minutes}"


class KindFinder:
    """Looks at the values of one field as they come, and says at the end what they are.

    Args:
        kind: what the user says that they are; None to find out.
        date_format: how dates are written, "excel" or as for `strptime`; None to find out.
        decimal: what stands before decimals, "." or ","; None to find out.
    """

    def __init__(self, kind: str | None, date_format: str | None = None, decimal: str | None = None) -> None:
        check_kind(kind)
        self.declared, self._date_format = kind, date_format
        # The ways in which all values so far can be read. Excel's dates are numbers, so they must be declared.
        self._forms = set(_FOUND_FORMS) if date_format is None else {date_format}
        if date_format == EXCEL and kind != "date":
            self._forms = set()
        self._decimals = {".", ","} if decimal is None else {decimal}
        self._decimal = decimal
        self._commas = decimal == ","  # there are commas
        self._example = ""  # a date that may be read in two ways
        self.example_at = ""  # where it stands
        self.whole = True
        self._misfits: dict[str, str] = {}  # the first value that is no number, or no date, as those before; its place
        self._n_texts = 0  # values that the source calls texts, whatever they spell
        self._distinct: set[str] | None = set()
        self.n_filled = 0

    def number(self, text: str) -> float | int | None:
        return as_number(text, "." if "." in self._decimals else ",")

    def date(self, text: str) -> int | None:
        return date_as(text, min(self._forms)) if self._forms else None

    def text_of(self, value: Any, untyped: bool, place: str = "") -> str:
        """How a value is written down until its kind is known; '' where it is missing.

        Args:
            untyped: the source knows no types (CSV), so that text may spell a number; elsewhere it does if `decimal` is
                given.
            place: where the value stands, for messages.

        Raises:
            ValueError: the value is not of the declared kind, or of no kind at all; says what it is.
        """
        value = python_value(value)
        if is_missing(value) or (isinstance(value, str) and not value):
            return ""
        typed = isinstance(value, int | float | Decimal) and not isinstance(value, bool)
        text = written(value)
        if typed and self.declared in (None, "number"):  # what is a number is not read by the sign of texts
            if self._decimal == ",":
                text = f"{Decimal(text):f}".replace(".", ",")
            elif "." in text:
                self._decimals &= {"."}
        self.n_filled += 1
        if self.declared is None:
            self._look(text, typed or untyped or self._decimal is not None, place)
        if self.declared == "number" and not self._narrow_numbers(text):
            way = "" if self._decimal is None else f" with decimal={self._decimal!r}"
            raise ValueError(f"{text!r:.40} is not a number{way}; correct or empty the cell, or keep the field as text")
        if self.declared == "date" and not self._narrow_dates(text):
            form = self._date_format
            way = "as in 2024-11-30, 30.11.2024 or 30 Nov 2024" if form is None else f"written as {form!r:.40}"
            raise ValueError(
                f"{text!r:.40} is not a date {way}; correct or empty the cell, or say how dates are "
                "written (date_format=X)"
            )
        if self._example and not self.example_at:
            self.example_at = place
        return text

    def _narrow_numbers(self, text: str) -> bool:
        """Keep the ways in which the number can be read; false if there is none."""
        self._decimals = {sign for sign in self._decimals if as_number(text, sign) is not None}
        number = self.number(text) if self._decimals else None
        self._commas = self._commas or "," in text
        self.whole = self.whole and isinstance(number, int) and abs(number) < 2**63
        return number is not None

    def _narrow_dates(self, text: str) -> bool:
        """Keep the ways in which the date can be read; false if there is none."""
        readings = {form: moment for form in self._forms if (moment := date_as(text, form)) is not None}
        self._forms = set(readings)
        if len(set(readings.values())) > 1:
            self._example = self._example or text
        return bool(self._forms)

    def _look(self, text: str, may_be_number: bool, place: str) -> None:
        self._n_texts += not may_be_number
        if self._decimals and not (may_be_number and self._narrow_numbers(text)):
            self._decimals = set()
            self._misfits["number"] = f"{text!r:.40} ({place.removesuffix(', ')})"
        if self._forms <= _FOUND_FORMS and _MONTH.match(text):  # a number, or who knows
            self._forms = set()
        elif self._forms and not self._narrow_dates(text):
            self._misfits["date"] = f"{text!r:.40} ({place.removesuffix(', ')})"
        if self._distinct is not None:
            self._distinct.add(text)
            if len(self._distinct) > MOST_CATEGORIES:
                self._distinct = None

    @property
    def kind(self) -> str:
        """What the values are; `ValueError` says so where they are dates that may be read in two ways."""
        kind = self.declared or self._found_kind()
        if kind == "date" and {DAY_FIRST, MONTH_FIRST} <= self._forms and self._example:
            readings = (np.datetime64(date_as(self._example, form), "us") for form in (DAY_FIRST, MONTH_FIRST))
            one, other = (str(moment.astype("datetime64[D]")) for moment in readings)
            raise ValueError(
                f"{self._example!r:.40} may be day or month first: {one} (date_format='{DAY_FIRST}') or {other} "
                f"(date_format='{MONTH_FIRST}'); say which, or keep it as text"
            )
        if kind == "number" and len(self._decimals) > 1 and self._commas:
            raise ValueError(
                "its commas may part decimals or thousands; say decimal=',' or decimal='.', or keep it as text"
            )
        return kind

    def __str__(self) -> str:
        """The kind, and how dates or decimals are written where that is not ISO 8601 and a point."""
        form = min(self._forms) if len(self._forms) == 1 else ISO
        way = {"date": {ISO: "", DAY_FIRST: "day first", MONTH_FIRST: "month first"}.get(form, form)}
        way["number"] = "" if "." in self._decimals else "decimal comma"
        return ", ".join(filter(None, (self.kind, way.get(self.kind))))

    def doubt(self, cells: Iterable[str]) -> str:
        """What looks wrong with a field that is none of numbers or dates because of a few of its cells; else ''."""
        if self.n_filled < FEWEST_VALUES or self.kind not in ("text", "category"):
            return ""
        forms = _FOUND_FORMS if self._date_format is None else {self._date_format}
        readings: dict[str, Callable[[str], bool]] = {
            "number": lambda cell: any(as_number(cell, sign) is not None for sign in ".,"),
            "date": lambda cell: any(date_as(cell, form) is not None for form in forms),
        }
        most = int(MISTAKES * self.n_filled)
        for kind, misfit in self._misfits.items():
            fits, few_texts = readings[kind], kind == "date" or self._n_texts <= most
            odd = sum(1 for _ in islice((cell for cell in cells if cell and not fits(cell)), most + 1))
            if odd <= most and few_texts:
                option = "decimal" if kind == "number" else "date_format"
                remedy = "correct or empty such cells" if odd else f"write all alike, or say how they are ({option}=X)"
                share = f"{self.n_filled - odd:,} of {self.n_filled:,} values are {kind}s"
                return f"is kept as {self.kind}: {share}, but {misfit} does not fit; {remedy}, or say that it is text"
        return ""

    def _found_kind(self) -> str:
        if self.n_filled == 0:
            return "text"
        if self._decimals == {"."} or (self._decimals and self._commas == ("." not in self._decimals)):
            return "number"
        if self._forms:
            return "date"
        different = self.n_filled if self._distinct is None else len(self._distinct)
        few = different <= FEW_CATEGORIES and different < self.n_filled
        return "category" if few or 2 * different <= self.n_filled else "text"


def written(value: Any) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float | Decimal) and not math.isfinite(value):
        raise ValueError(f"{value} is no number that can be kept; leave the cell empty")
    if isinstance(value, float):
        return str(int(value)) if value.is_integer() and abs(value) < 2**53 else repr(value)
    if isinstance(value, datetime | date):
        return value.isoformat()
    if isinstance(value, NO_CELL):
        raise ValueError(f"holds {type(value).__name__} {str(value)[:40]!r}; keep a field of texts, numbers or dates")
    return str(value)
