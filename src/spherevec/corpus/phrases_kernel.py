"""The compiled loops of phrases: count runs of two to four words, and find known phrases in a text.

Ids carry `BREAK_BIT` where punctuation stands before them. Runs of words never cross such a mark or the end of a
document. A run is held as two numbers: the first two words, and the third and fourth (each + 1, 0 where there is none).
"""

# mypy: allow-untyped-defs, allow-untyped-calls, allow-untyped-decorators
from spherevec.compiling import njit
from spherevec.corpus.marks import BREAK_BIT, ID_MASK

LONGEST = 4
NEVER = 2  # the role of a word that is in no phrase

# Fields of `cursor`.
POSITION, DOCUMENT, N_RUNS = 0, 1, 2


@njit(nogil=True, cache=True)
def _mix(first, second):
    """A hash of 31 bits of two numbers below 2 ** 62."""
    code = (first & 0x7FFFFFFF) * 40503 + (first >> 31) * 30011 + (second & 0x7FFFFFFF) * 52711 + (second >> 31) * 61027
    code ^= code >> 17
    code = ((code & 0x7FFFFFFF) * 0x2C1B3C6D) & 0x7FFFFFFFFFFF
    code ^= code >> 15
    return code & 0x7FFFFFFF


@njit(nogil=True, cache=True)
def _run_limit(ids, i, end, roles):
    """How many words from `i` on may stand in one phrase, `LONGEST` at most."""
    if roles[ids[i] & ID_MASK] == NEVER:
        return 0
    size = 1
    while size < LONGEST and i + size < end:
        word = ids[i + size]
        if word & BREAK_BIT or roles[word & ID_MASK] == NEVER:
            break
        size += 1
    return size


@njit(nogil=True, cache=True)
def sketch_runs(ids, offsets, roles, low, high, sketch):
    """Count all runs of words by a hash of them, those whose hash falls between `low` and `high` only.

    Args:
        ids: int32 (n,); offsets: int64 (documents + 1,).
        roles: uint8 (words,).
        sketch: uint32 (2 ** k,), added to.
    """
    mask = len(sketch) - 1
    for document in range(len(offsets) - 1):
        end = int(offsets[document + 1])
        for i in range(int(offsets[document]), end):
            limit = _run_limit(ids, i, end, roles)
            first = int(ids[i] & ID_MASK) << 31
            second = 0
            for size in range(2, limit + 1):
                word = int(ids[i + size - 1] & ID_MASK)
                if size == 2:
                    first |= word
                elif size == 3:
                    second = (word + 1) << 31
                else:
                    second |= word + 1
                place = _mix(first, second) & mask
                if low <= place < high:
                    sketch[place] += 1


@njit(nogil=True, cache=True)
def count_runs(ids, offsets, roles, low, high, sketch, least, firsts, seconds, counts, cursor):
    """Count exactly the runs whose place in the sketch was met `least` times; false when the table is full.

    Args:
        low, high, sketch: as above.
        firsts, seconds, counts: int64 (2 ** k,), an open-addressing table; a count of 0 is a free place.
        cursor: int64 (3,), where to go on, and how many runs there are.
    """
    sketch_mask, mask = len(sketch) - 1, len(counts) - 1
    i, document, n_runs = int(cursor[POSITION]), int(cursor[DOCUMENT]), int(cursor[N_RUNS])
    while document < len(offsets) - 1:
        end = int(offsets[document + 1])
        while i < end:
            if 2 * (n_runs + LONGEST) > len(counts):
                cursor[POSITION], cursor[DOCUMENT], cursor[N_RUNS] = i, document, n_runs
                return False
            limit = _run_limit(ids, i, end, roles)
            first = int(ids[i] & ID_MASK) << 31
            second = 0
            for size in range(2, limit + 1):
                word = int(ids[i + size - 1] & ID_MASK)
                if size == 2:
                    first |= word
                elif size == 3:
                    second = (word + 1) << 31
                else:
                    second |= word + 1
                code = _mix(first, second)
                place = code & sketch_mask
                if sketch[place] < least:
                    break  # a longer run is no more frequent
                if place < low or place >= high:
                    continue
                place = code & mask
                while counts[place] != 0 and (firsts[place] != first or seconds[place] != second):
                    place = (place + 1) & mask
                if counts[place] == 0:
                    firsts[place], seconds[place] = first, second
                    n_runs += 1
                counts[place] += 1
            i += 1
        document += 1
    cursor[POSITION], cursor[DOCUMENT], cursor[N_RUNS] = i, document, n_runs
    return True


