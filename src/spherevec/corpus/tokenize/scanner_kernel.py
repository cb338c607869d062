"""The compiled scanner: the rules of `words`, over blocks of UTF-8, into a table of words.

A table of words is four arrays:
    slots   int64 (2 ** k,)        open addressing, `hash << 32 | word + 1`, 0 = free; at most half full
    starts  int64 (capacity + 1,)  where each word begins in `arena`; `starts[n_words]` is the end of the last
    counts  int64 (capacity,)      how often each word occurred
    arena   uint8 (any,)           the UTF-8 bytes of all words, one after another

An id is written with `BREAK_BIT` where punctuation or the beginning of a document stands between it and the word
before, so that phrases can stop there. Plain int64 arithmetic throughout: hashes have 31 bits, so nothing overflows,
compiled or not.
"""

# mypy: allow-untyped-defs, allow-untyped-calls, allow-untyped-decorators
# ruff: noqa: SIM109  (comparisons compile to less than membership of tuples)
from spherevec.compiling import njit
from spherevec.corpus.tokenize import characters as ch

# The options that the kernel needs; `rules` has the place of each choice among those of its option.
RULES = ("hyphens", "numbers", "symbols", "abbreviations", "tags", "urls", "emails")
HYPHENS, NUMBERS, SYMBOLS, ABBREVIATIONS, TAGGED, URLS, EMAILS = range(len(RULES))
SPLIT, DIGITS, JOIN = range(3)
KEEP, HOST, DROP = 1, 2, 3

# Fields of `cursor`: where a call stopped for a larger table, and what is to be known to go on.
POSITION, N_IDS, N_ENDS, N_WORDS, BROKEN, WORD_END, COVERED = range(7)

HASH_SEED, HASH_FACTOR, HASH_MASK = 0x011C9DC5, 16777619, 0x7FFFFFFF
LONGEST_LOCAL_PART = 64  # bytes of an e-mail address before its @
SKIN_FIRST, SKIN_LAST = ch.SKIN_TONES
TAG_FIRST, TAG_LAST = ch.TAGS
NEWLINE, QUOTE, COMMA, DASH, POINT, PLUS, SHARP, AT = (ord(character) for character in "\n',-.+#@")

compiled = njit(nogil=True, cache=True, _nrt=False)  # allocates nothing


@compiled
def _code_point(data, i):
    """The code point and its length in bytes of the character at `i`; the text is valid UTF-8."""
    lead = int(data[i])
    if lead < 0x80:
        return lead, 1
    if lead < 0xE0:
        return (lead & 0x1F) << 6 | int(data[i + 1]) & 0x3F, 2
    if lead < 0xF0:
        return (lead & 0x0F) << 12 | (int(data[i + 1]) & 0x3F) << 6 | int(data[i + 2]) & 0x3F, 3
    high = (lead & 0x07) << 18 | (int(data[i + 1]) & 0x3F) << 12
    return high | (int(data[i + 2]) & 0x3F) << 6 | int(data[i + 3]) & 0x3F, 4


@compiled
def _put(arena, k, code):
    """Write `code` as UTF-8 at `k`; returns the position after it."""
    if code < 0x80:
        arena[k] = code
        return k + 1
    if code < 0x800:
        arena[k] = 0xC0 | code >> 6
    else:
        if code < 0x10000:
            arena[k] = 0xE0 | code >> 12
        else:
            arena[k] = 0xF0 | code >> 18
            k += 1
            arena[k] = 0x80 | code >> 12 & 0x3F
        k += 1
        arena[k] = 0x80 | code >> 6 & 0x3F
    arena[k + 1] = 0x80 | code & 0x3F
    return k + 2


@compiled
def _character(data, i, packed):
    """Kind, lower case, code point and size of the character at `i`."""
    code, size = _code_point(data, i)
    entry = packed[code]
    return entry >> ch.KIND_SHIFT, entry & ch.CODE_MASK, code, size


