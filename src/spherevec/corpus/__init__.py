"""From text to numbers: read, tokenise, count and encode a corpus once."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from spherevec.corpus.count.encoded import EncodedCorpus
    from spherevec.corpus.count.encoder import encode
    from spherevec.corpus.count.vocabulary import Vocabulary, encode_texts
    from spherevec.corpus.read.readers import read_documents

__all__ = ["EncodedCorpus", "Vocabulary", "encode", "encode_texts", "read_documents"]

# Whoever opens a model needs none of the compiled code that reads and counts text.
_HOMES = {
    "EncodedCorpus": "spherevec.corpus.count.encoded",
    "Vocabulary": "spherevec.corpus.count.vocabulary",
    "encode": "spherevec.corpus.count.encoder",
    "encode_texts": "spherevec.corpus.count.vocabulary",
    "read_documents": "spherevec.corpus.read.readers",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)
