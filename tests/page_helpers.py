"""Pages for tests: small worlds made without a model, and text that tries to be more than text."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from spherevec.corpus.tokenize.tokenizer import tokenizer_of
from spherevec.explore.data import Field, Fit, PageData, PageTopic
from spherevec.explore.from_model import description
from spherevec.explore.layout import place_on_globe

HOSTILE = (
    "</script><script>window.hacked = 1</script>",
    "<img src=x onerror='window.hacked = 1'>",
    '"\' onmouseover="window.hacked = 1" x=\'',
    "<!--<script>",
    "\u202eright to left\u202c \u2066isolate",
    "עברית وعربية",
    "\x00\x07\x1b[31m\u2028\u2029 control",
    "😀👩‍👩‍👧 emoji \ud83d lone",
    "{{script}} ${1+1} %s",
    "=cmd|' /C calc'!A0",
)


def unit_rows(n: int, dim: int, rng: np.random.Generator) -> NDArray[np.float32]:
    rows = rng.standard_normal((n, dim)).astype(np.float32)
    return np.asarray(rows / np.linalg.norm(rows, axis=1, keepdims=True), np.float32)


def clustered(
    n: int, dim: int, k: int, rng: np.random.Generator, spread: float = 0.35
) -> tuple[NDArray[np.float32], NDArray[np.int32], NDArray[np.float32]]:
    """Unit rows around k centres: rows, labels, centres."""
    centres = unit_rows(k, dim, rng)
    labels = rng.integers(k, size=n).astype(np.int32)
    rows = centres[labels] + spread * unit_rows(n, dim, rng)
    return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32), labels, centres


def small_page(
    n: int = 300,
    k: int = 6,
    words: int = 120,
    dim: int = 16,
    seed: int = 0,
    epochs: int = 60,
    hostile: bool = False,
    kept: bool = True,
    **changes: Any,
) -> PageData:
    """A page of n documents around k topics."""
    rng = np.random.default_rng(seed)
    docs, labels, centres = clustered(n, dim, max(k, 1), rng)
    if k == 0:
        labels, centres = np.full(n, -1, np.int32), centres[:0]
    vectors, _, _ = clustered(words, dim, max(k, 1), np.random.default_rng(seed))
    names = [f"word{row}" for row in range(words)]
    texts = [HOSTILE[row % len(HOSTILE)] for row in range(max(n, words, k, 20))] if hostile else None
    if texts:
        names[: len(HOSTILE)] = HOSTILE
    places = place_on_globe(docs, vectors[:60], centres, seed=seed, threads=1, epochs=epochs)
    days = rng.random(n) * 3000
    columns = [
        Field("team" if not texts else texts[0], "category", rng.integers(-1, 3, n).astype(np.int32),
              texts[:3] if texts else ["sales", "support", "research"]),
        Field(texts[2] if texts else "length", "number",
              np.where(rng.random(n) < 0.1, np.nan, rng.integers(1, 500, n))),
        Field(texts[3] if texts else "created", "date", np.where(rng.random(n) < 0.1, np.nan, 1.3e9 + days * 86400)),
        Field(texts[1] if texts else "remark", "text", texts[:n] if texts else [f"remark {row}" for row in range(n)]),
    ]  # fmt: skip
    moments = np.vstack([np.cov(vectors.T, ddof=0), vectors.mean(axis=0)]).astype(np.float32)
    values: dict[str, Any] = {
        "title": texts[0] if texts else "Test page",
        "doc_places": places.docs,
        "doc_vectors": docs,
        "doc_topics": labels,
        "ids": [f"{text} {row}" for row, text in enumerate(texts[:n])] if texts else [f"id-{row}" for row in range(n)],
        "titles": texts[:n] if texts else [f"Title of document {row}" for row in range(n)],
        "snippets": texts[:n] if texts else [f"The text of document {row} begins like this." for row in range(n)],
        "fields": columns if kept else [],
        "topics": [
            PageTopic(texts[t] if texts else f"topic {t}", names[10 * t : 10 * t + 5], int((labels == t).sum()))
            for t in range(k)
        ],
        "topic_places": places.topics,
        "topic_vectors": centres,
        "words": names,
        "word_vectors": vectors,
        "word_counts": np.arange(words, 0, -1, dtype=np.int64),
        "place_names": np.arange(min(60, words), dtype=np.int32),
        "word_places": places.words,
        "tokenizer": description(tokenizer_of("words:unspaced=bigrams"), False),
        "fit": Fit(
            "vmf", np.ones(words, np.float32), moments, vectors[:0], (0.0, 0.0), 0.7, 4, 1000, 6.0, 2.5, 0.15, 5
        ),
        "vocabulary": words,
        "model_facts": [(texts[0], texts[1])] if texts else [("Documents", str(n))],
        "settings": [(texts[2], texts[1])] if texts else [("objective", "vmf")],
        "generator": texts[0] if texts else "spherevec",
    }
    return PageData(**{**values, **changes})
