"""The compiled loops that bring the tables of several workers together, and rank words; layouts: `tokenizer_kernel`."""

# mypy: allow-untyped-defs, allow-untyped-calls, allow-untyped-decorators
import numpy as np

from spherevec.compiling import njit
from spherevec.corpus.tokenize.tokenizer_kernel import _find_slot, _hash


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
