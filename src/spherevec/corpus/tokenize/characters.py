"""What each character is to the tokenizer: its kind and its lower case, in one table for Python and compiled code."""

from __future__ import annotations

import unicodedata
from collections import defaultdict
from functools import cache
from itertools import count
from string import ascii_letters, digits
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

# Kinds of characters. Anything else is punctuation, which ends a word and a phrase.
OTHER, WORD, SPACE, IGNORED, UNSPACED, EMOJI, REGIONAL, JOINER, MARK, APOSTROPHE, HYPHEN = range(11)

# What a byte may be to the compiled scanner, each a bit.
IN_WORD, WHITE, JOINING, MULTI_BYTE, AFTER_JOINING, LETTER, DIGIT, IN_HOST, IN_EMAIL, IN_URL, AT_URL_END = (
    1 << bit for bit in range(11)
)
_ALPHANUMERIC = ascii_letters + digits
WHITE_SPACE = b" \t\n\r\f\v"
_JOINING = "'-.,+#@:%"
_TRAITS = {
    IN_WORD: _ALPHANUMERIC + "_",
    WHITE: WHITE_SPACE.decode(),
    JOINING: _JOINING,  # may stand inside a word, or begin one
    AFTER_JOINING: _ALPHANUMERIC + "_/" + _JOINING,
    LETTER: ascii_letters,
    DIGIT: digits,
    IN_HOST: _ALPHANUMERIC + ".-",
    IN_EMAIL: _ALPHANUMERIC + ".-_%+",  # before the @
    IN_URL: _ALPHANUMERIC + "!#$%&'()*+,-./:;=?@[]_~",
    AT_URL_END: ".,;:!?'/*_~-)]",  # a URL does not end with these, whatever the sentence ends with
}
PADDING = 8  # newlines behind a block, so that the scanner may look ahead

# Set in an id where punctuation, or the beginning of a document, stands between a word and the one before.
BREAK_BIT = 1 << 30
ID_MASK = BREAK_BIT - 1

KIND_SHIFT = 24  # `packed[code] >> KIND_SHIFT` is the kind, the bits below are the lower case
CODE_MASK = (1 << KIND_SHIFT) - 1

_TABLE_SIZE = 0x110000
# Planes 4 to 13 are unassigned, 15 and 16 for private use.
_LOOKED_AT = (slice(0x40000), slice(0xE0000, 0xF0000))

# Scripts that are written without spaces between words: Thai, Lao, Burmese, Khmer, Hiragana, Katakana, Han.
UNSPACED_RANGES = (
    (0x0E01, 0x0E4E), (0x0E81, 0x0EBD), (0x0EC0, 0x0ECF), (0x0EDC, 0x0EDF),
    (0x1000, 0x103F), (0x104C, 0x108F), (0x109A, 0x109F), (0x1780, 0x17D3), (0x17D7, 0x17D7), (0x17DC, 0x17DD),
    (0x3005, 0x3007), (0x3021, 0x3029), (0x3031, 0x3035), (0x3041, 0x30FF), (0x31F0, 0x31FF),
    (0x3400, 0x4DBF), (0x4E00, 0x9FFF), (0xA9E0, 0xA9EF), (0xA9FA, 0xA9FE), (0xAA60, 0xAA7F),
    (0xF900, 0xFAFF), (0xFF66, 0xFF9F), (0x1B000, 0x1B16F), (0x20000, 0x3FFFF),
)  # fmt: skip
# Pictographs, whatever their category: the blocks of emoji, with room for those to come.
EMOJI_RANGES = ((0x1F300, 0x1F64F), (0x1F680, 0x1F6FF), (0x1F7E0, 0x1F7EF), (0x1F900, 0x1F9FF), (0x1FA70, 0x1FAFF))
# Older symbols that are drawn as emoji; only those that Unicode calls symbols.
SYMBOL_RANGES = (
    (0x231A, 0x231B), (0x23E9, 0x23FA), (0x2600, 0x27BF), (0x2B1B, 0x2B1C), (0x2B50, 0x2B50), (0x2B55, 0x2B55),
    (0x1F004, 0x1F004), (0x1F0CF, 0x1F0CF), (0x1F18E, 0x1F18E), (0x1F191, 0x1F19A), (0x1F200, 0x1F265),
)  # fmt: skip
REGIONAL_INDICATORS = (0x1F1E6, 0x1F1FF)  # two of these make a flag
SKIN_TONES = (0x1F3FB, 0x1F3FF)
TAGS = (0xE0020, 0xE007F)  # spell the flags of regions
ZERO_WIDTH_JOINER = 0x200D
_JOINERS = (0x200C, ZERO_WIDTH_JOINER)
VARIATION_SELECTORS = ((0xFE00, 0xFE0F), (0xE0100, 0xE01EF), (0x180B, 0x180F))
_APOSTROPHES = (0x27, 0x2019)
_HYPHENS = (0x2D, 0x2010, 0x2011)
_ZERO_WIDTH_SPACE = 0x200B
CAPITAL_SIGMA, FINAL_SIGMA = 0x3A3, 0x3C2


