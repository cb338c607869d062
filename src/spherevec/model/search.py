"""Search in a model: queries made from text, answers with the ids, titles and fields of its documents."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import reduce
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from spherevec.corpus.count.vocabulary import encode_texts
from spherevec.corpus.read.options import listed
from spherevec.corpus.tokenize import tokenize
from spherevec.corpus.tokenize.tokenizer import TokenizerLike
from spherevec.errors import ConfigError
from spherevec.model.keyed_vectors import refuse_arguments
from spherevec.model.verbs import verb
from spherevec.search.hybrid import MODES, Query, Ranking, parse_query, ranked
from spherevec.search.lexical import LexicalIndex
from spherevec.search.neighbors import Int64, nearest_neighbors
from spherevec.search.results import Explanation, Hit, SearchResult, SearchResults, passage
from spherevec.terminal import number_of

if TYPE_CHECKING:
    from spherevec.model.documents import DocumentTable
    from spherevec.model.model import Model

AMONG = ("docs", "words", "topics")


class Search(NamedTuple):
    """How to search; `Model.search` describes the fields."""

    model: Model
    among: str = "docs"
    topn: int = 10
    where: Mapping[str, Any] | None = None
    mode: str = "hybrid"
    tokenizer: TokenizerLike | None = None
    subwords: bool = True
    explain: bool = False

    def answer(self, query: Any, other_names: Mapping[str, Any]) -> SearchResult | SearchResults:
        """What `Model.search` answers; arguments of other names are refused, with the right name where there is one."""
        known = "one of among, topn, where, mode, tokenizer, subwords and explain"
        refuse_arguments("search", other_names, known)
        if self.among not in AMONG:
            raise ConfigError(f"among must be one of {', '.join(AMONG)}, not {self.among!r:.40}")
        if self.mode not in MODES:
            raise ConfigError(f"mode must be one of {', '.join(MODES)}, not {self.mode!r:.40}")
        if isinstance(self.topn, bool) or not isinstance(self.topn, int) or self.topn < 1:
            raise ConfigError(f"topn must be a whole number of at least 1, not {self.topn!r:.40}")
        if self.where is not None and self.among != "docs":
            raise ConfigError(f"where chooses among documents, not among {self.among}; leave it out")
        mode = self.mode
        if isinstance(query, np.ndarray):
            queries, mode = [Query("vector", self.model.words.unit(query), np.zeros(0, np.int32))], "dense"
        else:
            queries = self.queries(_texts(query))
        if self.among == "docs":
            found = self._documents(queries, mode)
        elif self.among == "topics":
            found = verb("search_topics")(self.model, queries, self.topn)
        else:
            found = self._words(queries)
        return found[0] if isinstance(query, str | np.ndarray) else found

    def queries(self, texts: Sequence[str]) -> list[Query]:
        """Texts to search by: their vectors, the ids of their words, and the words that have no vector.

        With `subwords` the known word that is spelled most alike stands in for a word that no document holds.
        """
        model = self.model
        fitter, vocabulary = model._inference()
        splitter = model.tokenizer if self.tokenizer is None else self.tokenizer
        guesses: dict[str, str] = {}

        def stand_ins(words: list[str]) -> NDArray[np.int32]:
            lexical = model.lexical_index()
            found = model.words.spellings.stand_ins(words)
            if lexical is not None:
                found[[len(lexical.holders(word)) > 0 for word in words]] = -1
            pairs = zip(words, found.tolist(), strict=True)
            guesses.update((word, vocabulary.words[at]) for word, at in pairs if at >= 0)
            return found

        def whole_word(piece: str) -> int | None:
            """The id of a word that the tokenizer finds in other text but splits here, such as the host of an URL."""
            name = next((form for form in (piece, piece.lower()) if form in vocabulary.word_to_id), None)
            split = name is not None and not name.isalnum() and tokenize(piece, splitter) != [name]
            return vocabulary.word_to_id[str(name)] if split else None

        parsed = [parse_query(text) for text in texts]
        pieces = [[(piece, whole_word(piece)) for piece in words.split()] for words, _, _ in parsed]
        plain = [" ".join(piece for piece, whole in own if whole is None) for own in pieces]
        ids, offsets, unknown = encode_texts(plain, vocabulary, splitter, stand_ins if self.subwords else None)
        whole = [[word for _, word in own if word is not None] for own in pieces]
        if any(whole):
            each = zip(np.split(ids, offsets[1:-1]), whole, strict=True)
            ids = np.concatenate([np.concatenate([own, more]) for own, more in each]).astype(np.int32)
            offsets = offsets + np.cumsum([0, *map(len, whole)])
        vectors = fitter.fit_queries(ids, offsets)
        queries = []
        for row, text in enumerate(texts):
            own = ids[offsets[row] : offsets[row + 1]]
            some = unknown[row] or guesses
            split = dict.fromkeys(tokenize(plain[row], splitter)) if some else ()
            rare = [word for word in split if word not in vocabulary.word_to_id]
            guessed = {word: guesses[word] for word in rare if word in guesses}
            missing = [word for word in rare if word not in guesses]
            vector = vectors[row] if len(own) else None
            queries.append(Query(text, vector, own, missing, guessed, *parsed[row][1:]))
        return queries

    def _documents(self, queries: Sequence[Query], mode: str) -> SearchResults:
        """The documents that answer each query; `where` chooses among them before anything is scored."""
        docs, table = self.model.docs, self.model.documents
        if docs is None or table is None:
            raise ConfigError(
                "this model has no documents; train it with documents, import their vectors, or search among words"
            )
        where = {} if self.where is None else self.where
        rows = None if isinstance(where, dict) and not where else table.rows_where(where)
        lexical = None if mode == "dense" else self.model.lexical_index()
        if lexical is None and mode == "lexical":
            raise ConfigError("this model does not keep the words of its documents; train again, or use mode='dense'")
        permitted = [_rows_with(self.model, query, rows) for query in queries]
        queries = [query._replace(rows=own) for query, (own, _) in zip(queries, permitted, strict=True)]
        results = []
        mode = "dense" if lexical is None else mode
        found = ranked(queries, docs.vectors, lexical, mode, self.topn, docs.in_bytes, docs.wordless())
        for query, ranking, (_, unsure) in zip(queries, found, permitted, strict=True):
            hits = [self._hit(table, query, ranking, place) for place in range(len(ranking.rows))]
            note = "; ".join(filter(None, [_note(self.model, query, len(hits), lexical), unsure]))
            if rows is not None and len(rows) == 0:
                note = _why_no_match(table, where)
            elif query.rows is not None and len(query.rows) == 0:
                note, query = _why_none_holds(query, where), query._replace(guessed={})
            results.append(SearchResult(query.text, hits, note, query.guessed))
        return SearchResults(results)

    def _hit(self, table: DocumentTable, query: Query, ranking: Ranking, place: int) -> Hit:
        """One answer, with the passage that holds most of the query's words."""
        row, score = int(ranking.rows[place]), float(ranking.scores[place])
        names, given = self.model.words.index_to_key, ranking.word_parts(place)
        parts = {str(word if isinstance(word, str) else names[word]): part for word, part in given.items()}
        record = table.record(row)
        id, title = record.pop("id"), record.pop("title")
        snippet = passage(table.snippet(row), parts, self.model.tokenizer.normalise_word)
        cosine = None if query.vector is None else score - float(ranking.lexical[place])
        return Hit(id, score, title, snippet, row, record, Explanation(cosine, parts) if self.explain else None)

    def _words(self, queries: Sequence[Query]) -> SearchResults:
        """The words nearest to each query. A single word is compared with words as such, and is no answer to itself."""
        model, results = self.model, []
        names = list(model.words.names or ())
        for query in queries:
            hits: list[Hit] = []
            if query.vector is not None:
                alone = len(query.words) == 1
                table = model.words if alone else model.inputs
                vector = model.words.vectors[query.words[0]] if alone else query.vector
                exclude = [query.words.tolist()] if alone else None
                rows, cosines = nearest_neighbors(vector[None, :], table.vectors, self.topn, exclude)
                pairs = zip(rows[0].tolist(), cosines[0].tolist(), strict=True)
                hits = [Hit(names[row], cosine, row=row) for row, cosine in pairs if row >= 0]
            results.append(SearchResult(query.text, hits, _note(model, query, len(hits)), query.guessed))
        return SearchResults(results)


