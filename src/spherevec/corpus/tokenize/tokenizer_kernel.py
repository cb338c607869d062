"""Tables of words for compiled code: characters, hashes, slots, and ids as other numbers.

A table of words is five arrays:
    slots   int64 (2 ** k,)        open addressing, `hash << 32 | word + 1`, 0 = free; at most half full
    starts  int64 (capacity + 1,)  where each word begins in `arena`; `starts[n_words]` is the end of the last
    counts  int64 (capacity,)      how often each word occurred
    arena   uint8 (any,)           the UTF-8 bytes of all words, one after another
    cursor  int64 (7,)             the fields named below, so that a call can stop for a larger table and go on

Plain int64 arithmetic throughout: hashes have 31 bits, so nothing overflows, compiled or not.
"""

# mypy: allow-untyped-defs, allow-untyped-calls, allow-untyped-decorators
from spherevec.compiling import njit
from spherevec.corpus.tokenize.blocks import BREAK_BIT, ID_MASK

# Fields of `cursor`.
POSITION, N_IDS, N_ENDS, N_WORDS, BROKEN, WORD_END, COVERED = range(7)

HASH_SEED, HASH_FACTOR, HASH_MASK = 0x011C9DC5, 16777619, 0x7FFFFFFF


@njit(nogil=True, cache=True)
def _code_point(data, i):
    """The code point and its length in bytes of the multi-byte character at `i`; the text is valid UTF-8."""
    lead = int(data[i])
    if lead < 0xE0:
        return (lead & 0x1F) << 6 | int(data[i + 1]) & 0x3F, 2
    if lead < 0xF0:
        return (lead & 0x0F) << 12 | (int(data[i + 1]) & 0x3F) << 6 | int(data[i + 2]) & 0x3F, 3
    high = (lead & 0x07) << 18 | (int(data[i + 1]) & 0x3F) << 12
    return high | (int(data[i + 2]) & 0x3F) << 6 | int(data[i + 3]) & 0x3F, 4


@njit(nogil=True, cache=True)
def _put_code_point(arena, k, code):
    """Write `code` as UTF-8 at `k`; returns the position after it."""
    if code < 0x80:
        arena[k] = code
        return k + 1
    if code < 0x800:
        arena[k] = 0xC0 | code >> 6
        arena[k + 1] = 0x80 | code & 0x3F
        return k + 2
    if code < 0x10000:
        arena[k] = 0xE0 | code >> 12
        arena[k + 1] = 0x80 | code >> 6 & 0x3F
        arena[k + 2] = 0x80 | code & 0x3F
        return k + 3
    arena[k] = 0xF0 | code >> 18
    arena[k + 1] = 0x80 | code >> 12 & 0x3F
    arena[k + 2] = 0x80 | code >> 6 & 0x3F
    arena[k + 3] = 0x80 | code & 0x3F
    return k + 4


@njit(nogil=True, cache=True)
def _hash(source, begin, end):
    """FNV-1a of `source[begin:end]`, cut to 31 bits."""
    code = HASH_SEED
    for j in range(begin, end):
        code = ((code ^ int(source[j])) * HASH_FACTOR) & HASH_MASK
    return code


@njit(nogil=True, cache=True)
def _find_slot(slots, starts, arena, source, begin, end, code):
    """The slot that holds `source[begin:end]`, whose hash is `code`, or the free slot where it belongs."""
    mask = len(slots) - 1
    place = (code ^ code >> 15) & mask
    while slots[place] != 0:
        slot = int(slots[place])
        if slot >> 32 == code:
            word = (slot & 0xFFFFFFFF) - 1
            start = starts[word]
            if starts[word + 1] - start == end - begin:
                same = 0
                while same < end - begin and arena[start + same] == source[begin + same]:
                    same += 1
                if same == end - begin:
                    return place
        place = (place + 1) & mask
    return place


@njit(nogil=True, cache=True)
def rehash(old_slots, slots):
    """Move every word to the larger, empty `slots`."""
    mask = len(slots) - 1
    for slot in old_slots:
        if slot != 0:
            code = slot >> 32
            place = (code ^ code >> 15) & mask
            while slots[place] != 0:
                place = (place + 1) & mask
            slots[place] = slot


@njit(nogil=True, cache=True)
def renumber(ids, ends, numbers, marks, new_ids, new_ends):
    """Replace each id by its number, dropping those with number -1; returns how many remain.

    Args:
        ids: int32 (n,); ends: int64 (documents,), ids before the end of each document.
        numbers: int32 (distinct words,), the new id or -1.
        marks: keep the marks of punctuation; a dropped word leaves one as well.
        new_ids: int32 (>= n + 1,), new_ends: int64 (documents,), written.
    """
    kept, i, broken = 0, 0, False
    for document in range(len(ends) + 1):
        stop = ends[document] if document < len(ends) else len(ids)
        while i < stop:
            number = int(numbers[ids[i] & ID_MASK])
            broken = broken or ids[i] & BREAK_BIT != 0 or number < 0
            new_ids[kept] = number | BREAK_BIT if marks and broken and number >= 0 else number
            if number >= 0:
                kept += 1
                broken = False
            i += 1
        if document < len(ends):
            new_ends[document] = kept
    return kept
