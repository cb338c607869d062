"""The compiled scanner: the rules of `plain`, over blocks of UTF-8, into a table of words.

The layout of the table is described in `tokenizer_kernel`. An id is written with `BREAK_BIT` where punctuation or the
beginning of a document stands between it and the word before, so that phrases can stop there.
"""

# mypy: allow-untyped-defs, allow-untyped-calls, allow-untyped-decorators
# ruff: noqa: SIM109  (comparisons compile to less than membership of tuples)
from spherevec.compiling import njit
from spherevec.corpus.tokenize.characters import (
    APOSTROPHE,
    BREAK_BIT,
    BYTE_JOINING,
    BYTE_MULTI,
    BYTE_NEWLINE,
    BYTE_OTHER,
    BYTE_SPACE,
    BYTE_WORD,
    CAPITAL_SIGMA,
    CODE_MASK,
    EMOJI,
    FINAL_SIGMA,
    HYPHEN,
    IGNORED,
    JOINER,
    KIND_SHIFT,
    MARK,
    OTHER,
    REGIONAL,
    SKIN_TONES,
    TAGS,
    UNSPACED,
    WORD,
    ZERO_WIDTH_JOINER,
)
from spherevec.corpus.tokenize.tokenizer_kernel import (
    BROKEN,
    COVERED,
    HASH_FACTOR,
    HASH_MASK,
    HASH_SEED,
    N_ENDS,
    N_IDS,
    N_WORDS,
    POSITION,
    WORD_END,
    _code_point,
    _find_slot,
    _hash,
    _put_code_point,
)

# The options that the kernel needs; `rules` has the place of each choice among those of its option.
RULES = ("hyphens", "numbers", "symbols", "abbreviations", "tags", "urls", "emails")
HYPHENS, NUMBERS, SYMBOLS, ABBREVIATIONS, TAGGED, URLS, EMAILS = range(len(RULES))
SPLIT, DIGITS, JOIN = range(3)
KEEP, HOST, DROP = 1, 2, 3

NEWLINE = 0x0A
LONGEST_LOCAL_PART = 64  # bytes of an e-mail address before its @
SKIN_FIRST, SKIN_LAST = SKIN_TONES
TAG_FIRST, TAG_LAST = TAGS
(POINT, COMMA, PLUS, SHARP, AT, COLON, QUOTE, DASH, PERCENT) = (0x2E, 0x2C, 0x2B, 0x23, 0x40, 0x3A, 0x27, 0x2D, 0x25)


@njit(nogil=True, cache=True)
def _character(data, i, byte_class, packed):
    """Kind, lower case, code point and size of the character at `i`; punctuation of size 1 at the end."""
    if i >= len(data):
        return OTHER, 0, 0, 1
    code, size = int(data[i]), 1
    if code >= 0x80:
        code, size = _code_point(data, i)
    entry = int(packed[code])
    return entry >> KIND_SHIFT, entry & CODE_MASK, code, size


@njit(nogil=True, cache=True)
def _is_digit(data, i):
    return 0 <= i < len(data) and 0x30 <= data[i] <= 0x39


@njit(nogil=True, cache=True)
def _is_space(byte):
    return byte == 0x20 or 0x09 <= byte <= 0x0D


@njit(nogil=True, cache=True)
def _is_letter(data, i):
    return i < len(data) and (0x41 <= data[i] <= 0x5A or 0x61 <= data[i] <= 0x7A)


@njit(nogil=True, cache=True)
def _is_host_byte(data, i):
    return _is_digit(data, i) or _is_letter(data, i) or (i < len(data) and (data[i] == POINT or data[i] == DASH))


@njit(nogil=True, cache=True)
def _is_wordlike(data, i, byte_class, packed):
    if i >= len(data):
        return False
    if byte_class[data[i]] == BYTE_WORD:
        return True
    kind = _character(data, i, byte_class, packed)[0]
    return kind == WORD or kind == MARK


