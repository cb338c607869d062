"""The compiled training kernels, all in one file: Numba's cache does not notice edits in another one.

Each kernel trains a run of *units* on one thread, without the interpreter's lock. A unit is a document, or one piece
of a document longer than `PIECE` tokens. Everything random about a unit (which words are kept, window sizes, negative
samples) is a hash of the seed, the epoch and the unit, so it does not depend on which thread trains it.

Names used throughout, for a real pair of a word and its neighbour (or its document):
    anchor     the vector that does the predicting: a context vector, or a document vector
    target     a word vector: the real word first, then the negatives
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numba.extending import overload
from numpy.typing import NDArray

from spherevec.compiling import compiler_options, njit
from spherevec.engine.base import LOSS_EVERY, NEGATIVES_AHEAD, PIECE
from spherevec.engine.cpu.overlay_ops import Overlay, OwnRows, count_move, peek_row, prefetch_row, row_of
from spherevec.engine.cpu.vector_ops import (
    ANCHOR_TILE,
    CELLS,
    FASTMATH,
    LANES,
    TARGET_TILE,
    blend_rows,
    combine_anchors,
    combine_row,
    combine_targets,
    inverse_roots,
    keep_anchors,
    keep_targets,
    logistic_weights,
    padded_rows,
    prefetch,
    row_address,
    row_product,
    row_scores,
    store_scaled,
    tile_scores,
    triple_gram,
    triple_step,
)
from spherevec.engine.figures import SLOTS
from spherevec.objectives import NEGATIVE_RULES, OBJECTIVES

# No exceptions and, without Numba's runtime, no allocated memory: threads of a round wait for one another.
_OPTIONS: dict[str, Any] = {"nogil": True, "fastmath": set(FASTMATH), "error_model": "numpy", "_nrt": False}
compiled = njit(cache=True, **_OPTIONS)
inner = njit(inner=True, **_OPTIONS)
# What runs for each batch: where LLVM would call it, each call passes a hundred fields of the scratch on the stack.
inlined = njit(inner=True, forceinline=True, **_OPTIONS)


# Objectives and rules, as the kernels see them.
VMF = OBJECTIVES["vmf"].code
RULE_COSINE_DISTANCE, RULE_COSINE = NEGATIVE_RULES["1+h"], NEGATIVE_RULES["h"]

PEERS = 16  # words of a group, of which a shard draws one; as many as a round has shards

# Slots of the sums that a kernel counts.
TOKENS, WORDS, PAIRS = SLOTS["tokens"], SLOTS["words"], SLOTS["pairs"]
LOSS, VIOLATED, COMPARED = SLOTS["loss"], SLOTS["violated"], SLOTS["compared"]
WORD_COSINE, WORD_NEGATIVES = SLOTS["word_cosine"], SLOTS["word_negatives"]
DOCUMENT_COSINE, DOCUMENT_NEGATIVES = SLOTS["document_cosine"], SLOTS["document_negatives"]

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)


# --- randomness -------------------------------------------------------------------------------------------------------


@inner
def mix(x):
    """Scramble 64 bits (the finaliser of splitmix64)."""
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


@inner
def visited_unit(position, count, key):
    """The unit at `position` of a random order of `count` units: a keyed permutation that needs no memory.

    Four Feistel rounds permute the smallest even number of bits that can hold `count`; results beyond it are permuted
    again until one falls inside.
    """
    half = np.uint64(1)
    while (np.uint64(1) << (half + half)) < np.uint64(count):
        half += np.uint64(1)
    mask = (np.uint64(1) << half) - np.uint64(1)
    value = np.uint64(position)
    while True:
        left, right = value >> half, value & mask
        for turn in range(4):
            scrambled = mix(right + key + np.uint64(turn) * _GOLDEN) & mask
            left, right = right, left ^ scrambled
        value = (left << half) | right
        if value < np.uint64(count):
            return np.int64(value)


@inner
def sample_negative(random, corpus):
    """One word from the alias table: the upper half of `random` picks the slot, the lower half decides within it."""
    slot = np.int64(((random >> np.uint64(32)) * np.uint64(corpus.alias_word.size)) >> np.uint64(32))
    other = np.int64(corpus.alias_word[slot])  # read in any case: a branch that cannot be foreseen takes longer
    return slot if (random & np.uint64(0xFFFFFFFF)) < np.uint64(corpus.alias_probability[slot]) else other


@inner
def draw_negative(random, corpus, peers):
    """As `sample_negative`, of the words that a shard may draw.

    Words are in the order of their counts, so the `PEERS` words of a group are about equally frequent. In a round each
    of them belongs to one shard, which takes it in place of all the others.
    """
    word = sample_negative(random, corpus)
    has_peers = (peers.first <= word) & (word < peers.last)
    group = word & -PEERS if has_peers else 0
    place = np.int64(peers.places[group + peers.shard])
    return group + place if has_peers else word


@inner
def sample_window(random, window, batch, extra):
    """How many words before and after a word are its context, 1..window each.

    The first is uniform. The second is uniform among those that fill the last batch (with `extra` anchors besides the
    words), if there are any; over all, each of its values comes up about as often as the others.
    """
    before = 1 + np.int64((random >> np.uint64(32)) % np.uint64(window))
    smallest = 1 + (-before - extra - 1) % batch
    if smallest > window:
        smallest, batch = 1, 1
    choices = (window - smallest) // batch + 1
    return before, smallest + batch * np.int64((random & np.uint64(0xFFFFFFFF)) % np.uint64(choices))


@inner
def is_kept(word, place, key, keep_probability):
    """Whether the token at `place` of the corpus survives the subsampling of frequent words this epoch."""
    return (mix(key + np.uint64(place) * _GOLDEN) >> np.uint64(32)) <= np.uint64(keep_probability[word])


# --- the corpus -------------------------------------------------------------------------------------------------------


@inner
def unit_at(span, position):
    """The unit at a position of the epoch's order."""
    return visited_unit(position, span.units, span.order_key) if span.order_key else position


