"""Blocks of UTF-8 as the scanner wants them: without markup, and in Unicode's normal form C."""

from __future__ import annotations

import unicodedata
from functools import cache

import numpy as np
import numpy.typing as npt

from spherevec.corpus.tokenize.html_cleaning import markup_tables, may_hold_markup

_TABLE_SIZE = 0x110000
_SEGMENT_BYTES = 256  # room for one stretch to normalise in so many bytes; where there are more, they are joined
_FIRST_LEAD = 0xCC  # the lead byte of U+0300, the first combining mark; NFC changes no character below by itself
# The vowels and final consonants of Hangul, which NFC joins to what stands before them.
_HANGUL = (*range(0x1161, 0x1176), *range(0x11A8, 0x11C3))


def clean_block(block: bytes) -> bytes:
    """The block without HTML tags and entities; the twin of `html_cleaning.cleaned`.

    Example:
        >>> clean_block(b"AT&amp;T<br>")
        b'AT&T\\x1e'
    """
    if not may_hold_markup(block):
        return block
    from spherevec.corpus.tokenize import cleaning_kernel as kernel

    data = np.frombuffer(block, np.uint8)
    places = np.flatnonzero((data == ord("<")) | (data == ord("&")))
    out = np.empty(2 * len(block), np.uint8)
    size = kernel.clean_markup(data, places, *markup_tables(), out)
    return block if size < 0 else out[:size].tobytes()


def normalise_block(block: bytes) -> bytes:
    """The block in NFC. Only words that NFC may change are looked at by Python; a block ends at white space."""
    data = np.frombuffer(block, np.uint8)
    if data.max(initial=0) < 0x80:  # as `isascii`, but other threads go on meanwhile
        return block
    from spherevec.corpus.tokenize import cleaning_kernel as kernel

    places = np.flatnonzero(data >= _FIRST_LEAD)
    segments = np.empty((len(block) // _SEGMENT_BYTES + 1, 2), np.int64)
    found = kernel.unnormalised(data, places, combining_classes(), segments) if len(places) else 0
    if not found:
        return block
    parts, done = [], 0
    for begin, end in segments[:found].tolist():
        parts += [block[done:begin], unicodedata.normalize("NFC", block[begin:end].decode()).encode()]
        done = end
    return b"".join([*parts, block[done:]])


@cache
def combining_classes() -> npt.NDArray[np.uint8]:
    """The canonical combining class of each character, 255 for those that NFC may change, (0x110000,)."""
    classes = np.zeros(_TABLE_SIZE, np.uint8)
    suspects = set(_HANGUL)
    # Above, nothing is assigned but ideographs of plane 3, variation selectors and private use.
    for code in range(0x30000):
        character = chr(code)
        classes[code] = unicodedata.combining(character)
        parts = unicodedata.decomposition(character).split()
        if parts and not parts[0].startswith("<"):
            if unicodedata.normalize("NFC", character) != character:
                suspects.add(code)
            elif len(parts) == 2:
                suspects.add(int(parts[1], 16))
    classes[list(suspects)] = 255
    return classes
