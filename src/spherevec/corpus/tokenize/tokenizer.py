"""Tokenizers by name: how a text was cut into words, described once, stored in the model, asked again for queries.

"words" is the tokenizer of this release, "words-0.1" that of the first one, "whitespace" takes text that is split
already, and any function from a string to words may stand in for them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Container, Iterable, Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from typing import Any

from spherevec.corpus.tokenize import segmentation, words_01
from spherevec.corpus.tokenize.options import CHOICES, TokenizerOptions
from spherevec.corpus.tokenize.plain import Token, scan
from spherevec.errors import ConfigError, FormatError

Function = Callable[[str], Iterable[str]]

WORDS, WORDS_01, WHITESPACE, FUNCTION, TOKENS = "words-0.2", "words-0.1", "whitespace", "function", "tokens"
NAMES = ("words", WORDS, WORDS_01, WHITESPACE)
_BETWEEN_WHITE_SPACE = re.compile(r"[^ \t\n\r\f\v]+")
# What models of release 0.1 say of their tokenizer.
_STORED_IN_01 = {"words": WORDS_01, "whitespace": WHITESPACE, "custom": FUNCTION, "tokens": TOKENS}


@dataclass(frozen=True)
class Tokenizer:
    """How text becomes words; made by `tokenizer_of` from what a user says.

    Attributes:
        name: "words-0.2", "words-0.1", "whitespace", "function" (one of the user's), or "tokens" (documents that came
            as lists of words).
        options: of "words-0.2"; None for all others.
        function: the user's, as long as the process lives; it is not stored.
        function_name: what it was called.

    Example:
        >>> tokenizer_of("words").words("COVID-19 isn't C++")
        ['covid-19', "isn't", 'c++']
    """

    name: str
    options: TokenizerOptions | None = None
    function: Function | None = field(default=None, compare=False, repr=False)
    function_name: str | None = None

    def __post_init__(self) -> None:
        if self.options is not None and self.options.unspaced == "auto":
            found = "segment" if segmentation.installed() else "bigrams"
            object.__setattr__(self, "options", replace(self.options, unspaced=found))

    @property
    def compiled(self) -> bool:
        """Whether blocks of text can be cut by compiled code."""
        return self.name in (WORDS, WORDS_01, WHITESPACE)

    @property
    def divides_unspaced(self) -> str:
        """How text of unspaced scripts is divided: "segment", "bigrams", "whole", or "given" where that is not ours."""
        if self.name in (FUNCTION, TOKENS, WHITESPACE):
            return "given"
        return "whole" if self.options is None else self.options.unspaced

    def words(self, text: str) -> list[str]:
        """The words of one text, as training saw them."""
        return [token.word for token in self.tokens(text)]

    def tokens(self, text: str) -> list[Token]:
        """The words of one text, each with whether punctuation stands before it."""
        if self.options is not None:
            return scan(text, self.options)
        if self.name == WORDS_01:
            found = words_01.words(text)
        elif self.name == WHITESPACE:
            found = _BETWEEN_WHITE_SPACE.findall(text)
        else:
            found = [word for word in self.needed_function()(text) if word]
        return [Token(word, False) for word in found]

    def needed_function(self) -> Function:
        """The user's function; `ConfigError` says what to pass where it is not there any more."""
        if self.function is not None:
            return self.function
        if self.name == TOKENS:
            raise ConfigError(
                "the model was trained on lists of words: give lists of words, or say how to split the text "
                "(tokenizer='whitespace', --pretokenized)"
            )
        which = f"your function {self.function_name}" if self.function_name else "a function of yours"
        raise ConfigError(
            f"the model was trained with {which} as tokenizer, which is not stored: pass it again (tokenizer=...), "
            "or give lists of words"
        )

    def normalise_word(self, word: str) -> str:
        """A word or phrase as the vocabulary spells it: its tokens, divided by spaces; '' if punctuation parts it.

        Example:
            >>> tokenizer_of("words").normalise_word("  Heart ATTACK")
            'heart attack'
            >>> tokenizer_of("words").normalise_word("heart, attack")
            ''
        """
        if self.name == TOKENS or (self.name == FUNCTION and self.function is None):
            return word
        tokens = self.tokens(word)
        if any(token.after_break for token in tokens[1:]):
            return ""
        return " ".join(token.word for token in tokens)

    def lookup(self, query: str, vocabulary: Container[str]) -> str | None:
        """The entry of the vocabulary that a query means: as it stands, or else in the text's own spelling.

        Example:
            >>> tokenizer_of("words").lookup("HIV", {"hiv", "aids"})
            'hiv'
        """
        if query in vocabulary:
            return query
        spelled = self.normalise_word(query)
        return spelled if spelled and spelled in vocabulary else None

    def description(self) -> dict[str, Any]:
        """What the model stores, ready for JSON."""
        about: dict[str, Any] = {"name": self.name}
        if self.options is not None:
            about["options"] = asdict(self.options)
        if self.function_name is not None:
            about["function"] = self.function_name
        return about

    def __str__(self) -> str:
        if self.options is None:
            return self.name if self.function_name is None else f"{self.name} {self.function_name}"
        plain = TokenizerOptions()
        said = [
            f"{f.name}={_said(self.options, f.name)}" for f in fields(plain) if _differs(self.options, plain, f.name)
        ]
        return ":".join([self.name, ",".join(said)]) if said else self.name

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "function": None}  # functions do not travel


