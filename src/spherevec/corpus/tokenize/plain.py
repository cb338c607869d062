"""The rules of the tokenizer in plain Python: what the compiled scanner must agree with, and what short queries use."""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple

from spherevec.corpus.tokenize import characters as ch
from spherevec.corpus.tokenize.cleaning import cleaned
from spherevec.corpus.tokenize.options import TokenizerOptions

_SCHEME = re.compile(r"(?:(?:https?|ftp)://|www\.)(?=[A-Za-z0-9])", re.IGNORECASE | re.ASCII)
_EMAIL = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.%+-]{0,63}@([A-Za-z0-9][A-Za-z0-9.-]*)")
_NOT_IN_URLS = '<>"`{}|\\^'
_AFTER_URLS = ".,;:!?'/*_~-"  # a URL does not end with these, whatever the sentence ends with
_POINTED = ("net", "js")  # as in .NET, ASP.NET, node.js


class Token(NamedTuple):
    """One word of a text, and whether punctuation stands between it and the word before."""

    word: str
    after_break: bool


def scan(text: str, options: TokenizerOptions) -> list[Token]:
    """The tokens of one document, rule by rule; see docs/guides/tokenization.md."""
    if options.html:
        text = cleaned(text.encode("utf-8", "replace")).decode()
    text = unicodedata.normalize("NFC", text)
    if options.unspaced == "segment":
        from spherevec.corpus.tokenize.cleaning import segmented

        text = segmented(text)
    return _Scanner(text, options).tokens()


