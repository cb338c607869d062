"""What a search answers: hits with id, title, snippet and score, as objects, as pandas, and as a table in notebooks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, overload

from spherevec.errors import MissingExtraError
from spherevec.html import table_html


@dataclass(frozen=True)
class Hit:
    """One answer.

    Attributes:
        id: the id of the document, or the word or topic itself.
        score: what answers are sorted by; in mode "dense" the cosine, in mode "lexical" BM25, in mode "hybrid" a
            cosine plus a part of the share of the best BM25 score (see `spherevec.model.search`).
        title: the title of the document, or the beginning of its text.
        snippet: the beginning of its text.
        row: its row among the model's documents, or words.
        fields: its kept fields.
        cosine: to the query; None where no word of the query has a vector.
    """

    id: str
    score: float
    title: str = ""
    snippet: str = ""
    row: int = -1
    fields: dict[str, Any] = field(default_factory=dict)
    cosine: float | None = None

    def as_dict(self) -> dict[str, Any]:
        """Ready for JSON."""
        shown: dict[str, Any] = {"id": self.id, "score": self.score, "cosine": self.cosine, "row": self.row}
        if self.title or self.snippet or self.fields:
            shown |= {"title": self.title, "snippet": self.snippet, **({"fields": self.fields} if self.fields else {})}
        return shown


class SearchResult(Sequence[Hit]):
    """The answers to one query, best first.

    Attributes:
        query: the text that was searched for.
        hits: the answers.
        note: what the user should know, such as words that the model does not have; '' if there is nothing to say.
        guessed: words of the query that the model does not know, and the known words that stand in for them.
    """

    def __init__(
        self, query: str, hits: Sequence[Hit], note: str = "", guessed: Mapping[str, str] | None = None
    ) -> None:
        self.query, self.hits, self.note, self.guessed = query, list(hits), note, dict(guessed or {})

    def __len__(self) -> int:
        return len(self.hits)

    @overload
    def __getitem__(self, place: int) -> Hit: ...
    @overload
    def __getitem__(self, place: slice) -> Sequence[Hit]: ...
    def __getitem__(self, place: int | slice) -> Hit | Sequence[Hit]:
        return self.hits[place]

    @property
    def ids(self) -> list[str]:
        """The ids of the answers."""
        return [hit.id for hit in self.hits]

    def __repr__(self) -> str:
        lines = [f"{hit.score:6.3f}  {hit.id}{f'  {hit.title}' if hit.title else ''}" for hit in self.hits]
        return "\n".join([f"SearchResult({self.query!r:.60}, {len(self)} answers)", *lines, *filter(None, [self.note])])

    def _repr_html_(self) -> str:
        names = list(self.hits[0].fields) if self.hits else []
        rows = [[hit.score, hit.id, hit.title, hit.snippet, *map(hit.fields.get, names)] for hit in self.hits]
        caption = self.query + (f" ({self.note})" if self.note else "")
        return table_html(["score", "id", "title", "snippet", *names], rows, caption)

    def as_dict(self) -> dict[str, Any]:
        """Ready for JSON."""
        shown = {"query": self.query, "answers": [hit.as_dict() for hit in self.hits], "note": self.note or None}
        return {**shown, "guessed": self.guessed} if self.guessed else shown

    def to_pandas(self) -> Any:
        """A pandas DataFrame, one row an answer."""
        try:
            import pandas
        except ImportError:
            raise MissingExtraError("to_pandas()", "pandas") from None
        columns = ["query", "score", "id", "title", "snippet", "row"]
        rows = [
            {"query": self.query, **{name: getattr(hit, name) for name in columns[1:]}, **hit.fields}
            for hit in self.hits
        ]
        return pandas.DataFrame(rows, columns=None if rows else columns)


class SearchResults(Sequence[SearchResult]):
    """The answers to several queries, in their order."""

    def __init__(self, results: Sequence[SearchResult]) -> None:
        self.results = list(results)

    def __len__(self) -> int:
        return len(self.results)

    @overload
    def __getitem__(self, place: int) -> SearchResult: ...
    @overload
    def __getitem__(self, place: slice) -> Sequence[SearchResult]: ...
    def __getitem__(self, place: int | slice) -> SearchResult | Sequence[SearchResult]:
        return self.results[place]

    def __repr__(self) -> str:
        return "\n\n".join(map(repr, self.results)) or "SearchResults(no queries)"

    def _repr_html_(self) -> str:
        return "".join(result._repr_html_() for result in self.results)

    def to_pandas(self) -> Any:
        """A pandas DataFrame, one row an answer, with the query beside it."""
        try:
            import pandas
        except ImportError:
            raise MissingExtraError("to_pandas()", "pandas") from None
        frames = [result.to_pandas() for result in self.results]
        return pandas.concat(frames, ignore_index=True) if frames else pandas.DataFrame()
