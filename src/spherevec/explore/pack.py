"""The data of a page as blocks of HTML: gzip in base64, so that no byte of a text can end a block or start a script."""

from __future__ import annotations

import base64
import gzip
import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np
from numpy.typing import NDArray

from spherevec.explore.data import Budget, PageData, PageTopic
from spherevec.sphere import Floats

_PCA_ROWS = 20_000


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


def sections(data: PageData, budget: Budget | None = None) -> Iterator[str]:
    """The blocks of a page, each a `<script>` element that no browser runs."""
    budget = budget or Budget()
    n, dim = len(data.doc_places), data.word_vectors.shape[1]
    basis = main_directions(data.doc_vectors, budget.doc_vectors, budget.least_dim)
    doc_vectors = data.doc_vectors if basis is None else np.asarray(data.doc_vectors @ basis.T, np.float32)
    length = min(budget.snippet, budget.snippets // max(n, 1))
    facts = {
        "title": data.title,
        "dim": dim,
        "tokenizer": dict(data.tokenizer),
        "fit": None if data.fit is None else _fit_settings(data),
        "vocabulary": data.vocabulary,
        "model": [list(entry) for entry in data.model_facts],
        "settings": [list(entry) for entry in data.settings],
        "generator": data.generator,
    }
    documents = {
        "ids": _texts(data.ids, 200),
        "titles": _texts(data.titles, min(budget.title, max(length, 24))),
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
    yield _json("topics", _topics(data.topics))
    yield _json("parents", _topics(data.parents))
    yield _array("doc_places", data.doc_places, np.float32)
    yield _array("doc_topics", data.doc_topics, np.int32)
    yield _array("doc_vectors", quantized(doc_vectors), np.int8)
    yield _array("basis", np.zeros(0) if basis is None else basis, np.float32)
    yield _array("topic_places", data.topic_places, np.float32)
    yield _array("topic_vectors", quantized(data.topic_vectors), np.int8)
    yield _array("word_places", data.word_places, np.float32)
    yield _array("word_vectors", quantized(data.word_vectors), np.int8)
    yield _array("weights", np.ones(len(data.words)) if data.fit is None else data.fit.weights, np.float32)
    yield _array("moments", np.zeros(0) if data.fit is None else data.fit.moments, np.float32)
    negatives = np.zeros((0, dim), np.float32) if data.fit is None else data.fit.negatives
    yield _array("negatives", quantized(negatives), np.int8)
    yield from _fields(data)


def _topics(topics: Sequence[PageTopic]) -> list[dict[str, Any]]:
    return [{**asdict(topic), "words": list(topic.words)} for topic in topics]


def _fit_settings(data: PageData) -> dict[str, Any]:
    assert data.fit is not None
    names = ("objective", "alpha", "epochs", "least_steps", "concentration", "bias", "margin", "negative", "by_length")
    return {name: getattr(data.fit, name) for name in names}


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