@compiled
def _kind(data, i, packed):
    return packed[_code_point(data, i)[0]] >> ch.KIND_SHIFT


@compiled
def _is_wordlike(data, i, packed):
    kind = _kind(data, i, packed)
    return kind == ch.WORD or kind == ch.MARK


@compiled
def _spells(data, i, word):
    """Whether `word`, in lower case, stands at `i` in any case."""
    for j in range(len(word)):
        byte = data[i + j]
        if byte != word[j] and (byte | 0x20 != word[j] or byte < 0x41):
            return False
    return True


@compiled
def _pointed(data, i, packed):
    """Whether "net" or "js" stands behind the point at `i`."""
    size = 3 if _spells(data, i + 1, b"net") else 2 if _spells(data, i + 1, b"js") else 0
    return size > 0 and not _is_wordlike(data, i + 1 + size, packed)


@compiled
def _email(data, i, traits):
    """Where the host of the e-mail address at `i` begins and ends, or 0, 0."""
    at = i
    while traits[data[at]] & ch.IN_EMAIL and at - i <= LONGEST_LOCAL_PART:
        at += 1
    begin = at + 1
    if data[at] != AT or at == i or at - i > LONGEST_LOCAL_PART or not traits[data[begin]] & (ch.LETTER | ch.DIGIT):
        return 0, 0
    end = begin
    while traits[data[end]] & ch.IN_HOST:
        end += 1
    while data[end - 1] == POINT or data[end - 1] == DASH:
        end -= 1
    point = begin
    while point < end and data[point] != POINT:
        point += 1
    return (begin, end) if point < end else (0, 0)


@compiled
def _url(data, i, traits, packed):
    """Where the host of the URL at `i` begins and ends, and where the URL ends; the sentence's punctuation left out."""
    host = i
    if _spells(data, i, b"www."):
        host = i + 4
    elif _spells(data, i, b"http"):
        host = i + 4 + (data[i + 4] | 0x20 == 0x73)
    elif _spells(data, i, b"ftp"):
        host = i + 3
    if host == i or (data[host - 1] != POINT and not _spells(data, host, b"://")):
        return 0, 0, 0
    if data[host - 1] != POINT:
        host += 3
    if not traits[data[host]] & (ch.LETTER | ch.DIGIT):
        return 0, 0, 0
    end = host
    while traits[data[end]] & (ch.IN_URL | ch.MULTI_BYTE):
        kind, _, _, size = _character(data, end, packed)
        if size > 1 and kind != ch.WORD and kind != ch.MARK:
            break
        end += size
    while end > host + 1 and traits[data[end - 1]] & ch.AT_URL_END:
        if data[end - 1] == 0x29 or data[end - 1] == 0x5D:  # brackets belong to it if one of them opens inside
            opening = i
            while opening < end and data[opening] != 0x28 and data[opening] != 0x5B:
                opening += 1
            if opening < end:
                break
        end -= 1
    stop = host
    while stop < end and traits[data[stop]] & (ch.IN_HOST | ch.IN_WORD | ch.MULTI_BYTE):
        stop += 1
    while data[stop - 1] == POINT or data[stop - 1] == DASH:
        stop -= 1
    return host + 4 if stop - host > 4 and _spells(data, host, b"www.") else host, stop, end


@compiled
def _write(data, begin, end, packed, arena, k):
    """Write the lower case of `data[begin:end]`, without what is ignored; returns the position after it."""
    while begin < end:
        kind, lower, _, size = _character(data, begin, packed)
        if kind != ch.IGNORED:
            k = _put(arena, k, lower)
        begin += size
    return k


