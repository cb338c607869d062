"""Words of scripts that are written without spaces, found with the dictionaries of ICU (extra `cjk`)."""

from __future__ import annotations

import re
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt

from spherevec.corpus.tokenize.characters import UNSPACED_RANGES
from spherevec.errors import MissingExtraError

SEPARATOR = "\u200b"  # a zero-width space ends a word, and no phrase

_RUN = re.compile("[" + "".join(f"{chr(low)}-{chr(high)}" for low, high in UNSPACED_RANGES) + "]+")


def installed() -> bool:
    """Whether the extra `cjk` is there."""
    try:
        _breaker()
    except MissingExtraError:
        return False
    return True


def segmented(text: str) -> str:
    """The text with zero-width spaces around the words of unspaced scripts.

    Example:
        >>> segmented("no such script")
        'no such script'
    """
    return text if text.isascii() else _RUN.sub(_divided, text)


def segmented_block(block: bytes) -> bytes:
    """The same for a block of UTF-8: compiled code finds the runs to divide."""
    if block.isascii():
        return block
    from spherevec.corpus.tokenize import cleaning_kernel as kernel

    runs = np.empty((len(block) // 4 + 1, 2), np.int64)  # a run and what ends it take four bytes
    found = kernel.find_runs(np.frombuffer(block, np.uint8), _unspaced(), runs)
    if not found:
        return block
    parts, done = [], 0
    for begin, end in runs[:found].tolist():
        parts += [block[done:begin], segmented(block[begin:end].decode()).encode()]
        done = end
    return b"".join([*parts, block[done:]])


@cache
def _unspaced() -> npt.NDArray[np.uint8]:
    wanted = np.zeros(0x110000, np.uint8)
    for low, high in UNSPACED_RANGES:
        wanted[low : high + 1] = 1
    return wanted


def _divided(match: re.Match[str]) -> str:
    # Also at both ends: what stands there in another script is another word.
    return SEPARATOR.join(("", *_breaker()(match[0], "en"), ""))


@cache
def _breaker() -> Any:
    try:
        from icu4py.breakers import WordBreaker
    except ImportError:
        raise MissingExtraError("dividing text of unspaced scripts into words", "cjk") from None
    return WordBreaker
