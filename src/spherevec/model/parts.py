"""The parts of a model, one row each in `PARTS`: where a part is stored, and how it is opened, checked and edited.

    model.json              how the model was made: config, record, tokenizer, parameters, provenance; and checksums of
                            every other file and of itself
    vocabulary.json         the words, one per line
    words.safetensors       `vectors` (n, dim) float32 and, if known, `counts` (n,) int64
    contexts.safetensors    the same words as contexts
    inputs.safetensors      the input vectors of the words, where `words` are their sum with `contexts`
    documents.safetensors   the table of documents: ids, titles, the beginning of the text, kept fields
    docs.safetensors        one vector per document
    terms.safetensors       which words each document holds, and how often
    fit.safetensors         what documents are fitted with: `weights` (n,) of the words, `mean` (dim,) and `covariance`
                            (dim, dim) of negative samples
    rare_counts.safetensors words too rare for a vector, with their counts, for when more text comes
    topics.safetensors      topics that were kept with the model

All but the words are optional, and a model that lacks a part opens without it. File names are fixed: nothing in
`model.json` can point elsewhere.

To add a part, write a subclass of `Part`, add it to `PARTS`, and declare the attribute's type in `Model`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import numpy as np
from numpy.typing import NDArray

from spherevec._version import __version__
from spherevec.config import TrainConfig
from spherevec.corpus.count.vocabulary import RareCounts
from spherevec.corpus.tokenize.tokenizer import Tokenizer, stored_tokenizer, tokenizer_of
from spherevec.engine.fit import MOST_BIAS, FitTables
from spherevec.errors import FormatError
from spherevec.model.document_edit import DocumentEdit
from spherevec.model.documents import DocumentTable
from spherevec.model.keyed_vectors import KeyedVectors
from spherevec.search.terms import DocumentTerms
from spherevec.storage import schema

MANIFEST = "model.json"

Values = Mapping[str, Any]  # parts by name; None for one that the model lacks
# What a file holds: for .safetensors arrays by name, for .json a list of names, for model.json any JSON value.
Contents = Mapping[str, Any]


@dataclass(frozen=True)
class StoredTopics:
    """What is stored of topics; `spherevec.topics` makes it and makes topics of it again."""

    about: Mapping[str, Any]  # numbers, titles and settings, in JSON's own types
    arrays: Mapping[str, NDArray[Any]]  # the directions that the topics are made of

    @staticmethod
    def check(about: Any) -> None:
        """Raise `ValueError` unless that is a description."""
        schema.map_of(schema.plain)(about, "topics")

    @classmethod
    def of_tensors(cls, tensors: Mapping[str, NDArray[Any]]) -> StoredTopics:
        """The topics of the arrays of a file."""
        about = schema.parsed(tensors["about"].tobytes())
        cls.check(about)
        return cls(about, {name: array for name, array in tensors.items() if name != "about"})

    @property
    def tensors(self) -> dict[str, NDArray[Any]]:
        """The arrays of the file."""
        encoded = json.dumps(self.about, allow_nan=False).encode()
        return {**self.arrays, "about": np.frombuffer(encoded, np.uint8)}


class Part:
    """One part of a model; a subclass overrides what differs from a value with `tensors` in one file."""

    name: str  # the argument of `Model`, and its attribute
    files: tuple[str, ...]  # where it is stored; `model.json` for an entry of that file
    mapped = True  # whether its arrays may be memory-mapped; they are read into memory otherwise
    kind: Any  # makes the value of the arrays of its file
    schema: schema.Check = schema.plain  # of an entry of model.json

    def accept(self, value: Any, given: Values) -> Any:
        """The value as the model holds it, None if it was not given; `FormatError` unless it fits the other parts."""
        return value

    def save(self, value: Any) -> Contents:
        """What to write into each of the files."""
        return {self.files[0]: value.tensors}

    def open(self, contents: Contents, opened: Values) -> Any:
        """The value that was saved; `opened` holds the parts above it in the table."""
        return self.kind(contents[self.files[0]])

    def check(self, value: Any) -> None:
        """Raise `FormatError` unless every number of the part is sound."""

    def edit(self, value: Any, edit: DocumentEdit, added: Any, edited: Values) -> Any:
        """The value after documents were added, replaced or removed.

        Args:
            added: the part of the added documents; None if there is none.
            edited: the parts above it in the table, after the edit.
        """
        return value

    def describe(self, value: Any) -> dict[str, Any]:
        """What `Model.describe` says of it, ready for JSON; `value` is None where the model lacks it."""
        return {}


class _Vectors(Part):
    """Unit vectors with the keys of the words; `described_as` is what `Model.describe` calls their number."""

    def __init__(self, name: str, described_as: str | None = None) -> None:
        self.name, self.files, self._described_as = name, (f"{name}.safetensors",), described_as

    def accept(self, value: KeyedVectors | None, given: Values) -> Any:
        words = given["words"]
        if value is not None and value.vector_size != words.vector_size:
            raise FormatError(f"{self.name} have dimension {value.vector_size}, words have {words.vector_size}")
        return value

    def save(self, value: KeyedVectors) -> Contents:
        counts = {} if value.counts is None else {"counts": value.counts}
        return {self.files[0]: {"vectors": value.vectors, **counts}}

    def open(self, contents: Contents, opened: Values) -> KeyedVectors:
        vectors, counts = (contents[self.files[0]].get(name) for name in ("vectors", "counts"))
        if vectors is None or vectors.dtype != np.float32 or vectors.ndim != 2:
            raise FormatError("holds no float32 array 'vectors' of shape (n, dim); copy it again")
        if counts is not None and counts.dtype != np.int64:
            raise FormatError(f"'counts' must be int64, not {counts.dtype}; copy it again")
        return KeyedVectors(self.keys(contents, opened), vectors, counts)

    def keys(self, contents: Contents, opened: Values) -> Sequence[str] | None:
        names: Sequence[str] | None = opened["words"].names
        return names

    def check(self, value: KeyedVectors) -> None:
        value.check(self.name)

    def describe(self, value: KeyedVectors | None) -> dict[str, Any]:
        return {} if self._described_as is None else {self._described_as: None if value is None else len(value)}


class _Words(_Vectors):
    def __init__(self) -> None:
        super().__init__("words")
        self.files = (*self.files, "vocabulary.json")

    def accept(self, value: KeyedVectors | None, given: Values) -> Any:
        if value is None or not value.named:
            raise FormatError("the words of a model need names; give KeyedVectors a list of words")
        return value

    def save(self, value: KeyedVectors) -> Contents:
        return {**super().save(value), self.files[1]: value.index_to_key}

    def keys(self, contents: Contents, opened: Values) -> Sequence[str] | None:
        names: Sequence[str] = contents[self.files[1]]
        return names

    def describe(self, value: KeyedVectors | None) -> dict[str, Any]:
        assert value is not None
        return {"words": len(value), "vector_size": value.vector_size}


class _WordVectors(_Vectors):
    """Other vectors of the same words; `inputs` are the words themselves where there are no others."""

    def accept(self, value: KeyedVectors | None, given: Values) -> Any:
        if value is not None and value.index_to_key != given["words"].index_to_key:
            raise FormatError(f"{self.name} must have the same keys as words, in the same order")
        return given["words"] if value is None and self.name == "inputs" else super().accept(value, given)


class _Documents(Part):
    name, files, kind = "documents", ("documents.safetensors",), DocumentTable

    def accept(self, value: DocumentTable | None, given: Values) -> Any:
        docs = given["docs"]
        if value is None:
            return None if docs is None else DocumentTable.of_ids(docs.names, len(docs))
        if docs is not None and len(value) != len(docs):
            raise FormatError(f"the table of documents has {len(value)} rows, but there are {len(docs)} documents")
        return value

    def check(self, value: DocumentTable) -> None:
        value.check()

    def edit(self, value: DocumentTable, edit: DocumentEdit, added: DocumentTable | None, edited: Values) -> Any:
        return edit.join_tables(value, added, edited["provenance"].get("next_id", 0))

    def describe(self, value: DocumentTable | None) -> dict[str, Any]:
        if value is None:
            return {"ids": None, "titles": None, "fields": None}
        return {"ids": "own" if value.named else "positions", "titles": value.titled, "fields": value.fields}


class _Docs(_Vectors):
    def keys(self, contents: Contents, opened: Values) -> Sequence[str] | None:
        return _ids(opened["documents"])

    def edit(self, value: KeyedVectors, edit: DocumentEdit, added: NDArray[np.float32] | None, edited: Values) -> Any:
        return KeyedVectors(_ids(edited["documents"]), edit.join_rows(value.vectors, added))


def _ids(documents: DocumentTable | None) -> Sequence[str] | None:
    return documents.ids if documents is not None and documents.named else None


class _Terms(Part):
    name, files, kind = "terms", ("terms.safetensors",), DocumentTerms

    def accept(self, value: DocumentTerms | None, given: Values) -> Any:
        words, docs = given["words"], given["docs"]
        if value is not None and docs is not None and value.n_documents != len(docs):
            raise FormatError(f"the terms have {value.n_documents} rows, but there are {len(docs)} documents")
        if value is not None and value.n_words != len(words):
            raise FormatError(f"the document terms are of {value.n_words} words, but there are {len(words)}")
        return value

    def check(self, value: DocumentTerms) -> None:
        value.check()

    def edit(self, value: DocumentTerms, edit: DocumentEdit, added: DocumentTerms | None, edited: Values) -> Any:
        return edit.join_terms(value, added, (edited["words"].names or ())[value.n_words :])


class _Fit(Part):
    name, files, mapped = "fit", ("fit.safetensors",), False

    def accept(self, value: FitTables | None, given: Values) -> Any:
        if value is not None and (len(value.weights), len(value.mean)) != given["words"].vectors.shape:
            raise FormatError(
                f"fit has {len(value.weights)} weights of words and a mean of dimension {len(value.mean)}"
            )
        return value

    def save(self, value: FitTables) -> Contents:
        return {self.files[0]: value._asdict()}

    def open(self, contents: Contents, opened: Values) -> FitTables:
        arrays = contents[self.files[0]]
        words, dim = opened["words"].vectors.shape
        shapes = {"weights": (words,), "mean": (dim,), "covariance": (dim, dim), "by_length": (2,)}
        for name, shape in shapes.items():
            found = arrays.get(name)
            if found is None or found.dtype != np.float32 or found.shape != shape or not np.isfinite(found).all():
                raise FormatError(f"holds no finite float32 array {name!r} of shape {shape}; copy it again")
        if not (arrays["weights"] >= 0).all():
            raise FormatError("'weights' must not be negative; copy it again")
        return FitTables(**{name: arrays[name] for name in shapes})


class _Arrays(Part):
    """What `kind` makes of the arrays of a file, and gives back as `tensors`; no document changes it."""

    def __init__(self, name: str, file: str, kind: Callable[[Mapping[str, NDArray[Any]]], Any], mapped: bool) -> None:
        self.name, self.files, self.kind, self.mapped = name, (file,), kind, mapped


class _Entry(Part):
    """An entry of `model.json`; `accepted` makes what the model holds of what it is given."""

    files = (MANIFEST,)

    def __init__(self, name: str, wanted: schema.Check, accepted: Callable[[Any], Any]) -> None:
        self.name, self.schema, self._accepted = name, wanted, accepted

    def accept(self, value: Any, given: Values) -> Any:
        return self._accepted(value)

    def save(self, value: Any) -> Contents:
        return {MANIFEST: value}

    def open(self, contents: Contents, opened: Values) -> Any:
        return contents[MANIFEST]

    def describe(self, value: Any) -> dict[str, Any]:
        return {self.name: None if value is None else self.save(value)[MANIFEST]}


class _Config(_Entry):
    """The training settings; None for imported vectors."""

    def open(self, contents: Contents, opened: Values) -> Any:
        saved = contents[MANIFEST]
        return None if saved is None else TrainConfig.saved_settings(saved)


class _Tokenizer(_Entry):
    def save(self, value: Tokenizer) -> Contents:
        return {MANIFEST: value.description()}

    def open(self, contents: Contents, opened: Values) -> Tokenizer:
        return stored_tokenizer(contents[MANIFEST])


def _provenance(value: Mapping[str, Any] | None) -> dict[str, Any]:
    created = datetime.now(UTC).isoformat(timespec="seconds")
    return {"version": __version__, "created": created, **(value or {})}


_MAP = schema.map_of(schema.plain)
_TEXTS, _COUNT = schema.list_of(schema.text), schema.whole()
_SUMMARY = schema.record(
    dict.fromkeys(("documents", "empty", "unknown_documents", "tokens", "dropped_tokens"), _COUNT),
    {
        **dict.fromkeys(("distinct_words", "kept_words", "min_count"), schema.optional(_COUNT)),
        **dict.fromkeys(("notes", "fields", "warnings", "settings"), _TEXTS),
    },
    others=True,
)
_BIAS = schema.between(-MOST_BIAS, MOST_BIAS)
_PARAMETERS = schema.record({}, {"word_bias": _BIAS, "document_bias": _BIAS}, others=schema.number)
# What commands make use of; the user may say anything else.
_PROVENANCE = {
    **dict.fromkeys(("tokens", "raw_tokens", "next_id"), _COUNT),
    "reading": schema.record({}, {"columns": _TEXTS}, others=schema.plain),
    "summary": _SUMMARY,
    "updates": schema.list_of(_MAP),
}
# A part may look at those above it when it is opened or edited.
PARTS: dict[str, Part] = {
    part.name: part
    for part in (
        _Tokenizer("tokenizer", _MAP, lambda value: tokenizer_of("words" if value is None else value)),
        _Config("config", schema.optional(_MAP), lambda value: None if value is None else dict(value)),
        _Entry("parameters", _PARAMETERS, lambda value: dict(value or {})),
        _Entry("provenance", schema.record({}, _PROVENANCE, others=schema.plain), _provenance),
        _Entry("record", schema.table, lambda value: [dict(epoch) for epoch in value or ()]),
        _Words(),
        _WordVectors("contexts", "contexts"),
        _WordVectors("inputs"),
        _Documents(),
        _Docs("docs", "documents"),
        _Terms(),
        _Fit(),
        _Arrays("rare_counts", "rare_counts.safetensors", RareCounts.of_tensors, mapped=True),
        # After an update `spherevec.topics` brings topics that were kept up to date.
        _Arrays("kept_topics", "topics.safetensors", StoredTopics.of_tensors, mapped=False),
    )
}


def folder_files() -> set[str]:
    """The names of all files that a model folder may hold."""
    return {file for part in PARTS.values() for file in part.files}