@compiled
def _write_emoji(data, i, packed, arena, k):
    """Write the emoji at `i` and what belongs to it; returns the positions after it in the text and in the arena."""
    _, _, code, size = _character(data, i, packed)
    while True:
        k = _put(arena, k, code)
        i += size
        kind, _, code, size = _character(data, i, packed)
        while kind == ch.IGNORED and not TAG_FIRST <= code <= TAG_LAST:
            i += size
            kind, _, code, size = _character(data, i, packed)
        if code == ch.ZERO_WIDTH_JOINER and _kind(data, i + size, packed) == ch.EMOJI:
            k = _put(arena, k, code)
            i += size
            _, _, code, size = _character(data, i, packed)
        elif not (SKIN_FIRST <= code <= SKIN_LAST or TAG_FIRST <= code <= TAG_LAST):
            return i, k


@compiled
def _cluster_end(data, i, packed):
    """Where the character at `i` ends, with its marks."""
    i += _code_point(data, i)[1]
    kind, _, _, size = _character(data, i, packed)
    while kind == ch.MARK or kind == ch.IGNORED:
        i += size
        kind, _, _, size = _character(data, i, packed)
    return i


@compiled
def _write_word(data, first, traits, packed, rules, prefixed, arena, begin):
    """Write the word at `first`, behind its prefix; returns the positions after it in the text and in the arena."""
    i, start, k = first, begin + prefixed, begin + prefixed
    letters = 0  # of an abbreviation
    sigma = False  # whether the last letter is a capital sigma, not the first
    while True:
        kind, lower, code, size = _character(data, i, packed)
        next_kind, before, after = _kind(data, i + size, packed), traits[data[i - 1]], traits[data[i + size]]
        wordlike = next_kind == ch.WORD or next_kind == ch.MARK
        if kind == ch.WORD or kind == ch.MARK:
            if i == first and traits[data[i]] & ch.LETTER and not wordlike and not prefixed:
                letters = 1
            sigma = code == ch.CAPITAL_SIGMA and lower != code and k > start
            k = _put(arena, k, lower)
        elif kind == ch.JOINER:
            k = _put(arena, k, code) if wordlike else k
        elif kind == ch.APOSTROPHE and next_kind == ch.WORD:
            k = _put(arena, k, QUOTE)
        elif kind == ch.HYPHEN and (
            (rules[HYPHENS] == JOIN and next_kind == ch.WORD)
            or (rules[HYPHENS] == DIGITS and after & ch.DIGIT and not before & ch.DIGIT)
        ):
            k = _put(arena, k, DASH)
        elif (code == POINT or code == COMMA) and rules[NUMBERS] and after & ch.DIGIT and before & ch.DIGIT:
            k = _put(arena, k, code)
        elif (
            code == POINT
            and rules[ABBREVIATIONS]
            and letters > 0
            and k - begin == 2 * letters - 1
            and after & ch.LETTER
            and not _is_wordlike(data, i + 2, packed)
        ):
            k = _put(arena, _put(arena, k, POINT), packed[data[i + 1]] & ch.CODE_MASK)
            letters += 1
            size = 2
        elif code == POINT and rules[SYMBOLS] and _pointed(data, i, packed):
            k = _put(arena, k, POINT)
        elif code == PLUS and rules[SYMBOLS] and data[i + 1] == PLUS and data[i + 2] != PLUS:
            if _is_wordlike(data, i + 2, packed) and not traits[data[i + 2]] & ch.DIGIT:
                break
            k = _put(arena, _put(arena, k, PLUS), PLUS)
            size = 2
            sigma = False
        elif code == SHARP and rules[SYMBOLS] and i == first + 1 and traits[data[first]] & ch.LETTER:
            if data[i + 1] != SHARP and not wordlike:
                return i + 1, _put(arena, k, SHARP)
            break
        elif kind != ch.IGNORED:
            break
        i += size
    if sigma:
        _put(arena, k - 2, ch.FINAL_SIGMA)
    if letters > 1 and k - begin == 2 * letters - 1:
        k = _put(arena, k, POINT)
        i += data[i] == POINT
    return i, k


