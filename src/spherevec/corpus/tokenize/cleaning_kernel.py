"""Compiled passes over blocks of UTF-8 before they are scanned: markup is cleaned, text outside NFC is found."""

# mypy: allow-untyped-defs, allow-untyped-calls, allow-untyped-decorators
from spherevec.compiling import njit
from spherevec.corpus.tokenize.cleaning import LONGEST_ENTITY, LONGEST_TAG
from spherevec.corpus.tokenize.tokenizer_kernel import _code_point, _put_code_point

SUSPECT = 255  # in the table of combining classes: the character may be changed by NFC
NEAR = 64  # segments with a gap of fewer bytes are normalised together


@njit(nogil=True, cache=True)
def _is_alpha(byte):
    return 0x41 <= byte <= 0x5A or 0x61 <= byte <= 0x7A


@njit(nogil=True, cache=True)
def _is_digit(byte):
    return 0x30 <= byte <= 0x39


@njit(nogil=True, cache=True)
def _find_name(data, begin, end, folds, names, starts):
    """The number of the name `data[begin:end]` in a sorted table, or -1; `folds` compares in lower case."""
    low, high = 0, len(starts) - 1
    while low < high:
        middle = (low + high) // 2
        start, size = starts[middle], starts[middle + 1] - starts[middle]
        order, j = 0, 0
        while order == 0 and j < size and j < end - begin:
            byte = int(data[begin + j])
            if folds and 0x41 <= byte <= 0x5A:
                byte += 32
            order = byte - int(names[start + j])
            j += 1
        if order == 0:
            order = (end - begin) - size
        if order == 0:
            return middle
        if order < 0:
            high = middle
        else:
            low = middle + 1
    return -1


@njit(nogil=True, cache=True)
def _tag_end(data, i):
    """The position behind the tag whose inside begins at `i`, or 0."""
    for j in range(i, min(len(data), i + LONGEST_TAG + 1)):
        byte = data[j]
        if byte == 0x3E:
            return j + 1
        if byte == 0x3C or byte == 0x0A:
            return 0
    return 0


@njit(nogil=True, cache=True)
def _tag(data, i, names, starts, breaks):
    """The position behind the tag at `i` and whether it breaks the line; 0 where there is no tag."""
    n = len(data)
    j = i + 1
    if j + 1 < n and data[j] == 0x21:
        if _is_alpha(data[j + 1]):
            return _tag_end(data, j + 2), True
        if j + 2 < n and data[j + 1] == 0x2D and data[j + 2] == 0x2D:
            return _tag_end(data, j + 3), True
        return 0, False
    if j < n and data[j] == 0x2F:
        j += 1
    begin = j
    while j < n and (_is_alpha(data[j]) or (j > begin and _is_digit(data[j]))):
        j += 1
    if j in (begin, n):
        return 0, False
    byte = data[j]
    if not (
        byte == 0x20 or byte == 0x09 or byte == 0x0D or byte == 0x0C or byte == 0x0B or byte == 0x2F or byte == 0x3E
    ):
        return 0, False
    name = _find_name(data, begin, j, True, names, starts)
    if name < 0:
        return 0, False
    return _tag_end(data, j), breaks[name] != 0


@njit(nogil=True, cache=True)
def _numeric(data, begin, end):
    """The code point of `#123` or `#x7B` at `begin`, or -1."""
    begin += 1
    base, most = 10, 7
    if begin < end and (data[begin] == 0x78 or data[begin] == 0x58):
        base, most = 16, 6
        begin += 1
    if begin == end or end - begin > most:
        return -1
    code = 0
    for j in range(begin, end):
        byte = int(data[j])
        if _is_digit(byte):
            digit = byte - 0x30
        elif base == 16 and (0x41 <= byte <= 0x46 or 0x61 <= byte <= 0x66):
            digit = (byte | 0x20) - 0x61 + 10
        else:
            return -1
        code = code * base + digit
    return code


