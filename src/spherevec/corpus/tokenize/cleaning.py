"""Text as the scanner wants it: without markup, in normal form C of Unicode, unspaced scripts divided into words."""

from __future__ import annotations

import html.entities
import re
import unicodedata
from collections.abc import Callable, Iterable
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt

from spherevec.corpus.tokenize.characters import UNSPACED_RANGES
from spherevec.corpus.tokenize.function_words import FUNCTION_WORDS
from spherevec.errors import MissingExtraError, import_extra

LONGEST_TAG = 1000  # bytes between the name of a tag and its >

_INLINE = (
    "a abbr acronym b bdi bdo big cite code data del dfn em font i img ins kbd label mark q s "
    "samp small span strike strong sub sup time tt u var wbr"
)
_BLOCK = (
    "address article aside audio blockquote body br button caption center col colgroup dd details dialog "
    "div dl dt embed fieldset figcaption figure footer form frame frameset h1 h2 h3 h4 "
    "h5 h6 head header hr html iframe input legend li link main map meta nav "
    "noscript object ol optgroup option p param picture pre script section select source style summary "
    "svg table tbody td template textarea tfoot th thead title tr ul video"
)
SPACE, BREAK = b" ", b"\x1e"  # what stands for a tag inside a line, and for one that begins a new line or cell
TAG_NAMES: dict[bytes, bytes] = {name.encode(): SPACE for name in _INLINE.split()} | {
    name.encode(): BREAK for name in _BLOCK.split()
}

_MARKUP = re.compile(
    rb"<(?:/?(?P<name>[A-Za-z][A-Za-z0-9]*)(?=[ \t\r\f\v/>])|!(?:--|[A-Za-z]))[^<>\n]{0,%d}>"
    rb"|&(?:#(?P<decimal>[0-9]{1,7})|#[xX](?P<hexadecimal>[0-9A-Fa-f]{1,6})|(?P<entity>[A-Za-z][A-Za-z0-9]{0,31}));"
    % LONGEST_TAG
)


def cleaned(text: bytes) -> bytes:
    """UTF-8 text without HTML tags and entities.

    Example:
        >>> cleaned(b"AT&amp;T <b>stock</b>")
        b'AT&T  stock '
    """
    if b"<" not in text and b"&" not in text:
        return text
    data = np.frombuffer(text, np.uint8)
    parts, done = [], 0
    for place in np.flatnonzero((data == ord("<")) | (data == ord("&"))).tolist():
        match = _MARKUP.match(text, place) if place >= done else None
        instead = _replacement(match) if match else None
        if match and instead is not None:
            parts += [text[done:place], instead]
            done = match.end()
    return b"".join([*parts, text[done:]])


def _replacement(match: re.Match[bytes]) -> bytes | None:
    """What stands for a tag or an entity; None if it is not known."""
    if match["name"]:
        return TAG_NAMES.get(match["name"].lower())
    if match["entity"]:
        return _entities().get(match["entity"])
    if not match["decimal"] and not match["hexadecimal"]:
        return BREAK
    code = int(match["decimal"]) if match["decimal"] else int(match["hexadecimal"], 16)
    if 0x80 <= code < 0xA0:  # meant as Windows-1252, in practice
        code = ord(bytes([code]).decode("cp1252", "replace").replace("\ufffd", " "))
    if code < 0x20 or code == 0x7F or 0xD800 <= code < 0xE000 or code > 0x10FFFF:
        return b" "
    return chr(code).encode()


@cache
def _entities() -> dict[bytes, bytes]:
    named = {name[:-1].encode(): text.encode() for name, text in html.entities.html5.items() if name.endswith(";")}
    return {name: b" " if text in (b"\n", b"\t") else text for name, text in named.items()}


def _rewritten(block: bytes, segments: Iterable[tuple[int, int]], rewrite: Callable[[str], str]) -> bytes:
    """The block with some of its segments, begin and end of each, rewritten."""
    parts, done = [], 0
    for begin, end in segments:
        parts += [block[done:begin], rewrite(block[begin:end].decode()).encode()]
        done = end
    return b"".join([*parts, block[done:]])


_SEGMENT_BYTES = 256  # room for one stretch to normalise in so many bytes; where there are more, they are joined
_FIRST_LEAD = 0xCC  # the lead byte of U+0300, the first combining mark; NFC changes no character below by itself
# The vowels and final consonants of Hangul, which NFC joins to what stands before them.
_HANGUL = (*range(0x1161, 0x1176), *range(0x11A8, 0x11C3))


