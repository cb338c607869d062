"""Hybrid search over plain arrays: looking again only where it can matter finds what a full scan finds."""

from __future__ import annotations

import numpy as np
import pytest

from spherevec.search.hybrid import FEEDBACK, FEEDBACK_SHARE, Query, lexical_part, ranked
from spherevec.search.lexical import LexicalIndex
from spherevec.search.neighbors import ByteVectors, exact_products
from spherevec.search.terms import count_terms
from spherevec.sphere import normalize

DOCUMENTS, WORDS = 2000, 60


@pytest.fixture(scope="module")
def collection(tmp_path_factory):
    rng = np.random.default_rng(1)
    ids = rng.zipf(1.4, 10 * DOCUMENTS).clip(max=WORDS).astype(np.int32) - 1
    terms = count_terms(
        ids, np.arange(0, len(ids) + 1, 10), np.bincount(ids, minlength=WORDS), tmp_path_factory.mktemp("terms")
    )
    centres = rng.standard_normal((20, 12))
    vectors = normalize(centres[rng.integers(20, size=DOCUMENTS)] + 0.8 * rng.standard_normal((DOCUMENTS, 12)))
    return np.asarray(vectors, np.float32), LexicalIndex(terms)


def slow(query, vectors, lexical, topn):
    """All documents are scored twice."""
    extra = lexical_part(lexical.matches(query.words), lexical, query.rows, "hybrid")
    allowed = np.arange(DOCUMENTS) if query.rows is None else query.rows
    direction = query.vector
    for _ in range(2):
        scores = exact_products(vectors, direction) + extra
        best = allowed[np.lexsort((allowed, -scores[allowed]))]
        mean = normalize(vectors[best[:FEEDBACK]].mean(axis=0, dtype=np.float64))
        direction = np.asarray(normalize((1 - FEEDBACK_SHARE) * query.vector + FEEDBACK_SHARE * mean), np.float32)
    return best[:topn], scores[best[:topn]]


@pytest.mark.parametrize("topn", [1, 4, 30, 3000])
@pytest.mark.parametrize("some", [False, True])
@pytest.mark.parametrize("in_bytes", [False, True])
def test_a_second_look_at_few_rows_finds_what_a_full_scan_finds(collection, topn, some, in_bytes):
    vectors, lexical = collection
    rng = np.random.default_rng(topn)
    rows = np.flatnonzero(rng.random(DOCUMENTS) < 0.3) if some else None
    queries = [
        Query("q", vector, rng.integers(0, WORDS, count).astype(np.int32), rows=rows)
        for vector, count in zip(np.asarray(normalize(rng.standard_normal((9, 12))), np.float32), range(9), strict=True)
    ]
    found = ranked(queries, vectors, lexical, "hybrid", topn, ByteVectors.of(vectors) if in_bytes else None)
    for query, ranking in zip(queries, found, strict=True):
        wanted, scores = slow(query, vectors, lexical, topn)
        assert ranking.rows.tolist() == wanted.tolist()
        np.testing.assert_array_equal(ranking.scores, scores)
