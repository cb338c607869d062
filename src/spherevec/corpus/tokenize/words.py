"""The tokenizer "words": its options, one row each, and its rules in plain Python.

The compiled scanner must agree with these rules; short queries use them as they are. A text is first written in kinds,
where ASCII stands for itself, in lower case, and a capital for the kind of any other character. The rules are patterns
of these.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from functools import lru_cache
from itertools import pairwise
from typing import Any, NamedTuple

from spherevec.corpus.tokenize import characters as ch
from spherevec.corpus.tokenize.cleaning import cleaned, segmented
from spherevec.errors import ConfigError, FormatError


def _choice(default: str | bool, *choices: str) -> Any:
    """A row of the table of options: its default, and all that may be chosen; on or off where nothing is named."""
    return field(default=default, metadata={"choices": choices or (False, True)})


# French, Italian and Catalan articles, pronouns and their like that have lost a vowel before another.
ELISION = re.compile(
    "(?:[cdjlmnst]|(?:jus|lors|puis|quoi)?qu|un|(?:a|co|da|de|ne|que|su)ll|quest)'(?=[aeiouyhàáâäæèéêëìíîïòóôöœùúûü])",
    re.IGNORECASE,
)


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
        elisions: "drop" the l' of l'erreur, the d' of d'eau and their like before a vowel, or "keep" them. "auto" drops
            them in a text that has many, as French, Italian and Catalan have; the model stores which. Workers that
            read parts of a text keep them.

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
    elisions: str = _choice("auto", "keep", "drop", "auto")

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
        """Options as a file holds them. One that is newer than the file has its default; an unknown one is refused.

        Where nothing is said of elisions, they were kept.
        """
        if not isinstance(options, Mapping):
            raise FormatError("its tokenizer has no options; copy it again")
        unknown = sorted(map(str, set(options) - set(cls.choices())))
        if unknown:
            raise FormatError(
                f"its tokenizer has an option {unknown[0]!r:.40} that this release does not know; update it"
            )
        try:
            return cls(**{"elisions": "keep", **options})
        except ConfigError as error:
            raise FormatError(f"its tokenizer is damaged: {error}") from None

    def __str__(self) -> str:
        """What differs from the defaults, as `parse` reads it; elisions that are kept are what most text has."""
        chosen = {option.name: (getattr(self, option.name), option.default) for option in fields(self)}
        spelled = {True: "on", False: "off"}
        return ",".join(
            f"{name}={spelled.get(value, value)}"
            for name, (value, usual) in chosen.items()
            if value != usual and (name, value) != ("elisions", "keep")
        )


_KINDS = {
    ch.OTHER: "O", ch.WORD: "W", ch.SPACE: " ", ch.IGNORED: "I", ch.UNSPACED: "U", ch.EMOJI: "E", ch.REGIONAL: "R",
    ch.JOINER: "J", ch.MARK: "M", ch.APOSTROPHE: "Q", ch.HYPHEN: "H",
}  # fmt: skip
_SPECIAL = {ch.SKIN_TONES: "K", ch.TAGS: "T", (ch.ZERO_WIDTH_JOINER, ch.ZERO_WIDTH_JOINER): "Z"}
_WORD, _WORDLIKE = "[a-z0-9_W]", "[a-z0-9_WM]"
_POINTED = rf"\.(?=(?:net|js)(?!{_WORDLIKE}))"  # as in .NET, ASP.NET, node.js
_IGNORED = f"(?:[IT]|[JZ](?!{_WORDLIKE}))"  # inside a word


class Token(NamedTuple):
    """One word of a text, and whether punctuation stands between it and the word before."""

    word: str
    after_break: bool


class _KindsOfCharacters(dict[int, str]):
    """For `str.translate`; filled as characters are met."""

    def __missing__(self, code: int) -> str:
        kind = chr(code).lower() if code < 0x80 else _KINDS[ch.kind_of(chr(code))]
        self[code] = next((letter for codes, letter in _SPECIAL.items() if ch.within(code, (codes,))), kind)
        return self[code]


_KIND_OF = _KindsOfCharacters()


@lru_cache
def _rules(options: TokenizerOptions) -> re.Pattern[str]:
    """What may stand at a place of a text, the first that fits: one named group for each."""
    units = [f"{_WORDLIKE}++", _IGNORED, f"[JZ](?={_WORDLIKE})", f"['Q](?={_WORD})"]
    units += {"join": [f"[-H](?={_WORD})"], "digits": ["(?<![0-9])[-H](?=[0-9])"], "split": []}[options.hyphens]
    units += ["(?<=[0-9])[.,](?=[0-9])"] if options.numbers else []
    units += [_POINTED, r"\+\+(?![a-z_WM+])"] if options.symbols else []  # C++ and C++17, but not a++b
    sharp = f"[a-z]#(?!#|{_WORDLIKE})|" if options.symbols else ""  # C# and F#
    word = f"(?:{'|'.join(units)})*"
    letters = rf"(?:[a-z](?!{_WORDLIKE})(?:{_IGNORED}*\.[a-z](?!{_WORDLIKE}))*)?" if options.abbreviations else ""
    prefixes = ["[#@](?=[a-z_W])"] * options.tags + [_POINTED] * options.symbols
    patterns = {
        "email": options.emails != "split"
        and r"[a-z0-9_][a-z0-9_.%+-]{0,63}@(?=[a-z0-9-]*\.[.-]*[a-z0-9])(?P<mail_host>[a-z0-9]+(?:[.-]+[a-z0-9]+)*)",
        "url": options.urls != "split"
        and r"(?:(?:https?|ftp)://|www\.)(?P<host>[a-z0-9][a-z0-9_.WM-]*)[a-z0-9!#$%&'()*+,./:;=?@[\]_~WM-]*",
        "word": f"(?={_WORD})(?:{sharp}{letters}{word})",
        "prefixed": prefixes and f"(?:{'|'.join(prefixes)})(?:{sharp}{word})",
        "pairs": "U[UMIT]*",
        "emoji": "[EK](?:[KTI]|Z[EK])*",  # with its skin tone, and those that are joined to it
        "flag": "RR",
        "passed": "[ \t\n\r\f\vMITJZ]",
        "hyphen": f"[-H](?={_WORD})",
        "other": ".",
    }
    return re.compile("|".join(f"(?P<{name}>{pattern})" for name, pattern in patterns.items() if pattern), re.DOTALL)


def javascript_rules(options: TokenizerOptions) -> str:
    """The same pattern for the page, whose scanner is that below."""
    return _rules(options).pattern.replace("(?P<", "(?<").replace("]++", "]+")


def scan(text: str, options: TokenizerOptions) -> list[Token]:
    """The tokens of one document, rule by rule; see docs/guides/tokenization.md."""
    if options.html:
        text = cleaned(text.encode("utf-8", "replace")).decode()
    text = unicodedata.normalize("NFC", text)
    if options.unspaced == "segment":
        text = segmented(text)
    kinds = text.translate(_KIND_OF)
    if not options.emoji:
        kinds = re.sub("[EKR]", "O", kinds)
    if options.unspaced != "bigrams":
        kinds = kinds.replace("U", "W")

    rules, tokens = _rules(options), list[Token]()
    i, word_end, broken = 0, -1, True
    while match := rules.match(kinds, i):
        name, end = match.lastgroup, match.end()
        if name == "prefixed" and i == word_end:
            name, end = "other", i + 1
        words: list[str] = []
        if name in ("email", "url"):
            words, end = _address(text, match, options)
        elif name in ("word", "prefixed"):
            begin = i + (name == "prefixed")
            word = text[i:begin] + _written(text, kinds, begin, end, options)
            if options.abbreviations and _ABBREVIATION.fullmatch(word):
                word += "."
                end += kinds.startswith(".", end)
            words = [word]
        elif name == "pairs":
            clusters = [_written(text, kinds, *one.span(), options) for one in _CLUSTER.finditer(kinds, i, end)]
            words = [left + right for left, right in pairwise(clusters)] or clusters
        elif name in ("emoji", "flag"):
            words = ["".join(text[place] for place in range(i, end) if kinds[place] != "I")]
        for word in words:
            tokens.append(Token(word, broken))
            broken = False
        if words and name not in ("emoji", "flag"):
            word_end = end
        elif not words and name != "passed" and not (name == "hyphen" and i == word_end):
            broken = True
        i = end
    if options.elisions == "drop":
        return [Token(ELISION.sub("", word, 1) if ELISION.match(word) else word, broken) for word, broken in tokens]
    return tokens


_CLUSTER, _KEPT = re.compile("U[MIT]*"), re.compile(f"(?!{_IGNORED}).", re.DOTALL)
_ABBREVIATION = re.compile(r"(?:[A-Za-z]\.)+[A-Za-z]")


def _address(text: str, match: re.Match[str], options: TokenizerOptions) -> tuple[list[str], int]:
    """What stands for an e-mail address or a URL, and where that ends."""
    begin, end = match.span()
    if match.lastgroup == "email":
        how, (host, host_end) = options.emails, match.span("mail_host")
    else:
        closing = "" if set("([") & set(match[0]) else ")]"
        end = begin + len(match[0].rstrip(".,;:!?'/*_~-" + closing))  # the punctuation of the sentence
        how, host = options.urls, match.start("host")
        host_end = host + len(match["host"][: end - host].rstrip(".-"))
        if match["host"].startswith("www.") and host_end > host + 4:
            host += 4
    if how == "drop":
        return [], end
    word = text[begin:end] if how == "keep" else text[host:host_end]
    return [ch.lower(word) if options.lowercase else word], end


def _written(text: str, kinds: str, begin: int, end: int, options: TokenizerOptions) -> str:
    """The letters of a word, without what is ignored inside it."""
    word, sigma = text[begin:end], False
    if not word.isascii():
        kept = (one.start() for one in _KEPT.finditer(kinds, begin, end))
        word = "".join({"Q": "'", "H": "-"}.get(kinds[place], text[place]) for place in kept)
        sigma = len(word) > 1 and ord(word[-1]) == ch.CAPITAL_SIGMA
    if not options.lowercase:
        return word
    word = ch.lower(word)
    return word[:-1] + chr(ch.FINAL_SIGMA) if sigma else word
