"""HTML inside text: entities become characters, tags become white space."""

from __future__ import annotations

import html.entities
import re
from functools import cache
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

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
