"""The compiled loops of training, without the interpreter: freely, or in rounds with the same bits for any threads.

Free threads take block after block and write to the same rows without locks. In rounds no row is written by two
threads: the units of a round are dealt to `SHARDS` shards of about equal size, whichever threads there are, and a shard
trains in place what it has for itself, and copies of the rest. What the copies have learned is added up in whole
numbers, whose sum does not depend on the order of the shards, and brought to the table when all are done. What a shard
has for itself:

    document vectors        all but those of documents so long that several shards may have a piece of them
    vectors of words        that occur in no other shard of the round
    of negatives besides    one of each group of `PEERS` words, if it occurs nowhere in the round

So negatives, by far the most of the rows that a shard touches, need few copies. Which shard draws which of the words of
a group changes from round to round. In one epoch a document meets few of the rare words, which shows in its vector
until it is refitted; without a refit, and where single triples are trained, of which few move anything, all shards draw
all words, and copy those that they move.
"""

from __future__ import annotations

import math
import sys
from typing import NamedTuple

import numpy as np
from numba import types
from numpy.typing import NDArray

from spherevec.engine.base import LEARNED_TOKENS, PIECE
from spherevec.engine.cpu.kernels import (
    DOCUMENT_COSINE,
    DOCUMENT_NEGATIVES,
    PEERS,
    TOKENS,
    WORD_COSINE,
    WORD_NEGATIVES,
    WORDS,
    Peers,
    Span,
    Unit,
    Vectors,
    alpha_at,
    compiled,
    inner,
    mix,
    read_unit,
    set_concentration,
    train_unit,
    unit_at,
    unit_random,
)
from spherevec.engine.cpu.overlay_ops import IN_PLACE, SHARED, Overlay
from spherevec.engine.cpu.vector_ops import (
    add_whole,
    blend_rows,
    operation,
    prefetch,
    row_address,
    store_scaled,
    take_whole,
)

SHARDS = PEERS  # of a round: how many threads can work on it, and part of what the bits depend on
COMMON = 256  # the most frequent words: every shard draws them many times, so that each has copies of them
ADDED_AHEAD = 4  # rows from asking for one to needing it, when the copies of a shard are added up
SHARE = 2.0**-32  # of the way that a copy goes in its first step
LEAST_RATE = 1e-30  # where nothing moves any more
DIVERGED = -(2**57)  # shares of a copy that is not finite: no whole number says so
# Marks of a word that no shard has in its text, and of one that several shards may touch; one that a shard has for
# itself has its number plus 1.
NOBODY, SEVERAL = 0, 255

OWN_STEPS = 16  # of a free thread's copy of a frequent row, between two visits to the table

# Counters of a run: who has come to a meeting, how many meetings there were, the next block or shard, whether to stop,
# the blocks that are done, and whether there are no more. Each has cache lines of its own.
CELL = 16
ARRIVED, TURN, NEXT, STOP, DONE, ENDED, CELLS = range(0, 7 * CELL, CELL)
SPINS = 2000  # looks at a counter before the processor is offered to others

NUMBER, DOCUMENT, START, COUNT, FIRST, LAST, RAW, FIELDS = range(8)  # of a unit; RAW: tokens before subsampling


class Copies(NamedTuple):
    """What W workers have of a table of R rows, of which several shards of a round may touch up to M: the shared ones.

    Each worker has up to C copies for the shard that it trains. What the copies of all shards learned is added up.
    """

    table: NDArray[np.float32]  # (R, stride)
    slots: NDArray[np.int32]  # (W, R), without copies between two shards; see `Overlay`
    touched: NDArray[np.int32]  # (W, C)
    moves: NDArray[np.int32]  # (W, C + 1)
    rows: NDArray[np.float32]  # (W, C, stride)
    used: NDArray[np.int64]  # (SHARDS, CELL) how many copies each shard made
    numbers: NDArray[np.int32]  # (R,) of each shared row; of documents, -1 for the others
    shared: NDArray[np.int32]  # (M + 1,) the shared rows by their numbers, and how many there are
    locks: NDArray[np.int64]  # (M,) 1 while a worker adds to what follows
    learned: NDArray[np.int32]  # (M, stride) in `unit`s, zero between two rounds; as the next two
    steps: NDArray[np.int64]  # (M,) that all copies of a row took
    gone: NDArray[np.int64]  # (M,) the sum of `way_gone` of the copies, in `SHARE`s
    unit: np.float32
    sums: NDArray[np.float32]  # (W, stride)


