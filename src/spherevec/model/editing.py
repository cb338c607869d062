"""Documents that come to a model, leave it, or take the place of others: each time a new model, the old one stays."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from spherevec.errors import ConfigError
from spherevec.model.documents import DocumentTable
from spherevec.model.index import carry_index
from spherevec.model.keyed_vectors import KeyedVectors
from spherevec.search.terms import DocumentTerms

if TYPE_CHECKING:
    from spherevec.model.model import Model

Rows = NDArray[np.int64]
Floats = NDArray[np.float32]


class Arrangement(NamedTuple):
    """Where documents come from: first the rows of a model that stay, then those that arrive.

    A document that replaces another takes its row; all others are appended.
    """

    kept: Rows  # rows of the model that stay, ascending
    arriving: Rows  # rows of the new documents that are taken
    order: Rows  # for each row of the result, its place among the kept and then the arriving

    @property
    def origin(self) -> Rows:
        """For each row of the result the row of the model that it was, -1 for one that arrives."""
        both = np.concatenate([self.kept, np.full(len(self.arriving), -1, np.int64)])
        return both[self.order]


def arranged(n_documents: int, arriving: Rows, places: Rows) -> Arrangement:
    """Let documents arrive.

    Args:
        n_documents: of the model.
        arriving: (m,) rows of the new documents that are taken.
        places: (m,) the row of the model that each replaces, -1 for one that is appended.
    """
    replaced = places >= 0
    gone = np.zeros(n_documents, np.bool_)
    gone[places[replaced]] = True
    kept = np.flatnonzero(~gone)
    order = np.empty(n_documents + np.count_nonzero(~replaced), np.int64)
    order[kept] = np.arange(len(kept))
    order[places[replaced]] = len(kept) + np.flatnonzero(replaced)
    order[n_documents:] = len(kept) + np.flatnonzero(~replaced)
    return Arrangement(kept, arriving, order)


def changed(model: Model, **changes: Any) -> Model:
    """A model like `model` with some arguments of its constructor changed."""
    from spherevec.model.model import Model as New

    parts = {
        "words": model.words,
        "contexts": model.contexts,
        "docs": model.docs,
        "inputs": None if model.inputs is model.words else model.inputs,
        "fit": model.fit,
        "config": model.config,
        "record": model.record,
        "tokenizer": model.tokenizer,
        "parameters": model.parameters,
        "provenance": model.provenance,
        "documents": model.documents,
        "terms": model.terms,
        "rare_counts": model.rare_counts,
        "kept_topics": model.kept_topics,
    }
    return New(**(parts | changes))


def with_arrivals(
    model: Model, where: Arrangement, vectors: Floats, table: DocumentTable, terms: DocumentTerms | None
) -> dict[str, Any]:
    """The arguments of a model's constructor that hold its documents, after some arrived.

    Args:
        where: what stays and what comes.
        vectors: (m, dim) of the arriving documents.
        table: of all new documents, of which `where.arriving` are taken.
        terms: (m documents) of the arriving ones, in the words of the new model; None where they are not kept.
    """
    assert model.docs is not None and model.documents is not None
    old = model.documents
    if not table.named and old.named:
        table = table.with_ids(_free_numbers(old, len(table)))
    if len(where.kept) < len(old) or not np.array_equal(where.order, np.arange(len(where.order))):
        old = old.take(where.kept)
    joined = DocumentTable.concatenate([old, table.take(where.arriving)])
    if not np.array_equal(where.order, np.arange(len(where.order))):
        joined = joined.take(where.order)
    rows = np.concatenate([model.docs.vectors[where.kept], vectors])[where.order]
    joined_terms = None
    if terms is not None and model.terms is not None:
        joined_terms = terms_of([(model.terms, where.kept), (terms, np.arange(len(vectors)))], where.order)
    return {
        "docs": KeyedVectors(joined.ids if joined.named else None, rows),
        "documents": joined,
        "terms": joined_terms,
    }


def updated(
    model: Model, source: Any, *, finish: Callable[[Model], object] | None = None, threads: int = 0, **options: Any
) -> Model:
    """The model after an update, with the topics that were kept; the rooms above are found by their names.

    Args:
        finish: called with the finished model, its topics included, before any interruption is let through.
        **options: those of `spherevec.training.update.update`.
    """

    def complete(grown: Model) -> bool:
        if model.kept_topics is not None and grown is not model:
            import_module("spherevec.topics").carry_topics(model, grown, threads)
        return finish is not None and finish(grown) is not False

    update = import_module("spherevec.training.update").update
    grown: Model = update(model, source, finish=complete, threads=threads, **options)
    return grown


def remove(model: Model, ids: Iterable[str]) -> Model:
    """The model without some documents; all other vectors keep their bits, all other documents their ids."""
    if model.docs is None or model.documents is None:
        raise ConfigError("this model was trained without documents: there is nothing to remove")
    if isinstance(ids, str):
        raise ConfigError(f"ids must be a list of ids, not {ids!r:.60}; put it into a list")
    gone = np.zeros(len(model.docs), np.bool_)
    for one in ids:
        gone[model.documents.row_of(one)] = True
    kept = np.flatnonzero(~gone)
    documents = model.documents.take(kept)
    if not documents.named:
        documents = documents.with_ids([model.documents.ids[row] for row in kept.tolist()])
    docs = KeyedVectors(documents.ids, model.docs.vectors[kept])
    carry_index(model.docs, docs, kept)
    return changed(
        model,
        docs=docs,
        documents=documents,
        terms=None if model.terms is None else terms_of([(model.terms, kept)], np.arange(len(kept))),
    )


def terms_of(parts: Sequence[tuple[DocumentTerms, Rows]], order: Rows) -> DocumentTerms:
    """The words of some documents of several collections, in memory; the widest decides how many words there are.

    Args:
        order: (n,) for each row of the result, its place among the rows of all parts.
    """
    from scipy.sparse import csr_array, vstack

    n_words = max(terms.n_words for terms, _ in parts)
    blocks, lengths, hashes, rare_rows = [], [], [], []
    place_of = np.empty(len(order), np.int64)
    place_of[order] = np.arange(len(order))
    first = 0
    for terms, rows in parts:
        own = terms.counts[rows]
        blocks.append(csr_array((own.data, own.indices, own.indptr), shape=(len(rows), n_words)))
        lengths.append(terms.lengths[rows])
        moved = np.full(terms.n_documents, -1, np.int64)
        moved[rows] = place_of[first : first + len(rows)]
        own_hashes, own_rows = terms.rare
        hashes.append(own_hashes[moved[own_rows] >= 0])
        rare_rows.append(moved[own_rows][moved[own_rows] >= 0])
        first += len(rows)
    counts = csr_array(vstack(blocks, format="csr")[order])
    counts.sort_indices()
    by_word = counts.tocsc()
    all_hashes, all_rows = np.concatenate(hashes), np.concatenate(rare_rows)
    by_hash = np.lexsort((all_rows, all_hashes))
    return DocumentTerms(
        {
            "starts": counts.indptr.astype(np.int64),
            "words": counts.indices.astype(np.int32),
            "counts": counts.data.astype(np.int32),
            "places": by_word.indptr.astype(np.int64),
            "rows": by_word.indices.astype(np.int32),
            "often": np.minimum(by_word.data, 255).astype(np.uint8),
            "lengths": np.concatenate(lengths)[order].astype(np.int32),
            "rare_hashes": all_hashes[by_hash],
            "rare_rows": all_rows[by_hash].astype(np.int32),
        }
    )


def _free_numbers(table: DocumentTable, count: int) -> list[str]:
    """Ids for documents that have none: numbers from the size of the table on that no document is called by."""
    free: list[str] = []
    number = len(table)
    while len(free) < count:
        if str(number) not in table.ids:
            free.append(str(number))
        number += 1
    return free
