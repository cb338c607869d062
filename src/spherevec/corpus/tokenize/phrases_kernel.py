"""The compiled loops of phrases: count runs of two to four words, and find known phrases in a text.

Ids carry `BREAK_BIT` where punctuation stands before them. Runs of words never cross such a mark or the end of a
document. A run is held as two numbers: the first two words, and the third and fourth (each + 1, 0 where there is none).
"""

# mypy: allow-untyped-defs, allow-untyped-calls, allow-untyped-decorators
from spherevec.compiling import njit
from spherevec.corpus.tokenize.characters import BREAK_BIT, ID_MASK

LONGEST = 4
NEVER = 2  # the role of a word that is in no phrase

# Fields of `cursor`.
POSITION, DOCUMENT, N_RUNS = 0, 1, 2

VALUE = 2  # the column of values, above 0, in a table of runs; the other two hold the run


@njit(nogil=True, cache=True)
def _mix(first, second):
    """A hash of 31 bits of two numbers below 2 ** 62."""
    code = (first & 0x7FFFFFFF) * 40503 + (first >> 31) * 30011 + (second & 0x7FFFFFFF) * 52711 + (second >> 31) * 61027
    code ^= code >> 17
    code = ((code & 0x7FFFFFFF) * 0x2C1B3C6D) & 0x7FFFFFFFFFFF
    code ^= code >> 15
    return code & 0x7FFFFFFF


@njit(nogil=True, cache=True)
def _mix_pair(first, second):
    """A hash of 31 bits of two words."""
    code = first * 0x9E3779B1 ^ second * 0x85EBCA77
    code ^= code >> 29
    return ((code & 0x7FFFFFFF) * 0x2C1B3C6D) >> 16 & 0x7FFFFFFF


@njit(nogil=True, cache=True)
def _is_frequent(ids, i, end, roles, pairs, least):
    """Whether the words at `i` and behind it may stand in one phrase, and were met `least` times by their hash."""
    if i + 1 >= end:
        return False
    # No branches: none of this can be foreseen, and a wrong guess costs more than all of it.
    first, second = int(ids[i] & ID_MASK), int(ids[i + 1] & ID_MASK)
    joined = (ids[i + 1] & BREAK_BIT == 0) & (roles[first] != NEVER) & (roles[second] != NEVER)
    return joined & (pairs[_mix_pair(first, second) & (len(pairs) - 1)] >= least)


@njit(nogil=True, cache=True)
def _is_wanted(ids, i, size, roles):
    """Whether the run of `size` words at `i` may be a phrase, or begin or end one: its ends are no function words."""
    begins, ends = roles[ids[i] & ID_MASK] == 0, roles[ids[i + size - 1] & ID_MASK] == 0
    return begins & ends if size == LONGEST else begins | ends


@njit(nogil=True, cache=True)
def _run(ids, i, size):
    """The run of `size` words at `i` as two numbers."""
    first = int(ids[i] & ID_MASK) << 31 | int(ids[i + 1] & ID_MASK)
    if size == 2:
        return first, 0
    second = int(ids[i + 2] & ID_MASK) + 1 << 31
    return first, second | int(ids[i + 3] & ID_MASK) + 1 if size == LONGEST else second


@njit(nogil=True, cache=True)
def _find_run(table, first, second, code):
    """The row of a run, whose hash is `code`, in an open-addressing table, or the free row where it belongs."""
    mask = len(table) - 1
    place = code & mask
    while table[place, VALUE] != 0 and (table[place, 0] != first or table[place, 1] != second):
        place = (place + 1) & mask
    return place


@njit(nogil=True, cache=True)
def sketch_pairs(ids, offsets, roles, low, high, least, pairs):
    """Count pairs of words up to `least` by their hash, those whose hash falls between `low` and `high` only.

    Args:
        ids: int32 (n,); offsets: int64 (documents + 1,).
        roles: uint8 (words,).
        pairs: unsigned (2 ** k,), added to.
    """
    mask = len(pairs) - 1
    for document in range(len(offsets) - 1):
        before = -1
        for i in range(int(offsets[document]), int(offsets[document + 1])):
            word = int(ids[i] & ID_MASK)
            if roles[word] == NEVER:
                before = -1
                continue
            if before >= 0 and ids[i] & BREAK_BIT == 0:
                place = _mix_pair(before, word) & mask
                if low <= place < high:
                    pairs[place] += pairs[place] < least
            before = word