@njit(nogil=True, cache=True)
def _starts_word(data, i, byte_class, packed):
    return i < len(data) and _character(data, i, byte_class, packed)[0] == WORD


@njit(nogil=True, cache=True)
def _byte_is(data, i, value):
    return i < len(data) and data[i] == value


@njit(nogil=True, cache=True)
def _lower_is(data, i, value):
    """Whether the ASCII letter at `i` is `value`, which is lower case."""
    return i < len(data) and data[i] | 0x20 == value and _is_letter(data, i)


@njit(nogil=True, cache=True)
def _may_begin(data, i, byte_class):
    """Whether the punctuation at `i`, behind no word, may begin one."""
    byte = data[i]
    if i + 1 >= len(data) or (byte != SHARP and byte != AT and byte != POINT):
        return False
    if byte == POINT:
        return _lower_is(data, i + 1, 0x6E) or _lower_is(data, i + 1, 0x6A)
    kind = byte_class[data[i + 1]]
    return kind == BYTE_WORD or kind == BYTE_MULTI


@njit(nogil=True, cache=True)
def _pointed(data, i, byte_class, packed):
    """The length of "net" or "js" behind the point at `i`, or 0."""
    size = 0
    if _lower_is(data, i + 1, 0x6E) and _lower_is(data, i + 2, 0x65) and _lower_is(data, i + 3, 0x74):
        size = 3
    elif _lower_is(data, i + 1, 0x6A) and _lower_is(data, i + 2, 0x73):
        size = 2
    if size and _is_wordlike(data, i + 1 + size, byte_class, packed):
        return 0
    return size


@njit(nogil=True, cache=True)
def _email_host(data, first, i):
    """Where the host of the e-mail address at `first` begins and ends, or 0, 0; up to `i` it is letters and digits."""
    n = len(data)
    while i < n and i - first <= LONGEST_LOCAL_PART and data[i] != AT:
        if not (_is_host_byte(data, i) or data[i] == 0x5F or data[i] == PERCENT or data[i] == PLUS):
            return 0, 0
        i += 1
    if i >= n or data[i] != AT or i - first > LONGEST_LOCAL_PART:
        return 0, 0
    begin = i + 1
    end = begin
    while _is_host_byte(data, end):
        end += 1
    if not (_is_digit(data, begin) or _is_letter(data, begin)):
        return 0, 0
    while end > begin and (data[end - 1] == POINT or data[end - 1] == DASH):
        end -= 1
    for j in range(begin, end):
        if data[j] == POINT:
            return begin, end
    return 0, 0


@njit(nogil=True, cache=True)
def _may_join(data, first, i, byte_class, rules):
    """Whether the punctuation at `i`, behind the word `data[first:i]`, may join it to more; `_word_end` can tell."""
    byte = data[i]
    if byte == SHARP or byte == COMMA or byte == QUOTE or byte == COLON:
        if byte == SHARP:
            return i == first + 1
        if byte == COMMA:
            return _is_digit(data, i + 1)
        if byte == COLON:
            return _byte_is(data, i + 1, 0x2F)
        return i + 1 < len(data) and byte_class[data[i + 1]] == BYTE_MULTI
    if i + 1 >= len(data):
        return False
    after = data[i + 1]
    kind = byte_class[after]
    if kind == BYTE_MULTI:
        return byte == DASH
    if kind == BYTE_WORD:
        if byte == DASH and (rules[HYPHENS] == JOIN or 0x30 <= after <= 0x39):
            return True
        if byte == POINT:
            if i - first == 1 or 0x30 <= after <= 0x39 or _lower_is(data, i + 1, 0x6E) or _lower_is(data, i + 1, 0x6A):
                return True
            if i - first == 3 and _lower_is(data, first, 0x77):
                return True
    elif kind != BYTE_JOINING:
        return False
    elif after == PLUS and byte == PLUS:
        return True
    return _email_host(data, first, i)[1] != 0


