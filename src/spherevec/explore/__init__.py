"""The map of a model: documents, words and topics on one globe, in a page that needs no server and no network."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

_HOMES = {
    "write_page": "spherevec.explore.from_model",
    "page_data": "spherevec.explore.from_model",
    "show": "spherevec.explore.from_model",
    "plot_map": "spherevec.explore.plots",
    "place_on_globe": "spherevec.explore.layout",
}

__all__ = ["page_data", "place_on_globe", "plot_map", "show", "write_page"]

if TYPE_CHECKING:
    from spherevec.explore.from_model import page_data, show, write_page
    from spherevec.explore.layout import place_on_globe
    from spherevec.explore.plots import plot_map


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'spherevec.explore' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)
