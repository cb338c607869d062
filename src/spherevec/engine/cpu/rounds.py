"""The compiled loop of deterministic training: rounds of shards, the same bits for any number of threads.

The units of a round are dealt to `SHARDS` shards of about equal size, whichever threads there are. No row is written
by two shards: a shard trains in place what it has for itself, and copies of the rest. When all are done, the copies
are merged row by row, in the order of the shards. What it has for itself:

    document vectors    all but those of documents so long that several shards may have a piece of them
    context vectors     of words that occur in no other shard of the round
    input vectors       of negatives: rare words that occur nowhere in the round, one of each group of `PEERS` words

So negatives, by far the most of the rows that a shard touches, need no copies. Which shard draws which of the words of
a group changes from round to round. In one epoch a document meets few of the rare words, which shows in its vector
until it is refitted; without a refit, and where single triples are trained, of which few move anything, all shards draw
all words, and copy those that they move.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from spherevec.engine.base import PIECE
from spherevec.engine.cpu.atomics import CELL, CELLS_USED, add_to, look_at, meet, meet_and_part, part, set_to
from spherevec.engine.cpu.kernels import (
    DOCUMENT_COSINE,
    DOCUMENT_NEGATIVES,
    PEERS,
    TOKENS,
    WORD_COSINE,
    WORD_NEGATIVES,
    WORDS,
    Peers,
    Settings,
    Span,
    Unit,
    Vectors,
    alpha_at,
    begin_block,
    compiled,
    inner,
    mix,
    read_unit,
    train_unit,
    unit_at,
    unit_random,
)
from spherevec.engine.cpu.overlay_ops import Overlay
from spherevec.engine.cpu.vector_ops import add_difference, blend_rows, prefetch, row_address, store_scaled

SHARDS = PEERS  # of a round: how many threads can work on it, and part of what the bits depend on
COMMON = 1024  # the most frequent words: every shard meets them several times, so that each has copies of them
MERGED_AHEAD = 8  # rows from asking for one to needing it, when shards are merged
BIG = 8  # a unit is dealt out by itself if it has more than this part of a shard's words

# Marks of words that no shard has in its text, or several; a shard has its number plus 1. And what is no mark at all.
NOBODY, SEVERAL, NO_MARK = 0, 255, 256

# Counters of a run: the next shard, whether to stop, the rounds that are done, and whether there are no more.
NEXT, STOP, DONE, ENDED = range(CELLS_USED, CELLS_USED + 4 * CELL, CELL)
CELLS = CELLS_USED + 4 * CELL

NUMBER, DOCUMENT, START, COUNT, FIRST, LAST, SHARD, COPY, FIELDS = range(9)


class Copies(NamedTuple):
    """The copies that the shards of a round make of the rows of a table, room for C each."""

    table: NDArray[np.float32]  # (R, stride)
    slots: NDArray[np.int32]  # (workers, R), -1 throughout between two shards; see `Overlay`
    touched: NDArray[np.int32]  # (S, C)
    moves: NDArray[np.int32]  # (S, C)
    rows: NDArray[np.float32]  # (S * C, stride)
    used: NDArray[np.int64]  # (S, CELL)
    home: NDArray[np.int32]  # (R,), -1 throughout between two rounds: the first copy of each row
    following: NDArray[np.int32]  # (S * C,) the next copy of the same row
    sums: NDArray[np.float32]  # (workers, stride)


class DocumentCopies(NamedTuple):
    """The copies of a round that units of long documents make of their vectors."""

    table: NDArray[np.float32]  # (N, stride)
    documents: NDArray[np.int64]  # (U,)
    moves: NDArray[np.int64]  # (U,)
    rows: NDArray[np.float32]  # (U, stride)
    used: NDArray[np.int64]  # (1,)
    sums: NDArray[np.float32]  # (workers, stride)


class Round(NamedTuple):
    """A round of U units with at most W words, as all threads see it."""

    kept: NDArray[np.int32]  # (W,) words of the units
    units: NDArray[np.int64]  # (U, FIELDS)
    tokens: NDArray[np.int64]  # (U,) raw tokens of each
    order: NDArray[np.int32]  # (U,) units, shard by shard
    edges: NDArray[np.int64]  # (S + 1,) where the units of each shard begin
    loads: NDArray[np.int64]  # (S,) words of each shard
    marks: NDArray[np.uint8]  # (V,)
    cells: NDArray[np.int64]  # (CELLS,)
    sums: NDArray[np.float64]  # (S, slots)
    totals: NDArray[np.float64]  # (slots,) of all rounds so far
    biases: NDArray[np.float64]  # (2,) of words and documents


class Plan(NamedTuple):
    """The B rounds to train: units [first, last) in the epoch's order, and the learning rate at both ends."""

    edges: NDArray[np.int64]  # (B, 2)
    alphas: NDArray[np.float64]  # (B, 2)
    units: int  # of the epoch
    order_key: np.uint64
    sample_key: np.uint64
    bias_rate: float  # how fast biases are learned; 0: not at all
    peers: bool  # each shard draws its own words of every group as negatives; otherwise all draw all words


