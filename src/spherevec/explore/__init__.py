"""The map of a model: documents, words and topics on one globe, in a page that needs no server and no network."""

from spherevec.explore.from_model import page_data, show, write_page
from spherevec.explore.layout import place_on_globe
from spherevec.explore.plots import plot_map

__all__ = ["page_data", "place_on_globe", "plot_map", "show", "write_page"]
