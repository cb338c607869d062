"""Python objects as documents: texts, lists of words, pairs with ids, records, data frames.

Ambiguous input is rejected, and the message shows how to be explicit.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain, islice
from pathlib import Path
from typing import Any, NamedTuple

from spherevec.corpus.read.formats import REFUSED, ending, format_by_ending
from spherevec.corpus.read.options import ReadOptions, listed
from spherevec.corpus.read.tables import make_row, record_rows
from spherevec.corpus.table.records import Row
from spherevec.errors import CorpusError

_LOOKED_AT = 10  # documents that are compared with file names
_LONGEST_PATH = 400


class Documents(NamedTuple):
    """The documents of an iterable: all texts, or all lists of words."""

    rows: Iterator[Row]
    in_words: bool


def documents_of(source: Any, options: ReadOptions, *, paths: bool = False) -> Documents:
    """What an iterable holds. The first document decides; all must be alike.

    Args:
        paths: texts may look like paths: they are known to be none.
    """
    _refuse_source(source)
    try:
        items = iter(source)
    except TypeError:
        raise CorpusError(
            f"a corpus is a path, or an iterable of texts or of lists of words, not {_shown(source)}"
        ) from None
    if options.text_field is not None:
        return Documents(record_rows(enumerate(items), options, "record ", "the records"), False)
    items, options = _named_pairs(items, options)
    if options.wants_fields:
        raise CorpusError(
            f"{options.wants_fields} needs records with fields; name the field of the text (text_field=NAME), "
            "or give (id, text) pairs with ids=True"
        )
    pairs = _pairs(items, options)
    first = next(pairs, None)
    if first is None:
        raise CorpusError("the iterable holds no documents; a generator can be read only once")
    document = first[1]
    both: Iterator[tuple[Any, Any]] = chain([first], pairs)
    if isinstance(document, list):
        return Documents(_word_lists(both), True)
    _refuse_document(document)
    if not options.has_ids and not paths:
        both = _no_paths(both)
    return Documents(_texts(both), False)


def _named_pairs(items: Iterator[Any], options: ReadOptions) -> tuple[Iterator[Any], ReadOptions]:
    """Where `id_field` is given and the first document is a pair, the documents are pairs of an id and a text."""
    if options.id_field is None:
        return items, options
    first = list(islice(items, 1))
    if first and isinstance(first[0], tuple) and len(first[0]) == 2:
        options = replace(options, id_field=None, ids=True)
    return chain(first, items), options


def _pairs(items: Iterator[Any], options: ReadOptions) -> Iterator[tuple[Any, Any]]:
    """Each document with its id, None where it has none."""
    if not options.has_ids:
        for item in items:
            yield None, item
    elif options.ids is True:
        for number, item in enumerate(items):
            if not isinstance(item, tuple | list) or len(item) != 2:
                raise CorpusError(f"document {number} (counted from 0) must be a pair (id, text), not {_shown(item)}")
            yield item[0], item[1]
    else:
        count = 0
        assert not isinstance(options.ids, bool)
        ids: Iterator[Any] = iter(options.ids)
        for item in items:
            id = next(ids, _pairs)
            if id is _pairs:
                raise CorpusError(f"there are {count} ids and more documents; give one id a document")
            count += 1
            yield id, item
        if next(ids, _pairs) is not _pairs:
            raise CorpusError(f"there are more ids than the {count} documents; give one id a document")


def _texts(pairs: Iterable[tuple[Any, Any]]) -> Iterator[Row]:
    for number, (id, document) in enumerate(pairs):
        if not isinstance(document, str):
            raise CorpusError(
                f"document {number} (counted from 0) must be a string like the first, not {_shown(document)}; "
                "make it '' if it is empty"
            )
        yield Row(document, {} if id is None else {"id": id}, number=number)


def _word_lists(pairs: Iterable[tuple[Any, Any]]) -> Iterator[Row]:
    for number, (id, document) in enumerate(pairs):
        if not isinstance(document, list):
            raise CorpusError(
                f"document {number} (counted from 0) must be a list of words like the first, not {_shown(document)}"
            )
        for word in document:
            if not isinstance(word, str):
                raise CorpusError(
                    f"document {number} (counted from 0): {_shown(word)} is not a word; words are strings"
                )
        yield Row(document, {} if id is None else {"id": id}, number=number)


def _refuse_source(source: Any) -> None:
    """Refuse what can be iterated over, but holds no documents in order."""
    if isinstance(source, Mapping):
        raise CorpusError(
            "a dict is not a list of documents; give list(d.items()) with ids=True where keys are ids, "
            "or list(d.values())"
        )
    if isinstance(source, bytes | bytearray):
        raise CorpusError("bytes are no corpus; decode them, and give a list of texts: [data.decode()]")
    if isinstance(source, set | frozenset):
        raise CorpusError("a set has no order; give a list of documents: sorted(s)")


def _refuse_document(document: Any) -> None:
    """Refuse a first document that is no text, and say how to say what may be meant."""
    if isinstance(document, str):
        return
    if isinstance(document, tuple):
        raise CorpusError(
            f"document 0 (counted from 0) is a tuple, {document!r:.40}; give (id, text) pairs with ids=True, or "
            "words as a list"
        )
    if isinstance(document, Mapping):
        raise CorpusError(
            "document 0 (counted from 0) is a record; say which field holds its text (text_field=NAME), one of "
            f"{listed(list(document))}"
        )
    if isinstance(document, os.PathLike):
        raise CorpusError("paths come as a list of them: give list(paths)")
    raise CorpusError(
        f"document 0 (counted from 0) must be a text or a list of words, not {_shown(document)}; "
        "make it '' if it is empty"
    )


def _no_paths(pairs: Iterable[tuple[Any, Any]]) -> Iterator[tuple[Any, Any]]:
    """Refuse texts all of which look like the paths of files."""
    both = iter(pairs)
    first = list(islice(both, _LOOKED_AT))
    if all(isinstance(document, str) and _like_a_path(document) for _, document in first):
        raise CorpusError(
            f"the documents look like paths, such as {first[0][1]!r:.60}; to read these files give "
            "[pathlib.Path(p) for p in paths]"
        )
    return chain(first, both)


def _like_a_path(text: str) -> bool:
    if not text or len(text) > _LONGEST_PATH or "\n" in text or "\0" in text:
        return False
    path = Path(text)
    if not any(map(str.isspace, text)) and (format_by_ending(path) or ending(path) in REFUSED):
        return True
    try:
        return ("/" in text or "\\" in text or "." in text) and path.is_file()
    except OSError:
        return False


def paths_of(source: Any) -> Sequence[str | os.PathLike[str]] | None:
    """The paths that a source is: one, or a list of `Path` objects; None where it is something else."""
    if isinstance(source, str | os.PathLike):
        return [source]
    if isinstance(source, list | tuple) and source and isinstance(source[0], os.PathLike):
        for number, path in enumerate(source):
            if not isinstance(path, os.PathLike):
                raise CorpusError(f"item {number} (counted from 0) must be a path like the first, not {_shown(path)}")
        return source
    return None


def _shown(value: object) -> str:
    return f"{type(value).__name__} {repr(value)[:40]}"


# The packages whose frames narwhals knows; nothing is imported for objects of other ones.
_PACKAGES = {"pandas", "polars", "pyarrow", "modin", "cudf", "dask", "ibis", "duckdb", "pyspark", "narwhals"}


def is_frame(source: Any) -> bool:
    """Whether an object is a data frame, loaded or lazy, and no column of one."""
    package = type(source).__module__.partition(".")[0]
    if package not in _PACKAGES or package not in sys.modules:
        return False
    if hasattr(source, "to_frame") and not hasattr(source, "columns"):  # a Series
        return False
    return hasattr(source, "columns") or hasattr(source, "column_names") or hasattr(source, "collect")


def frame_rows(source: Any, options: ReadOptions) -> Iterator[Row]:
    """The rows of a data frame; a missing cell is an empty text."""
    import narwhals.stable.v1 as narwhals

    kind = f"the {type(source).__module__.partition('.')[0]} {type(source).__name__}"
    try:
        frame = narwhals.from_native(source, eager_only=True)
    except TypeError:
        raise CorpusError(f"{kind}: its rows are not loaded; call .collect() on it, or .to_pandas()") from None
    there = list(frame.columns)
    if not all(isinstance(name, str) for name in there):
        raise CorpusError(f"{kind}: its columns must be named by strings; rename them")
    options.check_fields(there, kind)
    rows = enumerate(frame.select(options.names).iter_rows(named=True))
    return (make_row(options, cells, f"{kind}, row (counted from 0) ", number) for number, cells in rows)