@inner
def is_common(word, words):
    """Whether every shard has a copy of a word, so that all may draw it: frequent words, and the last few."""
    return word < COMMON or word >= words & -PEERS


@inner
def unit_tokens(unit, corpus):
    """Raw tokens of a unit."""
    documents = corpus.offsets.size - 1
    if unit < documents:
        return min(corpus.offsets[unit + 1] - corpus.offsets[unit], PIECE)
    piece = corpus.pieces[unit - documents]
    return min(corpus.offsets[piece[0] + 1] - piece[1], PIECE)


@compiled
def largest_round(corpus, plan):
    """Units and tokens of the largest rounds."""
    most_units, most_tokens = 0, 0
    for block in range(plan.edges.shape[0]):
        first, last = plan.edges[block, 0], plan.edges[block, 1]
        span = Span(first, last, plan.units, plan.order_key, plan.sample_key, 0.0, 0.0)
        tokens = 0
        for position in range(first, last):
            tokens += unit_tokens(unit_at(span, position), corpus)
        most_units, most_tokens = max(most_units, last - first), max(most_tokens, tokens)
    return most_units, most_tokens


@inner
def read_units(round_, corpus, span, window, begin, end):
    """Read the units [begin, end) of a round, by number and length already known."""
    start = 0
    for i in range(begin):
        start += round_.tokens[i] + 2 * window
    for i in range(begin, end):
        unit = round_.units[i]
        stop = start + round_.tokens[i] + 2 * window
        unit[DOCUMENT], unit[COUNT], unit[FIRST], unit[LAST], _ = read_unit(
            unit[NUMBER], corpus, span.sample_key, window, round_.kept[start:stop]
        )
        unit[START], unit[SHARD] = start, -1
        start = stop


@inner
def deal_big(round_, units, mean):
    """Give each unit with more than a share of a shard's words to the shard with the fewest, the biggest first."""
    big = 0
    for i in range(units):
        words = round_.units[i, COUNT]
        if words * BIG <= mean:
            continue
        place = big
        while place > 0 and round_.units[round_.order[place - 1], COUNT] < words:
            round_.order[place] = round_.order[place - 1]
            place -= 1
        round_.order[place] = i
        big += 1
    for i in round_.order[:big]:
        shard = np.argmin(round_.loads)
        round_.units[i, SHARD] = shard
        round_.loads[shard] += round_.units[i, COUNT]