@compiled
def _write_special(data, i, word_end, covered, traits, packed, rules, arena, begin):
    """Write the word at `i`, whatever it is, or pass over the character there.

    Returns:
        The positions after it in the text and in the arena, the latter `begin` where there is no word; its kind,
        `OTHER` for what breaks phrases; where the second of a pair of characters ends.
    """
    kind, _, code, size = _character(data, i, packed)
    next_kind = _kind(data, i + size, packed)
    if kind == ch.OTHER and i != word_end:
        tag = rules[TAGGED] and (code == SHARP or code == AT) and not traits[data[i + 1]] & ch.DIGIT
        if (tag and next_kind == ch.WORD) or (code == POINT and rules[SYMBOLS] and _pointed(data, i, packed)):
            arena[begin] = code
            end, k = _write_word(data, i + 1, traits, packed, rules, 1, arena, begin)
            return end, k, ch.WORD, 0
    if kind == ch.WORD:
        how = rules[EMAILS]
        host, host_end = _email(data, i, traits) if how != SPLIT and traits[data[i]] & ch.IN_WORD else (0, 0)
        end = host_end
        if end == 0 and rules[URLS] != SPLIT:
            how = rules[URLS]
            host, host_end, end = _url(data, i, traits, packed)
        if end == 0:
            end, k = _write_word(data, i, traits, packed, rules, 0, arena, begin)
            return end, k, ch.WORD, 0
        if how == DROP:
            return end, begin, ch.OTHER, 0
        if how == KEEP:
            host, host_end = i, end
        return end, _write(data, host, host_end, packed, arena, begin), ch.WORD, 0
    if kind == ch.UNSPACED:
        # Overlapping pairs: each character makes one with the next; the last is covered by the pair before it.
        end = _cluster_end(data, i, packed)
        pair_end = _cluster_end(data, end, packed) if _kind(data, end, packed) == ch.UNSPACED else end
        if pair_end == end and i == covered:
            return end, begin, ch.UNSPACED, 0
        return end, _write(data, i, pair_end, packed, arena, begin), ch.UNSPACED, pair_end
    if kind == ch.EMOJI:
        end, k = _write_emoji(data, i, packed, arena, begin)
        return end, k, ch.EMOJI, 0
    if kind == ch.REGIONAL and next_kind == ch.REGIONAL:
        return i + 2 * size, _write(data, i, i + 2 * size, packed, arena, begin), ch.EMOJI, 0
    joins = kind == ch.HYPHEN and i == word_end and next_kind == ch.WORD
    breaks = kind == ch.OTHER or kind == ch.APOSTROPHE or kind == ch.REGIONAL or (kind == ch.HYPHEN and not joins)
    return i + size, begin, ch.OTHER if breaks else ch.SPACE, 0


@compiled
def _find_slot(slots, starts, arena, begin, end, code):
    """The slot that holds `arena[begin:end]`, whose hash is `code`, or the free slot where it belongs."""
    mask = len(slots) - 1
    place = (code ^ code >> 15) & mask
    while slots[place] != 0:
        slot = slots[place]
        if slot >> 32 == code:
            word = (slot & 0xFFFFFFFF) - 1
            start = starts[word]
            if starts[word + 1] - start == end - begin:
                same = 0
                while same < end - begin and arena[start + same] == arena[begin + same]:
                    same += 1
                if same == end - begin:
                    return place
        place = (place + 1) & mask
    return place