class Round(NamedTuple):
    """A round of U units with at most W words, as all threads see it."""

    kept: NDArray[np.int32]  # (W,) words of the units
    units: NDArray[np.int64]  # (U, FIELDS)
    edges: NDArray[np.int64]  # (S + 1,) where the units of each shard begin
    marks: NDArray[np.uint8]  # (V,) which shard has a word for itself
    places: NDArray[np.uint8]  # (V,) for each group, which of its words each shard draws
    input_marks: NDArray[np.uint8]  # (V,) `marks`, or SEVERAL throughout where all shards draw all words
    cells: NDArray[np.int64]  # (CELLS,)
    sums: NDArray[np.float64]  # (S, slots)
    totals: NDArray[np.float64]  # (2, slots) of all rounds so far, and of the last one
    biases: NDArray[np.float64]  # (2,) of words and documents
    known: NDArray[np.float64]  # (workers, few) `way_gone` for few steps, of which most rows take no more


class Plan(NamedTuple):
    """The B blocks to train: units [first, last) in the epoch's order, and the learning rate at both ends."""

    edges: NDArray[np.int64]  # (B, 2)
    alphas: NDArray[np.float64]  # (B, 2)
    units: int  # of the epoch
    order_key: np.uint64
    sample_key: np.uint64
    bias_rate: float  # how fast biases are learned; 0: not at all
    peers: bool  # each shard draws its own words of every group as negatives; otherwise all draw all words


# --- threads that wait for one another --------------------------------------------------------------------------------

_give_way = types.ExternalFunction("SwitchToThread" if sys.platform == "win32" else "sched_yield", types.int32())


@operation(types.int64)
def add_to(code, cells, cell, number):
    """Add to a counter; returns what it was before."""
    return code.builder.atomic_rmw("add", code.at(cells, cell), number, "seq_cst")


@operation(types.int64)
def swap(code, cells, cell, number):
    """Put a number into a counter; returns what it was before."""
    return code.builder.atomic_rmw("xchg", code.at(cells, cell), number, "seq_cst")


@operation(types.int64)
def look_at(code, cells, cell):
    return code.builder.load_atomic(code.at(cells, cell), "seq_cst", 8)


@operation()
def set_to(code, cells, cell, number):
    code.builder.store_atomic(number, code.at(cells, cell), "seq_cst", 8)


@inner
def meet(cells, workers):
    """Wait until all workers have come here. The last to come returns True at once: the others wait until it parts.

    What a worker wrote before, all see afterwards.
    """
    turn = look_at(cells, TURN)
    if add_to(cells, ARRIVED, 1) == workers - 1:
        return True
    looks = 0
    while look_at(cells, TURN) == turn:
        looks += 1
        if looks > SPINS:
            _give_way()
    return False


@inner
def part(cells):
    """Let those go on who wait in `meet`."""
    set_to(cells, ARRIVED, 0)
    add_to(cells, TURN, 1)


@inner
def meet_and_part(cells, workers):
    if meet(cells, workers):
        part(cells)


# --- a round ----------------------------------------------------------------------------------------------------------


@inner
def span_of(plan, block):
    return Span(
        plan.edges[block, 0], plan.edges[block, 1], plan.units, plan.order_key, plan.sample_key,
        plan.alphas[block, 0], plan.alphas[block, 1],
    )  # fmt: skip


@inner
def unit_tokens(unit, offsets, pieces):
    """Raw tokens of a unit."""
    further = unit - (offsets.size - 1)
    tokens = offsets[unit + 1] - offsets[unit] if further < 0 else offsets[pieces[further, 0] + 1] - pieces[further, 1]
    return min(tokens, PIECE)


