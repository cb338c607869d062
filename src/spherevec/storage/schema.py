"""What a JSON description must look like before anything is made of it: small checks that are put together.

A check takes a value and where it stands, and raises `ValueError` with one line where the value is not as it should be.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

Check: TypeAlias = Callable[[Any, str], None]

_LARGEST = 2**53  # what JSON's numbers hold without loss
_LONGEST_TEXT = 1 << 16
_LONGEST_LIST = 1 << 20
_DEEPEST = 10


def parsed(encoded: bytes) -> Any:
    """JSON without what JSON does not have: NaN and infinity are refused, and numbers of thousands of digits."""

    def refuse(constant: str) -> None:
        raise ValueError(f"{constant} is no number in JSON")

    try:
        return json.loads(encoded, parse_constant=refuse)
    except RecursionError:
        raise ValueError("nested too deeply") from None


def _such(wanted: str, fits: Callable[[Any], bool]) -> Check:
    """A value that `fits`; `wanted` says what that is."""

    def check(value: Any, where: str) -> None:
        if not fits(value):
            # Thousands of digits cannot be printed, and need not be.
            shown = "of many digits" if type(value) is int and abs(value) > 10**60 else repr(value)[:60]
            raise ValueError(f"{where} must be {wanted}, not {type(value).__name__} {shown}")

    return check


def whole(low: int = 0, high: int = _LARGEST) -> Check:
    return _such(f"a whole number from {low} to {high}", lambda value: type(value) is int and low <= value <= high)


number = _such(
    "a finite number", lambda value: type(value) in (int, float) and abs(value) <= 1e300 and math.isfinite(value)
)
text = _such(
    f"a text of at most {_LONGEST_TEXT:,} characters", lambda value: type(value) is str and len(value) <= _LONGEST_TEXT
)
_object = _such("an object", lambda value: type(value) is dict)
_list = _such(f"a list of at most {_LONGEST_LIST:,}", lambda value: type(value) is list and len(value) <= _LONGEST_LIST)


def between(low: float, high: float) -> Check:
    return _such(
        f"a number from {low:g} to {high:g}", lambda value: type(value) in (int, float) and low <= value <= high
    )


def plain(value: Any, where: str, depth: int = 0) -> None:
    """Any JSON of sensible numbers and texts, not nested deeply."""
    if depth > _DEEPEST:
        raise ValueError(f"{where:.60} is nested more than {_DEEPEST} levels deep")
    if isinstance(value, dict):
        for name, one in value.items():
            plain(one, f"{where}.{name:.40}", depth + 1)
    elif isinstance(value, list):
        for place, one in enumerate(value):
            plain(one, f"{where}[{place}]", depth + 1)
    elif type(value) is str:
        text(value, where)
    elif value is not None and type(value) is not bool:
        number(value, where)


def optional(inner: Check) -> Check:
    return lambda value, where: None if value is None else inner(value, where)


def list_of(inner: Check) -> Check:
    def check(value: Any, where: str) -> None:
        _list(value, where)
        for place, one in enumerate(value):
            inner(one, f"{where}[{place}]")

    return check


def map_of(inner: Check) -> Check:
    return record({}, others=inner)


def record(
    needed: Mapping[str, Check], known: Mapping[str, Check] | None = None, others: Check | bool = False
) -> Check:
    """An object with all `needed` names, perhaps some `known` ones, and `others` if they are allowed: True for any."""
    known = {**needed, **(known or {})}

    def check(value: Any, where: str) -> None:
        _object(value, where)
        missing = next((name for name in needed if name not in value), None)
        if missing is not None:
            raise ValueError(f"{where} lacks {missing!r}")
        for name, one in value.items():
            inner = known.get(name, others)
            if inner is False:
                raise ValueError(f"{where} holds {name!r:.60}, which is unknown")
            if callable(inner):
                inner(one, f"{where}.{name:.40}" if where else f"{name:.40}")

    return check


def table(value: Any, where: str) -> None:
    """A list of objects that all have the same names."""
    list_of(map_of(plain))(value, where)
    if len({tuple(row) for row in value}) > 1 or {} in value:
        raise ValueError(f"{where} has rows with different names, or without any")