class _Scanner:
    def __init__(self, text: str, options: TokenizerOptions) -> None:
        self._text, self._options = text, options
        self._i = 0
        self._word_end = -1  # where the last word ended
        self._broken = True
        self._tokens: list[Token] = []

    def tokens(self) -> list[Token]:
        while self._i < len(self._text):
            kind = self._kind(self._i)
            if kind == ch.WORD:
                if not self._special():
                    self._word("")
            elif kind == ch.UNSPACED:
                self._bigrams()
            elif kind == ch.EMOJI:
                self._emoji()
            elif kind == ch.REGIONAL:
                self._flag()
            elif not self._prefixed():
                joins = kind == ch.HYPHEN and self._i == self._word_end and self._kind(self._i + 1) == ch.WORD
                if kind in (ch.OTHER, ch.APOSTROPHE, ch.HYPHEN) and not joins:
                    self._broken = True
                self._i += 1
        return self._tokens

    def _kind(self, i: int) -> int:
        kind = _kind_of(self._text[i]) if i < len(self._text) else ch.OTHER
        if kind in (ch.EMOJI, ch.REGIONAL) and not self._options.emoji:
            return ch.OTHER
        return ch.WORD if kind == ch.UNSPACED and self._options.unspaced != "bigrams" else kind

    def _at(self, i: int) -> str:
        return self._text[i] if 0 <= i < len(self._text) else ""

    def _lower(self, character: str) -> str:
        return ch.lower(character) if self._options.lowercase else character

    def _emit(self, word: str, end: int) -> bool:
        self._tokens.append(Token(word, self._broken))
        self._broken = False
        self._i = end
        return True

    def _special(self) -> bool:
        """An e-mail address or a URL that begins here."""
        email = _EMAIL.match(self._text, self._i)
        if email and self._options.emails != "split":
            host = email[1].rstrip(".-")
            if "." in host:
                return self._kept(self._options.emails, email.start(1) + len(host), host)
        url = _SCHEME.match(self._text, self._i)
        if url and self._options.urls != "split":
            end = url.end()
            while end < len(self._text) and self._in_url(end):
                end += 1
            while end > url.end() + 1 and (
                self._text[end - 1] in _AFTER_URLS
                or (self._text[end - 1] in ")]" and not set(self._text[self._i : end]) & set("(["))
            ):
                end -= 1
            host_end = url.end()
            while host_end < end and (self._text[host_end] in ".-" or self._kind(host_end) in (ch.WORD, ch.MARK)):
                host_end += 1
            host = self._text[url.end() : host_end].rstrip(".-")
            if host[:4].lower() == "www." and len(host) > 4:
                host = host[4:]
            return self._kept(self._options.urls, end, host)
        return False

    def _kept(self, how: str, end: int, host: str) -> bool:
        if how == "drop":
            self._broken, self._i = True, end
            return True
        word = self._text[self._i : end] if how == "keep" else host
        self._word_end = end
        return self._emit("".join(map(self._lower, word)), end)

    def _in_url(self, i: int) -> bool:
        character = self._text[i]
        if character.isascii():
            return "!" <= character <= "~" and character not in _NOT_IN_URLS
        return self._kind(i) in (ch.WORD, ch.MARK)

    def _prefixed(self) -> bool:
        """A hashtag, a mention, or a word such as .NET that begins here."""
        character, i = self._text[self._i], self._i
        if i == self._word_end:
            return False
        if character in "#@" and self._options.tags and self._kind(i + 1) == ch.WORD and self._at(i + 1) not in _DIGITS:
            self._i += 1
            self._word(character)
            return True
        if character == "." and self._options.symbols and self._pointed(i):
            self._i += 1
            self._word(".")
            return True
        return False

    def _pointed(self, i: int) -> bool:
        """Whether a point and one of the words that go with it stand here."""
        return any(
            self._text[i + 1 : i + 1 + len(word)].lower() == word
            and self._text[i + 1 : i + 1 + len(word)].isascii()
            and self._kind(i + 1 + len(word)) not in (ch.WORD, ch.MARK)
            for word in _POINTED
        )

    def _word(self, word: str) -> None:
        """A word from here on, with what its prefix and its joined characters make of it."""
        options, start, begin = self._options, self._i, len(word)
        letters = 1 if not word and self._is_letter(start) and not self._is_wordlike(start + 1) else 0
        capital_sigma = False
        while self._i < len(self._text):
            i, character, kind = self._i, self._text[self._i], self._kind(self._i)
            if kind in (ch.WORD, ch.MARK):
                capital_sigma = ord(character) == ch.CAPITAL_SIGMA and options.lowercase and len(word) > begin
                word += self._lower(character)
            elif kind == ch.IGNORED:
                pass
            elif kind == ch.JOINER:
                word += character if self._is_wordlike(i + 1) else ""
            elif kind == ch.APOSTROPHE and self._kind(i + 1) == ch.WORD:
                word += "'"
            elif kind == ch.HYPHEN and self._hyphen_joins(i):
                word += "-"
            elif character in ".," and options.numbers and self._at(i - 1) in _DIGITS and self._at(i + 1) in _DIGITS:
                word += character
            elif (
                character == "."
                and options.abbreviations
                and letters
                and len(word) == 2 * letters - 1
                and self._is_letter(i + 1)
                and not self._is_wordlike(i + 2)
            ):
                word += "." + self._lower(self._text[i + 1])
                letters += 1
                self._i += 1
            elif character == "." and options.symbols and self._pointed(i):
                word += "."
            elif character == "+" and self._plus_plus(i):
                word, capital_sigma = word + "++", False
                self._i += 1
            elif character == "#" and self._sharp(i, start):
                word += "#"
                self._i += 1
                break
            else:
                break
            self._i += 1
        if capital_sigma:
            word = word[:-1] + chr(ch.FINAL_SIGMA)
        if letters > 1 and len(word) == 2 * letters - 1:
            word += "."
            self._i += self._at(self._i) == "."
        self._word_end = self._i
        self._emit(word, self._i)

    def _is_letter(self, i: int) -> bool:
        return self._at(i).isascii() and self._at(i).isalpha()

    def _is_wordlike(self, i: int) -> bool:
        return self._kind(i) in (ch.WORD, ch.MARK)

    def _hyphen_joins(self, i: int) -> bool:
        if self._options.hyphens == "digits":
            return self._at(i + 1) in _DIGITS and self._at(i - 1) not in _DIGITS
        return self._options.hyphens == "join" and self._kind(i + 1) == ch.WORD

    def _plus_plus(self, i: int) -> bool:
        """C++ and C++17, but not a++b."""
        after = self._at(i + 2)
        if not self._options.symbols or self._at(i + 1) != "+" or after == "+":
            return False
        return after in _DIGITS or not self._is_wordlike(i + 2)

    def _sharp(self, i: int, start: int) -> bool:
        """C# and F#: one letter before, nothing more behind."""
        one_letter = i == start + 1 and self._is_letter(start)
        return self._options.symbols and one_letter and self._at(i + 1) != "#" and not self._is_wordlike(i + 1)

    def _bigrams(self) -> None:
        """Overlapping pairs of the characters of a run without spaces, each with its marks; one alone if it is one."""
        clusters: list[str] = []
        while self._kind(self._i) in (ch.UNSPACED, ch.MARK, ch.IGNORED):
            kind, character = self._kind(self._i), self._text[self._i]
            if kind == ch.UNSPACED:
                clusters.append(self._lower(character))
            elif kind == ch.MARK:
                clusters[-1] += self._lower(character)
            self._i += 1
        pairs = [left + right for left, right in pairwise(clusters)] or clusters
        for pair in pairs:
            self._emit(pair, self._i)
        self._word_end = self._i

    def _emoji(self) -> None:
        """One emoji with its skin tone, and those that are joined to it."""
        word = self._text[self._i]
        i = self._i + 1
        while i < len(self._text):
            code = ord(self._text[i])
            if ch.within(code, (ch.SKIN_TONES, ch.TAGS)):
                word += self._text[i]
            elif code == ch.ZERO_WIDTH_JOINER and self._kind(i + 1) == ch.EMOJI:
                word += self._text[i : i + 2]
                i += 1
            elif self._kind(i) != ch.IGNORED:
                break
            i += 1
        self._emit(word, i)

    def _flag(self) -> None:
        """Two regional indicators; one alone is nothing."""
        if self._kind(self._i + 1) == ch.REGIONAL:
            self._emit(self._text[self._i : self._i + 2], self._i + 2)
        else:
            self._broken = True
            self._i += 1


_DIGITS = tuple("0123456789")
_kind_of = lru_cache(maxsize=4096)(ch.kind_of)