@njit(nogil=True, cache=True)
def _url_start(data, first, i):
    """Where the host of a URL begins whose scheme, or www, is `data[first:i]`; 0 for any other word."""
    size = i - first
    start = 0
    if size == 3 and _byte_is(data, i, POINT):
        if _lower_is(data, first, 0x77) and _lower_is(data, first + 1, 0x77) and _lower_is(data, first + 2, 0x77):
            start = i + 1
    elif _byte_is(data, i, COLON) and _byte_is(data, i + 1, 0x2F) and _byte_is(data, i + 2, 0x2F):
        if size == 3:
            if _lower_is(data, first, 0x66) and _lower_is(data, first + 1, 0x74) and _lower_is(data, first + 2, 0x70):
                start = i + 3
        elif (
            (size == 4 or (size == 5 and _lower_is(data, first + 4, 0x73)))
            and _lower_is(data, first, 0x68)
            and _lower_is(data, first + 1, 0x74)
            and _lower_is(data, first + 2, 0x74)
            and _lower_is(data, first + 3, 0x70)
        ):
            start = i + 3
    if start and (_is_digit(data, start) or _is_letter(data, start)):
        return start
    return 0


@njit(nogil=True, cache=True)
def _in_url(data, i, byte_class, packed):
    """The size of the character at `i` if it can stand in a URL, or 0."""
    byte = int(data[i])
    if byte >= 0x80:
        kind, _, _, size = _character(data, i, byte_class, packed)
        return size if kind == WORD or kind == MARK else 0
    if byte <= 0x20 or byte == 0x7F or byte == 0x3C or byte == 0x3E or byte == 0x22 or byte == 0x60:
        return 0
    if byte == 0x7B or byte == 0x7D or byte == 0x7C or byte == 0x5C or byte == 0x5E:
        return 0
    return 1


@njit(nogil=True, cache=True)
def _url_end(data, first, start, byte_class, packed):
    """Where the URL at `first` ends, whose host begins at `start`; the punctuation of the sentence left out."""
    end, bracket = start, False
    while end < len(data):
        size = _in_url(data, end, byte_class, packed)
        if size == 0:
            break
        end += size
    while end > start + 1:
        byte = data[end - 1]
        # . , ; : ! ? ' / * _ ~ -
        plain = byte == 0x2E or byte == 0x2C or byte == 0x3B or byte == 0x3A or byte == 0x21 or byte == 0x3F
        if plain or byte == 0x27 or byte == 0x2F or byte == 0x2A or byte == 0x5F or byte == 0x7E or byte == 0x2D:
            end -= 1
        elif byte == 0x29 or byte == 0x5D:
            bracket = False
            for j in range(first, end):
                bracket = bracket or data[j] == 0x28 or data[j] == 0x5B
            if bracket:
                break
            end -= 1
        else:
            break
    return end


@njit(nogil=True, cache=True)
def _url_host(data, start, end, byte_class, packed):
    """Where the host begins and ends in a URL; without a leading www."""
    stop = start
    while stop < end:
        kind, _, code, size = _character(data, stop, byte_class, packed)
        if not (kind == WORD or kind == MARK or code == POINT or code == DASH):
            break
        stop += size
    while data[stop - 1] == POINT or data[stop - 1] == DASH:
        stop -= 1
    if (
        stop - start > 4
        and _lower_is(data, start, 0x77)
        and _lower_is(data, start + 1, 0x77)
        and _lower_is(data, start + 2, 0x77)
        and data[start + 3] == POINT
    ):
        start += 4
    return start, stop


@njit(nogil=True, cache=True)
def _write(data, begin, end, byte_class, packed, arena, k):
    """Write the lower case of `data[begin:end]`, without what is ignored; returns the position after it."""
    while begin < end:
        kind, lower, _, size = _character(data, begin, byte_class, packed)
        if kind != IGNORED:
            k = _put_code_point(arena, k, lower)
        begin += size
    return k