def normalise_block(block: bytes) -> bytes:
    """The block in NFC. Only words that NFC may change are looked at by Python; a block ends at white space."""
    data = np.frombuffer(block, np.uint8)
    places = np.flatnonzero(data >= _FIRST_LEAD)  # releases the interpreter, as `isascii` does not
    if not len(places):
        return block
    from spherevec.corpus.tokenize import scanner_kernel as kernel

    segments = np.empty((len(block) // _SEGMENT_BYTES + 1, 2), np.int64)
    found = kernel.unnormalised(data, places, combining_classes(), segments)
    if not found:
        return block
    return _rewritten(block, segments[:found].tolist(), lambda text: unicodedata.normalize("NFC", text))


@cache
def combining_classes() -> npt.NDArray[np.uint8]:
    """The canonical combining class of each character, 255 for those that NFC may change, (0x110000,)."""
    classes = np.zeros(0x110000, np.uint8)
    suspects = set(_HANGUL)
    # Above, nothing is assigned but ideographs of plane 3, variation selectors and private use.
    for code in range(0x30000):
        character = chr(code)
        classes[code] = unicodedata.combining(character)
        parts = unicodedata.decomposition(character).split()
        if parts and not parts[0].startswith("<"):
            if unicodedata.normalize("NFC", character) != character:
                suspects.add(code)
            elif len(parts) == 2:
                suspects.add(int(parts[1], 16))
    classes[list(suspects)] = 255
    return classes


SEPARATOR = "\u200b"  # a zero-width space ends a word, and no phrase

UNSPACED = re.compile("[" + "".join(f"{chr(low)}-{chr(high)}" for low, high in UNSPACED_RANGES) + "]+")
# Where a dictionary cuts a word of Katakana that it lacks: before or behind a lone letter, and before a letter that
# begins no word. Behind a lone one of these, another word may begin.
_KATAKANA, _NEVER_FIRST = "\u30a1-\u30fa\u30fc-\u30ff\u31f0-\u31ff", "ァィゥェォッャュョヮンヵヶーヽヾ\u31f0-\u31ff"
_WRONG_CUT = re.compile(
    f"(?<=[{_KATAKANA}]){SEPARATOR}(?=[{_KATAKANA}]{SEPARATOR}|[{_NEVER_FIRST}])"
    f"|(?<={SEPARATOR}(?![{_NEVER_FIRST}])[{_KATAKANA}]){SEPARATOR}(?=[{_KATAKANA}])"
)
_LEADS = np.zeros(256, np.bool_)  # the bytes that characters of these scripts begin with, none of ASCII
for _low, _high in UNSPACED_RANGES:
    _LEADS[chr(_low).encode()[0] : chr(_high).encode()[0] + 1] = True


def can_segment() -> bool:
    """Whether text of unspaced scripts can be divided into words: the extra `cjk` is there."""
    try:
        _breaker()
    except MissingExtraError:
        return False
    return True


def segmented(text: str) -> str:
    """The text with zero-width spaces around the words of unspaced scripts.

    Example:
        >>> segmented("no such script")
        'no such script'
    """
    return text if text.isascii() else UNSPACED.sub(_divided, text)


def segmented_block(block: bytes) -> bytes:
    """The same for a block of UTF-8, where only what may be of these scripts is looked at."""
    data = np.frombuffer(block, np.uint8)
    places = np.flatnonzero(data >= 0xE0)
    places = places[_LEADS[data[places]]]
    if not len(places):
        return block
    gaps = np.flatnonzero(np.diff(places) > 4)  # no character has more bytes
    lasts = places[np.append(gaps, len(places) - 1)]
    begins, ends = places[np.append(0, gaps + 1)], lasts + 3 + (data[lasts] >= 0xF0)
    return _rewritten(block, zip(begins.tolist(), ends.tolist(), strict=True), segmented)


def _divided(match: re.Match[str]) -> str:
    cut = SEPARATOR.join(["", *_breaker()(match[0], "en"), ""])
    words, alone = [""], ""  # also at both ends: what stands there in another script is another word
    for word in _WRONG_CUT.sub("", cut).split(SEPARATOR)[1:]:
        if len(word) == 1 and "\u3400" <= word <= "\u9fff" and word not in FUNCTION_WORDS:
            alone += word
            continue
        # Ideographs that stand alone are parts of words that the dictionary lacks, most of which have two of them.
        while alone:
            size = 3 if len(alone) == 3 else 2
            words.append(alone[:size])
            alone = alone[size:]
        words.append(word)
    return SEPARATOR.join(words)


@cache
def _breaker() -> Any:
    return import_extra("icu4py.breakers", "dividing text of unspaced scripts into words", "cjk").WordBreaker
