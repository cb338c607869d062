"""Where the time of a call goes: seconds of named functions, by the clock, by processor and by the calling thread."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from importlib import import_module
from typing import Any
from unittest.mock import patch


@dataclass
class Spent:
    """What a part took: by the clock, of all processors, and of the thread that called it."""

    wall: float = 0.0
    processor: float = 0.0
    own: float = 0.0

    @classmethod
    def now(cls) -> Spent:
        return cls(time.perf_counter(), time.process_time(), time.thread_time())

    def add(self, start: Spent, stop: Spent) -> None:
        self.wall += stop.wall - start.wall
        self.processor += stop.processor - start.processor
        self.own += stop.own - start.own


@contextmanager
def clocks(parts: Mapping[str, str]) -> Iterator[dict[str, Spent]]:
    """Measures every call of some functions.

    Args:
        parts: names, and where each function is: `module:function` or `module:Class.method`, in the module that uses
            it. Parts may lie inside one another; each counts all that it takes.
    """
    spent = {name: Spent() for name in parts}

    def timed(name: str, call: Callable[..., Any]) -> Callable[..., Any]:
        def wrapper(*arguments: Any, **options: Any) -> Any:
            start = Spent.now()
            try:
                return call(*arguments, **options)
            finally:
                spent[name].add(start, Spent.now())

        return wrapper

    with ExitStack() as stack:
        for name, place in parts.items():
            module, _, path = place.partition(":")
            there: Any = import_module(module)
            *owners, attribute = path.split(".")
            for owner in owners:
                there = getattr(there, owner)
            stack.enter_context(patch.object(there, attribute, timed(name, getattr(there, attribute))))
        yield spent


def shown(spent: Mapping[str, Spent]) -> str:
    """A table of the parts that took any time."""
    rows = ["part                     wall  processor  calling thread"]
    for name, one in spent.items():
        if one.wall > 0.005:
            rows.append(f"{name:20} {one.wall:8.2f} {one.processor:10.2f} {one.own:15.2f}")
    return "\n".join(rows)