@njit(nogil=True, cache=True)
def _entity(data, i, entity_names, entity_starts, windows_1252):
    """The position behind the entity at `i`, its code point and its name, -1 for the one it is not; 0 for no entity."""
    n, end = len(data), i + 1
    while (
        end < n
        and end - i <= LONGEST_ENTITY
        and data[end] != 0x3B
        and (data[end] == 0x23 or _is_alpha(data[end]) or _is_digit(data[end]))
    ):
        end += 1
    if end >= n or data[end] != 0x3B or end == i + 1:
        return 0, -1, -1
    if data[i + 1] == 0x23:
        code = _numeric(data, i + 1, end)
        if 0x80 <= code < 0xA0:
            code = int(windows_1252[code - 0x80])
        if 0 <= code < 0x20 or code == 0x7F or 0xD800 <= code < 0xE000 or code > 0x10FFFF:
            code = 0x20
        return (end + 1 if code >= 0 else 0), code, -1
    name = _find_name(data, i + 1, end, False, entity_names, entity_starts) if _is_alpha(data[i + 1]) else -1
    return (end + 1 if name >= 0 else 0), -1, name


@njit(nogil=True, cache=True)
def _copy(data, begin, end, out, k):
    """Copy data[begin:end] to `out` from `k` on, and return the end; a slice would take 2 s to compile."""
    for j in range(end - begin):
        out[k + j] = data[begin + j]
    return k + end - begin


@njit(nogil=True, cache=True)
def clean_markup(
    data, places, tag_names, tag_starts, tag_breaks, entity_names, entity_starts, texts, text_starts, windows_1252, out
):
    """Copy `data` to `out`, uint8 (>= 2 n,), without tags and entities; returns the bytes written, -1 if all stays.

    Args:
        places: int64 (any,), where < and & stand.
    """
    n, copied, k = len(data), 0, 0
    for i in places:
        if i < copied:
            continue  # inside a tag
        end, code, name, breaks = 0, -1, -1, False
        if data[i] == 0x3C:
            end, breaks = _tag(data, i, tag_names, tag_starts, tag_breaks)
            code = 0x1E if breaks else 0x20
        else:
            end, code, name = _entity(data, i, entity_names, entity_starts, windows_1252)
        if end == 0:
            continue
        k = _copy(data, copied, i, out, k)
        copied = end
        if name < 0:
            k = _put_code_point(out, k, code)
        else:
            for j in range(text_starts[name], text_starts[name + 1]):
                out[k] = texts[j]
                k += 1
    if copied == 0:
        return -1
    return _copy(data, copied, n, out, k)


@njit(nogil=True, cache=True)
def find_runs(data, wanted, runs):
    """Find the runs of some characters; returns how many there are, or -1 if there is no room for all.

    Args:
        wanted: uint8 (0x110000,), 1 for those characters, none of which is ASCII.
        runs: int64 (n, 2), begin and end of each run, written.
    """
    n, i, found, inside = len(data), 0, 0, False
    while i < n:
        if data[i] < 0x80:
            i += 1
            inside = False
            continue
        code, size = _code_point(data, i)
        if wanted[code]:
            if not inside:
                if found == len(runs):
                    return -1
                runs[found, 0] = i
                found += 1
            runs[found - 1, 1] = i + size
        inside = wanted[code] != 0
        i += size
    return found


@njit(nogil=True, cache=True)
def unnormalised(data, places, classes, segments):
    """Find the stretches between white space that may be outside NFC; returns how many there are.

    Args:
        places: int64 (any,), where characters from U+0300 on begin; NFC changes none below that by itself.
        classes: uint8 (0x110000,), the canonical combining class of each character, `SUSPECT` if NFC may change it.
        segments: int64 (n, 2), begin and end of each stretch, written; where it is full, the last one reaches the end.
    """
    n, found, last, behind = len(data), 0, 0, 0
    for place in places:
        if place < behind:
            continue  # part of the last stretch
        if place > behind:
            last = 0
        code, size = _code_point(data, place)
        here = int(classes[code])
        behind = place + size
        if here == SUSPECT or (here != 0 and last > here):
            begin = place
            while begin > 0 and data[begin - 1] != 0x20 and data[begin - 1] != 0x0A:
                begin -= 1
            while behind < n and data[behind] != 0x20 and data[behind] != 0x0A:
                behind += 1
            if found and begin - segments[found - 1, 1] < NEAR:
                segments[found - 1, 1] = behind
            elif found == len(segments):
                segments[found - 1, 1] = n
                return found
            else:
                segments[found, 0], segments[found, 1] = begin, behind
                found += 1
            last = 0
        else:
            last = here
    return found