TokenizerLike = str | Tokenizer | Function


def tokenizer_of(given: object) -> Tokenizer:
    """The tokenizer that a user means.

    Args:
        given: a name ("words", "words-0.1", "whitespace"), a name with options ("words:hyphens=join,urls=drop"), a
            `Tokenizer`, or a function from a string to its words.

    Example:
        >>> tokenizer_of("words:hyphens=join").words("a well-known fact")
        ['a', 'well-known', 'fact']
    """
    if isinstance(given, Tokenizer):
        return given
    if callable(given):
        name = f"{getattr(given, '__module__', '')}.{getattr(given, '__qualname__', type(given).__name__)}"
        return Tokenizer(FUNCTION, function=given, function_name=name.removeprefix("."))
    if not isinstance(given, str):
        raise ConfigError(f"tokenizer must be {', '.join(map(repr, NAMES))} or a function, not {given!r:.60}")
    name, _, said = given.partition(":")
    if name not in NAMES:
        raise ConfigError(f"tokenizer must be {', '.join(map(repr, NAMES))} or a function, not {given!r:.60}")
    if name in ("words", WORDS):
        return Tokenizer(WORDS, _parsed(said, given))
    if said:
        raise ConfigError(f"tokenizer {given!r}: {name!r} has no options")
    return Tokenizer(name)


def stored_tokenizer(about: object) -> Tokenizer:
    """The tokenizer that a model's file describes; in files of release 0.1 a bare name."""
    if isinstance(about, str) and about in _STORED_IN_01:
        return Tokenizer(_STORED_IN_01[about])
    if not isinstance(about, Mapping) or about.get("name") not in (WORDS, WORDS_01, WHITESPACE, FUNCTION, TOKENS):
        raise FormatError(f"its tokenizer {about!r:.60} is not one that this release knows")
    name, function_name = about["name"], about.get("function")
    if function_name is not None and not isinstance(function_name, str):
        raise FormatError("its tokenizer's function has the wrong type")
    if name != WORDS:
        return Tokenizer(name, function_name=function_name)
    options = about.get("options")
    known = {option.name for option in fields(TokenizerOptions)}
    if not isinstance(options, Mapping) or set(options) != known:
        raise FormatError("its tokenizer's options are not those that this release knows")
    try:
        return Tokenizer(WORDS, TokenizerOptions(**options))
    except ConfigError as error:
        raise FormatError(f"its tokenizer is damaged: {error}") from None


def tokenize(text: str, tokenizer: TokenizerLike = "words") -> list[str]:
    """The words of `text`, as training sees them.

    Example:
        >>> tokenize("The U.S. price: $3.14 (see https://example.com/a)")
        ['the', 'u.s.', 'price', '3.14', 'see', 'example.com']
    """
    return tokenizer_of(tokenizer).words(text)


def _parsed(said: str, given: str) -> TokenizerOptions:
    options: dict[str, Any] = {}
    known = [option.name for option in fields(TokenizerOptions)]
    for part in filter(None, said.split(",")):
        name, _, value = (piece.strip() for piece in part.partition("="))
        if name not in known:
            raise ConfigError(f"tokenizer {given!r}: no option {name!r}; there are {', '.join(known)}")
        if name in CHOICES:
            options[name] = value
        elif value in ("on", "off", "true", "false"):
            options[name] = value in ("on", "true")
        else:
            raise ConfigError(f"tokenizer {given!r}: {name} is on or off, not {value!r}")
    return TokenizerOptions(**options)


def _differs(options: TokenizerOptions, plain: TokenizerOptions, name: str) -> bool:
    return bool(getattr(options, name) != getattr(plain, name))


def _said(options: TokenizerOptions, name: str) -> str:
    value = getattr(options, name)
    return value if isinstance(value, str) else ("on" if value else "off")
