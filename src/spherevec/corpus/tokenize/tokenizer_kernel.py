"""Tables of words for compiled code: characters, hashes, slots, and ids as other numbers.

A table of words is five arrays:
    slots   int64 (2 ** k,)        open addressing, `hash << 32 | word + 1`, 0 = free; at most half full
    starts  int64 (capacity + 1,)  where each word begins in `arena`; `starts[n_words]` is the end of the last
    counts  int64 (capacity,)      how often each word occurred
    arena   uint8 (any,)           the UTF-8 bytes of all words, one after another
    cursor  int64 (7,)             the fields named below, so that a call can stop for a larger table and go on

Plain int64 arithmetic throughout: hashes have 31 bits, so nothing overflows, compiled or not.
"""

import numpy as np

from spherevec.compiling import njit
from spherevec.corpus.tokenize.characters import BREAK_BIT, ID_MASK

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


@njit(nogil=True, cache=True)
def sort_by_hash(slots, shift, hashes, order, starts):
    """The words of a table in the order of the upper bits of their hashes: (parts + 1,) `starts` of each part.

    Args:
        shift: by how many bits a hash is shifted to give its part.
        hashes: int64 (words,), order: int32 (words,), written.
        starts: int64 (parts + 1,), zero; written.
    """
    for slot in slots:
        if slot != 0:
            code = slot >> 32
            hashes[(slot & 0xFFFFFFFF) - 1] = code
            starts[(code >> shift) + 1] += 1
    for part in range(len(starts) - 1):
        starts[part + 1] += starts[part]
    places = starts.copy()
    for word in range(len(order)):
        part = hashes[word] >> shift
        order[places[part]] = word
        places[part] += 1


@njit(nogil=True, cache=True)
def merge_part(
    some, from_starts, from_counts, from_arena, from_hashes, slots, starts, counts, arena, renumbered, n_words
):
    """Add some words of one table to another that has room for them; returns the new number of words.

    Args:
        some: int32, the numbers of the words to add.
        renumbered: int32 (words of the first table,), gets the number of each of them in the second.
    """
    for source in some:
        begin, end = int(from_starts[source]), int(from_starts[source + 1])
        code = from_hashes[source]
        place = _find_slot(slots, starts, arena, from_arena, begin, end, code)
        word = (int(slots[place]) & 0xFFFFFFFF) - 1
        if word < 0:
            word = n_words
            n_words += 1
            start = int(starts[word])
            for j in range(end - begin):
                arena[start + j] = from_arena[begin + j]
            starts[n_words] = start + end - begin
            counts[word] = 0
            slots[place] = code << 32 | word + 1
        counts[word] += from_counts[source]
        renumbered[source] = word
    return n_words


@njit(nogil=True, cache=True)
def index_words(starts, arena, slots):
    """Put distinct words into empty slots."""
    for word in range(len(starts) - 1):
        begin, end = int(starts[word]), int(starts[word + 1])
        code = _hash(arena, begin, end)
        slots[_find_slot(slots, starts, arena, arena, begin, end, code)] = code << 32 | word + 1


@njit(nogil=True, cache=True)
def find_words(from_starts, from_arena, slots, starts, arena, numbers):
    """The number of each of some words in a table, -1 for those that are not there."""
    for word in range(len(numbers)):
        begin, end = int(from_starts[word]), int(from_starts[word + 1])
        place = _find_slot(slots, starts, arena, from_arena, begin, end, _hash(from_arena, begin, end))
        numbers[word] = (int(slots[place]) & 0xFFFFFFFF) - 1


@njit(nogil=True, cache=True)
def copy_words(places, starts, arena, new_starts, new_arena):
    """Copy the letters of some words back to back."""
    for i in range(len(places)):
        begin, size = starts[places[i]], new_starts[i + 1] - new_starts[i]
        for j in range(size):
            new_arena[new_starts[i] + j] = arena[begin + j]


@njit(nogil=True, cache=True)
def bytes_of(some, starts):
    """Bytes of some words together."""
    total = 0
    for word in some:
        total += starts[word + 1] - starts[word]
    return total


@njit(nogil=True, cache=True)
def final_numbers(hashes, shift, bases, renumbered, numbers, found):
    """What a word of one table is in the end: its place among all words, and its id, which is `numbers` of it.

    Args:
        bases: int64 (parts,), the place of the first word of each part.
        renumbered: int32 (words,), the number of each word in its part; becomes its place among all words.
        numbers: int32 (all words,); found: int32 (words,), written.
    """
    for word in range(len(renumbered)):
        place = renumbered[word] + bases[hashes[word] >> shift]
        renumbered[word] = place
        found[word] = numbers[place]


@njit(nogil=True, cache=True)
def prefixes(places, starts, arena, keys):
    """The first eight bytes of some words as one number each: in the order of spelling, but for what follows them."""
    for i in range(len(places)):
        begin, end = starts[places[i]], starts[places[i] + 1]
        key = np.uint64(0)
        for j in range(8):
            byte = np.uint64(arena[begin + j]) if begin + j < end else np.uint64(0)
            key = key << np.uint64(8) | byte
        keys[i] = key


@njit(nogil=True, cache=True)
def _before(arena, begin, end, other_begin, other_end):
    """Whether one word is spelled before another, by their bytes."""
    size, other_size = end - begin, other_end - other_begin
    for j in range(min(size, other_size)):
        if arena[begin + j] != arena[other_begin + j]:
            return arena[begin + j] < arena[other_begin + j]
    return size < other_size


@njit(nogil=True, cache=True)
def settle_ties(order, values, keys, places, starts, arena):
    """Bring runs of words with equal values and prefixes into the order of their spelling, by merging runs in place.

    Args:
        order: int64 (n,), indices into the next three, sorted by value and prefix; changed.
        values, keys, places: (n,) what was sorted by, and the words.
    """
    n = len(order)
    room = np.empty(n, np.int64)
    first = 0
    while first < n:
        last = first + 1
        while last < n and values[order[last]] == values[order[first]] and keys[order[last]] == keys[order[first]]:
            last += 1
        width = 1
        while width < last - first:
            for low in range(first, last, 2 * width):
                middle, high = min(low + width, last), min(low + 2 * width, last)
                i, j, k = low, middle, low
                while k < high:
                    right = i == middle
                    if not right and j < high:
                        left_word, right_word = places[order[i]], places[order[j]]
                        right = _before(
                            arena, starts[right_word], starts[right_word + 1], starts[left_word], starts[left_word + 1]
                        )
                    if right:
                        room[k] = order[j]
                        j += 1
                    else:
                        room[k] = order[i]
                        i += 1
                    k += 1
            for k in range(first, last):
                order[k] = room[k]
            width *= 2
        first = last


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