@compiled
def largest_round(corpus, plan):
    """Units and tokens of the largest rounds."""
    most_units, most_tokens = 0, 0
    for block in range(plan.edges.shape[0]):
        span = span_of(plan, block)
        tokens = 0
        for position in range(span.first, span.last):
            tokens += unit_tokens(unit_at(span, position), corpus.offsets, corpus.pieces)
        most_units, most_tokens = max(most_units, span.last - span.first), max(most_tokens, tokens)
    return most_units, most_tokens


@inner
def read_units(units, kept, corpus, span, window, worker, workers):
    """Read one worker's part of the units of a round; all others have their places before and after it."""
    count = span.last - span.first
    begin, end = count * worker // workers, count * (worker + 1) // workers
    start = 0
    for i in range(end):
        number = unit_at(span, span.first + i)
        stop = start + unit_tokens(number, corpus.offsets, corpus.pieces) + 2 * window
        if i >= begin:
            units[i, NUMBER], units[i, START] = number, start
            units[i, DOCUMENT], units[i, COUNT], units[i, FIRST], units[i, LAST], units[i, RAW] = read_unit(
                number, corpus, span.sample_key, window, kept[start:stop]
            )
        start = stop


@inner
def deal(units, count, edges, offsets, documents):
    """Deal the units of a round, in their order, to shards of about as many words; one thread does.

    Args:
        documents: the copies of their vectors, of which long documents have one for each unit.
    """
    words = 0
    for i in range(count):
        words += units[i, COUNT]
    before, shard, shared = 0, 0, 0
    for i in range(count):
        own = units[i, COUNT]
        # A unit goes where its middle falls.
        while shard < SHARDS and (2 * before + own) * SHARDS >= 2 * words * shard:
            edges[shard] = i
            shard += 1
        before += own
        document = units[i, DOCUMENT]
        is_long = documents.numbers.size and offsets[document + 1] - offsets[document] > PIECE
        if is_long and documents.numbers[document] < 0:
            documents.numbers[document] = shared
            documents.shared[shared] = document
            shared += 1
    documents.shared[-1] = shared
    while shard <= SHARDS:
        edges[shard] = count
        shard += 1


@inner
def number_shared(copies, marks):
    """Number the rows that several shards may touch; one thread does."""
    shared = 0
    for row in range(marks.size):
        if marks[row] == SEVERAL:
            copies.numbers[row] = shared
            copies.shared[shared] = row
            shared += 1
    copies.shared[-1] = shared


@inner
def mark_words(marks, places, kept, units, edges, turn):
    """Tell words that one shard has for itself from those of several, and who draws which; one thread does.

    Of each group a shard draws one word: one that it has for itself if there is any, so that no other shard draws it.
    """
    for word in range(COMMON, marks.size & -PEERS):
        marks[word], places[word] = NOBODY, (word + turn) & (PEERS - 1)
    for claiming in range(2):
        for shard in range(SHARDS):
            own = shard + 1
            for i in range(edges[shard], edges[shard + 1]):
                start = units[i, START]
                for at in range(start, start + units[i, COUNT]):
                    word = np.int64(kept[at])
                    if claiming:
                        if marks[word] == own:
                            claim_word(marks, places, word, shard)
                    elif marks[word] != own:
                        marks[word] = own if marks[word] == NOBODY else SEVERAL


@inner
def claim_word(marks, places, word, shard):
    """Let a shard draw a word of its own; if it draws another one of its words, this one is shared."""
    group = word & -PEERS
    drawn = places[group + shard]
    if group + drawn == word:
        return
    if marks[group + drawn] == shard + 1:
        marks[word] = SEVERAL
        return
    other = group
    while group + places[other] != word:
        other += 1
    places[other], places[group + shard] = drawn, word - group


@inner
def empty_slots(slots, worker, marks):
    """Make a worker's slots ready for a round."""
    for row in range(marks.size):
        slots[worker, row] = SHARED if marks[row] == SEVERAL else IN_PLACE


