"""Rank documents by direction, by their words (BM25), or by both.

Hybrid search ranks by the cosine to the query plus what its words give:

- up to 0.4, times the fourth power of the share of the query that a document holds, where each word counts by its
  inverse document frequency, and less where a long document mentions it in passing;
- up to 0.5 for a word without a vector, of which direction knows nothing;
- up to 0.1, times the eighth power of the share of the best BM25 score; this grows with queries of over six words.

All of it happens twice: the second time the query is moved towards its first five answers. A query of one rare word is
answered by the documents that hold it first. The figures: `experiments/search`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from types import MappingProxyType
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from spherevec import sphere
from spherevec.errors import ConfigError
from spherevec.search.lexical import K1, LexicalIndex, Match
from spherevec.search.neighbors import ByteVectors, best_rows, exact_products

Float32 = NDArray[np.float32]
Float64 = NDArray[np.float64]
Int64 = NDArray[np.int64]

MODES = ("hybrid", "dense", "lexical")
COVERAGE_WEIGHT = 0.4  # of a document that holds all words of the query, in cosines
UNKNOWN_WORD = 0.5  # what a word without a vector gives
BEST_MATCH_WEIGHT = 0.1  # of the document with the best BM25 score, for a query of up to so many different words:
SHORT_QUERY = 6  # longer ones weigh as much more as they are longer, up to 1
RARE = 0.5  # the rarity from which on a query of one word is answered by what holds it
MOST_CONDITIONS = 32  # phrases and exclusions of a query: each may be looked up in all documents
FEEDBACK = 5  # first answers that the query is moved towards
FEEDBACK_SHARE = 0.3  # how far: 0 leaves the query alone, 1 replaces it by their mean

_SPECIAL = re.compile(r'(?:(?<=\s)|^)(-?)"([^"]+)"|(?:(?<=\s)|^)-(?=\w)(\S+)')
_SCORES_HELD = 1 << 24  # of a batch of queries, in float32 values, twice: 128 MB


class Query(NamedTuple):
    """One query, made ready."""

    text: str
    vector: Float32 | None  # (dim,), None where no word has a vector
    words: NDArray[np.int32]  # ids of its words
    rare: Sequence[str] = ()  # words without a vector
    guessed: Mapping[str, str] = MappingProxyType({})  # unknown words, and the known ones that stand in for them
    phrases: Sequence[str] = ()  # what must stand in a document
    excluded: Sequence[str] = ()  # what must not
    rows: Int64 | None = None  # rows that may be an answer, ascending; None for all


def parse_query(text: str) -> tuple[str, tuple[str, ...], tuple[str, ...]]:
    """The words to search by, those of phrases included; phrases in quotation marks; what a minus excludes.

    >>> parse_query('jaguar "top speed" -car')
    ('jaguar top speed', ('top speed',), ('car',))
    >>> parse_query("covid-19 - a review")[0]
    'covid-19 - a review'
    """
    phrases: list[str] = []
    excluded: list[str] = []

    def take(match: re.Match[str]) -> str:
        minus, phrase, word = match.groups()
        if word or minus:
            excluded.append(word or phrase)
            return ""
        phrases.append(phrase)
        return str(phrase)

    words = _SPECIAL.sub(take, text)
    if len(phrases) + len(excluded) > MOST_CONDITIONS:
        raise ConfigError(
            f"a query takes at most {MOST_CONDITIONS} phrases in quotation marks and excluded words, not "
            f"{len(phrases) + len(excluded):,}; to search by a text, leave out its quotation marks"
        )
    return " ".join(words.split()), tuple(phrases), tuple(excluded)


class Ranking(NamedTuple):
    """The best documents for one query, best first, equal scores in the order of their rows."""

    rows: Int64  # (k,)
    scores: Float64  # (k,)
    lexical: Float64  # (k,) the part of the scores that comes from words; the rest is the cosine
    matches: Sequence[Match]  # the words that some document holds

    def word_parts(self, place: int) -> dict[int | str, float]:
        """What each word gave the document at a place, by the id of the word or the word itself, the most first.

        The lexical part is shared out as the words contribute to BM25.
        """
        row, parts = self.rows[place], {}
        for match in self.matches:
            at = int(np.searchsorted(match.rows, row))
            if at < len(match.rows) and match.rows[at] == row:
                parts[match.word] = match.idf * match.times * float(match.saturation[at])
        whole = sum(parts.values())
        shares = {word: float(self.lexical[place]) * part / whole for word, part in parts.items() if whole}
        return dict(sorted(shares.items(), key=lambda one: -one[1]))


def ranked(
    queries: Sequence[Query],
    vectors: Float32,
    lexical: LexicalIndex | None,
    mode: str,
    topn: int,
    in_bytes: ByteVectors | None = None,
    wordless: Int64 | Sequence[int] = (),
) -> Iterator[Ranking]:
    """The answers to each query.

    Memory holds the scores of a few queries at a time, and of one where there are many documents.

    Args:
        vectors: (n, dim) unit rows of the documents.
        lexical: finds documents by their words; None in mode "dense".
        in_bytes: the same vectors in bytes, to be scanned instead.
        wordless: rows without a word that has a vector, which are answers only by their other words.
    """
    left_out = np.asarray(wordless, np.int64)
    step = len(queries) if lexical is None else max(1, _SCORES_HELD // max(len(vectors), 1))
    for _, same_rows in groupby(queries, key=lambda query: id(query.rows)):
        group = [*same_rows]
        for first in range(0, len(group), step):
            yield from _ranked(group[first : first + step], vectors, lexical, mode, topn, in_bytes, left_out)


def _ranked(
    queries: Sequence[Query],
    vectors: Float32,
    lexical: LexicalIndex | None,
    mode: str,
    topn: int,
    in_bytes: ByteVectors | None,
    wordless: Int64,
) -> Iterator[Ranking]:
    """As `ranked`, for queries with the same permitted rows."""
    rows = queries[0].rows
    matches: list[list[Match]] = [[] for _ in queries]
    extra: Float32 | None = None
    if lexical is not None:
        matches = [lexical.matches(query.words, query.rare) for query in queries]
        extra = np.stack([lexical_part(own, lexical, rows, mode) for own in matches])
    directed = [place for place, query in enumerate(queries) if query.vector is not None and mode != "lexical"]
    found: dict[int, tuple[Int64, Float64]] = {}
    if directed:
        directions = np.stack([query.vector for query in queries if query.vector is not None])
        more = None if extra is None else extra[directed]
        uppers = None if more is None else np.full_like(more, -np.inf)
        most = topn if more is None else max(topn, FEEDBACK)
        left_out = [wordless] * len(directed) if more is None else [wordless[own[wordless] == 0] for own in more]
        best = best_rows(
            directions, vectors, most, rows=rows, extra=more, exclude=left_out, in_bytes=in_bytes, uppers=uppers
        )
        found = dict(zip(directed, best, strict=True))
        if more is not None and uppers is not None:
            for number, place in enumerate(directed):
                uppers[number, left_out[number]] = -np.inf
                given = directions[number], found[place][0], more[number], uppers[number]
                found[place] = _searched_again(*given, vectors, topn, rows, in_bytes)
    for place, own in enumerate(matches):
        words = np.zeros(len(vectors), np.float32) if extra is None else extra[place]
        chosen, scores = found[place] if place in found else _best_by_words(words, topn)
        yield Ranking(chosen, scores, words[chosen].astype(np.float64), own)


def _searched_again(
    vector: Float32,
    answers: Int64,
    extra: Float32,
    uppers: Float32,
    vectors: Float32,
    topn: int,
    rows: Int64 | None,
    in_bytes: ByteVectors | None,
) -> tuple[Int64, Float64]:
    """The answers to a query that is moved towards its first answers.

    Args:
        answers: the best rows for the query as it stands, at least `topn` where there are as many.
        extra: (n,) what each row gets on top of its cosine.
        uppers: (n,) the most that the score of each row may be for the query as it stands.
    """
    if not len(answers):
        return answers, np.zeros(0)
    mean = sphere.normalize(vectors[answers[:FEEDBACK]].mean(axis=0, dtype=np.float64))
    moved = np.asarray(sphere.normalize((1 - FEEDBACK_SHARE) * vector + FEEDBACK_SHARE * mean), np.float32)
    # No score changes by more than the query moves, so only rows near the best ones can be among them now.
    scores = exact_products(vectors[answers], moved) + extra[answers]
    least = np.sort(scores)[-topn] if len(answers) >= topn else -np.inf
    moves = float(np.linalg.norm(moved.astype(np.float64) - vector))
    near = np.flatnonzero(uppers >= max(least - 1.001 * moves - 1e-5, np.finfo(np.float32).min))
    near = near if rows is None else np.intersect1d(near, rows, assume_unique=True)
    return next(best_rows(moved[None], vectors, topn, rows=near, extra=extra[None], in_bytes=in_bytes))


def lexical_part(matches: Sequence[Match], lexical: LexicalIndex, rows: Int64 | None, mode: str) -> Float32:
    """What the words of a query add to the score of each document, (n,); nothing to those that are not permitted."""
    share = lexical.scores(matches)
    if rows is not None:
        permitted = np.zeros(len(share), np.bool_)
        permitted[rows] = True
        share[~permitted] = 0
    best = float(share.max(initial=0))
    if mode == "lexical" or best == 0:
        return share
    held = share > 0
    share /= np.float32(best)
    for _ in range(3):  # the eighth power
        np.square(share, out=share)
    share *= np.float32(min(BEST_MATCH_WEIGHT * max(1.0, len(matches) / SHORT_QUERY), 1.0))
    coverage = np.zeros_like(share)
    whole = sum(match.idf * match.times for match in matches)
    for match in matches:
        # A word counts in full where it occurs as often as once in a document of mean length.
        present = np.minimum(match.saturation * np.float32(1 + K1), 1)
        coverage[match.rows] += np.float32(match.idf * match.times / whole) * present
        if isinstance(match.word, str):
            share[match.rows] += np.float32(UNKNOWN_WORD) * match.saturation
    share += np.float32(COVERAGE_WEIGHT) * np.square(np.square(coverage))
    if len(matches) == 1 and matches[0].rarity >= RARE:
        share[matches[0].rows] += np.float32(2)  # more than cosines can differ
    share[~held] = 0
    return share


def _best_by_words(words: Float32, topn: int) -> tuple[Int64, Float64]:
    """The rows of the highest scores above 0, and these."""
    held = np.flatnonzero(words > 0)
    if len(held) > topn:
        held = held[words[held] >= np.partition(words[held], len(held) - topn)[len(held) - topn]]
    order = held[np.lexsort((held, -words[held]))][:topn]
    return order, words[order].astype(np.float64)
