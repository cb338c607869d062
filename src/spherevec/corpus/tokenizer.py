"""What a word is: the plain-Python tokenisers, and the tables that make the compiled one agree with them.

"words": a maximal run of letters, digits, `_` and combining marks, each character lower-cased by itself; an
apostrophe between two of these belongs to the word ("don't"), and ’ is written '.
"whitespace": whatever stands between ASCII white space, unchanged.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable
from functools import cache
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from spherevec.errors import ConfigError

Tokenizer = str | Callable[[str], Iterable[str]]

NAMES = ("words", "whitespace")
APOSTROPHES = "'’"
_BETWEEN_WHITE_SPACE = re.compile(r"[^ \t\n\r\f\v]+")


def tokenize(text: str, tokenizer: Tokenizer = "words") -> list[str]:
    """The words of `text`, as training sees them."""
    check_tokenizer(tokenizer)
    if callable(tokenizer):
        return list(tokenizer(text))
    return _BETWEEN_WHITE_SPACE.findall(text) if tokenizer == "whitespace" else _words(text)


def check_tokenizer(tokenizer: object) -> None:
    if not callable(tokenizer) and tokenizer not in NAMES:
        raise ConfigError(f"tokenizer must be {' or '.join(map(repr, NAMES))} or a function, not {tokenizer!r}")


def _is_word_character(character: str) -> bool:
    return character.isalnum() or character == "_" or unicodedata.category(character).startswith("M")


def _words(text: str) -> list[str]:
    words: list[str] = []
    word = ""
    for i, character in enumerate(text):
        if _is_word_character(character):
            word += character.lower()
        elif word and character in APOSTROPHES and i + 1 < len(text) and _is_word_character(text[i + 1]):
            word += "'"
        elif word:
            words.append(word)
            word = ""
    return [*words, word] if word else words


class CharacterTables(NamedTuple):
    """What the compiled tokeniser needs to know about characters."""

    byte_class: npt.NDArray[np.uint8]  # (256,)
    byte_lower: npt.NDArray[np.uint8]  # (256,)
    folded: npt.NDArray[np.uint32]  # (0x110000,): the lower case of a word character, 0 for any other


@cache
def character_tables(tokenizer: str) -> CharacterTables:
    from spherevec.corpus import tokenizer_kernel as kernel

    byte_lower = np.arange(256, dtype=np.uint8)
    if tokenizer == "whitespace":
        byte_class = np.full(256, kernel.WORD, np.uint8)
        byte_class[list(b" \t\r\f\v")] = kernel.SEPARATOR
        byte_class[ord("\n")] = kernel.NEWLINE
        return CharacterTables(byte_class, byte_lower, np.zeros(0, np.uint32))

    folded = np.zeros(0x110000, np.uint32)
    # Planes 4 to 13 are unassigned, 15 and 16 for private use: no word characters there.
    for code in (*range(0x40000), *range(0xE0000, 0xF0000)):
        character = chr(code)
        if _is_word_character(character):
            folded[code] = ord(character.lower()[0])
    byte_class = np.full(256, kernel.SEPARATOR, np.uint8)
    byte_class[:128][folded[:128] != 0] = kernel.WORD
    byte_class[128:] = kernel.MULTIBYTE
    byte_class[ord("\n")] = kernel.NEWLINE
    byte_class[ord("'")] = kernel.APOSTROPHE
    byte_lower[:128] = np.where(folded[:128] != 0, folded[:128], byte_lower[:128])
    return CharacterTables(byte_class, byte_lower, folded)