@inner
def deal(round_, documents, corpus, units, with_documents):
    """Deal the units of a round to shards of about as many words; one thread does."""
    round_.loads[:] = 0
    words = 0
    for i in range(units):
        words += round_.units[i, COUNT]
    deal_big(round_, units, words / SHARDS)
    # The others in their order, shard by shard.
    left = words
    shard = 0
    for i in range(units):
        unit = round_.units[i]
        if unit[SHARD] < 0:
            while shard < SHARDS - 1 and round_.loads[shard] * (SHARDS - shard) >= left:
                left -= round_.loads[shard]
                shard += 1
            unit[SHARD] = shard
            round_.loads[shard] += unit[COUNT]
    round_.edges[:] = 0
    for i in range(units):
        round_.edges[round_.units[i, SHARD] + 1] += 1
    for shard in range(SHARDS):
        round_.edges[shard + 1] += round_.edges[shard]
        round_.loads[shard] = round_.edges[shard]
    documents.used[0] = 0
    for i in range(units):
        unit = round_.units[i]
        place = round_.loads[unit[SHARD]]
        round_.order[place] = i
        round_.loads[unit[SHARD]] = place + 1
        unit[COPY] = -1
        document = unit[DOCUMENT]
        if with_documents and corpus.offsets[document + 1] - corpus.offsets[document] > PIECE:
            unit[COPY] = documents.used[0]
            documents.documents[unit[COPY]] = document
            documents.used[0] += 1


@inner
def mark_words(round_, worker, workers, turn):
    """Mark the words of some shards, in three turns: as one's own, as those of several, and at the end as nobody's."""
    words = round_.marks.size
    for shard in range(worker, SHARDS, workers):
        for i in round_.order[round_.edges[shard] : round_.edges[shard + 1]]:
            start = round_.units[i, START]
            for word in round_.kept[start : start + round_.units[i, COUNT]]:
                if is_common(word, words):
                    continue
                if turn == 0:
                    round_.marks[word] = shard + 1
                elif turn == 2:
                    round_.marks[word] = NOBODY
                elif round_.marks[word] != shard + 1:
                    round_.marks[word] = SEVERAL


@inner
def overlay_of(copies, marks, own, shard, worker):
    """A table as a shard sees it that has touched nothing."""
    room = copies.touched.shape[1]
    copies.used[shard, 0] = 0
    return Overlay(
        copies.table, marks, own, copies.slots[worker], copies.touched[shard], copies.moves[shard],
        copies.rows[shard * room : (shard + 1) * room], copies.used[shard],
    )  # fmt: skip


@inner
def forget_touched(copies, shard, worker):
    """Make a worker's slots ready for another shard; the copies of the last one stay."""
    for row in copies.touched[shard, : copies.used[shard, 0]]:
        copies.slots[worker, row] = -1


@inner
def train_shard(shard, worker, round_, inputs, contexts, documents, corpus, scratch, span, settings, peers):
    """Train the units of a shard."""
    begin_block(scratch, settings)
    vectors = Vectors(
        overlay_of(inputs, round_.marks, NOBODY if peers.last else NO_MARK, shard, worker),
        overlay_of(contexts, round_.marks, shard + 1, shard, worker),
    )
    sums = round_.sums[shard]
    stride = documents.table.shape[1]
    for i in round_.order[round_.edges[shard] : round_.edges[shard + 1]]:
        fields = round_.units[i]
        number, document, start, count = fields[NUMBER], fields[DOCUMENT], fields[START], fields[COUNT]
        first, last, copy = fields[FIRST], fields[LAST], fields[COPY]
        sums[TOKENS] += round_.tokens[i]
        sums[WORDS] += last - first
        row = row_address(documents.table, document)
        if copy >= 0:
            row = row_address(documents.rows, copy)
            store_scaled(documents.table, document, np.float32(1.0), row, stride)
        kept = round_.kept[start : start + count]
        unit = Unit(kept, count, first, last, unit_random(span.sample_key, number), alpha_at(span, span.first + i), row)
        steps = train_unit(unit, corpus, vectors, scratch, sums, peers, settings)
        if copy >= 0:
            documents.moves[copy] = steps
    forget_touched(inputs, shard, worker)
    forget_touched(contexts, shard, worker)


