"""Models made of other models, with more documents or with fewer. The old model stays as it is."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from spherevec.errors import ConfigError
from spherevec.model.document_edit import DocumentEdit
from spherevec.model.parts import PARTS
from spherevec.model.verbs import verb

if TYPE_CHECKING:
    from spherevec.model.model import Model


def edit_documents(model: Model, edit: DocumentEdit, added: Mapping[str, Any] | None = None, **changes: Any) -> Model:
    """A model in which documents were added, replaced or removed.

    Args:
        added: the parts of the added documents: their vectors as `docs`, their table as `documents`, ….
        **changes: other values for some parts of the model, before the documents are edited.
    """
    values = model.parts() | changes
    edited: dict[str, Any] = dict.fromkeys(PARTS)
    for name, part in PARTS.items():
        if values.get(name) is not None:
            edited[name] = part.edit(values[name], edit, (added or {}).get(name), edited)
    return type(model)(**edited)


def remove(model: Model, ids: Iterable[str]) -> Model:
    """The model without some documents; all other vectors keep their bits, all other documents their ids."""
    if model.docs is None or model.documents is None:
        raise ConfigError("this model was trained without documents: there is nothing to remove")
    if isinstance(ids, str) or not isinstance(ids, Iterable):
        raise ConfigError(f"ids must be a list of ids, not {ids!r:.60}; put it into a list")
    removed = [str(one) for one in ids]
    rows = np.array([model.documents.row_of(one) for one in removed], np.int64)
    # A number that was an id is never given to another document.
    numbers = [int(one) + 1 for one in removed if one.isascii() and one.isdigit() and len(one) < 16]
    next_id = max([model.provenance.get("next_id", 0), *numbers])
    provenance = model.provenance | ({"next_id": next_id} if next_id else {})
    return edit_documents(model, DocumentEdit.removing(len(model.docs), rows), provenance=provenance)


def update(
    model: Model, source: Any, *, finish: Callable[[Model], object] | None = None, threads: int = 0, **options: Any
) -> Model:
    """The model after an update, with the topics that were kept.

    Args:
        finish: called with the finished model, its topics included, before any interruption is let through.
        **options: those of `spherevec.training.update.update`.
    """

    def complete(grown: Model) -> bool:
        if model.kept_topics is not None and grown is not model:
            verb("carry_topics")(model, grown, threads)
        return finish is not None and finish(grown) is not False

    grown: Model = verb("update")(model, source, finish=complete, threads=threads, **options)
    return grown
