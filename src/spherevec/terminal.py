"""Text from files, on its way to a terminal: shown, never obeyed."""

from __future__ import annotations

import re

# Control characters, escape sequences' first byte among them; marks that turn the direction of text around; what ends
# a line without being a newline; halves of surrogate pairs, which no encoding has; and invisible tags.
_OBEYED = re.compile(
    "[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff\ufff9-\ufffb\ud800-\udfff\U000e0000-\U000e007f]"
)


def visible(text: str) -> str:
    """`text` on one line, with all that a terminal would obey written out.

    Examples:
        >>> visible("a\\x1b[31mb\\nc")
        'a\\\\x1b[31mb\\\\nc'
    """
    return _OBEYED.sub(lambda found: found[0].encode("unicode_escape").decode(), text)


def times(count: int) -> str:
    """How often something happens, in words.

    >>> times(1), times(2), times(1000)
    ('once', 'twice', '1,000 times')
    """
    return {1: "once", 2: "twice"}.get(count, f"{count:,} times")


def number_of(count: int, thing: str) -> str:
    """How many there are.

    >>> number_of(1, "file"), number_of(2000, "file")
    ('1 file', '2,000 files')
    """
    return f"{count:,} {thing}{'s' * (count != 1)}"


def visible_json(encoded: str) -> str:
    """JSON that says the same, with all that a terminal would obey inside of strings written as JSON escapes."""
    return _OBEYED.sub(lambda found: found[0] if found[0] == "\n" else _json_escape(found[0]), encoded)


def _json_escape(character: str) -> str:
    units = character.encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[i]:02x}{units[i + 1]:02x}" for i in range(0, len(units), 2))