# --- merging ----------------------------------------------------------------------------------------------------------


@inner
def way_gone(steps, rate, known):
    """Share 1 - exp(-rate * steps) of its way that a vector has gone; `known` holds it for few steps."""
    return known[steps] if steps < known.size else -math.expm1(-rate * steps)


@inner
def is_ours(number, part, parts):
    """Whether a row belongs to this one of at most 64 parts."""
    return ((number & 63) * parts) >> 6 == part


@inner
def settle_row(address, sums, own, steps, gone, rate, known):
    """Move a row by what its copies have learned, which is sums[own] in all; see `merge_copies`."""
    one = np.float32(1.0)
    stride = sums.shape[1]
    weight = way_gone(steps, rate, known) / gone if gone > 0 else 1.0
    square = blend_rows(address, one, np.float32(weight), sums, own, stride)
    store_scaled(sums, own, one / np.float32(math.sqrt(square)), address, stride)


@compiled
def merge_copies(copies, part, parts, rate):
    """Bring the copies of S shards back to the table, one of `parts` parts of the rows.

    A row x of which m shards hold copies x_i moves to x + w * sum(x_i - x), and back to the sphere. Where the copies
    took few steps, their sum is what one shard after the other would have done: w = 1. Where they took many, each came
    to rest by itself, and the sum would overshoot. After n_i steps a copy has gone the share 1 - exp(-rate n_i) of the
    way to where it comes to rest, and all of them in turn would have gone 1 - exp(-rate sum(n_i)): w is the latter over
    the sum of the former. Sums run in the order of the shards, so `parts` changes nothing.
    """
    table, touched, moves, rows = copies.table, copies.touched.reshape(-1), copies.moves.reshape(-1), copies.rows
    home, following, sums = copies.home, copies.following, copies.sums
    shards, room = copies.touched.shape
    stride = table.shape[1]
    one = np.float32(1.0)
    known = known_ways(rate)
    # Backwards, so that each chain runs forwards.
    for shard in range(shards - 1, -1, -1):
        for copy in range(shard * room, shard * room + copies.used[shard, 0]):
            row = np.int64(touched[copy])
            if is_ours(row, part, parts):
                following[copy] = home[row]
                home[row] = copy
    for shard in range(shards):
        start, stop = shard * room, shard * room + copies.used[shard, 0]
        for copy in range(start, stop):
            ahead = min(copy + MERGED_AHEAD, stop - 1)
            if is_ours(np.int64(touched[ahead]), part, parts) and home[touched[ahead]] == ahead:
                prefetch(row_address(table, np.int64(touched[ahead])), stride)
                while ahead >= 0:
                    prefetch(row_address(rows, ahead), stride)
                    ahead = np.int64(following[ahead])
            row = np.int64(touched[copy])
            if not is_ours(row, part, parts) or home[row] != copy:
                continue
            home[row] = -1
            address = row_address(table, row)
            if following[copy] < 0:
                store_scaled(rows, copy, one, address, stride)
                continue
            steps, gone = 0, 0.0
            sums[part] = 0
            other = np.int64(copy)
            while other >= 0:
                add_difference(row_address(rows, other), address, sums, part, stride)
                steps += moves[other]
                gone += way_gone(moves[other], rate, known)
                other = np.int64(following[other])
            settle_row(address, sums, part, steps, gone, rate, known)


@inner
def known_ways(rate):
    """`way_gone` for few steps, of which most rows take no more."""
    known = np.empty(256)
    for steps in range(known.size):
        known[steps] = -math.expm1(-rate * steps)
    return known


