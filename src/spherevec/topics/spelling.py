"""Names that a text lacks: words of the model that are spelled alike stand in for them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from spherevec import process
from spherevec.model import KeyedVectors
from spherevec.topics.names import Name


def with_stand_ins(names: Sequence[Name], known: KeyedVectors) -> list[Name]:
    """The names; where the model knows no word of a name, the words that are spelled most alike stand in for its own.

    Each stand-in is told in a warning. A name without any is left as it is.

    Args:
        known: the words of the model.
    """
    found = []
    for name in names:
        parts = [part for word in name.words for part in (word, " ".join(word.split()), *_single(word))]
        if any(part in known for part in parts):
            found.append(name)
            continue
        wanted = list(dict.fromkeys(part for word in name.words for part in _single(word)))
        rows: list[int] = known.spellings.stand_ins(wanted).tolist() if wanted else []
        instead = {word: str(known.index_to_key[row]) for word, row in zip(wanted, rows, strict=True) if row >= 0}
        for word, other in instead.items():
            process.warn(f"the text never says {word!r}: {other!r}, which is spelled most alike, stands in for it")
        found.append(replace(name, words=tuple(instead.values())) if instead else name)
    return found


def _single(word: str) -> list[str]:
    return re.findall(r"[^\W_]+", word)
