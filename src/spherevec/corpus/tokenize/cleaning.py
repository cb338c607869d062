"""Text as the scanner wants it: without markup, in Unicode's normal form C, scripts without spaces divided into words.

Each step has a plain form for one text and a compiled one for blocks of UTF-8.
"""

from __future__ import annotations

import html.entities
import re
import unicodedata
from functools import cache
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from spherevec.corpus.tokenize.characters import UNSPACED_RANGES
from spherevec.errors import MissingExtraError

LONGEST_TAG = 1000  # bytes between the name of a tag and its >
LONGEST_ENTITY = 33  # bytes between & and ;

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
    rb"<(?:(?P<tag>/?(?P<name>[A-Za-z][A-Za-z0-9]*)(?=[ \t\r\f\v/>]))|!(?:--|[A-Za-z]))[^<>\n]{0,%d}>"
    rb"|&(?:#(?P<decimal>[0-9]{1,7})|#[xX](?P<hexadecimal>[0-9A-Fa-f]{1,6})|(?P<entity>[A-Za-z][A-Za-z0-9]{0,31}));"
    % LONGEST_TAG
)


class MarkupTables(NamedTuple):
    """Tags and entities for the compiled twin: names one after another, sorted."""

    tag_names: npt.NDArray[np.uint8]
    tag_starts: npt.NDArray[np.int64]  # (tags + 1,)
    tag_breaks: npt.NDArray[np.uint8]  # (tags,) whether the tag begins a new line or cell
    entity_names: npt.NDArray[np.uint8]
    entity_starts: npt.NDArray[np.int64]  # (entities + 1,)
    entity_texts: npt.NDArray[np.uint8]
    entity_text_starts: npt.NDArray[np.int64]  # (entities + 1,)
    windows_1252: npt.NDArray[np.int64]  # (32,) what &#128; to &#159; mean in practice


def cleaned(text: bytes) -> bytes:
    """UTF-8 text without tags and entities, the obvious way.

    Example:
        >>> cleaned(b"AT&amp;T <b>stock</b>")
        b'AT&T  stock '
    """
    return _MARKUP.sub(_replacement, text)


def may_hold_markup(text: bytes) -> bool:
    """Whether it is worth while to look for tags and entities."""
    return b"<" in text or b"&" in text


def _replacement(match: re.Match[bytes]) -> bytes:
    if match["name"]:
        return TAG_NAMES.get(match["name"].lower(), match[0])
    if match["entity"]:
        known = _entities().get(match["entity"])
        return match[0] if known is None else known
    if match["decimal"] or match["hexadecimal"]:
        code = int(match["decimal"]) if match["decimal"] else int(match["hexadecimal"], 16)
        return character(code)
    return BREAK


def character(code: int) -> bytes:
    """What a numeric entity stands for; a space where that is no character."""
    if 0x80 <= code < 0xA0:
        code = _windows_1252()[code - 0x80]
    if code < 0x20 or code == 0x7F or 0xD800 <= code < 0xE000 or code > 0x10FFFF:
        return b" "
    return chr(code).encode()


@cache
def _windows_1252() -> list[int]:
    return [ord(bytes([code]).decode("cp1252", "replace").replace("\ufffd", " ")) for code in range(0x80, 0xA0)]


@cache
def _entities() -> dict[bytes, bytes]:
    named = {name[:-1].encode(): text.encode() for name, text in html.entities.html5.items() if name.endswith(";")}
    return {name: b" " if text in (b"\n", b"\t") else text for name, text in named.items()}


@cache
def markup_tables() -> MarkupTables:
    tags, entities = sorted(TAG_NAMES), sorted(_entities())
    texts = [_entities()[name] for name in entities]
    return MarkupTables(
        *_joined(tags),
        np.array([TAG_NAMES[name] == BREAK for name in tags], np.uint8),
        *_joined(entities),
        *_joined(texts),
        np.array(_windows_1252(), np.int64),
    )