@njit(nogil=True, cache=True)
def sketch_runs(ids, offsets, roles, low, high, least, pairs, runs):
    """The same for runs of three and four words all of whose pairs are frequent; a run is no more frequent than they.

    Args:
        pairs: what `sketch_pairs` made of the text.
        runs: unsigned (2 ** k,), added to.
    """
    mask = len(runs) - 1
    for document in range(len(offsets) - 1):
        begin, end = int(offsets[document]), int(offsets[document + 1])
        one, two = False, _is_frequent(ids, begin, end, roles, pairs, least)
        three = _is_frequent(ids, begin + 1, end, roles, pairs, least)
        for i in range(begin, end - 2):
            one, two, three = two, three, _is_frequent(ids, i + 2, end, roles, pairs, least)
            if not one & two:
                continue
            for size in range(3, 4 + three):
                if not _is_wanted(ids, i, size, roles):
                    continue
                first, second = _run(ids, i, size)
                place = _mix(first, second) & mask
                if low <= place < high:
                    runs[place] += runs[place] < least


@njit(nogil=True, cache=True)
def count_runs(ids, offsets, roles, low, high, least, pairs, runs, table, cursor):
    """Count exactly the runs whose hash was met `least` times; false when the table is full.

    Args:
        low, high: the hashes to look at, of as many as `pairs` and `runs` have.
        pairs, runs: what the two passes above made of the text.
        table: int64 (2 ** k, 3), runs and their counts; a count of 0 is a free place.
        cursor: int64 (3,), where to go on, and how many runs there are.
    """
    sketch_mask = len(runs) - 1
    i, document, n_runs = int(cursor[POSITION]), int(cursor[DOCUMENT]), int(cursor[N_RUNS])
    while document < len(offsets) - 1:
        end = int(offsets[document + 1])
        one, two = False, _is_frequent(ids, i, end, roles, pairs, least)
        three = _is_frequent(ids, i + 1, end, roles, pairs, least)
        while i < end:
            if 2 * (n_runs + LONGEST) > len(table):
                cursor[POSITION], cursor[DOCUMENT], cursor[N_RUNS] = i, document, n_runs
                return False
            one, two, three = two, three, _is_frequent(ids, i + 2, end, roles, pairs, least)
            longest = 1 + one + (one & two) + (one & two & three)
            for size in range(2, longest + 1):
                if not _is_wanted(ids, i, size, roles):
                    continue
                first, second = _run(ids, i, size)
                code = _mix(first, second)
                if size > 2 and runs[code & sketch_mask] < least:
                    break  # a longer run is no more frequent
                if code & sketch_mask < low or code & sketch_mask >= high:
                    continue
                place = _find_run(table, first, second, code)
                n_runs += table[place, VALUE] == 0
                table[place, 0], table[place, 1] = first, second
                table[place, VALUE] += 1
            i += 1
        document += 1
    cursor[POSITION], cursor[DOCUMENT], cursor[N_RUNS] = i, document, n_runs
    return True


@njit(nogil=True, cache=True)
def put_runs(runs, table):
    """Put runs and their values, int64 (n, 3), into a table that has room for them; a value of 0 is no run."""
    for row in range(len(runs)):
        first, second, value = runs[row, 0], runs[row, 1], runs[row, VALUE]
        if value != 0:
            place = _find_run(table, first, second, _mix(first, second))
            table[place, 0], table[place, 1], table[place, VALUE] = first, second, value


@njit(nogil=True, cache=True)
def look_up(runs, table, values):
    """The value of each run, int64 (n, 2), in a table; 0 for those that are not there."""
    for row in range(len(runs)):
        first, second = runs[row, 0], runs[row, 1]
        values[row] = table[_find_run(table, first, second, _mix(first, second)), VALUE]


@njit(nogil=True, cache=True)
def apply_phrases(ids, offsets, longest, table, numbers, new_ids, new_offsets, met):
    """Add the phrases of a text behind their words, the longest first, from the left; returns how many ids are written.

    Args:
        ids: int32 (n,), with break marks; offsets: int64 (documents + 1,), from 0 to n.
        longest: uint8 (words,), how many words the longest phrase has that begins with a word; 1 for none.
        table: int64 (2 ** k, 3), the phrases and their numbers, + 1.
        numbers: int32 (words + phrases,), the new id of each, -1 to leave it out.
        new_ids: int32 (>= 3 n / 2 + 1,), new_offsets: int64 (documents + 1,), written.
        met: int64 (words + phrases,), how often each phrase was met, added to.
    """
    k = 0
    new_offsets[0] = 0
    for document in range(len(offsets) - 1):
        i, end = int(offsets[document]), int(offsets[document + 1])
        while i < end:
            phrase, size, most = -1, 1, int(longest[ids[i] & ID_MASK])
            while size < most and i + size < end and ids[i + size] & BREAK_BIT == 0:
                size += 1
            while size > 1 and phrase < 0:
                first, second = _run(ids, i, size)
                phrase = int(table[_find_run(table, first, second, _mix(first, second)), VALUE]) - 1
                size -= phrase < 0
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
