"""One self-contained file: the template, its style and script, and the data of a model."""

from __future__ import annotations

import base64
import gzip
import hashlib
import html
import json
import re
from collections.abc import Iterator, Sequence
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from spherevec.errors import ConfigError
from spherevec.explore.data import PageData
from spherevec.sphere import Floats

# How large a page may grow, before compression: what grows with documents in bytes, texts of a document in characters.
DOC_VECTOR_BYTES, SNIPPET_BYTES = 12_000_000, 24_000_000
_TITLE, _SNIPPET, _LEAST_DIM = 120, 240, 8
_PCA_ROWS = 20_000

# In the order in which each finds what it imports.
SCRIPTS = (
    "elements", "geometry", "palette", "unpack", "markup", "scanner", "tokenizer", "fit", "land", "shaders", "theme",
    "world", "picking", "drawing", "labels", "marks", "pace", "filters", "settings", "panel", "topics", "list", "about",
    "link", "input", "app", "main",
)  # fmt: skip

_IMPORT = re.compile(r"^import .* from \"\./[a-z]+\.js\";\n", re.MULTILINE)
_EXPORT = re.compile(r"^export ", re.MULTILINE)
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]+")


def page_html(data: PageData) -> str:
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
        sections="\n".join(_sections(data)),
    )


def save_page(data: PageData, path: str | Path, *, overwrite: bool = False) -> Path:
    """Write the page to a file, completely or not at all."""
    from spherevec.storage.files import atomic_file

    path = Path(path)
    with atomic_file(path, overwrite=overwrite) as temporary:
        temporary.write_text(page_html(data), encoding="utf-8", newline="\n")
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


# What the page inside the cell may do: run its own script and save a file. It has no origin of its own.
_SANDBOX = "allow-scripts allow-downloads"


class NotebookPage:
    """A page that a notebook shows in a frame of its own, so many pixels high."""

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


def quantized(rows: Floats) -> NDArray[np.int8]:
    """Directions in one byte a coordinate: each row scaled so that its largest coordinate is 127.

    The length of a row is lost, and the page does not need it.
    """
    largest = np.max(np.abs(rows), axis=1, keepdims=True, initial=0.0)
    return np.rint(rows * (127 / np.where(largest > 0, largest, 1.0))).astype(np.int8)


def main_directions(vectors: Floats, limit: int, least: int) -> Floats | None:
    """An orthonormal basis (k, dim) so that n rows of k bytes stay within `limit`, or None where all of dim fits."""
    n, dim = vectors.shape
    k = max(least, limit // max(n, 1))
    if k >= dim:
        return None
    sample = np.asarray(vectors[:: max(1, n // _PCA_ROWS)], np.float64)
    _, _, axes = np.linalg.svd(sample, full_matrices=False)
    return np.ascontiguousarray(axes[:k], np.float32)


def _sections(data: PageData) -> Iterator[str]:
    """The blocks of a page, each a `<script>` element that no browser runs: gzip in base64, so that no byte of a text
    can end a block or start a script.
    """
    n, dim, fit = len(data.doc_places), data.word_vectors.shape[1], data.fit
    basis = main_directions(data.doc_vectors, DOC_VECTOR_BYTES, _LEAST_DIM)
    doc_vectors = data.doc_vectors if basis is None else np.asarray(data.doc_vectors @ basis.T, np.float32)
    length = min(_SNIPPET, SNIPPET_BYTES // max(n, 1))
    facts = {
        "title": data.title,
        "dim": dim,
        "tokenizer": dict(data.tokenizer),
        "fit": fit and {name: value for name, value in vars(fit).items() if not isinstance(value, np.ndarray)},
        "vocabulary": data.vocabulary,
        "model": [list(entry) for entry in data.model_facts],
        "settings": [list(entry) for entry in data.settings],
        "generator": data.generator,
    }
    documents = {
        "ids": _texts(data.ids, 200),
        "titles": _texts(data.titles, min(_TITLE, max(length, 24))),
        "snippets": _texts(data.snippets, length) if length >= 16 else None,
    }
    words = {
        "names": list(data.words),
        "counts": None if data.word_counts is None else data.word_counts.tolist(),
        "place_names": data.place_names.tolist(),
    }
    yield _json("facts", facts)
    yield _json("documents", documents)
    yield _json("words", words)
    yield _json("topics", [{**vars(topic), "words": list(topic.words)} for topic in data.topics])
    yield _json("parents", [{**vars(topic), "words": list(topic.words)} for topic in data.parents])
    yield _array("doc_places", data.doc_places, np.float32)
    yield _array("doc_topics", data.doc_topics, np.int32)
    yield _array("doc_vectors", quantized(doc_vectors), np.int8)
    yield _array("basis", np.zeros(0) if basis is None else basis, np.float32)
    yield _array("topic_places", data.topic_places, np.float32)
    yield _array("topic_vectors", quantized(data.topic_vectors), np.int8)
    yield _array("word_places", data.word_places, np.float32)
    yield _array("word_vectors", quantized(data.word_vectors), np.int8)
    yield _array("weights", np.ones(len(data.words)) if fit is None else fit.weights, np.float32)
    yield _array("moments", np.zeros(0) if fit is None else fit.moments, np.float32)
    yield _array("negatives", quantized(np.zeros((0, dim), np.float32) if fit is None else fit.negatives), np.int8)
    yield from _fields(data)


def _fields(data: PageData) -> Iterator[str]:
    described: list[dict[str, Any]] = []
    arrays: list[str] = []
    for i, column in enumerate(data.fields):
        entry: dict[str, Any] = {"name": column.name, "kind": column.kind}
        if column.kind == "text":
            entry["values"] = _texts([str(value) for value in column.values], 200)
        elif column.kind == "category":
            entry["labels"] = [_cut(str(label), 120) for label in column.labels]
            arrays.append(_array(f"field_{i}", np.asarray(column.values), np.int32))
        else:
            arrays.append(_array(f"field_{i}", np.asarray(column.values), np.float64))
        described.append(entry)
    yield _json("fields", described)
    yield from arrays


def _texts(texts: Sequence[str] | None, longest: int) -> list[str] | None:
    return None if texts is None else [_cut(text, longest) for text in texts]


def _cut(text: str, longest: int) -> str:
    return text if len(text) <= longest else text[: longest - 1].rstrip() + "…"


def _json(name: str, value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    # Lone surrogates, as in odd file names, cannot be written as UTF-8.
    return _block(name, "json", text.encode("utf-8", "replace"))


def _array(name: str, values: Any, dtype: Any) -> str:
    array = np.ascontiguousarray(values, dtype)
    return _block(name, array.dtype.name, array.astype(array.dtype.newbyteorder("<")).tobytes())


def _block(name: str, kind: str, content: bytes) -> str:
    packed = base64.b64encode(gzip.compress(content, 6, mtime=0)).decode()
    return f'<script type="application/octet-stream" data-name="{name}" data-kind="{kind}">{packed}</script>'
