"""What a search answers: hits with id, title, snippet and score, as objects, as pandas, and as a table in notebooks."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from spherevec.errors import import_extra
from spherevec.html import table_html

_PASSAGE = 200  # characters
_WORD = re.compile(r"\w[\w'’-]*")


@dataclass(frozen=True)
class Explanation:
    """What a score is made of: the cosine and the words add up to it.

    Attributes:
        cosine: to the query, which hybrid search moves towards its first answers; None where it has no vector.
        words: the words of the query that the document holds, and what each gave, the most first.
    """

    cosine: float | None
    words: dict[str, float]

    def as_dict(self) -> dict[str, Any]:
        """Ready for JSON."""
        return {"cosine": self.cosine, "words": self.words}

    def __str__(self) -> str:
        cosine = [] if self.cosine is None else [f"cosine {self.cosine:.3f}"]
        return " + ".join(cosine + [f"{word} {part:.3f}" for word, part in self.words.items()])


@dataclass(frozen=True)
class Hit:
    """One answer.

    Attributes:
        id: the id of the document, or the word or topic itself.
        score: what answers are sorted by; in mode "dense" the cosine, in mode "lexical" BM25, in mode "hybrid" a
            cosine plus what the words give (see `spherevec.search.hybrid`).
        title: the title of the document, or the beginning of its text.
        snippet: the passage of the kept text with most of the query's words.
        row: its row among the model's documents, or words.
        fields: its kept fields.
        explanation: what the score is made of, if asked for.
    """

    id: str
    score: float
    title: str = ""
    snippet: str = ""
    row: int = -1
    fields: dict[str, Any] = field(default_factory=dict)
    explanation: Explanation | None = None

    def as_dict(self) -> dict[str, Any]:
        """Ready for JSON."""
        shown: dict[str, Any] = {"id": self.id, "score": self.score, "row": self.row}
        if self.title or self.snippet or self.fields:
            shown |= {"title": self.title, "snippet": self.snippet, **({"fields": self.fields} if self.fields else {})}
        return shown | ({"explanation": self.explanation.as_dict()} if self.explanation else {})


def is_beginning(title: str, text: str) -> bool:
    """Whether a title is all of a text or, cut, its beginning, so that the text says it, too.

    >>> is_beginning("One two …", "One two three"), is_beginning("One", "One two three")
    (True, False)
    """
    return title == text or (title.endswith(" …") and text.startswith(title.removesuffix(" …")))


def passage(text: str, words: Mapping[str, float], normalise: Callable[[str], str], length: int = _PASSAGE) -> str:
    """The part of a text, of at most about so many characters, with the words that matter most.

    >>> passage("one two three four five six", {"five": 1.0}, str.lower, 15)
    '… four five six'
    """
    if len(text) <= length:
        return text
    found = [(match.start(), normalise(match[0])) for match in _WORD.finditer(text)] if words else []
    places = [(start, word) for start, word in found if word in words]
    begin, most = 0, -1.0
    for start, _ in places:
        first = max(0, start - length // 4)
        inside = {word for place, word in places if first <= place < first + length}
        if sum(words[word] for word in inside) > most:
            begin, most = first, sum(words[word] for word in inside)
    begin = min(begin, len(text) - length)
    end = min(len(text), begin + length)
    begin = 0 if begin == 0 else text.find(" ", begin) + 1
    end = end if end == len(text) else text.rfind(" ", begin, end)
    return f"{'… ' if begin else ''}{text[begin : end if end > begin else None]}{' …' if end < len(text) else ''}"


class SearchResult(list[Hit]):
    """The answers to one query, best first.

    Attributes:
        query: the text that was searched for.
        note: what the user should know, such as words that the model does not have; '' if there is nothing to say.
        guessed: words of the query that the model does not know, and the known words that stand in for them.
    """

    def __init__(
        self, query: str, hits: Iterable[Hit], note: str = "", guessed: Mapping[str, str] | None = None
    ) -> None:
        super().__init__(hits)
        self.query, self.note, self.guessed = query, note, dict(guessed or {})

    @property
    def hits(self) -> list[Hit]:
        """The answers."""
        return list(self)

    @property
    def ids(self) -> list[str]:
        """The ids of the answers."""
        return [hit.id for hit in self]

    def __repr__(self) -> str:
        lines = [f"{hit.score:6.3f}  {hit.id}{f'  {hit.title}' if hit.title else ''}" for hit in self]
        return "\n".join([f"SearchResult({self.query!r:.60}, {len(self)} answers)", *lines, *filter(None, [self.note])])

    def _repr_html_(self) -> str:
        names = list(self[0].fields) if self else []
        rows = [[hit.score, hit.id, hit.title, hit.snippet, *map(hit.fields.get, names)] for hit in self]
        caption = self.query + (f" ({self.note})" if self.note else "")
        return table_html(["score", "id", "title", "snippet", *names], rows, caption)

    def as_dict(self) -> dict[str, Any]:
        """Ready for JSON."""
        shown = {"query": self.query, "answers": [hit.as_dict() for hit in self], "note": self.note or None}
        return {**shown, "guessed": self.guessed} if self.guessed else shown

    def to_pandas(self) -> Any:
        """A pandas DataFrame, one row an answer."""
        return SearchResults([self]).to_pandas()


class SearchResults(list[SearchResult]):
    """The answers to several queries, in their order."""

    def __repr__(self) -> str:
        return "\n\n".join(map(repr, self)) or "SearchResults(no queries)"

    def _repr_html_(self) -> str:
        return "".join(result._repr_html_() for result in self)

    def to_pandas(self) -> Any:
        """A pandas DataFrame, one row an answer, with the query beside it."""
        pandas = import_extra("pandas", "to_pandas()", "pandas")
        columns = ["query", "score", "id", "title", "snippet", "row"]
        rows = [
            {"query": result.query, **{name: getattr(hit, name) for name in columns[1:]}, **hit.fields}
            for result in self
            for hit in result
        ]
        return pandas.DataFrame(rows, columns=None if rows else columns)