@njit(nogil=True, cache=True)
def _emoji_end(data, i, byte_class, packed, arena, k):
    """Write the emoji at `i` and what belongs to it; returns the positions after it in the text and in the arena."""
    _, _, code, size = _character(data, i, byte_class, packed)
    k = _put_code_point(arena, k, code)
    i += size
    while i < len(data):
        kind, _, code, size = _character(data, i, byte_class, packed)
        if SKIN_FIRST <= code <= SKIN_LAST or TAG_FIRST <= code <= TAG_LAST:
            k = _put_code_point(arena, k, code)
        elif code == ZERO_WIDTH_JOINER and _character(data, i + size, byte_class, packed)[0] == EMOJI:
            k = _put_code_point(arena, k, code)
            i += size
            _, _, code, size = _character(data, i, byte_class, packed)
            k = _put_code_point(arena, k, code)
        elif kind != IGNORED:
            break
        i += size
    return i, k


@njit(nogil=True, cache=True)
def _cluster_end(data, i, byte_class, packed):
    """Where the character at `i` ends, with its marks."""
    i += _character(data, i, byte_class, packed)[3]
    while i < len(data):
        kind, _, _, size = _character(data, i, byte_class, packed)
        if kind != MARK and kind != IGNORED:
            break
        i += size
    return i


@njit(nogil=True, cache=True)
def _word_end(data, first, i, byte_class, byte_word, packed, rules, plain, arena, begin, k):
    """Go on with a word where more than letters and digits of ASCII follow; returns the positions after it, and more.

    Args:
        first, i: where the word begins in the text, behind its prefix, and how far it has been read.
        plain: it has no prefix; it may become an e-mail address, a URL or an abbreviation.
        begin, k: where the word begins in the arena, and how far it has been written.

    Returns:
        The positions after the word in the text and in the arena; begin and end of the host of an e-mail address or a
        URL, 0, 0 for other words; whether that is a URL.
    """
    n = len(data)
    start_k = k - (i - first)
    letters = 1 if plain and _is_letter(data, first) and not _is_wordlike(data, first + 1, byte_class, packed) else 0
    sigma = False
    while i < n:
        byte = data[i]
        kind = byte_class[byte]
        if kind == BYTE_WORD:
            arena[k] = byte_word[byte]
            k += 1
            i += 1
            sigma = False
            continue
        if kind == BYTE_MULTI:
            plain = False
            kind, lower, code, size = _character(data, i, byte_class, packed)
            if kind == WORD or kind == MARK:
                sigma = code == CAPITAL_SIGMA and lower != code and k > start_k
                k = _put_code_point(arena, k, lower)
                i += size
                continue
            if kind == IGNORED:
                i += size
                continue
            if kind == JOINER:
                if _is_wordlike(data, i + size, byte_class, packed):
                    k = _put_code_point(arena, k, code)
                    sigma = False
                i += size
                continue
            if kind == APOSTROPHE and _starts_word(data, i + size, byte_class, packed):
                arena[k] = QUOTE
            elif kind == HYPHEN and (
                (rules[HYPHENS] == JOIN and _starts_word(data, i + size, byte_class, packed))
                or (rules[HYPHENS] == DIGITS and _is_digit(data, i + size) and not _is_digit(data, i - 1))
            ):
                arena[k] = DASH
            else:
                break
            sigma = False
            k += 1
            i += size
            continue
        if kind != BYTE_JOINING:
            break
        if plain:
            plain = False
            if rules[EMAILS] != SPLIT and byte != QUOTE and byte != COMMA and byte != SHARP and byte != COLON:
                host, host_end = _email_host(data, first, i)
                if host_end:
                    return host_end, k, host, host_end, False
            if rules[URLS] != SPLIT and (byte == POINT or byte == COLON):
                host = _url_start(data, first, i)
                if host:
                    end = _url_end(data, first, host, byte_class, packed)
                    host, host_end = _url_host(data, host, end, byte_class, packed)
                    return end, k, host, host_end, True
        if byte == POINT or byte == COMMA:
            if rules[NUMBERS] and _is_digit(data, i + 1) and _is_digit(data, i - 1):
                arena[k] = byte
            elif byte == COMMA:
                break
            elif (
                rules[ABBREVIATIONS]
                and letters > 0
                and k - begin == 2 * letters - 1
                and _is_letter(data, i + 1)
                and not _is_wordlike(data, i + 2, byte_class, packed)
            ):
                arena[k] = POINT
                arena[k + 1] = byte_word[data[i + 1]]
                k += 2
                i += 2
                letters += 1
                sigma = False
                continue
            elif rules[SYMBOLS] and _pointed(data, i, byte_class, packed):
                arena[k] = POINT
            else:
                break
        elif byte == QUOTE:
            if not _starts_word(data, i + 1, byte_class, packed):
                break
            arena[k] = QUOTE
        elif byte == DASH:
            if not (
                (rules[HYPHENS] == JOIN and _starts_word(data, i + 1, byte_class, packed))
                or (rules[HYPHENS] == DIGITS and _is_digit(data, i + 1) and not _is_digit(data, i - 1))
            ):
                break
            arena[k] = DASH
        elif byte == PLUS:
            if not (rules[SYMBOLS] and _byte_is(data, i + 1, PLUS)) or _byte_is(data, i + 2, PLUS):
                break
            if _is_wordlike(data, i + 2, byte_class, packed) and not _is_digit(data, i + 2):
                break
            arena[k] = PLUS
            arena[k + 1] = PLUS
            k += 1
            i += 1
        elif byte == SHARP:
            sharp = rules[SYMBOLS] and i == first + 1 and _is_letter(data, first) and not _byte_is(data, i + 1, SHARP)
            if sharp and not _is_wordlike(data, i + 1, byte_class, packed):
                arena[k] = SHARP
                k += 1
                i += 1
                sigma = False
            break
        else:
            break
        sigma = False
        k += 1
        i += 1
    if sigma:
        _put_code_point(arena, k - 2, FINAL_SIGMA)
    if letters > 1 and k - begin == 2 * letters - 1:
        arena[k] = POINT
        k += 1
        i += _byte_is(data, i, POINT)
    return i, k, 0, 0, False


