"""What the tokenizer can be told: one row for each option."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any

from spherevec.errors import ConfigError, FormatError


def _choice(default: str | bool, *choices: str) -> Any:
    """A row of the table of options: its default, and all that may be chosen; on or off where nothing is named."""
    return field(default=default, metadata={"choices": choices or (False, True)})


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

    lowercase: bool = _choice(True)
    hyphens: str = _choice("digits", "split", "digits", "join")
    numbers: bool = _choice(True)
    symbols: bool = _choice(True)
    abbreviations: bool = _choice(True)
    tags: bool = _choice(True)
    emoji: bool = _choice(True)
    urls: str = _choice("host", "split", "keep", "host", "drop")
    emails: str = _choice("host", "split", "keep", "host", "drop")
    html: bool = _choice(True)
    unspaced: str = _choice("auto", "bigrams", "segment", "whole", "auto")

    def __post_init__(self) -> None:
        for name, allowed in self.choices().items():
            value = getattr(self, name)
            if value not in allowed or type(value) is not type(allowed[0]):
                known = ", ".join(map(str, allowed))
                raise ConfigError(f"the tokenizer's option {name} must be one of {known}, not {value!r:.40}")

    @classmethod
    def choices(cls) -> dict[str, tuple[Any, ...]]:
        """What may be chosen for each option."""
        return {option.name: option.metadata["choices"] for option in fields(cls)}

    @classmethod
    def parse(cls, text: str) -> TokenizerOptions:
        """Options as a user writes them, such as `hyphens=join,emoji=off`."""
        choices = cls.choices()
        values: dict[str, Any] = {}
        for part in filter(None, text.split(",")):
            name, _, value = (piece.strip() for piece in part.partition("="))
            if name not in choices:
                raise ConfigError(f"no option {name!r}; there are {', '.join(choices)}")
            if choices[name] != (False, True):
                values[name] = value
            elif value in ("on", "off", "true", "false"):
                values[name] = value in ("on", "true")
            else:
                raise ConfigError(f"{name} is on or off, not {value!r}")
        return cls(**values)

    @classmethod
    def stored(cls, options: Any) -> TokenizerOptions:
        """Options as a file holds them. One that is newer than the file has its default; an unknown one is refused."""
        if not isinstance(options, Mapping):
            raise FormatError("its tokenizer has no options; copy it again")
        unknown = sorted(map(str, set(options) - set(cls.choices())))
        if unknown:
            raise FormatError(
                f"its tokenizer has an option {unknown[0]!r:.40} that this release does not know; update it"
            )
        try:
            return cls(**options)
        except ConfigError as error:
            raise FormatError(f"its tokenizer is damaged: {error}") from None

    def __str__(self) -> str:
        """What differs from the defaults, as `parse` reads it."""
        chosen = {option.name: (getattr(self, option.name), option.default) for option in fields(self)}
        spelled = {True: "on", False: "off"}
        return ",".join(
            f"{name}={spelled.get(value, value)}" for name, (value, usual) in chosen.items() if value != usual
        )