class CharacterTables(NamedTuple):
    """What the compiled scanner knows about characters."""

    traits: npt.NDArray[np.uint16]  # (256,): the bits above
    lower: npt.NDArray[np.int64]  # (256,): the lower case of what stands in words, -1 for all others
    packed: npt.NDArray[np.int32]  # (0x110000,): kind << KIND_SHIFT | lower case


def within(code: int, ranges: tuple[tuple[int, int], ...]) -> bool:
    """Whether one of the ranges, both ends included, holds `code`."""
    return any(low <= code <= high for low, high in ranges)


def lower(text: str) -> str:
    """The text with each character in lower case, always as one character: İ becomes i."""
    return text.lower() if text.isascii() else "".join(character.lower()[0] for character in text)


def kind_of(character: str) -> int:
    """The kind of one character: `WORD`, `SPACE`, … or `OTHER` for punctuation and symbols."""
    code = ord(character)
    category = unicodedata.category(character)
    if code in _APOSTROPHES:
        return APOSTROPHE
    if code in _HYPHENS:
        return HYPHEN
    if code in _JOINERS:
        return JOINER
    if code == _ZERO_WIDTH_SPACE or category in ("Zs", "Zl", "Zp") or character in "\t\n\r\f\v\x85":
        return SPACE
    if category == "Cf" or within(code, VARIATION_SELECTORS):
        return IGNORED
    if category.startswith("M"):
        return MARK
    if character.isalnum() or character == "_":
        return UNSPACED if within(code, UNSPACED_RANGES) else WORD
    if within(code, (REGIONAL_INDICATORS,)):
        return REGIONAL
    if within(code, EMOJI_RANGES) or (category == "So" and within(code, SYMBOL_RANGES)):
        return EMOJI
    return OTHER


# Between two of these, the category of a character and whether it is alphanumeric decide on its kind.
_EDGES = np.unique(
    [
        edge
        for low, high in (
            *UNSPACED_RANGES, *EMOJI_RANGES, *SYMBOL_RANGES, REGIONAL_INDICATORS, *VARIATION_SELECTORS,
            *((code, code) for code in (*_APOSTROPHES, *_HYPHENS, *_JOINERS, _ZERO_WIDTH_SPACE, *b"_\t\n\r\f\v", 0x85)),
        )
        for edge in (low, high + 1)
    ]
)  # fmt: skip


@cache
def _packed_characters() -> npt.NDArray[np.int32]:
    packed = np.arange(_TABLE_SIZE, dtype=np.int32)
    codes = np.concatenate([packed[looked_at] for looked_at in _LOOKED_AT])
    text = "".join(map(chr, codes.tolist()))
    numbers = defaultdict[str, int](count().__next__)
    categories = np.fromiter(map(numbers.__getitem__, map(unicodedata.category, text)), np.int64)
    alike = 2 * categories + np.fromiter(map(str.isalnum, text), np.bool_)
    alike = alike * (len(_EDGES) + 1) + np.searchsorted(_EDGES, codes, "right")
    _, firsts, groups = np.unique(alike, return_index=True, return_inverse=True)
    kinds = np.array([kind_of(text[first]) for first in firsts], np.int32)[groups]
    for character, small in zip(text, map(str.lower, text), strict=True):
        if character != small:
            packed[ord(character)] = ord(lower(character))
    packed[codes] = np.where(kinds == OTHER, codes, kinds << KIND_SHIFT | packed[codes])
    return packed


@cache
def character_tables(lowercase: bool, emoji: bool, unspaced_as_words: bool) -> CharacterTables:
    """The tables of a tokenizer with these options."""
    packed = _packed_characters().copy()
    kinds = packed >> KIND_SHIFT
    if not lowercase:
        packed[:] = kinds << KIND_SHIFT | np.arange(_TABLE_SIZE, dtype=np.int32)
    if not emoji:
        packed[(kinds == EMOJI) | (kinds == REGIONAL)] &= CODE_MASK
    if unspaced_as_words:
        unspaced = kinds == UNSPACED
        packed[unspaced] = WORD << KIND_SHIFT | packed[unspaced] & CODE_MASK
    traits = np.zeros(256, np.uint16)
    for bit, members in _TRAITS.items():
        traits[[*map(ord, members)]] |= bit
    traits[128:] = MULTI_BYTE | AFTER_JOINING
    lower_case = np.where(traits & IN_WORD, packed[:256] & CODE_MASK, -1)
    return CharacterTables(traits, lower_case.astype(np.int64), packed)


@cache
def tables_that_cut_at(delimiters: bytes) -> CharacterTables:
    """The tables of a tokenizer that cuts at some bytes: all others are part of words."""
    lower_case = np.arange(256, dtype=np.int64)
    lower_case[list(delimiters)] = -1
    traits = np.where(lower_case < 0, WHITE, IN_WORD).astype(np.uint16)
    return CharacterTables(traits, lower_case, np.zeros(1, np.int32))
