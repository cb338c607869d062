"""Compiled loops over columns of text: UTF-8 bytes back to back, and where each text begins."""

from __future__ import annotations

from typing import Any

import numpy as np

from spherevec.compiling import njit

_RETURN, _SPACE, _TAB = 13, 32, 9


@njit(nogil=True, cache=True)
def hash_texts(offsets: Any, arena: Any, hashes: Any) -> None:
    """FNV-1a of each text, mixed once more so that all 64 bits depend on all bytes.

    Offsets from a file may be anything: they are held within the arena.
    """
    size = len(arena)
    for row in range(len(hashes)):
        start = min(max(offsets[row], 0), size)
        stop = min(max(offsets[row + 1], start), size)
        h = np.uint64(14695981039346656037)
        for i in range(start, stop):
            h = (h ^ np.uint64(arena[i])) * np.uint64(1099511628211)
        h = (h ^ (h >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        h = (h ^ (h >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        hashes[row] = h ^ (h >> np.uint64(31))


@njit(nogil=True, cache=True)
def line_beginnings(block: Any, newlines: Any, characters: Any, taken: Any, out: Any, ends: Any) -> Any:
    """Copy the first `characters` characters of each line of a UTF-8 block to `out`.

    Args:
        newlines: where they are in the block.
        taken: characters already taken of the line that the block begins in.
        ends: gets how much of `out` is filled at each newline.

    Returns:
        how much of `out` is filled, and the characters taken of the line that the block ends in.
    """
    filled = 0
    start = 0
    for line in range(len(newlines) + 1):
        stop = newlines[line] if line < len(newlines) else len(block)
        plain = min(stop, start + characters) if taken == 0 and start < stop and block[start] != _SPACE else start
        odd = False
        for byte in block[start:plain]:  # no branches: many bytes at a time
            odd |= (byte < _SPACE) | (byte >= 0x80)
        if not odd:
            out[filled : filled + plain - start] = block[start:plain]
            filled += plain - start
            taken += plain - start
            start = plain
        for place in range(start, stop):
            byte = block[place]
            if byte == _RETURN:
                continue
            if byte == _TAB:
                byte = np.uint8(_SPACE)
            if taken == 0 and byte == _SPACE:
                continue
            if (byte & 0xC0) != 0x80:  # the first byte of a character
                taken += 1
            if taken > characters:
                break
            out[filled] = byte
            filled += 1
        if line < len(newlines):
            ends[line] = filled
            taken = 0
            start = stop + 1
    return filled, taken
