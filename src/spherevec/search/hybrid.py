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
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from spherevec import sphere
from spherevec.search.lexical import LexicalIndex
from spherevec.search.neighbors import ByteVectors, best_rows

Float32 = NDArray[np.float32]
Float64 = NDArray[np.float64]
Int64 = NDArray[np.int64]

MODES = ("hybrid", "dense", "lexical")
LEXICAL_WEIGHT = 0.25  # of the best BM25 score, in cosines, for a query of up to so many different words:
SHORT_QUERY = 6  # longer ones weigh as much more as they are longer, up to 1
SQUARINGS = 3  # s² three times: s⁸
RARE_WEIGHT = 0.75  # on top of that, times the share of rare words in what BM25 can give
FEEDBACK = 5  # first answers that the query is moved towards
FEEDBACK_SHARE = 0.3  # how far: 0 leaves the query alone, 1 replaces it by their mean

_SCORES_HELD = 1 << 25  # of a batch of queries, in float32 values: 128 MB


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
    in_bytes: ByteVectors | None = None,
) -> Iterator[tuple[Int64, Float64]]:
    """The best rows and their scores for each query, best first, equal scores in the order of the rows.

    Memory holds the scores of a few queries at a time, and of one where there are many documents.

    Args:
        vectors: (n, dim) unit rows of the documents.
        lexical: finds documents by their words; None in mode "dense".
        rows: the rows that may be an answer, in ascending order; None for all.
        in_bytes: the same vectors in bytes, to be scanned instead.
    """
    step = len(queries) if lexical is None or mode == "dense" else max(1, _SCORES_HELD // max(len(vectors), 1))
    for first in range(0, len(queries), max(step, 1)):
        batch = queries[first : first + step]
        extra = None
        if lexical is not None and mode != "dense":
            extra = np.stack([_lexical_part(query, lexical, rows, mode) for query in batch])
        directed = [place for place, query in enumerate(batch) if query.vector is not None and mode != "lexical"]
        found: dict[int, tuple[Int64, Float64]] = {}
        if directed:
            directions = np.stack([query.vector for query in batch if query.vector is not None])
            more = None if extra is None else extra[directed]

            def best(directions: Float32, topn: int, more: Any = more) -> list[tuple[Int64, Float64]]:
                return [*best_rows(directions, vectors, topn, rows=rows, extra=more, in_bytes=in_bytes)]

            if more is not None:
                first_answers = best(directions, FEEDBACK)
                directions = np.stack(
                    [_moved(own, vectors[near]) for own, (near, _) in zip(directions, first_answers, strict=True)]
                )
            found.update(zip(directed, best(directions, topn), strict=True))
        for place in range(len(batch)):
            yield found[place] if place in found else _best_by_words(None if extra is None else extra[place], topn)


def _moved(vector: Float32, answers: Float32) -> Float32:
    """The direction of a query, moved towards its first answers."""
    if not len(answers):
        return vector
    mean = sphere.normalize(answers.mean(axis=0, dtype=np.float64))
    return np.asarray(sphere.normalize((1 - FEEDBACK_SHARE) * vector + FEEDBACK_SHARE * mean), np.float32)


def _lexical_part(query: Query, lexical: LexicalIndex, rows: Int64 | None, mode: str) -> Float32:
    """What the words of a query add to the score of each document, (n,); nothing to those that are not permitted."""
    words, rare_share, holders = lexical.scores(query.words, query.rare)
    if rows is not None:
        permitted = np.zeros(len(words), np.bool_)
        permitted[rows] = True
        words[~permitted] = 0
    best = float(words.max(initial=0))
    if mode == "lexical" or best == 0:
        return words
    words /= np.float32(best)
    whole = words[holders]
    for _ in range(SQUARINGS):
        np.square(words, out=words)
    words[holders] = whole
    length = len(np.unique(query.words)) + len(query.rare)
    weight = min(max(LEXICAL_WEIGHT, LEXICAL_WEIGHT * length / SHORT_QUERY), 1.0) + RARE_WEIGHT * rare_share
    words *= np.float32(weight)
    return words


def _best_by_words(words: Float32 | None, topn: int) -> tuple[Int64, Float64]:
    """The rows of the highest scores above 0, and these."""
    if words is None:
        return np.zeros(0, np.int64), np.zeros(0)
    held = np.flatnonzero(words > 0)
    if len(held) > topn:
        held = held[words[held] >= np.partition(words[held], len(held) - topn)[len(held) - topn]]
    order = held[np.lexsort((held, -words[held]))][:topn]
    return order, words[order].astype(np.float64)
