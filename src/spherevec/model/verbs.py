"""The verbs of a model that live in rooms above this one, which must not be imported here."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

VERBS = {
    "topics": "spherevec.topics:topics_of",
    "search_topics": "spherevec.topics:search_topics",
    "carry_topics": "spherevec.topics:carry_topics",
    "explore": "spherevec.explore:write_page",
    "show": "spherevec.explore:show",
    "plot_map": "spherevec.explore:plot_map",
    "update": "spherevec.training.update:update",
}


def verb(name: str) -> Callable[..., Any]:
    """The function behind a verb; its room is imported when the verb is first used."""
    module, _, function = VERBS[name].partition(":")
    found: Callable[..., Any] = getattr(import_module(module), function)
    return found
