"""How to read a corpus: the table of reading options, and of the roles that a column may have."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import Field, dataclass, field, fields, replace
from datetime import UTC, datetime
from functools import cached_property
from inspect import Parameter, signature
from textwrap import fill, indent
from typing import Any, NamedTuple, TypeVar

from spherevec.config import KEEP_TEXT
from spherevec.errors import ConfigError, CorpusError

KINDS = ("text", "number", "date", "category")  # of a kept field
AUTO = "auto"  # the encoding of each file is detected
EXCEL = "excel"  # dates are days since the end of 1899
_NAMES_SHOWN = 20

Verb = TypeVar("Verb", bound=Callable[..., Any])


class KeptField(NamedTuple):
    """A field that is kept beside the text, and its kind where the user says it."""

    name: str
    kind: str | None = None


def option(
    default: Any,
    help: str,
    *,
    metavar: str | None = None,
    choices: tuple[str, ...] | None = None,
    parse: Callable[[str], Any] | None = None,
    role: str | None = None,
    of_tables: bool = False,
    remembered: bool = False,
) -> Any:
    """A reading option; the command line, the documentation and the checks follow from it.

    Args:
        metavar: what `--help` shows for its value. An option with neither this nor choices is a switch if it is a bool,
            and otherwise for Python only.
        choices: the values that it may take.
        parse: makes its value of what is typed on the command line.
        role: the option names the column of that role, which the table of documents keeps as text; only tables have
            it, and an update reads it, too.
        of_tables: only a source with fields can serve it.
        remembered: an update of the model reads its text with the same value.
    """
    shown = {"help": help, "metavar": metavar, "choices": choices, "parse": parse}
    where = {"of_tables": of_tables or role is not None, "remembered": remembered or role is not None}
    return field(default=default, metadata={**shown, "role": role, **where})


def _split(text: str) -> list[str]:
    return [name.strip() for name in text.split(",")]


@dataclass(frozen=True)
class ReadOptions:
    """What `train`, `update`, `infer` and `tokenize` may be told about their source. To add one, add a field."""

    text_field: str | Sequence[str] | None = option(
        None,
        "Column of a table that holds the text; several are one text.",
        metavar="NAME,NAME",
        parse=lambda text: _split(text) if "," in text else text,
        of_tables=True,
        remembered=True,
    )
    id_field: str | None = option(
        None, "Column that holds an id of each document; all must differ.", metavar="NAME", role="id"
    )
    title_field: str | None = option(None, "Column that holds titles.", metavar="NAME", role="title")
    keep: Sequence[str] | Mapping[str, str | None] = option(
        (),
        "Columns to keep for filters, breakdowns and the map, perhaps with their kind: created:date,team.",
        metavar="NAME,NAME",
        parse=_split,
        of_tables=True,
    )
    keep_text: int = option(
        KEEP_TEXT, "Characters of each text to keep for snippets; 0 keeps none.", metavar="N", remembered=True
    )
    delimiter: str | None = option(
        None,
        "What stands between the cells of a CSV file; detected if omitted.",
        metavar="X",
        parse=lambda text: "\t" if text in ("\\t", "tab") else text,
        of_tables=True,
    )
    sheet: str | None = option(
        None, "Sheet of a spreadsheet; the first if omitted.", metavar="NAME", of_tables=True, remembered=True
    )
    ragged: str = option(
        "error",
        "What to do with rows of a CSV file that have more or fewer cells than its header.",
        choices=("error", "skip", "pad"),
    )
    date_format: str | None = option(
        None,
        "How dates are written: %d/%m/%Y, or excel; detected if omitted.",
        metavar="FORMAT",
        remembered=True,
    )
    decimal: str | None = option(
        None, "What stands before decimals; detected if omitted.", choices=(".", ","), remembered=True
    )
    encoding: str = option(AUTO, "How the text is written as bytes.", metavar="NAME")
    encoding_errors: str = option(
        "strict", "Refuse bytes that are not valid in the encoding, or replace them.", choices=("strict", "replace")
    )
    strict: bool = option(False, "Refuse pages and mails that cannot be read; else they are skipped.")
    ids: bool | Sequence[Any] = option(
        False, "True where documents are pairs of an id and a text; or the ids themselves, one a document."
    )
    # The fields are those of an earlier text: a source that has no fields at all is read without them.
    fields_optional: bool = field(default=False)
    columns_seen: set[str] = field(default_factory=set, compare=False)

    def __post_init__(self) -> None:
        for spec in fields(self):
            value, choices = getattr(self, spec.name), spec.metadata.get("choices")
            if choices and value not in choices and value != spec.default:
                raise ConfigError(f"{spec.name} must be one of {', '.join(choices)}, not {value!r:.40}")
        if isinstance(self.keep, str):
            raise ConfigError(
                f"keep must be a list of field names, not {self.keep!r:.60}; write keep={_split(self.keep)!r}"
            )
        if not isinstance(self.keep, Collection) or not all(isinstance(name, str) for name in self.keep):
            raise ConfigError(
                f"keep must be a list of field names as texts, such as ['created'], not {self.keep!r:.60}"
            )
        if not isinstance(self.keep_text, int) or isinstance(self.keep_text, bool) or self.keep_text < 0:
            raise ConfigError(f"keep_text must be a number of characters, 0 for none, not {self.keep_text!r:.40}")
        if self.delimiter is not None and (len(self.delimiter) != 1 or self.delimiter in '\n\r"'):
            raise ConfigError(f"delimiter must be one character such as ';' or a tab, not {self.delimiter!r:.40}")
        if self.date_format is not None and self.date_format != EXCEL:
            _check_date_format(self.date_format)
        if self.id_field is not None and self.has_ids:
            raise ConfigError("id_field and ids both say where ids come from; give one of them")
        names = [kept.name for kept in self.kept]
        for name in names:
            if names.count(name) > 1:
                raise ConfigError(f"keep names {name!r:.60} twice; name each field once")

    @classmethod
    def split(cls, arguments: Mapping[str, Any]) -> tuple[ReadOptions, dict[str, Any]]:
        """The reading options among keyword arguments, or those of `reading`; and the other arguments."""
        own, others = split_options(fields(cls), arguments)
        return replace(others.pop("reading", None) or cls(), **own), others

    @property
    def has_ids(self) -> bool:
        """Whether documents bring ids that no field is named for."""
        return self.ids is not False

    @cached_property
    def text_fields(self) -> tuple[str, ...]:
        """The fields of the text; empty where none is named."""
        given = self.text_field
        return () if given is None else (given,) if isinstance(given, str) else tuple(given)

    @cached_property
    def roles(self) -> dict[str, str]:
        """The columns that are named for a role, by it."""
        named = {spec.metadata.get("role"): getattr(self, spec.name) for spec in fields(self)}
        return {role: name for role, name in named.items() if role and name is not None}

    @cached_property
    def kept(self) -> list[KeptField]:
        """The fields to keep, with the kinds that the user named."""
        if isinstance(self.keep, Mapping):
            for kind in self.keep.values():
                check_kind(kind)
            return [KeptField(name, kind) for name, kind in self.keep.items()]
        split = [(name, *name.rpartition(":")) for name in self.keep]  # created:date
        return [KeptField(at, kind) if colon and kind in KINDS else KeptField(name) for name, at, colon, kind in split]

    @cached_property
    def names(self) -> list[str]:
        """All fields that are named, each once."""
        return list(dict.fromkeys((*self.text_fields, *self.roles.values(), *(kept.name for kept in self.kept))))

    @property
    def wants_fields(self) -> str | None:
        """The first option that only a source with fields can serve, as the user would spell it."""
        for spec in PUBLIC:
            value = getattr(self, spec.name)
            if spec.metadata["of_tables"] and value is not None and (isinstance(value, str) or len(value)):
                return f"{spec.name} {value!r:.60}"
        return None

    def without_fields(self) -> ReadOptions:
        """The same for a source that has no fields."""
        return replace(self, text_field=None, keep=(), **_NO_COLUMNS)

    def text_only(self) -> ReadOptions:
        """The same, but nothing is kept beside the text, which the title is part of."""
        return replace(self, ids=False, keep=(), keep_text=0, **{**_NO_COLUMNS, "title_field": self.title_field})

    @property
    def given(self) -> dict[str, Any]:
        """The options that are not the default."""
        chosen = {spec.name: getattr(self, spec.name) for spec in PUBLIC if spec.name != "ids"}
        given = {name: value for name, value in chosen.items() if value != getattr(ReadOptions, name)}
        return given | ({"ids": self.ids} if self.has_ids else {})

    @property
    def remembered(self) -> dict[str, Any]:
        """What another text of the same kind needs to be read alike, ready for JSON; `keep` is in the table."""
        names = [spec.name for spec in PUBLIC if spec.metadata["remembered"]]
        named = {name: value for name, value in self.given.items() if name in names}
        return named | ({"columns": sorted(self.columns_seen)} if self.columns_seen else {})

    def check_fields(self, there: Sequence[str], where: str, *, text_known: bool = False) -> None:
        """Raise `CorpusError` unless all fields that are named are `there`.

        Args:
            text_known: the source has a text of its own, as an e-mail has; no field is named for it.
        """
        self.columns_seen.update(there)
        missing = [name for name in self.text_fields if name not in there]
        if missing or not (self.text_fields or text_known):
            raise no_text_field(missing[0] if missing else None, there, where)
        asked = {name: f"{role}_field" for role, name in self.roles.items()}
        twice = next((name for name in self.names if there.count(name) > 1), None)
        if twice is not None:
            raise CorpusError(f"{where}: has {there.count(twice)} fields {twice!r:.60}; rename one of them")
        for name, option in {**asked, **{kept.name: "keep" for kept in self.kept}}.items():
            if name not in there:
                before, _, kind = name.rpartition(":")
                if option == "keep" and before in there:
                    check_kind(kind)
                raise CorpusError(f"{where}: no field {name!r:.60}; choose {option}=NAME among {listed(there)}")


PUBLIC = tuple(spec for spec in fields(ReadOptions) if spec.metadata)
ROLES = tuple(spec.metadata["role"] for spec in PUBLIC if spec.metadata["role"])
_NO_COLUMNS: dict[str, Any] = {spec.name: None for spec in PUBLIC if spec.metadata["role"]}


def split_options(specs: Iterable[Field[Any]], arguments: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """The keyword arguments that are some options, and the others."""
    own = {spec.name: arguments[spec.name] for spec in specs if spec.name in arguments}
    return own, {name: value for name, value in arguments.items() if name not in own}


def takes_options(*specs: Field[Any]) -> Callable[[Verb], Verb]:
    """Show options in the signature and the docstring of a function that takes them as `**options`."""

    def shown(verb: Verb) -> Verb:
        before = signature(verb)
        *named, others = before.parameters.values()
        ours = [
            Parameter(spec.name, Parameter.KEYWORD_ONLY, default=spec.default, annotation=spec.type) for spec in specs
        ]
        verb.__signature__ = before.replace(parameters=[*named, *ours, others])  # type: ignore[attr-defined]
        lines = [indent(fill(f"{spec.name}: {spec.metadata['help']}", 108), " " * 12)[4:] for spec in specs]
        verb.__doc__ = (verb.__doc__ or "").replace("        **options:", "\n".join([*lines, "        **options:"]))
        return verb

    return shown


def _check_date_format(form: str) -> None:
    """Raise `ConfigError` unless a date that is written so can be read again."""
    if "%" not in form:
        raise ConfigError(f"date_format must look like '%d/%m/%Y', or 'excel', not {form!r:.40}")
    try:
        datetime.strptime(datetime(2001, 2, 3, 4, 5, 6, tzinfo=UTC).strftime(form), form)
    except (re.error, ValueError) as error:
        raise ConfigError(
            f"date_format {form!r:.40} fits no date ({' '.join(str(error).split())[:100]}); name each part once, as "
            "in '%d/%m/%Y'"
        ) from None


def check_kind(kind: str | None) -> None:
    if kind is not None and kind not in KINDS:
        raise ConfigError(f"a kept field is one of {', '.join(KINDS)}, not {kind!r:.40}")


def no_text_field(name: str | None, there: Sequence[str], where: str) -> CorpusError:
    """What to raise where the text's field is not named, or not there."""
    if name is None:
        return CorpusError(f"{where}: say which field holds the text (text_field=NAME); there are {listed(there)}")
    other = next((sign for sign in ";\t|," if len(there) == 1 and sign in there[0]), None)
    hint = f"; if {other!r} separates the cells, say so (delimiter=X)" if other else ""
    return CorpusError(f"{where}: no field {name!r:.60}; choose text_field=NAME among {listed(there)}{hint}")


def listed(names: Sequence[object]) -> str:
    """A few names, or numbers, for a message."""
    shown = ", ".join(f"{name!r:.60}" for name in names[:_NAMES_SHOWN]) or "none"
    return shown if len(names) <= _NAMES_SHOWN else f"{shown} and {len(names) - _NAMES_SHOWN} more"
