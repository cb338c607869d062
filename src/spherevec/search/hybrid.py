"""Rank documents by direction, by their words (BM25), or by both.

Hybrid search ranks by cosine + 0.25 · s⁸, where s = BM25 / (the best BM25 of this query), twice: the second time the
query's vector is moved towards its first five answers. The power leaves the order to direction, except for documents
that match the words nearly as well as the best one; those that hold every rare word of the query (one in fewer than
five documents) get s itself, so that codes and names are found in long documents, too. The weight of 0.25 grows with a
query of more than six words, since BM25 adds up what they say, and with the share of rare words, of which direction
knows little. A query whose words no document holds is answered by direction alone. The figures: `experiments/search`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from spherevec import sphere
from spherevec.search.lexical import LexicalIndex
from spherevec.search.neighbors import check_finite, exact_products, nearest_neighbors

Float32 = NDArray[np.float32]
Int64 = NDArray[np.int64]

MODES = ("hybrid", "dense", "lexical")
LEXICAL_WEIGHT = 0.25  # of the best BM25 score, in cosines, for a query of up to so many different words:
SHORT_QUERY = 6  # longer ones weigh as much more as they are longer, up to 1
SQUARINGS = 3  # s² three times: s⁸
RARE_WEIGHT = 0.75  # on top of that, times the share of rare words in what BM25 can give
FEEDBACK = 5  # first answers that the query is moved towards
FEEDBACK_SHARE = 0.3  # how far: 0 leaves the query alone, 1 replaces it by their mean

_SCORES_HELD = 1 << 25  # of a batch of queries, in float32 values: 128 MB
_ROWS_MULTIPLIED = 1 << 16
_SPARE = 64  # candidates beyond those asked for, which are scored again in float64


class Query(NamedTuple):
    """One query, made ready."""

    text: str
    vector: Float32 | None  # (dim,), None where no word has a vector
    words: NDArray[np.int32]  # ids of its words
    rare: Sequence[str] = ()  # words without a vector
    guessed: Mapping[str, str] = MappingProxyType({})  # unknown words, and the known ones that stand in for them


def ranked(
    queries: Sequence[Query],
    vectors: Float32,
    lexical: LexicalIndex | None,
    mode: str,
    topn: int,
    rows: Int64 | None = None,
) -> Iterator[tuple[Int64, NDArray[np.float64]]]:
    """The best rows and their scores for each query, best first, equal scores in the order of the rows.

    Memory holds the scores of a few queries at a time, and of one where there are many documents.

    Args:
        vectors: (n, dim) unit rows of the documents.
        lexical: finds documents by their words; None in mode "dense".
        rows: the rows that may be an answer, in ascending order; None for all.
    """
    if mode == "dense" and rows is None:
        yield from _nearest(queries, vectors, topn)
        return
    n = len(vectors) if rows is None else len(rows)
    step = max(1, _SCORES_HELD // max(n, 1))
    for first in range(0, len(queries), step):
        batch = queries[first : first + step]
        scores = np.zeros((len(batch), n), np.float32)
        if mode != "lexical":
            _add_cosines(scores, batch, vectors, rows)
        for query, own in zip(batch, scores, strict=True):
            words = None
            if lexical is not None and mode != "dense":
                words = _lexical_part(query, lexical, rows, mode)
                own += words
            permitted = own > 0 if mode == "lexical" or (query.vector is None and words is not None) else None
            chosen, best = _best(query, own, words, vectors, rows, mode, topn, permitted)
            if mode == "hybrid" and query.vector is not None and len(query.words) and len(chosen):
                first_answers = chosen[:FEEDBACK]
                if topn < FEEDBACK:
                    first_answers, _ = _best(query, own, words, vectors, rows, mode, FEEDBACK, permitted)
                moved = query._replace(vector=_moved(query.vector, vectors[first_answers]))
                own[:] = 0 if words is None else words
                _add_cosines(own[None, :], [moved], vectors, rows)
                chosen, best = _best(moved, own, words, vectors, rows, mode, topn, permitted)
            yield chosen, best


def _moved(vector: Float32, answers: Float32) -> Float32:
    """The direction of a query, moved towards its first answers."""
    mean = sphere.normalize(answers.mean(axis=0, dtype=np.float64))
    return np.asarray(sphere.normalize((1 - FEEDBACK_SHARE) * vector + FEEDBACK_SHARE * mean), np.float32)


def _add_cosines(scores: Float32, queries: Sequence[Query], vectors: Float32, rows: Int64 | None) -> None:
    known = [place for place, query in enumerate(queries) if query.vector is not None]
    if not known:
        return
    directions = np.stack([query.vector for query in queries if query.vector is not None])
    for start in range(0, scores.shape[1], _ROWS_MULTIPLIED):
        here = slice(start, start + _ROWS_MULTIPLIED)
        block = vectors[here] if rows is None else vectors[rows[here]]
        cosines = directions @ block.T
        if not np.isfinite(cosines.sum()):
            check_finite(block, start)
        scores[known, here] += cosines


def _lexical_part(query: Query, lexical: LexicalIndex, rows: Int64 | None, mode: str) -> Float32:
    """What the words of a query add to the score of each document, (n,)."""
    found, rare_share, holders = lexical.scores(query.words, query.rare)
    words = found if rows is None else found[rows]
    best = float(words.max()) if len(words) else 0.0
    if mode == "lexical" or best == 0:
        return words
    words /= np.float32(best)
    places = holders if rows is None else np.flatnonzero(np.isin(rows, holders))
    whole = words[places]
    for _ in range(SQUARINGS):
        np.square(words, out=words)
    words[places] = whole
    length = len(np.unique(query.words)) + len(query.rare)
    weight = min(max(LEXICAL_WEIGHT, LEXICAL_WEIGHT * length / SHORT_QUERY), 1.0) + RARE_WEIGHT * rare_share
    words *= np.float32(weight)
    return words


def _candidates(scores: Float32, wanted: int, permitted: NDArray[np.bool_] | None) -> NDArray[np.intp]:
    """The places of the best `wanted` scores and their equals, in order."""
    places = None if permitted is None else np.flatnonzero(permitted)
    some = scores if places is None else scores[places]
    if wanted < len(some):
        good = np.flatnonzero(some >= np.partition(some, len(some) - wanted)[len(some) - wanted])
    else:
        good = np.arange(len(some))
    return good if places is None else places[good]


def _best(
    query: Query,
    own: Float32,
    words: Float32 | None,
    vectors: Float32,
    rows: Int64 | None,
    mode: str,
    topn: int,
    permitted: NDArray[np.bool_] | None,
) -> tuple[Int64, NDArray[np.float64]]:
    """The best of one query: candidates by float32, their order by float64, which does not depend on blocks."""
    if query.vector is None and words is None:
        places = np.zeros(0, np.intp)
    else:
        places = _candidates(own, topn + _SPARE, permitted)
    chosen = places if rows is None else rows[places]
    exact = np.zeros(len(places))
    if mode != "lexical" and query.vector is not None:
        exact += exact_products(vectors[chosen], query.vector)
    if words is not None and len(words):
        exact += words[places]
    order = np.lexsort((chosen, -exact))[:topn]
    return np.asarray(chosen[order], np.int64), exact[order]


def _nearest(queries: Sequence[Query], vectors: Float32, topn: int) -> Iterator[tuple[Int64, NDArray[np.float64]]]:
    """As `ranked` by direction alone: all queries in one pass over the vectors."""
    known = [query.vector for query in queries if query.vector is not None]
    near: Iterator[Int64] = iter(())
    if known:
        near = iter(nearest_neighbors(np.stack(known), vectors, topn + _SPARE)[0])
    for query in queries:
        if query.vector is None:
            yield np.zeros(0, np.int64), np.zeros(0)
            continue
        rows = next(near)
        chosen = np.sort(rows[rows >= 0])
        exact = exact_products(vectors[chosen], query.vector)
        order = np.lexsort((chosen, -exact))[:topn]
        yield chosen[order], exact[order]
