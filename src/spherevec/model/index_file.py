"""Files of the approximate index, looked through before native code reads them.

usearch follows the links of a file without looking where they lead. A file from a stranger, or a damaged one, is
therefore compared with its own sizes here, number by number: what passes has no link, level or length that leads
outside of it. The layout is that of usearch 2: the vectors, a head, and a node for each vector with its key, its level
and its links on each level.
"""

from __future__ import annotations

import struct
from typing import Any

import numpy as np
from numpy.typing import NDArray

from spherevec.errors import FormatError

Bytes = NDArray[np.uint8]
Int64 = NDArray[np.int64]

_HEAD = struct.Struct("<7s3H4B3QB")
_HEAD_BYTES = 64
_GRAPH = struct.Struct("<5Q")
# Inner product of float16 vectors with 64-bit keys and 32-bit links: the only kind that is written here.
_KIND = (105, 12, 14, 15)
_MOST_LINKS, _MOST_LEVELS = 1024, 64
_FREE = np.uint64(2**64 - 1)  # the key of a vector that was removed
_NODES_AT_ONCE = 1 << 14


def check_index_file(buffer: Any, what: str) -> tuple[NDArray[np.uint64], NDArray[np.float16]]:
    """Refuse an index file that contradicts itself.

    Args:
        buffer: the whole file, such as a memory map.
        what: names the file in messages.

    Returns:
        The key (n,) and the stored vector (n, d) of every place; the key of a removed vector is 2**64 - 1.
    """
    try:
        return _checked(np.frombuffer(buffer, np.uint8) if len(buffer) else np.zeros(0, np.uint8))
    except (ValueError, struct.error) as error:
        raise FormatError(f"{what}: not an index file, or damaged ({error}); build it again") from None


def _checked(data: Bytes) -> tuple[NDArray[np.uint64], NDArray[np.float16]]:
    rows, width = struct.unpack("<II", data[:8].tobytes())
    place = 8 + rows * width
    _must(place + _HEAD_BYTES + _GRAPH.size <= len(data), "it is too short for its vectors")
    magic, major, _, _, *kind, present, removed, dim, multi = _HEAD.unpack(data[place : place + _HEAD.size].tobytes())
    _must(magic == b"usearch", "its head is missing")
    _must(major == 2, f"it is of version {major} of the format")
    _must(tuple(kind) == _KIND and not multi and width == 2 * dim, "it holds another kind of vectors")
    stored = np.frombuffer(data.data, np.float16, rows * dim, 8).reshape(rows, dim)
    place += _HEAD_BYTES
    size, links, links_below, top, entry = _GRAPH.unpack(data[place : place + _GRAPH.size].tobytes())
    place += _GRAPH.size
    _must(size == rows and present + removed == rows, "its counts contradict each other")
    _must(0 < links <= _MOST_LINKS and 0 < links_below <= 2 * _MOST_LINKS, "its number of links is impossible")
    _must(place + 2 * size <= len(data), "it is too short for its levels")
    if size == 0:
        _must(place == len(data), "its length does not fit its nodes")
        return np.zeros(0, np.uint64), stored
    levels = np.frombuffer(data.data, np.int16, size, place).astype(np.int64)
    place += 2 * size
    _must(bool(levels.min() >= 0 and levels.max() == top <= _MOST_LEVELS), "its levels are impossible")
    _must(entry < size and levels[entry] == top, "its entry is no node of the highest level")
    sizes = 14 + 4 * links_below + levels * (4 + 4 * links)
    starts = place + np.cumsum(sizes) - sizes
    _must(starts[-1] + sizes[-1] == len(data), "its length does not fit its nodes")
    keys = _gathered(data, starts, 8).view(np.uint64).reshape(-1)
    own = _gathered(data, starts + 8, 2).view(np.int16).reshape(-1)
    _must(np.array_equal(own, levels), "its levels contradict each other")
    for level in range(int(top) + 1):
        here = np.flatnonzero(levels >= level)
        first = starts[here] + (10 if level == 0 else 14 + 4 * links_below + (level - 1) * (4 + 4 * links))
        _check_links(data, first, links_below if level == 0 else links, levels >= level)
    there = np.sort(keys[keys != _FREE])
    _must(len(there) == present and not np.any(there[1:] == there[:-1]), "its keys are not distinct")
    return keys, stored


def _check_links(data: Bytes, first: Int64, most: int, reachable: NDArray[np.bool_]) -> None:
    """The links of one level lead to nodes of that level; `first` (n,) is where each list begins."""
    for low in range(0, len(first), _NODES_AT_ONCE):
        lists = _gathered(data, first[low : low + _NODES_AT_ONCE], 4 + 4 * most).view(np.uint32)
        counts, links = lists[:, 0], lists[:, 1:]
        _must(bool(np.all(counts <= most)), "a node has too many links")
        used = links[np.arange(most)[None, :] < counts[:, None]]
        _must(bool(np.all(used < len(reachable))), "a link leads nowhere")
        _must(bool(np.all(reachable[used])), "a link leads to a lower level")


def _gathered(data: Bytes, starts: Int64, width: int) -> Bytes:
    """`width` bytes from each start, (n, width)."""
    gathered: Bytes = data[starts[:, None] + np.arange(width)[None, :]]
    return gathered


def _must(holds: bool, otherwise: str) -> None:
    if not holds:
        raise ValueError(otherwise)