@inner
def train_shard(shard, worker, round_, vectors, documents, corpus, scratch, span, settings, peers, known, rate):
    """Train the units of a shard."""
    word_bias, document_bias = np.float32(round_.biases[0]), np.float32(round_.biases[1])
    set_concentration(scratch, np.float32(settings.concentration), word_bias)
    units, sums = round_.units, round_.sums[shard]
    table, copies = documents.table, documents.rows[worker]
    for i in range(round_.edges[shard], round_.edges[shard + 1]):
        number, document, start, count = units[i, NUMBER], units[i, DOCUMENT], units[i, START], units[i, COUNT]
        first, last = units[i, FIRST], units[i, LAST]
        sums[TOKENS] += units[i, RAW]
        sums[WORDS] += last - first
        long = documents.numbers.size and documents.numbers[document] >= 0
        row = row_address(table, document)
        if long:
            row = row_address(copies, 0)
            store_scaled(table, document, np.float32(1.0), row, table.shape[1])
        kept = round_.kept[start : start + count]
        random, alpha = unit_random(span.sample_key, number), alpha_at(span, span.first + i)
        unit = Unit(kept, count, first, last, random, alpha, row, word_bias, document_bias)
        steps = train_unit(unit, corpus, vectors, scratch, sums, peers, settings)
        if long:
            add_learned(documents, document, row, steps, known, rate)


# --- merging ----------------------------------------------------------------------------------------------------------


@inner
def way_gone(steps, rate, known):
    """Share 1 - exp(-rate * steps) of its way that a vector has gone; `known` holds it for few steps."""
    return known[steps] if steps < known.size else -math.expm1(-rate * steps)


@inner
def add_learned(copies, row, copy, steps, known, rate):
    """Add what a copy of a row has learned in some steps to what others have."""
    number, stride = np.int64(copies.numbers[row]), copies.table.shape[1]
    looks = 0
    while swap(copies.locks, number, 1):
        looks += 1
        if looks > SPINS:
            _give_way()
    square = add_whole(copy, row_address(copies.table, row), copies.learned, number, copies.unit, stride)
    is_finite = square < np.float32(np.inf)
    copies.steps[number] += steps
    copies.gone[number] += np.int64(way_gone(steps, rate, known) / (rate * SHARE)) if is_finite else DIVERGED
    set_to(copies.locks, number, 0)


@inner
def add_copies(copies, shard, worker, known, rate):
    """Add what the copies of a shard have learned to what others have, and forget the copies."""
    touched, moves, rows, table = copies.touched[worker], copies.moves[worker], copies.rows[worker], copies.table
    used, stride = copies.used[shard, 0], table.shape[1]
    for copy in range(used):
        ahead = np.int64(touched[min(copy + ADDED_AHEAD, used - 1)])
        prefetch(row_address(table, ahead), stride)
        prefetch(row_address(copies.learned, np.int64(copies.numbers[ahead])), stride)
        row = np.int64(touched[copy])
        copies.slots[worker, row] = SHARED
        if moves[copy]:
            add_learned(copies, row, row_address(rows, copy), moves[copy], known, rate)


