"""A compiled look at UTF-8 text that nobody has checked yet: is it valid, and how many lines has it?"""

# mypy: allow-untyped-defs, allow-untyped-calls, allow-untyped-decorators
import numpy as np

from spherevec.compiling import njit

_NEWLINE = 10
_STRIDE = 64  # bytes that are looked at together; most text is ASCII for long stretches


@njit(nogil=True, cache=True)
def _sequence(data, i):
    """The length of the multi-byte character at `i`, or 0 where it is not valid UTF-8."""
    n = len(data)
    lead = int(data[i])
    if lead < 0xC2 or lead > 0xF4:
        return 0
    size = 2 if lead < 0xE0 else 3 if lead < 0xF0 else 4
    if i + size > n:
        return 0
    second = int(data[i + 1])
    low, high = 0x80, 0xBF
    if lead == 0xE0:
        low = 0xA0
    elif lead == 0xED:
        high = 0x9F
    elif lead == 0xF0:
        low = 0x90
    elif lead == 0xF4:
        high = 0x8F
    if second < low or second > high:
        return 0
    for j in range(i + 2, i + size):
        if data[j] & 0xC0 != 0x80:
            return 0
    return size


@njit(nogil=True, cache=True)
def survey(data):
    """How many newlines a text has, how many of its lines are empty, and where it is not valid UTF-8, -1 if nowhere.

    Lines are counted up to that place. The text begins at the beginning of a line.
    """
    n, i, newlines, empty = len(data), 0, 0, 0
    if n and data[0] == _NEWLINE:
        empty = 1
    while i < n:
        stop = min(i + _STRIDE, n)
        if i and stop == i + _STRIDE:
            joined, found, pairs = np.uint8(0), np.uint8(0), np.uint8(0)
            for j in range(i, i + _STRIDE):
                joined |= data[j]
                found += np.uint8(data[j] == _NEWLINE)
                pairs += np.uint8((data[j] == _NEWLINE) & (data[j - 1] == _NEWLINE))
            if joined < 0x80:
                newlines += int(found)
                empty += int(pairs)
                i = stop
                continue
        while i < stop:
            if data[i] >= 0x80:
                size = _sequence(data, i)
                if size == 0:
                    return newlines, empty, i
                i += size
                continue
            if data[i] == _NEWLINE:
                newlines += 1
                empty += i > 0 and data[i - 1] == _NEWLINE
            i += 1
    return newlines, empty, -1