@njit(nogil=True, cache=True)
def _count_word(slots, starts, counts, arena, k, code, ids, cursor):
    """Number the word that was written behind the others, up to `k`; false if the table is full."""
    n_words, n_ids = int(cursor[N_WORDS]), int(cursor[N_IDS])
    place = _find_slot(slots, starts, arena, arena, int(starts[n_words]), k, code)
    word = (int(slots[place]) & 0xFFFFFFFF) - 1
    if word < 0:
        if n_words == len(counts):
            return False
        word = n_words
        starts[n_words + 1] = k
        counts[word] = 0
        slots[place] = code << 32 | word + 1
        cursor[N_WORDS] = n_words + 1
    counts[word] += 1
    ids[n_ids] = word | BREAK_BIT if cursor[BROKEN] else word
    cursor[N_IDS] = n_ids + 1
    cursor[BROKEN] = 0
    return True


@njit(nogil=True, cache=True)
def _scan_plain(data, byte_class, byte_word, rules, slots, starts, counts, arena, ids, ends, cursor):
    """Number words of ASCII letters and digits, apostrophes inside, as far as nothing else comes; most text is that.

    Stops at the first word or character that needs `_scan_one`; plain punctuation does not. Returns false if the table
    is full. The arguments are those of `scan_block`.
    """
    n = len(data)
    i, n_ids, n_ends, n_words = int(cursor[POSITION]), int(cursor[N_IDS]), int(cursor[N_ENDS]), int(cursor[N_WORDS])
    broken, word_end, begin = cursor[BROKEN] != 0, int(cursor[WORD_END]), int(starts[n_words])
    finished = True
    while i < n:
        kind = byte_class[data[i]]
        if kind != BYTE_WORD:
            if kind == BYTE_NEWLINE:
                ends[n_ends] = n_ids
                n_ends += 1
                broken = True
            elif kind == BYTE_OTHER:
                broken = True
            elif kind != BYTE_SPACE:
                if kind == BYTE_MULTI:
                    break
                if i != word_end:
                    if _may_begin(data, i, byte_class):
                        break
                    broken = True
                else:
                    # A hyphen between two words is no break.
                    after = byte_class[data[i + 1]] if data[i] == DASH and i + 1 < n else BYTE_OTHER
                    if after == BYTE_MULTI:
                        break
                    broken = broken or after != BYTE_WORD
            i += 1
            continue

        end, k, code, plain = i, begin, HASH_SEED, False
        while True:
            while end < n:
                byte = byte_word[data[end]]
                if byte == 0:
                    break
                arena[k] = byte
                code = ((code ^ int(byte)) * HASH_FACTOR) & HASH_MASK
                k += 1
                end += 1
            kind = byte_class[data[end]] if end < n else BYTE_SPACE
            if kind != BYTE_JOINING:
                plain = kind != BYTE_MULTI
                break
            if data[end] != QUOTE or end + 1 >= n or byte_class[data[end + 1]] != BYTE_WORD:
                plain = not _may_join(data, i, end, byte_class, rules)
                break
            arena[k] = QUOTE
            code = ((code ^ QUOTE) * HASH_FACTOR) & HASH_MASK
            k += 1
            end += 1
        if not plain:
            break
        place = _find_slot(slots, starts, arena, arena, begin, k, code)
        word = (int(slots[place]) & 0xFFFFFFFF) - 1
        if word < 0:
            if n_words == len(counts):
                finished = False
                break
            word = n_words
            n_words += 1
            begin = k
            starts[n_words] = k
            counts[word] = 0
            slots[place] = code << 32 | word + 1
        counts[word] += 1
        ids[n_ids] = word | BREAK_BIT if broken else word
        n_ids += 1
        broken = False
        i = end
        word_end = end
    cursor[POSITION], cursor[N_IDS], cursor[N_ENDS], cursor[N_WORDS] = i, n_ids, n_ends, n_words
    cursor[BROKEN], cursor[WORD_END] = broken, word_end
    return finished


