"""Function words of a few languages, which neither begin nor end a phrase nor found a topic; and forms of one word."""

from __future__ import annotations

from pathlib import Path

# Beside this file: the name of a language, its words in the lines below it, and a blank line.
_LANGUAGES = Path(__file__).with_suffix(".txt").read_text("utf-8").split("\n\n")
BY_LANGUAGE = {name: frozenset(words.split()) for name, words in (part.split("\n", 1) for part in _LANGUAGES)}
FUNCTION_WORDS = frozenset().union(*BY_LANGUAGE.values())

# What two forms of one word differ by, each with the shortest stem that it is taken off.
_ENDINGS = {"'s": 2, "s": 3, "ies": 3, "y": 3, "es": 4, "e": 4, "ed": 4, "er": 4, "ers": 4, "ing": 4, "ly": 4}


def same_word(first: str, second: str) -> bool:
    """Whether two words are forms of one, or one is part of the other as a phrase.

    Phrases are joined by a space; "_" is a character of a word.

    >>> same_word("share", "shares"), same_word("israel", "israeli's"), same_word("new york", "york")
    (True, False, True)
    >>> same_word("size_t", "wint_t")
    False
    """
    if " " in first or " " in second:
        return bool(set(first.split()) & set(second.split()))
    return not _stems(first).isdisjoint(_stems(second))


def _stems(word: str) -> set[str]:
    """The word, and what is left when one ending is taken off."""
    stems = {word}
    for ending, shortest in _ENDINGS.items():
        stem = word.removesuffix(ending)
        if stem != word and len(stem) >= shortest:
            stems.add(stem)
    return stems