@inner
def merge_copies(copies, worker, workers, known, rate):
    """Bring what all copies have learned to the table: one worker's part of the shared rows.

    A row x of which shards had copies x_i moves to x + w * sum(x_i - x), and back to the sphere. Where the copies
    took few steps, their sum is what one shard after the other would have done: w = 1. Where they took many, each came
    to rest by itself, and the sum would overshoot. After n_i steps a copy has gone the share 1 - exp(-rate n_i) of the
    way to where it comes to rest, and all of them in turn would have gone 1 - exp(-rate sum(n_i)): w is the latter over
    the sum of the former.
    """
    steps, gone, sums, stride = copies.steps, copies.gone, copies.sums, copies.table.shape[1]
    shared = np.int64(copies.shared[-1])
    for number in range(shared * worker // workers, shared * (worker + 1) // workers):
        if steps[number]:
            address = row_address(copies.table, np.int64(copies.shared[number]))
            weight = way_gone(steps[number], rate, known) / (gone[number] * (rate * SHARE))
            weight = np.float32(weight) * copies.unit if gone[number] >= 0 else np.float32(np.nan)
            square = take_whole(address, weight, copies.learned, number, sums, worker, stride)
            store_scaled(sums, worker, np.float32(1.0) / np.float32(math.sqrt(square)), address, stride)
            steps[number] = gone[number] = 0


# --- the loops --------------------------------------------------------------------------------------------------------


@inner
def learn_biases(biases, rate, word_cosine, word_negatives, document_cosine, document_negatives):
    """Move the biases towards orthogonal negative pairs, from the sums of their cosines."""
    biases[0] -= rate * word_cosine / max(word_negatives, 1.0)
    biases[1] -= rate * document_cosine / max(document_negatives, 1.0)


@inner
def end_round(sums, totals, biases, bias_rate):
    """Add up the figures and learn the biases from those of this round; one thread does."""
    for slot in range(totals.shape[1]):
        last = 0.0
        for shard in range(SHARDS):
            last += sums[shard, slot]
            sums[shard, slot] = 0
        totals[0, slot] += last
        totals[1, slot] = last
    learn_biases(
        biases, bias_rate,
        totals[1, WORD_COSINE], totals[1, WORD_NEGATIVES], totals[1, DOCUMENT_COSINE], totals[1, DOCUMENT_NEGATIVES],
    )  # fmt: skip


@inner
def overlay(copies, shard, worker):
    """A table as a shard sees it, which has no copies yet."""
    copies.used[shard, 0] = 0
    return Overlay(
        copies.table, copies.rows[worker], copies.moves[worker], copies.slots[worker], copies.touched[worker],
        copies.used[shard], copies.touched.shape[1],
    )  # fmt: skip


@compiled
def train_rounds(worker, workers, round_, inputs, contexts, documents, corpus, scratch, plan, settings, rate):
    """Train blocks as rounds, as one of several threads that all call this, until they are done or STOP is set.

    A thread that failed would leave the others waiting: nothing in here raises, or allocates memory (see `_OPTIONS`).
    """
    cells, units, kept, edges, marks = round_.cells, round_.units, round_.kept, round_.edges, round_.marks
    for block in range(plan.edges.shape[0]):
        span = span_of(plan, block)
        read_units(units, kept, corpus, span, settings.window, worker, workers)
        if meet(cells, workers):
            count = span.last - span.first
            deal(units, count, edges, corpus.offsets, documents)
            turn = np.int64(mix(span.sample_key + np.uint64(span.first)) >> np.uint64(32))
            mark_words(marks, round_.places, kept, units, edges, turn)
            number_shared(inputs, round_.input_marks)
            number_shared(contexts, marks)
            set_to(cells, NEXT, 0)
            part(cells)
        empty_slots(inputs.slots, worker, round_.input_marks)
        empty_slots(contexts.slots, worker, marks)
        last_word = marks.size & -PEERS if plan.peers else 0
        settling, known = max(rate * span.alpha_first, LEAST_RATE), round_.known[worker]
        for steps in range(known.size):
            known[steps] = -math.expm1(-settling * steps)
        shard = add_to(cells, NEXT, 1)
        while shard < SHARDS:
            train_shard(
                shard, worker, round_, Vectors(overlay(inputs, shard, worker), overlay(contexts, shard, worker)),
                documents, corpus, scratch, span, settings, Peers(COMMON, last_word, shard, round_.places), known,
                settling,
            )  # fmt: skip
            add_copies(inputs, shard, worker, known, settling)
            add_copies(contexts, shard, worker, known, settling)
            shard = add_to(cells, NEXT, 1)
        meet_and_part(cells, workers)
        merge_copies(inputs, worker, workers, known, settling)
        merge_copies(contexts, worker, workers, known, settling)
        merge_copies(documents, worker, workers, known, settling)
        if meet(cells, workers):
            end_round(round_.sums, round_.totals, round_.biases, plan.bias_rate)
            for number in range(documents.shared[-1]):
                documents.numbers[documents.shared[number]] = -1
            set_to(cells, DONE, block + 1)
            set_to(cells, ENDED, look_at(cells, STOP))
            part(cells)
        if look_at(cells, ENDED):
            break


@inner
def bring_together(rows, least, share):
    """Bring what a free thread has learned of rows that took `least` steps or more to the table.

    Its copies see there what the others did: table, copies, start = the direction of table + share * (copies - start).
    """
    one, stride = np.float32(1.0), rows.table.shape[1]
    for row in range(rows.size):
        if rows.moves[row] >= least:
            rows.moves[row] = 0
            table, copy = row_address(rows.table, row), row_address(rows.copies, row)
            blend_rows(copy, share, -share, rows.start, row, stride)
            square = blend_rows(table, one, one, rows.start, row, stride)
            scale = one / np.float32(math.sqrt(square))
            store_scaled(rows.start, row, scale, table, stride)
            store_scaled(rows.start, row, scale, copy, stride)
            store_scaled(rows.start, row, scale, row_address(rows.start, row), stride)


@inner
def share_of_copy(rate, threads):
    """Share of what a thread's copy has learned in `OWN_STEPS` steps that it brings to the table.

    Several copies that learn the same at a time would take a row too far. After n steps a copy has gone the share
    1 - exp(-rate n) of the way to where it comes to rest, and T copies in turn would have gone 1 - exp(-rate T n).
    So each brings the latter over T times the former to the table.
    """
    rate = max(rate, 1e-9) * OWN_STEPS
    return np.float32(math.expm1(-rate * threads) / (threads * math.expm1(-rate)))


@compiled
def train_freely(threads, cells, biases, places, sums, vectors, documents, corpus, scratch, plan, settings, rate):
    """Train blocks without locks, as one of several threads, until there are no more or STOP is set."""
    share = np.float32(0.0)
    bring_together(vectors.inputs, 0, share)
    every_word = Peers(0, 0, 0, places)
    block = add_to(cells, NEXT, 1)
    while block < plan.edges.shape[0]:
        span = span_of(plan, block)
        share = share_of_copy(rate * span.alpha_first, threads)
        tokens_before, word_cosine, word_negatives = sums[TOKENS], sums[WORD_COSINE], sums[WORD_NEGATIVES]
        document_cosine, document_negatives = sums[DOCUMENT_COSINE], sums[DOCUMENT_NEGATIVES]
        for position in range(span.first, span.last):
            # The biases are what all threads have learned so far.
            word_bias, document_bias = np.float32(biases[0]), np.float32(biases[1])
            set_concentration(scratch, np.float32(settings.concentration), word_bias)
            number = unit_at(span, position)
            document, count, first, last, tokens = read_unit(
                number, corpus, span.sample_key, settings.window, scratch.kept
            )
            sums[TOKENS] += tokens
            sums[WORDS] += last - first
            random, alpha = unit_random(span.sample_key, number), alpha_at(span, position)
            row = row_address(documents, document)
            unit = Unit(scratch.kept, count, first, last, random, alpha, row, word_bias, document_bias)
            train_unit(unit, corpus, vectors, scratch, sums, every_word, settings)
            bring_together(vectors.inputs, OWN_STEPS, share)
        learn_biases(
            biases, plan.bias_rate * (sums[TOKENS] - tokens_before) / LEARNED_TOKENS,
            sums[WORD_COSINE] - word_cosine, sums[WORD_NEGATIVES] - word_negatives,
            sums[DOCUMENT_COSINE] - document_cosine, sums[DOCUMENT_NEGATIVES] - document_negatives,
        )  # fmt: skip
        add_to(cells, DONE, 1)
        block = plan.edges.shape[0] if look_at(cells, STOP) else add_to(cells, NEXT, 1)
    bring_together(vectors.inputs, 1, share)