@njit(nogil=True, cache=True)
def _scan_one(data, byte_class, byte_word, packed, rules, slots, starts, counts, arena, ids, cursor):
    """Number the word at the cursor, or pass over the character there, whatever it is; false if the table is full."""
    n, i, word_end = len(data), int(cursor[POSITION]), int(cursor[WORD_END])
    begin, prefix, pair_end = int(starts[cursor[N_WORDS]]), 0, 0
    byte = data[i]
    kind, _, _, size = _character(data, i, byte_class, packed)
    if byte_class[byte] == BYTE_JOINING and i != word_end:
        if byte == SHARP or byte == AT:
            if rules[TAGGED] and _starts_word(data, i + 1, byte_class, packed) and not _is_digit(data, i + 1):
                kind, prefix = WORD, int(byte)
        elif byte == POINT and rules[SYMBOLS] and _pointed(data, i, byte_class, packed):
            kind, prefix = WORD, int(byte)

    if kind == WORD:
        k, end = begin, i
        if prefix:
            arena[k] = prefix
            k += 1
            end += 1
        start = end
        while end < n and byte_word[data[end]] != 0:
            arena[k] = byte_word[data[end]]
            k += 1
            end += 1
        end, k, host, host_end, is_url = _word_end(
            data, start, end, byte_class, byte_word, packed, rules, prefix == 0, arena, begin, k
        )
        if host_end:
            how = rules[URLS] if is_url else rules[EMAILS]
            if how == DROP:
                cursor[BROKEN] = 1
                cursor[POSITION] = end
                return True
            if how == KEEP:
                k = _write(data, i, end, byte_class, packed, arena, begin)
            else:
                k = _write(data, host, host_end, byte_class, packed, arena, begin)
    elif kind == UNSPACED:
        # Overlapping pairs: each character makes one with the next; the last is covered by the pair before it.
        end = _cluster_end(data, i, byte_class, packed)
        pair_end = end
        if _character(data, end, byte_class, packed)[0] == UNSPACED:
            pair_end = _cluster_end(data, end, byte_class, packed)
        elif i == cursor[COVERED]:
            cursor[POSITION], cursor[WORD_END] = end, end
            return True
        k = _write(data, i, pair_end, byte_class, packed, arena, begin)
    elif kind == EMOJI:
        end, k = _emoji_end(data, i, byte_class, packed, arena, begin)
    elif kind == REGIONAL and _character(data, i + size, byte_class, packed)[0] == REGIONAL:
        end = i + 2 * size
        k = _write(data, i, end, byte_class, packed, arena, begin)
    else:
        joins = kind == HYPHEN and i == word_end and _starts_word(data, i + size, byte_class, packed)
        if (kind == HYPHEN and not joins) or kind == OTHER or kind == APOSTROPHE or kind == REGIONAL:
            cursor[BROKEN] = 1
        cursor[POSITION] = i + size
        return True

    if not _count_word(slots, starts, counts, arena, k, _hash(arena, begin, k), ids, cursor):
        return False
    cursor[POSITION] = end
    if kind == WORD or kind == UNSPACED:
        cursor[WORD_END] = end
    if pair_end > end:
        cursor[COVERED] = end
    return True


