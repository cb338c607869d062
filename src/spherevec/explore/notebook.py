"""The page in a cell of a notebook."""

from __future__ import annotations

import html
from typing import TYPE_CHECKING, Any

from spherevec.errors import ConfigError
from spherevec.explore.data import PageData
from spherevec.explore.page import page_html

if TYPE_CHECKING:
    from spherevec.model import Model

# What the page inside the cell may do: run its own script and save a file. It has no origin of its own.
_SANDBOX = "allow-scripts allow-downloads"


class NotebookPage:
    """A page that a notebook shows in a frame of its own.

    Args:
        data: what the page shows.
        height: of the frame in pixels.
    """

    def __init__(self, data: PageData, height: int = 640) -> None:
        if height < 200:
            raise ConfigError(f"height must be at least 200 pixels, not {height}")
        self.data = data
        self.height = height

    def _repr_html_(self) -> str:
        page = html.escape(page_html(self.data), quote=True)
        title = html.escape(self.data.title, quote=True)
        return (
            f'<iframe title="{title}" sandbox="{_SANDBOX}" srcdoc="{page}" '
            f'style="width:100%;height:{self.height}px;border:0;border-radius:12px"></iframe>'
        )


def show(model: Model, *, height: int = 640, **options: Any) -> NotebookPage:
    """The map of a model in a cell of a notebook; other arguments are those of `write_page`.

    Args:
        height: of the frame in pixels.
    """
    from spherevec.explore.from_model import page_data

    return NotebookPage(page_data(model, **options), height)