@inner
def alpha_at(span, position):
    """The learning rate at a position: it falls linearly over the span."""
    progress = (position - span.first) / (span.last - span.first)
    return np.float32(span.alpha_first + (span.alpha_last - span.alpha_first) * progress)


@inner
def read_unit(unit, corpus, key, window, kept):
    """Copy the surviving words of a unit, and up to `window` of its neighbours on each side, into `kept`.

    Returns (document, words in `kept`, first and last word that belong to the unit itself, raw tokens).
    """
    ids, offsets, pieces, keep_probability = corpus.ids, corpus.offsets, corpus.pieces, corpus.keep_probability
    documents = offsets.size - 1
    if unit < documents:
        document, start = unit, offsets[unit]
    else:
        document, start = pieces[unit - documents, 0], pieces[unit - documents, 1]
    opening, closing = offsets[document], offsets[document + 1]
    stop = min(start + PIECE, closing)

    left, before = start, 0
    while left > opening and before < window and start - left < PIECE:
        left -= 1
        before += is_kept(ids[left], left, key, keep_probability)
    count = 0
    first = 0
    last = 0
    place = left
    while place < closing:
        if place == start:
            first = count
        if place >= stop and (count - last >= window or place - stop >= PIECE):
            break
        if is_kept(ids[place], place, key, keep_probability):
            kept[count] = ids[place]
            count += 1
        place += 1
        if place <= stop:
            last = count
    return document, count, first, last, stop - start


# --- one batch: several anchors against the real word and the negatives ----------------------------------------------


@inner
def push_of(rule, h):
    """How far a negative at cosine `h` is pushed."""
    if rule == RULE_COSINE_DISTANCE:
        return np.float32(1.0) + h
    if rule == RULE_COSINE:
        return h
    return np.float32(2.0) * h


@inner
def along_geodesic(address, new, block_row, square, stride):
    """Turn new[block_row] = x + z, for a tangent step z at x, into exp_x(z); returns its squared norm.

    `square` is |x + z|² = 1 + |z|².
    """
    angle = np.float32(math.sqrt(max(square - np.float32(1.0), np.float32(0.0))))
    if angle < np.float32(1e-3):  # both maps agree to the last bit
        return square
    along = np.float32(math.sin(angle)) / angle
    return blend_rows(address, np.float32(math.cos(angle)) - along, along, new, block_row, stride)


class Corpus(NamedTuple):
    """What is trained on: V words, N documents, M pieces of long documents beyond their first."""

    ids: NDArray[np.int32]  # (tokens,)
    offsets: NDArray[np.int64]  # (N + 1,)
    pieces: NDArray[np.int64]  # (M, 2): document, first token
    keep_probability: NDArray[np.uint32]  # (V,)
    alias_probability: NDArray[np.uint32]  # (V,)
    alias_word: NDArray[np.int32]  # (V,)


class Vectors(NamedTuple):
    """The words' tables, padded rows each, or what a thread or a shard has of its own over them."""

    inputs: OwnRows | Overlay  # (V, stride)
    contexts: NDArray[np.float32] | Overlay  # (V, stride)


class Unit(NamedTuple):
    """What is trained at a time, with the words around it."""

    kept: NDArray[np.int32]  # words that survived subsampling
    length: int  # how many
    first: int  # those that belong to the unit itself: [first, last)
    last: int
    random: np.uint64  # state of its random numbers
    alpha: np.float32
    document: int  # address of the document's row
    word_bias: np.float32  # of the von Mises–Fisher likelihood
    document_bias: np.float32


