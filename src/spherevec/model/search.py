"""Search among documents: by direction, by the very words, or by both.

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
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from spherevec import sphere
from spherevec.errors import ConfigError
from spherevec.model.lexical import LexicalIndex
from spherevec.model.neighbors import check_finite, exact_products, has_extra, top_k
from spherevec.model.results import Hit, SearchResult, SearchResults

if TYPE_CHECKING:
    from spherevec.model.documents import DocumentTable
    from spherevec.model.model import Model

Float32 = NDArray[np.float32]
Int64 = NDArray[np.int64]

MODES = ("hybrid", "dense", "lexical")
AMONG = ("docs", "words", "topics")
LEXICAL_WEIGHT = 0.25  # of the best BM25 score, in cosines, for a query of up to so many different words:
SHORT_QUERY = 6  # longer ones weigh as much more as they are longer, up to 1
SQUARINGS = 3  # s² three times: s⁸
RARE_WEIGHT = 0.75  # on top of that, times the share of rare words in what BM25 can give
FEEDBACK = 5  # first answers that the query is moved towards
FEEDBACK_SHARE = 0.3  # how far: 0 leaves the query alone, 1 replaces it by their mean

_SCORES_HELD = 1 << 25  # of a batch of queries, in float32 values: 128 MB
_ROWS_MULTIPLIED = 1 << 16
_VALUES_SHOWN = 10
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
    top: int,
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
        yield from _nearest(queries, vectors, top)
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
            chosen, best = _best(query, own, words, vectors, rows, mode, top, permitted)
            if mode == "hybrid" and query.vector is not None and len(query.words) and len(chosen):
                first_answers = chosen[:FEEDBACK]
                if top < FEEDBACK:
                    first_answers, _ = _best(query, own, words, vectors, rows, mode, FEEDBACK, permitted)
                moved = query._replace(vector=_moved(query.vector, vectors[first_answers]))
                own[:] = 0 if words is None else words
                _add_cosines(own[None, :], [moved], vectors, rows)
                chosen, best = _best(moved, own, words, vectors, rows, mode, top, permitted)
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
    top: int,
    permitted: NDArray[np.bool_] | None,
) -> tuple[Int64, NDArray[np.float64]]:
    """The best of one query: candidates by float32, their order by float64, which does not depend on blocks."""
    if query.vector is None and words is None:
        places = np.zeros(0, np.intp)
    else:
        places = _candidates(own, top + _SPARE, permitted)
    chosen = places if rows is None else rows[places]
    exact = np.zeros(len(places))
    if mode != "lexical" and query.vector is not None:
        exact += exact_products(vectors[chosen], query.vector)
    if words is not None and len(words):
        exact += words[places]
    order = np.lexsort((chosen, -exact))[:top]
    return np.asarray(chosen[order], np.int64), exact[order]


def search_documents(
    model: Model, queries: Sequence[Query], mode: str, top: int, where: Mapping[str, Any] | None
) -> SearchResults:
    """The documents that answer each query; `where` chooses among them before anything is scored."""
    if model.docs is None or model.documents is None:
        raise ConfigError(
            "this model has no documents; train it with documents, import their vectors, or search among words"
        )
    if mode not in MODES:
        raise ConfigError(f"mode must be one of {', '.join(MODES)}, not {mode!r}")
    table = model.documents
    rows = table.rows_where(where) if where else None
    lexical = None if mode == "dense" else model.lexical_index()
    if lexical is None:
        if mode == "lexical":
            raise ConfigError("this model does not keep the words of its documents; train again, or use mode='dense'")
        mode = "dense"
    results = []
    found = ranked(queries, model.docs.vectors, lexical, mode, top, rows)
    if mode == "dense" and rows is None and model.docs.indexed and has_extra():
        found = _nearest(queries, model.docs.vectors, top, model.docs.index)
    for query, (chosen, scores) in zip(queries, found, strict=True):
        hits = []
        cosines: list[float | None] = [None] * len(chosen)
        if query.vector is not None:
            cosines = exact_products(model.docs.vectors[chosen], query.vector).tolist()
        for row, score, cosine in zip(chosen.tolist(), scores.tolist(), cosines, strict=True):
            record = table.record(row)
            id, title = record.pop("id"), record.pop("title")
            hits.append(Hit(id, score, title, table.snippet(row), row, record, cosine))
        note = _note(model, query, len(hits))
        if rows is not None and len(rows) == 0:
            note = f"no document has {_shown_conditions(where)}; {_values_of(table, where)}"
        results.append(SearchResult(query.text, hits, note, query.guessed))
    return SearchResults(results)


def _nearest(
    queries: Sequence[Query], vectors: Float32, top: int, index: Any = None
) -> Iterator[tuple[Int64, NDArray[np.float64]]]:
    """As `ranked` by direction alone: all queries in one pass over the vectors, or among what an index finds."""
    known = [query.vector for query in queries if query.vector is not None]
    find = index.search if index is not None else lambda some, k: top_k(some, vectors, k)
    near = iter(find(np.stack(known), min(top + _SPARE, len(vectors)))[0] if known else ())
    for query in queries:
        if query.vector is None:
            yield np.zeros(0, np.int64), np.zeros(0)
            continue
        rows = next(near)
        chosen = np.sort(rows[rows >= 0])
        exact = exact_products(vectors[chosen], query.vector)
        order = np.lexsort((chosen, -exact))[:top]
        yield chosen[order], exact[order]


def search_words(model: Model, queries: Sequence[Query], top: int) -> SearchResults:
    """The words nearest to each query. A single word is compared with words as such, and is no answer to itself."""
    results = []
    names = list(model.words.names or ())
    for query in queries:
        hits: list[Hit] = []
        if query.vector is not None:
            alone = len(query.words) == 1
            table = model.words if alone else model.inputs
            vector = model.words.vectors[query.words[0]] if alone else query.vector
            exclude = [query.words.tolist()] if alone else None
            rows, cosines = top_k(vector[None, :], table.vectors, top, exclude)
            hits = [
                Hit(names[row], cosine, row=row, cosine=cosine)
                for row, cosine in zip(rows[0].tolist(), cosines[0].tolist(), strict=True)
                if row >= 0
            ]
        results.append(SearchResult(query.text, hits, _note(model, query, len(hits)), query.guessed))
    return SearchResults(results)


def query_texts(query: Any) -> list[str]:
    """One text or several, as a list; anything else is refused."""
    if isinstance(query, str):
        return [query]
    if isinstance(query, int | np.integer):
        raise ConfigError(f"search takes texts; documents like number {query} are in model.docs.most_similar({query})")
    if not isinstance(query, Sequence) or not all(isinstance(text, str) for text in query):
        raise ConfigError(f"search takes a text, a list of texts or a vector, not {_shown(query)}")
    return list(query)


def _shown(value: object) -> str:
    """A value for a message: itself if it is short and on one line, and its type."""
    shown = repr(value)
    return type(value).__name__ + (f" {shown:.60}" if "\n" not in shown else "")


def _shown_conditions(where: Mapping[str, Any] | None) -> str:
    given = (where or {}).items()
    single = {field: value[0] if isinstance(value, list) and len(value) == 1 else value for field, value in given}
    return ", ".join(f"{field} {value!r:.60}" for field, value in single.items())


def _values_of(table: DocumentTable, where: Mapping[str, Any] | None) -> str:
    """The values that the categories among the conditions have, to choose another."""
    known = [name for name in where or {} if table.fields.get(name) == "category"]
    lists = [f"{name} is one of {', '.join(map(repr, table.codes(name)[1][:_VALUES_SHOWN]))}" for name in known]
    return "; ".join(lists) or "give other conditions"


def _note(model: Model, query: Query, answers: int) -> str:
    if not query.text.strip():
        return "the text to search for is empty; give some words"
    if answers or not query.rare:
        missing = ", ".join(map(repr, query.rare[:5]))
        guessed = ", ".join(f"{word!r} as {other!r}" for word, other in [*query.guessed.items()][:5])
        parts = [
            f"guessed from spelling: {guessed}" if guessed else "",
            f"without a vector: {missing}" if missing else "",
        ]
        return "; ".join(filter(None, parts)) or ("" if answers else "nothing found")
    near = model.words.nearest_spellings(query.rare[0]) if len(query.rare) == 1 else []
    hint = f"did you mean {' or '.join(map(repr, near))}?" if near else "use other words"
    return f"no word of {query.text!r:.60} is known to the model; {hint}"
