"""Tokenizers by name: how a text was cut into words, described once, stored in the model, asked again for queries.

"words" is the usual one, "whitespace" takes text that is split already, and any function from a string to words may
stand in for them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from spherevec.corpus.tokenize.cleaning import can_segment
from spherevec.corpus.tokenize.words import Token, TokenizerOptions, scan
from spherevec.errors import ConfigError, FormatError

Function = Callable[[str], Iterable[str]]

# What models store; the first says which rules it is.
WORDS, WHITESPACE, FUNCTION, TOKENS = "words-0.2", "whitespace", "function", "tokens"
NAMES = ("words", WORDS, WHITESPACE)
_BETWEEN_WHITE_SPACE = re.compile(r"[^ \t\n\r\f\v]+")


@dataclass(frozen=True)
class Tokenizer:
    """How text becomes words; made by `tokenizer_of` from what a user says.

    Example:
        >>> tokenizer_of("words").words("COVID-19 isn't C++")
        ['covid-19', "isn't", 'c++']
    """

    # "words-0.2", "whitespace", "function" (one of the user's), or "tokens" (documents that came as lists of words)
    name: str
    options: TokenizerOptions | None = None  # of "words-0.2"; None for all others
    # The user's, as long as the process lives; it is not stored
    function: Function | None = field(default=None, compare=False, repr=False)
    function_name: str | None = None  # what it was called

    def __post_init__(self) -> None:
        if self.options is not None and self.options.unspaced == "auto":
            found = "segment" if can_segment() else "bigrams"
            object.__setattr__(self, "options", replace(self.options, unspaced=found))

    @property
    def compiled(self) -> bool:
        """Whether blocks of text can be cut by compiled code."""
        return self.name in (WORDS, WHITESPACE)

    @property
    def drops_elisions(self) -> bool:
        """Whether the l' of l'erreur and its like are left out."""
        return self.options is not None and self.options.elisions == "drop"

    def with_elisions(self, elisions: str) -> Tokenizer:
        """The same tokenizer, whose option "auto" became "keep" or "drop" for a text."""
        if self.options is None or self.options.elisions != "auto":
            return self
        return replace(self, options=replace(self.options, elisions=elisions))

    def words(self, text: str) -> list[str]:
        """The words of one text, as training saw them."""
        return [token.word for token in self.tokens(text)]

    def tokens(self, text: str) -> list[Token]:
        """The words of one text, each with whether punctuation stands before it."""
        if self.options is not None:
            return scan(text, self.options)
        if self.name == WHITESPACE:
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
                "the model was trained on lists of words: give lists of words, ['the', 'war']; infer and "
                "search also take texts with tokenizer='whitespace' (--pretokenized)"
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
        options = str(self.options)
        return f"{self.name}:{options}" if options else self.name

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "function": None}  # functions do not travel


TokenizerLike = str | Tokenizer | Function


def tokenizer_of(given: object) -> Tokenizer:
    """The tokenizer that a user means.

    Args:
        given: a name ("words", "whitespace"), a name with options ("words:hyphens=join,urls=drop"), a `Tokenizer`, or a
            function from a string to its words.

    Example:
        >>> tokenizer_of("words:hyphens=join").words("a well-known fact")
        ['a', 'well-known', 'fact']
    """
    if isinstance(given, Tokenizer):
        return given
    if callable(given):
        name = f"{getattr(given, '__module__', '')}.{getattr(given, '__qualname__', type(given).__name__)}"
        return Tokenizer(FUNCTION, function=given, function_name=name.removeprefix("."))
    name, _, options = given.partition(":") if isinstance(given, str) else ("", "", "")
    if not isinstance(given, str) or name not in NAMES:
        raise ConfigError(f"tokenizer must be {', '.join(map(repr, NAMES))} or a function, not {given!r:.60}")
    if name == WHITESPACE:
        if options:
            raise ConfigError(f"tokenizer {given!r}: {name!r} has no options")
        return Tokenizer(name)
    try:
        return Tokenizer(WORDS, TokenizerOptions.parse(options))
    except ConfigError as error:
        raise ConfigError(f"tokenizer {given!r}: {error}") from None


def stored_tokenizer(about: object) -> Tokenizer:
    """The tokenizer that a model's file describes."""
    if not isinstance(about, Mapping) or about.get("name") not in (WORDS, WHITESPACE, FUNCTION, TOKENS):
        raise FormatError(f"its tokenizer {about!r:.60} is not one that this release knows")
    name, function_name = about["name"], about.get("function")
    if function_name is not None and not isinstance(function_name, str):
        raise FormatError("its tokenizer's function has the wrong type")
    options = TokenizerOptions.stored(about.get("options")) if name == WORDS else None
    return Tokenizer(name, options, function_name=function_name)


def tokenize(text: str, tokenizer: TokenizerLike = "words") -> list[str]:
    """The words of `text`, as training sees them.

    Example:
        >>> tokenize("The U.S. price: $3.14 (see https://example.com/a)")
        ['the', 'u.s.', 'price', '3.14', 'see', 'example.com']
    """
    return tokenizer_of(tokenizer).words(text)