@njit(nogil=True, cache=True)
def scan_block(data, byte_class, byte_word, packed, rules, slots, starts, counts, arena, ids, ends, cursor):
    """Number the words of a block of UTF-8 text; false when the table is full: enlarge it and call again.

    Args:
        data: uint8 (n,), in NFC and without markup, cut at white space; a newline ends a document.
        byte_class, byte_word, packed: what characters are, see `characters.CharacterTables`.
        rules: int64 (7,), see above.
        slots, starts, counts, arena: the table; the arena has room for 2 n + 16 more bytes.
        ids: int32 (>= n / 2 + 2,), the word at each position, with `BREAK_BIT` after punctuation; written.
        ends: int64 (newlines of data,), how many ids came before the end of each document, written.
        cursor: int64 (7,); `WORD_END` and `COVERED` are -1 at the beginning.
    """
    n = len(data)
    while True:
        if not _scan_plain(data, byte_class, byte_word, rules, slots, starts, counts, arena, ids, ends, cursor):
            return False
        if cursor[POSITION] >= n:
            return True
        if not _scan_one(data, byte_class, byte_word, packed, rules, slots, starts, counts, arena, ids, cursor):
            return False


@njit(nogil=True, cache=True)
def split_block(data, slots, starts, counts, arena, ids, ends, cursor):
    """As `scan_block`, of whatever stands between ASCII white space."""
    n, i = len(data), int(cursor[POSITION])
    while i < n:
        if data[i] == NEWLINE:
            ends[cursor[N_ENDS]] = cursor[N_IDS]
            cursor[N_ENDS] += 1
            cursor[BROKEN] = 1
        if _is_space(data[i]):
            i += 1
            continue
        begin, end = int(starts[cursor[N_WORDS]]), i
        while end < n and not _is_space(data[end]):
            arena[begin + end - i] = data[end]
            end += 1
        k = begin + end - i
        if not _count_word(slots, starts, counts, arena, k, _hash(arena, begin, k), ids, cursor):
            cursor[POSITION] = i
            return False
        i = end
    cursor[POSITION] = i
    return True
