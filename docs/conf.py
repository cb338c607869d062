"""How the site is built: `make docs`."""

import re
import sys
from dataclasses import fields
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "_ext"))

from spherevec import TrainConfig, __version__

project = "spherevec"
author = "The spherevec authors"
copyright = author
version = release = __version__

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx_copybutton",
    "command_reference",
    "mathml",
]
exclude_patterns = ["_ext"]

myst_enable_extensions = ["dollarmath", "deflist"]
myst_heading_anchors = 3

default_role = "literal"  # docstrings write `name`, as Markdown does
smartquotes = False  # `--option` in a text stays as it is typed
autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_typehints_format = "short"
autodoc_default_options = {
    "members": True,
    "exclude-members": ", ".join(
        f"set_{verb}_request" for verb in ("fit", "partial_fit", "predict", "score", "transform")
    ),
}
python_maximum_signature_line_length = 100
python_use_unqualified_type_names = True
napoleon_numpy_docstring = False
napoleon_use_rtype = False
napoleon_custom_sections = [(group, "params_style") for group in {one.metadata["group"] for one in fields(TrainConfig)}]

html_theme = "furo"
html_title = "spherevec"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_math_renderer = "mathml"  # drawn by the browser: the site opens without a network
html_show_sourcelink = False
html_copy_source = False
html_show_sphinx = False
pygments_style = "friendly"
pygments_dark_style = "monokai"
copybutton_selector = "div:not(.highlight-text) > div.highlight > pre"  # not of outputs


def _studies_as_downloads(app: object, docname: str, source: list[str]) -> None:
    """Studies stand outside the site: its folder gets a copy of each that a page links to."""
    study = r"\[([^]]+)\]\(((?:\.\./)+(?:experiments|benchmarks)/[^)]+)\)"
    source[0] = re.sub(study, r"{download}`\1 <\2>`", source[0])


def _long_names_may_break(app: object, page: str, template: str, context: dict[str, object], doctree: object) -> None:
    """A name of more than twenty characters may break before a dot or underscore, and after a slash or bracket."""

    def broken(name: re.Match[str]) -> str:
        return re.sub(r"(?<=\w[/(])(?=\w)|(?<=\w)(?=[._]\w)", "<wbr>", name[0])

    context["body"] = re.sub(r'(?<=<span class="pre">)[^<]{21,}', broken, str(context.get("body", "")))


def setup(app: object) -> None:
    app.connect("html-page-context", _long_names_may_break)  # type: ignore[attr-defined]
    app.connect("source-read", _studies_as_downloads)  # type: ignore[attr-defined]
