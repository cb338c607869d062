"""What a model says of itself: where it comes from, and what of it a folder may hold."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from spherevec._version import __version__
from spherevec.corpus.tokenize.tokenizer import stored_tokenizer
from spherevec.errors import FormatError
from spherevec.model.folder import MANIFEST

if TYPE_CHECKING:
    from spherevec.model.model import Model


def here_and_now() -> dict[str, str]:
    """The release that makes a model, and when."""
    return {"version": __version__, "created": datetime.now(UTC).isoformat(timespec="seconds")}


def understood(about: Mapping[str, Any]) -> dict[str, Any]:
    """The constructor's arguments among what the folder says of itself, each of the right type."""
    kinds: dict[str, type | tuple[type, ...]] = {
        "config": (dict, type(None)),
        "record": list,
        "tokenizer": (str, dict),  # a name in files of release 0.1
        "parameters": dict,
        "provenance": dict,
    }
    known = {name: about[name] for name in kinds if name in about}
    for name, value in known.items():
        if not isinstance(value, kinds[name]):
            raise FormatError(f"its {name} has the wrong type in {MANIFEST}")
    if "tokenizer" in known:
        known["tokenizer"] = stored_tokenizer(known["tokenizer"])
    if not all(isinstance(epoch, dict) for epoch in known.get("record", [])):
        raise FormatError(f"its record has the wrong type in {MANIFEST}")
    return known


def described(model: Model) -> dict[str, Any]:
    """What there is to know about a model without its vectors, ready for JSON."""
    return {
        "words": len(model.words),
        "contexts": None if model.contexts is None else len(model.contexts),
        "documents": None if model.docs is None else len(model.docs),
        "ids": None if model.documents is None else "own" if model.documents.named else "positions",
        "index": model.docs is not None and model.docs.indexed,
        "titles": None if model.documents is None else model.documents.titled,
        "fields": None if model.documents is None else model.documents.fields,
        "vector_size": model.vector_size,
        # Of all documents, those that were added to the words included; an imported model knows counts of words alone.
        "tokens": model.provenance.get("tokens", None if model.counts is None else int(model.counts.sum())),
        "tokenizer": model.tokenizer.description(),
        "config": model.config,
        "parameters": model.parameters,
        "provenance": model.provenance,
        "record": model.record,
    }