def _joined(names: list[bytes]) -> tuple[npt.NDArray[np.uint8], npt.NDArray[np.int64]]:
    starts = np.cumsum([0, *map(len, names)]).astype(np.int64)
    return np.frombuffer(b"".join(names), np.uint8), starts


_TABLE_SIZE = 0x110000
_SEGMENT_BYTES = 256  # room for one stretch to normalise in so many bytes; where there are more, they are joined
_FIRST_LEAD = 0xCC  # the lead byte of U+0300, the first combining mark; NFC changes no character below by itself
# The vowels and final consonants of Hangul, which NFC joins to what stands before them.
_HANGUL = (*range(0x1161, 0x1176), *range(0x11A8, 0x11C3))


def clean_block(block: bytes) -> bytes:
    """The block without HTML tags and entities; the twin of `html_cleaning.cleaned`.

    Example:
        >>> clean_block(b"AT&amp;T<br>")
        b'AT&T\\x1e'
    """
    if not may_hold_markup(block):
        return block
    from spherevec.corpus.tokenize import cleaning_kernel as kernel

    data = np.frombuffer(block, np.uint8)
    places = np.flatnonzero((data == ord("<")) | (data == ord("&")))
    out = np.empty(2 * len(block), np.uint8)
    size = kernel.clean_markup(data, places, *markup_tables(), out)
    return block if size < 0 else out[:size].tobytes()


def normalise_block(block: bytes) -> bytes:
    """The block in NFC. Only words that NFC may change are looked at by Python; a block ends at white space."""
    data = np.frombuffer(block, np.uint8)
    if data.max(initial=0) < 0x80:  # as `isascii`, but other threads go on meanwhile
        return block
    from spherevec.corpus.tokenize import cleaning_kernel as kernel

    places = np.flatnonzero(data >= _FIRST_LEAD)
    segments = np.empty((len(block) // _SEGMENT_BYTES + 1, 2), np.int64)
    found = kernel.unnormalised(data, places, combining_classes(), segments) if len(places) else 0
    if not found:
        return block
    parts, done = [], 0
    for begin, end in segments[:found].tolist():
        parts += [block[done:begin], unicodedata.normalize("NFC", block[begin:end].decode()).encode()]
        done = end
    return b"".join([*parts, block[done:]])


@cache
def combining_classes() -> npt.NDArray[np.uint8]:
    """The canonical combining class of each character, 255 for those that NFC may change, (0x110000,)."""
    classes = np.zeros(_TABLE_SIZE, np.uint8)
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

_RUN = re.compile("[" + "".join(f"{chr(low)}-{chr(high)}" for low, high in UNSPACED_RANGES) + "]+")


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
    return text if text.isascii() else _RUN.sub(_divided, text)


def segmented_block(block: bytes) -> bytes:
    """The same for a block of UTF-8: compiled code finds the runs to divide."""
    if block.isascii():
        return block
    from spherevec.corpus.tokenize import cleaning_kernel as kernel

    runs = np.empty((len(block) // 4 + 1, 2), np.int64)  # a run and what ends it take four bytes
    found = kernel.find_runs(np.frombuffer(block, np.uint8), _unspaced(), runs)
    if not found:
        return block
    parts, done = [], 0
    for begin, end in runs[:found].tolist():
        parts += [block[done:begin], segmented(block[begin:end].decode()).encode()]
        done = end
    return b"".join([*parts, block[done:]])


@cache
def _unspaced() -> npt.NDArray[np.uint8]:
    wanted = np.zeros(0x110000, np.uint8)
    for low, high in UNSPACED_RANGES:
        wanted[low : high + 1] = 1
    return wanted


def _divided(match: re.Match[str]) -> str:
    # Also at both ends: what stands there in another script is another word.
    return SEPARATOR.join(("", *_breaker()(match[0], "en"), ""))


@cache
def _breaker() -> Any:
    try:
        from icu4py.breakers import WordBreaker
    except ImportError:
        raise MissingExtraError("dividing text of unspaced scripts into words", "cjk") from None
    return WordBreaker
