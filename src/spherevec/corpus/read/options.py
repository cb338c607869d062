"""How to read a corpus: which fields hold what, and how files are written."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from spherevec.config import KEEP_TEXT
from spherevec.corpus.read.streams import AUTO
from spherevec.corpus.table.field_types import EXCEL, check_kind, is_missing, split_kind
from spherevec.corpus.table.records import Columns, KeptField, Row
from spherevec.errors import ConfigError, CorpusError

_NAMES_SHOWN = 20


class Fields(NamedTuple):
    """The names of the fields that are read."""

    text: tuple[str, ...]
    id: str | None
    title: str | None
    keep: tuple[str, ...]

    @property
    def all(self) -> list[str]:
        """Each name once."""
        return list(dict.fromkeys(name for name in (*self.text, self.id, self.title, *self.keep) if name is not None))

    def row(
        self, cells: Mapping[str, Any], where: str, number: int, *, text: str | None = None, title: Any = None
    ) -> Row:
        """A document from its cells by their names; those that are not there are missing.

        A title is part of the text, so that it is searched and learned from.

        Args:
            where: the source of the cells, for messages.
            text, title: where these are known without a field.
        """
        if text is None:
            parts = [_text(cells.get(name), where, number, name) for name in self.text]
            heading = cells.get(self.title) if self.title is not None and self.title not in self.text else None
            if heading is not None and not is_missing(heading):
                parts.insert(0, str(heading))
            text = "\n".join(filter(None, parts))
        return Row(
            text,
            None if self.id is None else cells.get(self.id),
            title if self.title is None else cells.get(self.title),
            [cells.get(name) for name in self.keep],
            number,
        )


def _text(value: Any, where: str, number: int, name: str) -> str:
    """A cell as text; nothing is an empty text, and a number is none."""
    if isinstance(value, str):
        return value
    if is_missing(value):
        return ""
    raise CorpusError(
        f"{where}{number}, field {name!r:.60}: holds {type(value).__name__} {str(value)[:40]!r}, not text; choose "
        "another field"
    )


@dataclass(frozen=True)
class ReadOptions:
    """What `train`, `encode` and `infer` may be told about their source.

    Args:
        text_field: the column of a table that holds the text; several, such as ["title", "body"], are one text.
        id_field: the column that holds an id of each document; all must differ.
        title_field: the column that holds titles.
        keep: further columns to keep beside the vectors: names, each perhaps with its kind (`created:date`), or a
            mapping from names to kinds ("text", "number", "date", "category", None to find out).
        keep_text: how many characters of each text to keep for titles and snippets; 0 keeps none.
        delimiter: what stands between the cells of a CSV file; detected if omitted.
        ragged: rows of a CSV file with more or fewer cells than its header: "error" refuses them, "skip" leaves them
            out, "pad" fills what is missing and cuts what is too much.
        date_format: how dates are written, as for `strptime` ("%d/%m/%Y"), or "excel"; detected if omitted.
        decimal: what stands before decimals, "." or ","; detected if omitted.
        encoding: how text is written as bytes; "auto" finds it out for each file.
        encoding_errors: "strict" refuses bytes that are not valid, "replace" puts a replacement character there.
        strict: refuse a web page or a mail that cannot be read; otherwise it is skipped with a warning.
        ids: True where documents are pairs of an id and a text; or the ids themselves, one a document.
        if_there: the fields are those of an earlier text: a source that has no fields at all is read without them.
    """

    text_field: str | Sequence[str] | None = None
    id_field: str | None = None
    title_field: str | None = None
    keep: Sequence[str] | Mapping[str, str | None] = ()
    keep_text: int = KEEP_TEXT
    delimiter: str | None = None
    ragged: str = "error"
    date_format: str | None = None
    decimal: str | None = None
    encoding: str = AUTO
    encoding_errors: str = "strict"
    strict: bool = False
    ids: bool | Sequence[Any] = False
    if_there: bool = False
    columns_seen: set[str] = field(default_factory=set, compare=False)

    def __post_init__(self) -> None:
        if isinstance(self.keep, str):
            raise ConfigError(f"keep must be a list of field names, not {self.keep!r:.60}; write keep=[{self.keep!r}]")
        if not isinstance(self.keep_text, int) or isinstance(self.keep_text, bool) or self.keep_text < 0:
            raise ConfigError(f"keep_text must be a number of characters, 0 for none, not {self.keep_text!r:.40}")
        if self.delimiter is not None and (len(self.delimiter) != 1 or self.delimiter in '\n\r"'):
            raise ConfigError(f"delimiter must be one character such as ';' or a tab, not {self.delimiter!r:.40}")
        _check_choice("ragged", self.ragged, ("error", "skip", "pad"))
        if self.date_format is not None and "%" not in self.date_format and self.date_format != EXCEL:
            raise ConfigError(f"date_format must be such as '%d/%m/%Y', or 'excel', not {self.date_format!r:.40}")
        if self.decimal is not None:
            _check_choice("decimal", self.decimal, (".", ","))
        _check_choice("encoding_errors", self.encoding_errors, ("strict", "replace"))
        if self.id_field is not None and self.ids is not False:
            raise ConfigError("id_field and ids both say where ids come from; give one of them")
        names = [kept.name for kept in self.kept]
        for name in names:
            if names.count(name) > 1:
                raise ConfigError(f"keep names {name!r:.60} twice; name each field once")

    @property
    def text_fields(self) -> tuple[str, ...]:
        """The fields of the text; empty where none is named."""
        given = self.text_field
        return () if given is None else (given,) if isinstance(given, str) else tuple(given)

    @property
    def names(self) -> list[str]:
        """All fields that are named."""
        named = (*self.text_fields, self.id_field, self.title_field, *(kept.name for kept in self.kept))
        return [name for name in named if name is not None]

    @property
    def kept(self) -> list[KeptField]:
        """The fields to keep, with the kinds that the user named."""
        if isinstance(self.keep, Mapping):
            for kind in self.keep.values():
                check_kind(kind)
            return [KeptField(name, kind) for name, kind in self.keep.items()]
        return [KeptField(*split_kind(name)) for name in self.keep]

    @property
    def wants_fields(self) -> str | None:
        """The first option that only a source with fields can serve, as the user would spell it."""
        given = {
            "text_field": self.text_field,
            "id_field": self.id_field,
            "title_field": self.title_field,
            "keep": [*self.keep] or None,
            "delimiter": self.delimiter,
        }
        return next((f"{name} {value!r:.60}" for name, value in given.items() if value is not None), None)

    def without_fields(self) -> ReadOptions:
        """The same for a source that has no fields."""
        return replace(self, text_field=None, id_field=None, title_field=None, keep=())

    @property
    def named(self) -> dict[str, Any]:
        """What another text of the same kind needs to be read alike, ready for JSON; `keep` is in the table."""
        names = ("text_field", "id_field", "title_field", "keep_text", "date_format", "decimal")
        named = {name: getattr(self, name) for name in names if getattr(self, name) != getattr(ReadOptions, name)}
        return named | ({"columns": sorted(self.columns_seen)} if self.columns_seen else {})

    @property
    def columns(self) -> Columns:
        """What the table of documents is made of."""
        return Columns(
            self.id_field, self.title_field, self.kept, self.keep_text, self.ids is not False, self.date_format,
            self.decimal,
        )  # fmt: skip

    def fields(self, there: Sequence[str], where: str, *, text_known: bool = False) -> Fields:
        """The fields to read, all of which must be `there`.

        Args:
            text_known: the source has a text of its own, as an e-mail has; no field is named for it.
        """
        self.columns_seen.update(there)
        missing = [name for name in self.text_fields if name not in there]
        if missing or not (self.text_fields or text_known):
            raise no_text_field(missing[0] if missing else None, there, where)
        keep = tuple(kept.name for kept in self.kept)
        asked = {
            "id_field": [self.id_field],
            "title_field": [self.title_field],
            "keep": keep,
        }
        for option, names in asked.items():
            for name in names:
                if name is not None and name not in there:
                    before, _, kind = name.rpartition(":")
                    if option == "keep" and before in there:
                        check_kind(kind)
                    raise CorpusError(f"{where}: no field {name!r:.60}; choose {option}=NAME among {listed(there)}")
        return Fields(self.text_fields, self.id_field, self.title_field, keep)


def _check_choice(name: str, value: object, choices: Sequence[str]) -> None:
    if value not in choices:
        raise ConfigError(f"{name} must be one of {', '.join(choices)}, not {value!r:.40}")


def no_text_field(name: str | None, there: Sequence[str], where: str) -> CorpusError:
    """What to raise where the text's field is not named, or not there."""
    if name is None:
        return CorpusError(f"{where}: say which field holds the text (text_field=NAME); there are {listed(there)}")
    other = next((sign for sign in ";\t|," if len(there) == 1 and sign in there[0]), None)
    hint = f"; if {other!r} separates the cells, say so (delimiter=X)" if other else ""
    return CorpusError(f"{where}: no field {name!r:.60}; choose text_field=NAME among {listed(there)}{hint}")


def listed(names: Sequence[str]) -> str:
    """A few names for a message."""
    shown = ", ".join(f"{name!r:.60}" for name in names[:_NAMES_SHOWN]) or "none"
    return shown if len(names) <= _NAMES_SHOWN else f"{shown} and {len(names) - _NAMES_SHOWN} more"
