"""The tokenizer of release 0.1, by which models of that time were trained: "words-0.1", and its byte tables.

A maximal run of letters, digits, `_` and combining marks, each character lower-cased by itself; an apostrophe between
two of these belongs to the word ("don't"), and ’ is written '.
"""

from __future__ import annotations

import unicodedata
from functools import cache
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

APOSTROPHES = "'’"
WHITE_SPACE = " \t\r\f\v"


def is_word_character(character: str) -> bool:
    return character.isalnum() or character == "_" or unicodedata.category(character).startswith("M")


def words(text: str) -> list[str]:
    """The words of `text`.

    Example:
        >>> words("Don't stop, covid-19!")
        ["don't", 'stop', 'covid', '19']
    """
    found: list[str] = []
    word = ""
    for i, character in enumerate(text):
        if is_word_character(character):
            word += character.lower()
        elif word and character in APOSTROPHES and i + 1 < len(text) and is_word_character(text[i + 1]):
            word += "'"
        elif word:
            found.append(word)
            word = ""
    return [*found, word] if word else found


class ByteTables(NamedTuple):
    """What the compiled tokenizer of 0.1 needs to know about characters."""

    byte_class: npt.NDArray[np.uint8]  # (256,)
    byte_lower: npt.NDArray[np.uint8]  # (256,)
    folded: npt.NDArray[np.uint32]  # (0x110000,): the lower case of a word character, 0 for any other


@cache
def word_tables() -> ByteTables:
    from spherevec.corpus.tokenize import tokenizer_kernel as kernel

    folded = np.zeros(0x110000, np.uint32)
    # Planes 4 to 13 are unassigned, 15 and 16 for private use: no word characters there.
    for code in (*range(0x40000), *range(0xE0000, 0xF0000)):
        character = chr(code)
        if is_word_character(character):
            folded[code] = ord(character.lower()[0])
    byte_class = np.full(256, kernel.BREAK, np.uint8)
    byte_class[list(WHITE_SPACE.encode())] = kernel.SEPARATOR
    byte_class[:128][folded[:128] != 0] = kernel.WORD
    byte_class[128:] = kernel.MULTIBYTE
    byte_class[ord("\n")] = kernel.NEWLINE
    byte_class[ord("'")] = kernel.APOSTROPHE
    byte_lower = np.arange(256, dtype=np.uint8)
    byte_lower[:128] = np.where(folded[:128] != 0, folded[:128], byte_lower[:128])
    return ByteTables(byte_class, byte_lower, folded)


@cache
def whitespace_tables() -> ByteTables:
    """The same for the tokenizer "whitespace": whatever stands between ASCII white space, unchanged."""
    from spherevec.corpus.tokenize import tokenizer_kernel as kernel

    byte_class = np.full(256, kernel.WORD, np.uint8)
    byte_class[list(WHITE_SPACE.encode())] = kernel.SEPARATOR
    byte_class[ord("\n")] = kernel.NEWLINE
    return ByteTables(byte_class, np.arange(256, dtype=np.uint8), np.zeros(0, np.uint32))