@compiled
def scan_block(data, traits, lower, packed, rules, slots, starts, counts, arena, ids, ends, cursor):
    """Number the words of a block of UTF-8 text; false when the table is full: enlarge it and call again.

    Words of ASCII letters and digits, apostrophes inside, and plain punctuation are read here; most text is that.

    Args:
        data: uint8 (n,), in NFC and without markup, cut at white space; `PADDING` newlines behind it do not count, all
            others end a document.
        traits, lower, packed: what characters are, see `characters.CharacterTables`.
        rules: int64 (7,), see above.
        slots, starts, counts, arena: the table; the arena has room for 2 n + 16 more bytes.
        ids: int32 (>= n / 2 + 2,), the word at each position, with `BREAK_BIT` after punctuation; written.
        ends: int64 (newlines of data,), how many ids came before the end of each document, written.
        cursor: int64 (7,); `WORD_END` and `COVERED` are -1 at the beginning.
    """
    n = len(data) - ch.PADDING
    i, n_ids, n_ends, n_words = cursor[POSITION], cursor[N_IDS], cursor[N_ENDS], cursor[N_WORDS]
    broken, word_end, covered = cursor[BROKEN] != 0, cursor[WORD_END], cursor[COVERED]
    begin, finished = starts[n_words], True
    while i < n:
        trait = traits[data[i]]
        end, k, code, kind, pair_end = i, begin, HASH_SEED, ch.WORD, 0
        if trait & ch.IN_WORD:
            while True:
                while lower[data[end]] >= 0:
                    byte = lower[data[end]]
                    arena[k] = byte
                    code = ((code ^ byte) * HASH_FACTOR) & HASH_MASK
                    k += 1
                    end += 1
                if data[end] != QUOTE or not traits[data[end + 1]] & ch.IN_WORD:
                    break
                arena[k] = QUOTE
                code = ((code ^ QUOTE) * HASH_FACTOR) & HASH_MASK
                k += 1
                end += 1
            after = traits[data[end]]
            more = traits[data[end + 1]] & ch.AFTER_JOINING or (data[end] == SHARP and end == i + 1)
            special = after & ch.MULTI_BYTE or (after & ch.JOINING and more)
        else:
            if trait & ch.WHITE:
                if data[i] == NEWLINE:
                    ends[n_ends] = n_ids
                    n_ends += 1
                    broken = True
                i += 1
                continue
            special = trait & ch.MULTI_BYTE or (trait & ch.JOINING and traits[data[i + 1]] & ch.AFTER_JOINING)
            if not special:
                broken = True
                i += 1
                continue
        if special:
            end, k, kind, pair_end = _write_special(data, i, word_end, covered, traits, packed, rules, arena, begin)
            if k == begin:
                broken = broken or kind == ch.OTHER
                word_end = end if kind == ch.UNSPACED else word_end
                i = end
                continue
            code = HASH_SEED
            for j in range(begin, k):
                code = ((code ^ int(arena[j])) * HASH_FACTOR) & HASH_MASK
        place = _find_slot(slots, starts, arena, begin, k, code)
        word = (slots[place] & 0xFFFFFFFF) - 1
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
        ids[n_ids] = word | ch.BREAK_BIT if broken else word
        n_ids += 1
        broken = False
        i = end
        word_end = end if kind != ch.EMOJI else word_end
        covered = end if pair_end > end else covered
    cursor[POSITION], cursor[N_IDS], cursor[N_ENDS], cursor[N_WORDS] = i, n_ids, n_ends, n_words
    cursor[BROKEN], cursor[WORD_END], cursor[COVERED] = broken, word_end, covered
    return finished


@compiled
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


@compiled
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
            number = int(numbers[ids[i] & ch.ID_MASK])
            broken = broken or ids[i] & ch.BREAK_BIT != 0 or number < 0
            new_ids[kept] = number | ch.BREAK_BIT if marks and broken and number >= 0 else number
            if number >= 0:
                kept += 1
                broken = False
            i += 1
        if document < len(ends):
            new_ends[document] = kept
    return kept


SUSPECT = 255  # in the table of combining classes: the character may be changed by NFC
NEAR = 64  # segments with a gap of fewer bytes are normalised together


@compiled
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
            while begin > 0 and data[begin - 1] != 0x20 and data[begin - 1] != NEWLINE:
                begin -= 1
            while behind < n and data[behind] != 0x20 and data[behind] != NEWLINE:
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