@compiled
def merge_documents(documents, part, parts, rate):
    """As `merge_copies`, for the units of long documents: few of them, so that others are found by looking."""
    stride = documents.table.shape[1]
    known = known_ways(rate)
    used, sums = documents.used[0], documents.sums
    for copy in range(used):
        document = documents.documents[copy]
        if not is_ours(document, part, parts) or np.any(documents.documents[:copy] == document):
            continue
        steps, gone = 0, 0.0
        sums[part] = 0
        address = row_address(documents.table, document)
        for other in range(copy, used):
            if documents.documents[other] == document:
                add_difference(row_address(documents.rows, other), address, sums, part, stride)
                steps += documents.moves[other]
                gone += way_gone(documents.moves[other], rate, known)
        settle_row(address, sums, part, steps, gone, rate, known)


# --- the loop ---------------------------------------------------------------------------------------------------------


@inner
def end_round(round_, bias_rate):
    """Add up the figures and learn the biases from those of this round; one thread does."""
    biases = np.zeros(round_.totals.size)
    for shard in range(SHARDS):
        for slot in range(biases.size):
            biases[slot] += round_.sums[shard, slot]
            round_.sums[shard, slot] = 0
    for slot in range(biases.size):
        round_.totals[slot] += biases[slot]
    round_.biases[0] -= bias_rate * biases[WORD_COSINE] / max(biases[WORD_NEGATIVES], 1.0)
    round_.biases[1] -= bias_rate * biases[DOCUMENT_COSINE] / max(biases[DOCUMENT_NEGATIVES], 1.0)


@compiled
def train_rounds(worker, workers, round_, inputs, contexts, documents, corpus, scratch, plan, settings, rate):
    """Train rounds, as one of several threads that all call this, until they are done or STOP is set."""
    cells = round_.cells
    for block in range(plan.edges.shape[0]):
        first, last = plan.edges[block, 0], plan.edges[block, 1]
        alpha_first, alpha_last = plan.alphas[block, 0], plan.alphas[block, 1]
        span = Span(first, last, plan.units, plan.order_key, plan.sample_key, alpha_first, alpha_last)
        units = last - first
        begin, end = units * worker // workers, units * (worker + 1) // workers
        for i in range(begin, end):
            number = unit_at(span, first + i)
            round_.units[i, NUMBER] = number
            round_.tokens[i] = unit_tokens(number, corpus)
        meet_and_part(cells, workers)
        read_units(round_, corpus, span, settings.window, begin, end)
        if meet(cells, workers):
            deal(round_, documents, corpus, units, settings.documents)
            set_to(cells, NEXT, 0)
            part(cells)
        mark_words(round_, worker, workers, 0)
        meet_and_part(cells, workers)
        mark_words(round_, worker, workers, 1)
        meet_and_part(cells, workers)
        now = Settings(
            settings.window, settings.batch, settings.negative, settings.documents, settings.objective, settings.rule,
            settings.geodesic, settings.concentration, round_.biases[0], round_.biases[1], settings.margin,
        )  # fmt: skip
        turn = np.int64(mix(span.sample_key + np.uint64(first)) >> np.uint64(32))
        last_word = round_.marks.size & -PEERS if plan.peers else 0
        shard = add_to(cells, NEXT, 1)
        while shard < SHARDS:
            peers = Peers(COMMON, last_word, (shard + turn) % SHARDS)
            train_shard(shard, worker, round_, inputs, contexts, documents, corpus, scratch, span, now, peers)
            shard = add_to(cells, NEXT, 1)
        meet_and_part(cells, workers)
        merge_copies(inputs, worker, workers, rate * alpha_first)
        merge_copies(contexts, worker, workers, rate * alpha_first)
        merge_documents(documents, worker, workers, rate * alpha_first)
        mark_words(round_, worker, workers, 2)
        if meet(cells, workers):
            end_round(round_, plan.bias_rate)
            set_to(cells, DONE, block + 1)
            set_to(cells, ENDED, look_at(cells, STOP))
            part(cells)
        if look_at(cells, ENDED):
            break