@njit(nogil=True, cache=True)
def move_runs(old_firsts, old_seconds, old_counts, firsts, seconds, counts):
    """Move every run to the larger, empty table."""
    mask = len(counts) - 1
    for old in range(len(old_counts)):
        if old_counts[old] != 0:
            place = _mix(old_firsts[old], old_seconds[old]) & mask
            while counts[place] != 0:
                place = (place + 1) & mask
            firsts[place], seconds[place], counts[place] = old_firsts[old], old_seconds[old], old_counts[old]


@njit(nogil=True, cache=True)
def _child(node, word, keys, children):
    """The node that `word` leads to from `node`, or -1."""
    mask = len(keys) - 1
    key = (node << 31 | word) + 1
    place = _mix(key, 0) & mask
    while keys[place] != 0:
        if keys[place] == key:
            return children[place]
        place = (place + 1) & mask
    return -1


@njit(nogil=True, cache=True)
def grow_trie(words, starts, keys, children, phrase_of, phrases):
    """Fill a trie; returns the number of nodes.

    Args:
        words: int32 (all,), the words of the phrases, one after another; starts: int64 (phrases + 1,).
        keys, children: int64 (2 ** k,), zero and any; an open-addressing table of `node << 31 | word, + 1`.
        phrase_of: int64 (>= all + 1,), filled with -1: the phrase that ends at a node.
        phrases: int64 (phrases,), what to put there.
    """
    n_nodes, mask = 1, len(keys) - 1
    for phrase in range(len(starts) - 1):
        node = 0
        for i in range(int(starts[phrase]), int(starts[phrase + 1])):
            child = _child(node, int(words[i]), keys, children)
            if child < 0:
                child = n_nodes
                n_nodes += 1
                key = (node << 31 | int(words[i])) + 1
                place = _mix(key, 0) & mask
                while keys[place] != 0:
                    place = (place + 1) & mask
                keys[place], children[place] = key, child
            node = child
        phrase_of[node] = phrases[phrase]
    return n_nodes


@njit(nogil=True, cache=True)
def apply_phrases(ids, offsets, begins, keys, children, phrase_of, numbers, new_ids, new_offsets, met):
    """Add the phrases of a text behind their words, the longest first, from the left; returns how many ids are written.

    Args:
        ids: int32 (n,), with break marks; offsets: int64 (documents + 1,), from 0 to n.
        begins: bool (words,), whether any phrase begins with a word.
        keys, children, phrase_of: the trie.
        numbers: int32 (words + phrases,), the new id of each, -1 to leave it out.
        new_ids: int32 (>= 3 n / 2 + 1,), new_offsets: int64 (documents + 1,), written.
        met: int64 (words + phrases,), how often each phrase was met, added to.
    """
    k = 0
    new_offsets[0] = 0
    for document in range(len(offsets) - 1):
        i, end = int(offsets[document]), int(offsets[document + 1])
        while i < end:
            word = int(ids[i] & ID_MASK)
            phrase, size = -1, 1
            if begins[word]:
                node, j = int(_child(0, word, keys, children)), i + 1
                while j < end and ids[j] & BREAK_BIT == 0:
                    node = int(_child(node, int(ids[j]), keys, children))
                    if node < 0:
                        break
                    j += 1
                    if phrase_of[node] >= 0:
                        phrase, size = int(phrase_of[node]), j - i
            for j in range(i, i + size):
                new_ids[k] = numbers[ids[j] & ID_MASK]
                k += new_ids[k] >= 0
            if phrase >= 0:
                met[phrase] += 1
                new_ids[k] = numbers[phrase]
                k += new_ids[k] >= 0
            i += size
        new_offsets[document + 1] = k
    return k
