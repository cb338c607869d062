"""Documents that are added to a model, replaced or removed: which rows stay, and how the parts of a model follow."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import count, islice
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from spherevec.model.documents import DocumentTable
from spherevec.search.terms import DocumentTerms
from spherevec.storage.text_column import TextColumn

Rows = NDArray[np.int64]


class DocumentEdit(NamedTuple):
    """Which documents a model has after an edit: first the rows that stay, then those that are added.

    A document that replaces another takes its row; all others are appended.
    """

    kept: Rows  # rows of the model that stay, ascending
    order: Rows  # for each row of the result, its position among the kept and then the added documents

    @classmethod
    def adding(cls, n_documents: int, replaced: Rows) -> DocumentEdit:
        """Add m documents to n; `replaced` (m,) is the row that each replaces, -1 for one that is appended."""
        replaces = replaced >= 0
        stays = np.ones(n_documents, np.bool_)
        stays[replaced[replaces]] = False
        kept = np.flatnonzero(stays)
        order = np.empty(n_documents + np.count_nonzero(~replaces), np.int64)
        order[kept] = np.arange(len(kept))
        order[replaced[replaces]] = len(kept) + np.flatnonzero(replaces)
        order[n_documents:] = len(kept) + np.flatnonzero(~replaces)
        return cls(kept, order)

    @classmethod
    def removing(cls, n_documents: int, removed: Rows) -> DocumentEdit:
        """Remove some rows."""
        kept = np.setdiff1d(np.arange(n_documents), removed)
        return cls(kept, np.arange(len(kept)))

    @property
    def origin(self) -> Rows:
        """For each row of the result its row in the model before, -1 for an added document."""
        before = np.full(len(self.order), -1, np.int64)
        stayed = self.order < len(self.kept)
        before[stayed] = self.kept[self.order[stayed]]
        return before

    def join_rows(self, old: NDArray[Any], added: NDArray[Any] | None) -> NDArray[Any]:
        """One array of a value for each document, (n, …), after the edit."""
        kept = old[self.kept]
        if added is None and len(kept) < len(self.order):
            raise ValueError("documents were added without their values; see Update._with_documents")
        return kept if added is None else np.concatenate([kept, added])[self.order]

    def join_tables(self, old: DocumentTable, added: DocumentTable | None, first_number: int = 0) -> DocumentTable:
        """The table of documents after the edit; those without an id get free numbers, from `first_number` on."""
        if added is None:
            table = old.take(self.kept)
            return table if table.named else table.with_ids([old.ids[row] for row in self.kept.tolist()])
        if not added.named and old.named:
            free = (str(number) for number in count(max(len(old), first_number)) if str(number) not in old.ids)
            added = added.with_ids(list(islice(free, len(added))))
        if len(self.kept) == len(old):
            return DocumentTable.concatenate([old, added])
        return DocumentTable.concatenate([old.take(self.kept), added]).take(self.order)

    def join_terms(
        self, old: DocumentTerms, added: DocumentTerms | None, new_words: Sequence[str]
    ) -> DocumentTerms | None:
        """The words of the documents after the edit; None where those of the added documents are not known.

        Words that the edit brings stand in old documents, too, as words without a vector.
        """
        n_added = len(self.order) - len(self.kept)
        if added is None:
            return None if n_added else join_terms([(old, self.kept)], self.order)
        return join_terms([(old, self.kept), (added, np.arange(n_added))], self.order, new_words)


def join_terms(
    parts: Sequence[tuple[DocumentTerms, Rows]], order: Rows, new_words: Sequence[str] = ()
) -> DocumentTerms:
    """The words of some documents of several collections, in memory; the widest decides how many words there are.

    Args:
        order: (n,) for each row of the result, its position among the rows of all parts.
        new_words: the last of the words, which other parts may have as words without a vector.
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
    all_hashes, all_rows = np.concatenate(hashes), np.concatenate(rare_rows)
    if new_words:
        known = TextColumn.of(new_words).hashes()
        sorted_known = np.argsort(known)
        found = sorted_known[np.minimum(np.searchsorted(known[sorted_known], all_hashes), len(known) - 1)]
        joins = known[found] == all_hashes
        words = n_words - len(known) + found[joins]
        counts += csr_array((np.ones(len(words), np.int32), (all_rows[joins], words)), shape=counts.shape)
        all_hashes, all_rows = all_hashes[~joins], all_rows[~joins]
    counts.sort_indices()
    by_word = counts.tocsc()
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