def _rows_with(model: Model, query: Query, rows: Int64 | None) -> tuple[Int64 | None, str]:
    """The rows among `rows` that hold a query's phrases and nothing that it excludes, and a note where some are unsure.

    The order of words is looked up in the kept text. A document whose text is not kept in full, and does not show the
    phrase, is permitted if it holds the words.
    """
    if not query.phrases and not query.excluded:
        return rows, ""
    assert model.documents is not None
    lexical = model.lexical_index()
    if lexical is None:
        raise ConfigError("phrases and exclusions need the words of the documents, which this model does not keep")
    permitted = np.zeros(len(model.documents), np.bool_)
    permitted[slice(None) if rows is None else rows] = True
    unsure = 0
    for phrase in query.phrases:
        held, cut = _holders(model, lexical, phrase, permitted)
        permitted &= held | cut
        unsure += int(np.count_nonzero(cut & permitted))
    for phrase in query.excluded:
        permitted &= ~_holders(model, lexical, phrase, permitted)[0]
    note = f"too little text of {number_of(unsure, 'document')} is kept to see the order of a phrase there"
    return np.flatnonzero(permitted), note if unsure else ""


def _holders(
    model: Model, lexical: LexicalIndex, phrase: str, among: NDArray[np.bool_]
) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Masks (n,) of the documents among some that hold a phrase, and of those that may hold it."""
    table, terms = model.documents, model.terms
    assert table is not None and terms is not None
    held, unsure = np.zeros((2, len(table)), np.bool_)
    wanted = tokenize(phrase, model.tokenizer)
    keys = [model.words.position(word) if word in model.words else word for word in wanted]
    rows = reduce(np.intersect1d, [lexical.holders(key) for key in keys]) if keys else np.zeros(0, np.int64)
    rows = rows[among[rows]]
    if len(wanted) == 1:
        held[rows] = True
        return held, unsure
    for row in rows.tolist():
        kept = tokenize(f"{table.title(row) if table.titled else ''}\n{table.snippet(row)}", model.tokenizer)
        if any(kept[at : at + len(wanted)] == wanted for at in range(len(kept) - len(wanted) + 1)):
            held[row] = True
        elif len(kept) < terms.lengths[row]:
            unsure[row] = True
    return held, unsure


def _texts(query: Any) -> list[str]:
    """One text or several, as a list; anything else is refused."""
    if isinstance(query, str):
        return [query]
    if isinstance(query, int | np.integer):
        raise ConfigError(f"search takes texts; documents like number {query} are in model.docs.most_similar({query})")
    if not isinstance(query, Sequence) or not all(isinstance(text, str) for text in query):
        shown = "" if "\n" in repr(query) else f" {query!r:.60}"
        raise ConfigError(f"search takes a text, a list of texts or a vector, not {type(query).__name__}{shown}")
    return list(query)


def _why_no_match(table: DocumentTable, where: Mapping[str, Any]) -> str:
    """That no document fulfils conditions, and the values that the categories among them have, to choose another."""
    known = [name for name in where if table.fields.get(name) == "category"]
    lists = [f"{name} is one of {listed(table.codes(name)[1])}" for name in known]
    return f"no document has {_shown(where)}; {'; '.join(lists) or 'give other conditions'}"


def _why_none_holds(query: Query, where: Mapping[str, Any]) -> str:
    """That no document holds the phrases of a query without what it excludes."""
    among = f" with {_shown(where)}" if where else ""
    holds = [f"holds the phrase {phrase!r:.60}" for phrase in query.phrases]
    lacks = [f"is without {phrase!r:.60}" for phrase in query.excluded]
    return f"no document{among} {' and '.join([*holds, *lacks])}"


def _shown(where: Mapping[str, Any]) -> str:
    single = {
        field: value[0] if isinstance(value, list) and len(value) == 1 else value for field, value in where.items()
    }
    return ", ".join(f"{field} {value!r:.60}" for field, value in single.items())


def _note(model: Model, query: Query, answers: int, lexical: LexicalIndex | None = None) -> str:
    if not query.text.strip():
        return "the text to search for is empty; give some words"
    if query.excluded and not len(query.words) and not query.rare and not query.guessed:
        return f"{query.text!r:.60} only excludes words; add some to search for"
    if answers or not query.rare:
        held = [word for word in query.rare if lexical is not None and len(lexical.holders(word))]
        lacking = [word for word in query.rare if word not in held]
        by_keyword, missing = (", ".join(map(repr, words[:5])) for words in (held, lacking))
        guessed = ", ".join(f"{word!r:.60} as {other!r:.60}" for word, other in [*query.guessed.items()][:5])
        parts = {"guessed from spelling": guessed, "found by keyword only": by_keyword, "without a vector": missing}
        told = "; ".join(f"{what}: {words}" for what, words in parts.items() if words)
        return told or ("" if answers else "nothing found")
    near = model.words.nearest_spellings(query.rare[0]) if len(query.rare) == 1 else []
    hint = f"did you mean {' or '.join(map(repr, near))}?" if near else "use other words"
    return f"no word of {query.text!r:.60} is known to the model; {hint}"
