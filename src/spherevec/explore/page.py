"""One self-contained file: the template, its style and script, and the data of a model."""

from __future__ import annotations

import base64
import hashlib
import html
import re
from importlib import resources
from pathlib import Path

from spherevec.explore.data import Budget, PageData
from spherevec.explore.pack import sections

# In the order in which each finds what it imports.
SCRIPTS = (
    "elements", "geometry", "palette", "unpack", "markup", "scanner", "tokenizer", "fit", "land", "shaders", "theme",
    "world", "picking", "drawing", "labels", "marks", "pace", "filters", "settings", "panel", "topics", "list", "about",
    "link", "input", "app", "main",
)  # fmt: skip

_IMPORT = re.compile(r"^import .* from \"\./[a-z]+\.js\";\n", re.MULTILINE)
_EXPORT = re.compile(r"^export ", re.MULTILINE)
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]+")


def page_html(data: PageData, budget: Budget | None = None) -> str:
    """The page as text.

    The page runs its own script and no other, and may reach nothing: its Content-Security-Policy names the script and
    the style by their hashes and forbids everything else.
    """
    style, script = template("page.css"), joined_scripts()
    return fill(
        template("page.html"),
        policy=policy(script, style),
        generator=html.escape(data.generator),
        title=html.escape(clean_title(data.title)) or "A map of text",
        style=style,
        script=script,
        sections="\n".join(sections(data, budget)),
    )


def save_page(data: PageData, path: str | Path, *, overwrite: bool = False, budget: Budget | None = None) -> Path:
    """Write the page to a file, completely or not at all."""
    from spherevec.storage.files import atomic_file

    path = Path(path)
    with atomic_file(path, overwrite=overwrite) as temporary:
        temporary.write_text(page_html(data, budget), encoding="utf-8", newline="\n")
    return path


def fill(template: str, **values: str) -> str:
    """The template with each {{name}} replaced once; values are not searched again."""
    parts = re.split(r"\{\{([a-z]+)\}\}", template)
    return "".join(values[part] if i % 2 else part for i, part in enumerate(parts))


def policy(script: str, style: str) -> str:
    """The Content-Security-Policy of a page with this script, '' for none, and this style."""
    scripts = f"script-src '{_hash(script)}'; " if script else ""
    return f"default-src 'none'; {scripts}style-src '{_hash(style)}'; base-uri 'none'; form-action 'none'"


def clean_title(text: str) -> str:
    """A text in one line, without characters that change its direction or cannot be written."""
    return " ".join(_CONTROL.sub(" ", text).split())


def joined_scripts() -> str:
    """The page's modules as one: imports name files of the same folder, and all names are unique."""
    return "\n".join(_EXPORT.sub("", _IMPORT.sub("", template(f"{name}.js"))) for name in SCRIPTS)


def template(name: str) -> str:
    """A file of the templates' folder."""
    return (resources.files("spherevec.explore") / "templates" / name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"