class Peers(NamedTuple):
    """Which of the words [first, last) a shard may draw as negatives: one of each group."""

    first: int
    last: int
    shard: int
    places: NDArray[np.uint8]  # (V,) for each group, by shard, the place of the word in it


class Span(NamedTuple):
    """A block: units at positions [first, last) of the epoch's order, and the learning rate at both ends."""

    first: int
    last: int
    units: int
    order_key: np.uint64  # 0 = the order of the file
    sample_key: np.uint64
    alpha_first: float
    alpha_last: float


class Settings(NamedTuple):
    """The settings of a run, as the kernels see them."""

    window: int
    batch: int
    negative: int
    documents: int
    objective: int
    rule: int
    geodesic: bool
    concentration: float
    margin: float


class FitSettings(NamedTuple):
    """The settings of a fit of documents to fixed words."""

    epochs: int
    least_steps: int
    objective: int
    geodesic: bool
    alpha: float
    concentration: float
    bias: float
    margin: float


class BatchScratch(NamedTuple):
    """Room for one thread's batches: A anchors, T targets (whole tiles of both), rows of `stride` numbers."""

    kept: NDArray[np.int32]  # (PIECE + 2 window + 2,) words of a unit
    negatives: NDArray[np.int64]  # (negative,) negatives, as rows
    next_negatives: NDArray[np.int64]  # (negative,), NEGATIVES_AHEAD at least
    anchors: NDArray[np.int64]  # (A,) addresses
    targets: NDArray[np.int64]  # (T,)
    new_anchors: NDArray[np.float32]  # (A + 1, stride), the last row stays zero
    new_targets: NDArray[np.float32]  # (T, stride)
    scores: NDArray[np.float32]  # cells of A * T pairs, see `cell_of`; as the next five
    real: NDArray[np.float32]  # 1 where the target is the real word
    kappas: NDArray[np.float32]  # concentration of each pair
    biases: NDArray[np.float32]  # bias of each pair
    pull: NDArray[np.float32]  # weight of target t in the step of anchor a
    push: NDArray[np.float32]  # weight of anchor a in the step of target t
    keep_anchor: NDArray[np.float32]  # (A,)
    keep_target: NDArray[np.float32]  # (T,)
    anchor_scales: NDArray[np.float32]  # (A,) rounded up to whole LANES
    target_scales: NDArray[np.float32]  # (T,) rounded up to whole LANES

    @classmethod
    def make(cls, width: int, window: int, negative: int, batch: int, objective: int) -> BatchScratch:
        fewest = 6 if cls is JointScratch else 1
        anchors = -(-max(batch, fewest) // ANCHOR_TILE) * ANCHOR_TILE
        targets = -(-max(negative + 1, fewest) // TARGET_TILE) * TARGET_TILE
        new_anchors = padded_rows(anchors + 1, width)
        nothing = new_anchors.ctypes.data + anchors * new_anchors.strides[0]
        # Longer than needed where batches are small: no two threads must write to one cache line.
        tiles = anchors // ANCHOR_TILE * (targets // TARGET_TILE)
        flat = [np.zeros(max(tiles * LANES, 256), np.float32) for _ in range(6)]
        scores, real, kappas, biases, pull, push = flat
        real[[cell_of(a, 0, targets) for a in range(anchors)]] = 1
        return cls(
            kept=np.zeros(PIECE + 2 * window + 2, np.int32),
            negatives=np.zeros(negative, np.int64),
            next_negatives=np.zeros(max(negative, NEGATIVES_AHEAD), np.int64),
            anchors=np.full(anchors, nothing, np.int64),
            targets=np.full(targets, nothing, np.int64),
            new_anchors=new_anchors,
            new_targets=padded_rows(targets, width),
            scores=scores,
            real=real,
            kappas=kappas,
            biases=biases,
            pull=pull,
            push=pull if objective == VMF else push,  # one likelihood moves both sides; the hinges' steps differ
            keep_anchor=np.zeros(anchors, np.float32),
            keep_target=np.zeros(targets, np.float32),
            anchor_scales=np.ones(-(-anchors // LANES) * LANES, np.float32),
            target_scales=np.ones(-(-targets // LANES) * LANES, np.float32),
        )


class TripleScratch(BatchScratch):
    """The same room, for single triples: the type says which kernel trains."""


class JointScratch(BatchScratch):
    """The same room, for the joint hinge: six rows at least on both sides."""


def cell_of(anchor, target, width):
    """Where the score of an anchor and one of `width` targets stands, and its weight.

    A tile of both is one vector, of which each anchor has a quarter; the tiles of the same anchors follow one another.
    """
    tile = anchor // ANCHOR_TILE * (width // TARGET_TILE) + target // TARGET_TILE
    return tile * LANES + anchor % ANCHOR_TILE * CELLS + target % TARGET_TILE


cell_at = inner(cell_of)


@inner
def set_concentration(scratch, kappa, bias):
    """Use a concentration and a bias for all pairs of the next batches."""
    for cell in range(cell_at(scratch.anchors.size, 0, scratch.targets.size)):
        scratch.kappas[cell] = kappa
        scratch.biases[cell] = bias


@inner
def set_bias(scratch, anchor, bias):
    """Use a bias for all pairs of one anchor."""
    width = scratch.targets.size
    for t in range(width):
        scratch.biases[cell_at(anchor, t, width)] = bias


@inlined
def weigh_vmf(scratch, word, used, alpha):
    """Steps of the von Mises–Fisher likelihood: alpha * kappa * (real - probability of being real)."""
    width = scratch.targets.size
    cells = cell_at(used, 0, width)
    # Absent rows are zero, so whatever weight they get moves nothing.
    logistic_weights(scratch.scores, scratch.real, scratch.kappas, scratch.biases, scratch.pull, alpha, cells)
    for t in range(1, scratch.negatives.size + 1):
        if scratch.negatives[t - 1] == word:
            for a in range(used):
                scratch.pull[cell_at(a, t, width)] = 0


@inlined
def weigh_hinge(scratch, word, rows, used, alpha, gap, rule):
    """Steps of one hinge for each anchor and negative, scaled to the strength of two negatives."""
    width = scratch.targets.size
    one = np.float32(1.0)
    step = alpha * np.float32(2.0 / scratch.negatives.size)
    for cell in range(cell_at(used, 0, width)):
        scratch.pull[cell] = 0
        scratch.push[cell] = 0
    for a in range(rows):
        real = cell_at(a, 0, width)
        f = scratch.scores[real]
        for t in range(1, scratch.negatives.size + 1):
            drawn = cell_at(a, t, width)
            h = scratch.scores[drawn]
            if scratch.negatives[t - 1] != word and f - h < gap:
                scratch.pull[real] += step * (one - f + h)
                scratch.pull[drawn] -= step * (one - f + h)
                scratch.push[real] += step * (one - f)
                scratch.push[drawn] -= step * push_of(rule, h)


@inner
def softplus(x):
    """log(1 + exp(x)), without overflow."""
    return max(x, 0.0) + math.log1p(math.exp(-abs(x)))


@inlined
def measure_batch(scratch, word, rows, document_row, sums, objective, gap):
    """Add the loss of a batch, how many negatives come too close and their cosines to the sums."""
    width = scratch.targets.size
    for a in range(rows):
        real = cell_at(a, 0, width)
        f, kappa, bias = scratch.scores[real], scratch.kappas[real], scratch.biases[real]
        cosine, count = (WORD_COSINE, WORD_NEGATIVES) if a != document_row else (DOCUMENT_COSINE, DOCUMENT_NEGATIVES)
        if objective == VMF:
            sums[LOSS] += softplus(bias - kappa * f)
        for t in range(1, scratch.negatives.size + 1):
            if scratch.negatives[t - 1] == word:
                continue
            h = scratch.scores[cell_at(a, t, width)]
            sums[VIOLATED] += f - h < gap
            sums[COMPARED] += 1
            sums[cosine] += h
            sums[count] += 1
            if objective == VMF:
                sums[LOSS] += softplus(kappa * h - bias)
            else:
                sums[LOSS] += max(np.float32(0.0), gap - f + h)


@inlined
def move_batch(scratch, word, rows, used, stride, geodesic):
    """Let every vector of the batch take its step and return to the sphere."""
    anchors, targets, scores, pull, push = (
        scratch.anchors, scratch.targets, scratch.scores, scratch.pull, scratch.push,
    )  # fmt: skip
    anchor_tiles, target_tiles = used // ANCHOR_TILE, targets.size // TARGET_TILE
    for tile in range(anchor_tiles):
        first, cells = tile * ANCHOR_TILE, tile * target_tiles
        keep_anchors(scores, pull, cells, 1, target_tiles, scratch.keep_anchor, first)
        combine_anchors(
            anchors, first, scratch.keep_anchor, targets, target_tiles, pull, cells, 1,
            scratch.new_anchors, scratch.anchor_scales, stride,
        )  # fmt: skip
    for tile in range(target_tiles):
        first = tile * TARGET_TILE
        keep_targets(scores, push, tile, target_tiles, anchor_tiles, scratch.keep_target, first)
        combine_targets(
            targets, first, scratch.keep_target, anchors, anchor_tiles, push, tile, target_tiles,
            scratch.new_targets, scratch.target_scales, stride,
        )  # fmt: skip
    negative = scratch.negatives.size
    if geodesic:
        for a in range(rows):
            scratch.anchor_scales[a] = along_geodesic(
                anchors[a], scratch.new_anchors, a, scratch.anchor_scales[a], stride
            )
        for t in range(negative + 1):
            scratch.target_scales[t] = along_geodesic(
                targets[t], scratch.new_targets, t, scratch.target_scales[t], stride
            )
    inverse_roots(scratch.anchor_scales, rows)
    inverse_roots(scratch.target_scales, negative + 1)
    for a in range(rows):
        store_scaled(scratch.new_anchors, a, scratch.anchor_scales[a], anchors[a], stride)
    store_scaled(scratch.new_targets, 0, scratch.target_scales[0], targets[0], stride)
    for t in range(1, negative + 1):
        if scratch.negatives[t - 1] != word:
            store_scaled(scratch.new_targets, t, scratch.target_scales[t], targets[t], stride)


def train_batches(unit, corpus, vectors, scratch, sums, peers, settings):
    """Train a unit, a few anchors at a time; returns how many steps its document has taken.

    A batch compares up to `batch` anchors (the context vectors around a word, and its document's vector) with the
    word and some negatives. All scores are taken before any vector moves; then each vector takes the sum of its steps
    at once. A vector that stands in a batch twice keeps the later of its two steps.
    """
    stride = scratch.new_anchors.shape[1]
    nothing = row_address(scratch.new_anchors, scratch.anchors.size)
    negatives, next_negatives = scratch.negatives, scratch.next_negatives
    anchors, targets = scratch.anchors, scratch.targets
    negative, target_tiles = negatives.size, targets.size // TARGET_TILE
    word_vectors, context_vectors = vectors
    kept, count, first, last, random, alpha, document, word_bias, document_bias = unit
    window, batch, documents, objective = settings.window, settings.batch, settings.documents, settings.objective
    gap = np.float32(settings.margin)
    for k in range(negative):
        random += _GOLDEN
        next_negatives[k] = draw_negative(mix(random), corpus, peers)
        prefetch_row(word_vectors, next_negatives[k], stride)

    for center in range(first, last):
        word = np.int64(kept[center])
        if center + 1 < count:
            prefetch_row(word_vectors, np.int64(kept[center + 1]), stride)
        if center + window + 1 < count:
            prefetch_row(context_vectors, np.int64(kept[center + window + 1]), stride)
        random += _GOLDEN
        before, after = sample_window(mix(random), window, batch, documents)
        low, high = max(0, center - before), min(count, center + after + 1)
        neighbours = high - low - 1
        total = neighbours + documents
        sums[PAIRS] += total
        targets[0] = row_of(word_vectors, word, stride)

        for start in range(0, total, batch):
            rows = min(batch, total - start)
            used = (rows + ANCHOR_TILE - 1) // ANCHOR_TILE * ANCHOR_TILE
            count_move(word_vectors, word)
            for k in range(negative):
                negatives[k] = next_negatives[k]
                targets[k + 1] = row_of(word_vectors, negatives[k], stride)
                if negatives[k] != word:
                    count_move(word_vectors, negatives[k])
                random += _GOLDEN
                next_negatives[k] = draw_negative(mix(random), corpus, peers)
                prefetch_row(word_vectors, next_negatives[k], stride)
            document_row = -1
            for a in range(rows):
                place = low + start + a
                if start + a == neighbours:
                    document_row = a
                    anchors[a] = document
                    set_bias(scratch, a, document_bias)
                else:
                    context = np.int64(kept[place + (place >= center)])
                    anchors[a] = row_of(context_vectors, context, stride)
                    count_move(context_vectors, context)
            for a in range(rows, used):
                anchors[a] = nothing
            for a in range(used // ANCHOR_TILE):
                for t in range(target_tiles):
                    tile = a * target_tiles + t
                    tile_scores(anchors, a * ANCHOR_TILE, targets, t * TARGET_TILE, scratch.scores, tile, stride)
            if objective == VMF:
                weigh_vmf(scratch, word, used, alpha)
            else:
                weigh_hinge(scratch, word, rows, used, alpha, gap, settings.rule)
            if (center - first) % LOSS_EVERY == 0:
                measure_batch(scratch, word, rows, document_row, sums, objective, gap)
            move_batch(scratch, word, rows, used, stride, settings.geodesic)
            if document_row >= 0:
                set_bias(scratch, document_row, word_bias)
    return last - first


# --- one triple at a time, in closed form -----------------------------------------------------------------------------


@inner
def step_weights(weights, at, stay, move, own, cross, other, geodesic):
    """Weights that take x to (stay x + move y) on the sphere, from the products own = x·x, cross = x·y, other = y·y.

    The step is tangent, but for what rounding left of x's norm; measuring that norm each time keeps it from growing.
    """
    if geodesic:
        rest = stay - np.float32(1.0)
        square = rest * rest * own + np.float32(2.0) * rest * move * cross + move * move * other
        angle = np.float32(math.sqrt(max(square, np.float32(0.0))))
        if angle > np.float32(1e-3):
            along = np.float32(math.sin(angle)) / angle
            stay = np.float32(math.cos(angle)) + along * rest
            move = along * move
    square = stay * stay * own + np.float32(2.0) * stay * move * cross + move * move * other
    scale = np.float32(1.0) / np.float32(math.sqrt(square))
    weights[at] = stay * scale
    weights[at + 1] = move * scale


@inner
def move_triple(word, negative_word, anchor, stride, gram, weights, alpha, rule, geodesic):
    """The steps of a violated hinge: word and anchor are pulled together, the negative is pushed away.

    `word`, `negative_word` and `anchor` are addresses of rows.
    """
    triple_gram(word, negative_word, anchor, gram, stride)
    f, h, g = gram[3], gram[4], gram[5]
    one, two = np.float32(1.0), np.float32(2.0)
    near, far, both = alpha * (one - f), alpha * push_of(rule, h), alpha * (one - f + h)
    step_weights(weights, 0, one - near * f, near, gram[0], f, gram[2], geodesic)
    step_weights(weights, 2, one + far * h, -far, gram[1], h, gram[2], geodesic)
    apart = gram[0] + gram[1] - two * g
    step_weights(weights, 4, one - both * (f - h), both, gram[2], f - h, apart, geodesic)
    triple_step(word, negative_word, anchor, weights, stride)


def train_triples(unit, corpus, vectors, scratch, sums, peers, settings):
    """Train a unit with one hinge a pair, one triple at a time, each step seeing the one before it.

    So does the authors' program. A word's context vector is the anchor of the words around it; its document's vector
    is the anchor of the word. Returns how many steps the document has taken.
    """
    stride = scratch.new_anchors.shape[1]
    word_vectors, context_vectors = vectors
    kept, count, first, last, random, alpha, document, _, _ = unit
    window, negative, rule, geodesic = settings.window, settings.negative, settings.rule, settings.geodesic
    documents = settings.documents
    gram, weights, ahead = scratch.scores, scratch.pull, scratch.next_negatives
    gap = np.float32(settings.margin)
    for k in range(NEGATIVES_AHEAD):
        random += _GOLDEN
        ahead[k] = draw_negative(mix(random), corpus, peers)
        prefetch_row(word_vectors, ahead[k], stride)
    turn = 0
    steps = 0
    for center in range(first, last):
        word = np.int64(kept[center])
        if center + window + 1 < count:
            prefetch_row(word_vectors, np.int64(kept[center + window + 1]), stride)
        if center + 1 < count:
            prefetch_row(context_vectors, np.int64(kept[center + 1]), stride)
        random += _GOLDEN
        reach = 1 + np.int64((mix(random) >> np.uint64(32)) % np.uint64(window))
        low, high = max(0, center - reach), min(count, center + reach + 1)
        pairs = high - low - 1 + documents
        sums[PAIRS] += pairs
        own_anchor = row_of(context_vectors, word, stride)
        for pair in range(pairs):
            if pair == high - low - 1:
                target, anchor = word, document
            else:
                target, anchor = np.int64(kept[low + pair + (low + pair >= center)]), own_anchor
            target_row = row_of(word_vectors, target, stride)
            f = row_product(target_row, anchor, stride)
            for _ in range(negative):
                negative_word = ahead[turn]
                random += _GOLDEN
                ahead[turn] = draw_negative(mix(random), corpus, peers)
                prefetch_row(word_vectors, ahead[turn], stride)
                turn = (turn + 1) % NEGATIVES_AHEAD
                if negative_word in (word, target):
                    continue
                # Most margins hold, and then this product is all there is to do.
                h = row_product(peek_row(word_vectors, negative_word, stride), anchor, stride)
                sums[COMPARED] += 1
                if f - h < gap:
                    sums[VIOLATED] += 1
                    sums[LOSS] += gap - f + h
                    negative_row = row_of(word_vectors, negative_word, stride)
                    move_triple(target_row, negative_row, anchor, stride, gram, weights, alpha, rule, geodesic)
                    count_move(word_vectors, target)
                    count_move(word_vectors, negative_word)
                    if pair == high - low - 1:
                        steps += 1
                    else:
                        count_move(context_vectors, word)
                    f = row_product(target_row, anchor, stride)
    return steps


# --- the paper's joint hinge ------------------------------------------------------------------------------------------


def train_joint(unit, corpus, vectors, scratch, sums, peers, settings):
    """Train a unit with the paper's Eq. (3): one hinge over the word u, a context v, the document d and a negative n.

    Every vector moves by Eq. (8): its Riemannian gradient times the cosine distance to its descent direction; a
    negative by `rule` instead. Returns how many steps the document has taken.
    """
    stride = scratch.new_anchors.shape[1]
    word_vectors, context_vectors = vectors
    kept, count, first, last, random, alpha, document, _, _ = unit
    window, negative, rule, geodesic = settings.window, settings.negative, settings.rule, settings.geodesic
    one = np.float32(1.0)
    gap = np.float32(settings.margin)
    rows, others = scratch.anchors, scratch.targets  # u, n, v, d; and v, d, n, u; what follows is a row of zeros
    scores, weights = scratch.scores, scratch.pull  # rows x (v, d, n), then rows x (u,) in the next tile
    keep, scales, new_rows = scratch.keep_anchor, scratch.anchor_scales, scratch.new_anchors
    tiles = others.size // TARGET_TILE
    n, v, d = CELLS, 2 * CELLS, 3 * CELLS  # cells of the second row, and so on
    rows[3] = others[1] = document
    steps = 0
    for center in range(first, last):
        word = np.int64(kept[center])
        rows[0] = others[3] = row_of(word_vectors, word, stride)
        random += _GOLDEN
        reach = 1 + np.int64((mix(random) >> np.uint64(32)) % np.uint64(window))
        low, high = max(0, center - reach), min(count, center + reach + 1)
        sums[PAIRS] += high - low - 1
        for place in range(low, high):
            if place == center:
                continue
            rows[2] = others[0] = row_of(context_vectors, np.int64(kept[place]), stride)
            for _ in range(negative):
                random += _GOLDEN
                negative_word = draw_negative(mix(random), corpus, peers)
                if negative_word == word:
                    continue
                rows[1] = others[2] = peek_row(word_vectors, negative_word, stride)
                tile_scores(rows, 0, others, 0, scores, 0, stride)
                uv, ud, un = scores[0], scores[1], scores[2]
                nv, nd, vd = scores[n], scores[n + 1], scores[v + 1]
                sums[COMPARED] += 1
                near, far = uv + ud, nv + nd
                if near - far >= gap:
                    continue
                sums[VIOLATED] += 1
                sums[LOSS] += gap - near + far
                rows[1] = others[2] = row_of(word_vectors, negative_word, stride)
                sum_length = np.float32(math.sqrt(max(np.float32(2.0) + np.float32(2.0) * vd, np.float32(1e-12))))
                gap_length = np.float32(math.sqrt(max(np.float32(2.0) - np.float32(2.0) * un, np.float32(1e-12))))
                word_step = alpha * (one - near / sum_length)
                negative_step = alpha * push_of(rule, far / sum_length)
                context_step = alpha * (one - (uv - nv) / gap_length)
                document_step = alpha * (one - (ud - nd) / gap_length)
                weights[0] = weights[1] = word_step
                weights[n] = weights[n + 1] = -negative_step
                weights[v + 2], weights[LANES + v] = -context_step, context_step
                weights[d + 2], weights[LANES + d] = -document_step, document_step
                keep[0], keep[1] = one - word_step * near, one + negative_step * far
                keep[2], keep[3] = one - context_step * (uv - nv), one - document_step * (ud - nd)
                combine_anchors(rows, 0, keep, others, tiles, weights, 0, 1, new_rows, scales, stride)
                if geodesic:
                    for r in range(4):
                        scales[r] = along_geodesic(rows[r], new_rows, r, scales[r], stride)
                inverse_roots(scales, 4)
                for r in range(4):
                    store_scaled(new_rows, r, scales[r], rows[r], stride)
                count_move(word_vectors, word)
                count_move(word_vectors, negative_word)
                count_move(context_vectors, np.int64(kept[place]))
                steps += 1
    return steps


# --- a unit -----------------------------------------------------------------------------------------------------------


def train_unit(unit, corpus, vectors, scratch, sums, peers, settings):
    """Train a unit by the kernel that belongs to the type of `scratch`; for compiled code only."""


@overload(train_unit, jit_options=_OPTIONS | compiler_options(inner=True) | {"no_cfunc_wrapper": True})
def _train_unit(unit, corpus, vectors, scratch, sums, peers, settings):
    return UNIT_KERNELS[scratch.instance_class]


UNIT_KERNELS = {BatchScratch: train_batches, TripleScratch: train_triples, JointScratch: train_joint}


@inner
def unit_random(key, unit):
    """The state of a unit's random numbers."""
    return mix(key ^ (np.uint64(unit) * _GOLDEN + np.uint64(1)))


# --- new documents, words fixed ---------------------------------------------------------------------------------------


@inner
def text_key(ids, start, stop):
    """A hash of a document's words, so that what is sampled for it depends on its text alone."""
    key = np.uint64(stop - start)
    for place in range(start, stop):
        key = mix(key ^ (np.uint64(ids[place]) + _GOLDEN))
    return key


@inner
def start_document(corpus, start, stop, word_vectors, document_vectors, document, total):
    """Set a document to the mean direction of its words, each weighted by the share of it that is kept.

    A document without words, or whose words cancel out, is left as it is. `total` is a scratch row.
    """
    stride = word_vectors.shape[1]
    for d in range(stride):
        total[d] = 0
    for place in range(start, stop):
        word = corpus.ids[place]
        share = np.float32(corpus.keep_probability[word]) * np.float32(2.0**-32)
        for d in range(stride):
            total[d] += share * word_vectors[word, d]
    square = np.float32(0.0)
    for d in range(stride):
        square += total[d] * total[d]
    if square > np.float32(1e-12):
        scale = np.float32(1.0) / np.float32(math.sqrt(square))
        for d in range(stride):
            document_vectors[document, d] = scale * total[d]


@compiled
def infer_documents(corpus, word_vectors, document_vectors, scratch, first, last, settings):
    """Fit the vectors of documents [first, last) to fixed word vectors, by the objective's step for documents.

    A document starts at the mean direction of its words and takes `settings.epochs` passes over them, a short one as
    many as make `settings.least_steps`. A document without a word is left as it is.
    """
    stride = word_vectors.shape[1]
    gap = np.float32(settings.margin)
    ids, offsets, keep_probability = corpus.ids, corpus.offsets, corpus.keep_probability
    one, share = np.float32(1.0), np.float32(2.0 / scratch.negatives.size)  # as in weigh_hinge
    kappa, bias = np.float32(settings.concentration), np.float32(settings.bias)
    set_concentration(scratch, kappa, bias)
    negatives, targets, anchors, scores, pull = (
        scratch.negatives, scratch.targets, scratch.anchors, scratch.scores, scratch.pull,
    )  # fmt: skip
    negative, tiles = negatives.size, targets.size // TARGET_TILE
    for document in range(first, last):
        start, stop = offsets[document], offsets[document + 1]
        start_document(corpus, start, stop, word_vectors, document_vectors, document, scratch.new_anchors[0])
        key = text_key(ids, start, stop)
        anchors[0] = row_address(document_vectors, document)
        random = mix(key)
        for k in range(negative):
            random += _GOLDEN
            scratch.next_negatives[k] = sample_negative(mix(random), corpus)
        length = stop - start
        passes = max(settings.epochs, (settings.least_steps + length - 1) // length) if length else 0
        for epoch in range(passes):
            subsampling_key = mix(key + np.uint64(epoch) * _GOLDEN)
            for place in range(start, stop):
                word = np.int64(ids[place])
                if not is_kept(word, place - start, subsampling_key, keep_probability):
                    continue
                progress = (epoch * length + place - start) / (passes * length)
                alpha = np.float32(settings.alpha * (1.0 - progress))
                targets[0] = row_address(word_vectors, word)
                for k in range(negative):
                    negatives[k] = scratch.next_negatives[k]
                    targets[k + 1] = row_address(word_vectors, negatives[k])
                    random += _GOLDEN
                    scratch.next_negatives[k] = sample_negative(mix(random), corpus)
                    prefetch(row_address(word_vectors, scratch.next_negatives[k]), stride)
                for tile in range(tiles):
                    row_scores(anchors, 0, targets, tile * TARGET_TILE, scores, tile, stride)
                if settings.objective == VMF:
                    weigh_vmf(scratch, word, ANCHOR_TILE, alpha)
                else:
                    f = scores[0]
                    for cell in range(tiles * LANES):
                        pull[cell] = 0
                    for t in range(1, negative + 1):
                        h = scores[cell_at(0, t, targets.size)]
                        if negatives[t - 1] != word and f - h < gap:
                            step = share * alpha * (one - f + h)
                            pull[0] += step
                            pull[cell_at(0, t, targets.size)] -= step
                keep_anchors(scores, pull, 0, 1, tiles, scratch.keep_anchor, 0)
                combine_row(
                    anchors, 0, scratch.keep_anchor, targets, tiles, pull, 0, 1,
                    scratch.new_anchors, scratch.anchor_scales, stride,
                )  # fmt: skip
                if settings.geodesic:
                    scratch.anchor_scales[0] = along_geodesic(
                        anchors[0], scratch.new_anchors, 0, scratch.anchor_scales[0], stride
                    )
                inverse_roots(scratch.anchor_scales, 1)
                store_scaled(scratch.new_anchors, 0, scratch.anchor_scales[0], anchors[0], stride)
