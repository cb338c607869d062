"""What the tokenizer can be told, each option described once."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

from spherevec.errors import ConfigError

CHOICES: dict[str, tuple[str, ...]] = {
    "hyphens": ("split", "digits", "join"),
    "urls": ("split", "keep", "host", "drop"),
    "emails": ("split", "keep", "host", "drop"),
    "unspaced": ("bigrams", "segment", "whole", "auto"),
}


@dataclass(frozen=True)
class TokenizerOptions:
    """The options of the tokenizer "words".

    Attributes:
        lowercase: lower-case every character.
        hyphens: "join" keeps hyphens inside words (well-known), "digits" only those between a letter and a digit
            (covid-19), "split" none.
        numbers: keep points and commas inside numbers (3.14, 1,000, 192.168.0.1).
        symbols: C++, C#, F#, .NET, ASP.NET and node.js are words.
        abbreviations: single letters with points are one word: U.S. and U.S both become "u.s.".
        tags: #hashtags and @mentions keep their sign.
        emoji: an emoji is a word, with its skin tone and all that is joined to it; so is a flag.
        urls: "keep" them whole, shorten them to their "host", "drop" them, or "split" them like other text.
        emails: the same for e-mail addresses.
        html: decode entities (&amp;) and leave out HTML tags.
        unspaced: how scripts without spaces (Han, Kana, Thai, Lao, Khmer, Burmese) are divided: into words by a
            dictionary ("segment", which needs the extra cjk), into overlapping pairs of characters ("bigrams"), or
            not at all ("whole"). "auto" is the first of these where the extra is installed, the second elsewhere; the
            model stores which.

    Example:
        >>> TokenizerOptions(hyphens="join").hyphens
        'join'
    """

    lowercase: bool = True
    hyphens: str = "digits"
    numbers: bool = True
    symbols: bool = True
    abbreviations: bool = True
    tags: bool = True
    emoji: bool = True
    urls: str = "host"
    emails: str = "host"
    html: bool = True
    unspaced: str = "auto"

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            allowed: tuple[Any, ...] = CHOICES.get(field.name, (True, False))
            if value not in allowed or type(value) is not type(allowed[0]):
                known = ", ".join(map(str, allowed))
                raise ConfigError(f"the tokenizer's option {field.name} must be one of {known}, not {value!r:.40}")
