"""Which words are forms of one word: doctor, doctor's and doctors."""

from __future__ import annotations

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
