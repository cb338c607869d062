"""Search in a model: queries made from text, answers with the ids, titles and fields of its documents."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from spherevec.corpus.count.texts import encode_texts
from spherevec.corpus.tokenize import tokenize
from spherevec.corpus.tokenize.tokenizer import TokenizerLike
from spherevec.errors import ConfigError
from spherevec.model.verbs import verb
from spherevec.search.hybrid import MODES, Query, ranked
from spherevec.search.neighbors import exact_products, nearest_neighbors
from spherevec.search.results import Hit, SearchResult, SearchResults

if TYPE_CHECKING:
    from spherevec.model.documents import DocumentTable
    from spherevec.model.model import Model

AMONG = ("docs", "words", "topics")
_NAMES_OF_TOPN = ("top", "top_k", "k", "n", "limit", "size")
_VALUES_SHOWN = 10


def search(
    model: Model,
    query: Any,
    among: str,
    topn: int,
    where: Mapping[str, Any] | None,
    mode: str,
    tokenizer: TokenizerLike | None,
    subwords: bool,
) -> SearchResult | SearchResults:
    """What `Model.search` answers."""
    if among not in AMONG:
        raise ConfigError(f"among must be one of {', '.join(AMONG)}, not {among!r:.40}")
    if mode not in MODES:
        raise ConfigError(f"mode must be one of {', '.join(MODES)}, not {mode!r:.40}")
    if isinstance(topn, bool) or not isinstance(topn, int) or topn < 1:
        raise ConfigError(f"topn must be a whole number of at least 1, not {topn!r:.40}")
    if where is not None and among != "docs":
        raise ConfigError(f"where chooses among documents, not among {among}; leave it out")
    if isinstance(query, np.ndarray):
        queries, mode = [Query("vector", model.words.unit(query), np.zeros(0, np.int32))], "dense"
    else:
        queries = prepared_queries(model, query_texts(query), tokenizer, subwords)
    if among == "docs":
        found = search_documents(model, queries, mode, topn, where)
    elif among == "topics":
        found = verb("search_topics")(model, queries, topn)
    else:
        found = search_words(model, queries, topn)
    return found[0] if isinstance(query, str | np.ndarray) else found


def prepared_queries(
    model: Model, texts: Sequence[str], tokenizer: TokenizerLike | None = None, subwords: bool = False
) -> list[Query]:
    """Texts to search by: their vectors, the ids of their words, and the words that have no vector.

    With `subwords` the known word that is spelled most alike stands in for a word that no document holds.
    """
    fitter, vocabulary = model._inference()
    splitter = model.tokenizer if tokenizer is None else tokenizer
    guesses: dict[str, str] = {}

    def stand_ins(words: list[str]) -> NDArray[np.int32]:
        lexical = model.lexical_index()
        found = model.words.spellings.stand_ins(words)
        if lexical is not None:
            found[[lexical.holds(word) for word in words]] = -1
        guesses.update((word, vocabulary.words[at]) for word, at in zip(words, found.tolist(), strict=True) if at >= 0)
        return found

    ids, offsets, unknown = encode_texts(texts, vocabulary, splitter, stand_ins if subwords else None)
    vectors = fitter.fit_queries(ids, offsets)
    queries = []
    for row, text in enumerate(texts):
        own = ids[offsets[row] : offsets[row + 1]]
        some = unknown[row] or guesses
        rare = [w for w in tokenize(text, splitter) if w not in vocabulary.word_to_id] if some else []
        guessed = {word: guesses[word] for word in dict.fromkeys(rare) if word in guesses}
        missing = [word for word in dict.fromkeys(rare) if word not in guesses]
        queries.append(Query(text, vectors[row] if len(own) else None, own, missing, guessed))
    return queries


def search_documents(
    model: Model, queries: Sequence[Query], mode: str, topn: int, where: Mapping[str, Any] | None
) -> SearchResults:
    """The documents that answer each query; `where` chooses among them before anything is scored."""
    if model.docs is None or model.documents is None:
        raise ConfigError(
            "this model has no documents; train it with documents, import their vectors, or search among words"
        )
    table = model.documents
    rows = table.rows_where(where) if where else None
    lexical = None if mode == "dense" else model.lexical_index()
    if lexical is None:
        if mode == "lexical":
            raise ConfigError("this model does not keep the words of its documents; train again, or use mode='dense'")
        mode = "dense"
    results = []
    found = ranked(queries, model.docs.vectors, lexical, mode, topn, rows, model.docs.in_bytes)
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


def search_words(model: Model, queries: Sequence[Query], topn: int) -> SearchResults:
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
            rows, cosines = nearest_neighbors(vector[None, :], table.vectors, topn, exclude)
            hits = [
                Hit(names[row], cosine, row=row, cosine=cosine)
                for row, cosine in zip(rows[0].tolist(), cosines[0].tolist(), strict=True)
                if row >= 0
            ]
        results.append(SearchResult(query.text, hits, _note(model, query, len(hits)), query.guessed))
    return SearchResults(results)


def refuse_other_names(given: Mapping[str, Any]) -> None:
    """Raise `ConfigError` for arguments that search does not have, with the right name where there is one."""
    for name in given:
        right = "topn" if name in _NAMES_OF_TOPN else "one of among, topn, where, mode, tokenizer and subwords"
        raise ConfigError(f"search has no argument {name!r:.40}; use {right}")


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
