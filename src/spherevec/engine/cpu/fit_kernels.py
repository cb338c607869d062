"""The compiled kernels behind document vectors: the fit by expected likelihood, and what a word says of its documents.

Sums that run over documents are kept as whole numbers, so that no order of addition changes them.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from spherevec.compiling import njit
from spherevec.engine.cpu.vector_ops import FASTMATH, blend_rows, prefetch, row_address, row_product, store_scaled
from spherevec.engine.fit import LEAST_DAMPING, MOST_SHARPENING, SHORT

compiled = njit(nogil=True, cache=True, fastmath=set(FASTMATH))
inner = njit(nogil=True, fastmath=set(FASTMATH), inner=True)

AHEAD = 4  # words from asking for a row to needing it
COSINE_UNIT, DIRECTION_UNIT = 2.0**32, 2.0**36
_NO_LENGTH = np.float32(1e-12)  # squared: shorter sums have no direction
_NO_CURVATURE = np.float32(1e-12)


class WeightedFit(NamedTuple):
    """Numbers of a fit by expected likelihood."""

    passes: int
    share: float  # of a step that a pass takes
    concentration: float
    bias: float
    negative: float
    damping: float  # how much less the exponent of a count is in a document twice as long
    sharpening: float  # how much more that of a weight is


@inner
def clear_row(scratch, row):
    for d in range(scratch.shape[1]):
        scratch[row, d] = 0


@inner
def weighted_sum(ids, start, stop, inputs, weights, scratch, row):
    """scratch[row] = the weighted sum of the words of a document; returns its squared norm."""
    stride = inputs.shape[1]
    clear_row(scratch, row)
    square = np.float32(0.0)
    for place in range(start, stop):
        if place + AHEAD < stop:
            prefetch(row_address(inputs, np.int64(ids[place + AHEAD])), stride)
        word = np.int64(ids[place])
        square = blend_rows(row_address(inputs, word), weights[word], np.float32(1.0), scratch, row, stride)
    return square


@inner
def sort_words(words, count):
    """Put the first words in order: Shell's sort, by gaps of 3^k / 2."""
    gap = 1
    while 3 * gap + 1 < count:
        gap = 3 * gap + 1
    while gap > 0:
        for place in range(gap, count):
            word, at = words[place], place
            while at >= gap and words[at - gap] > word:
                words[at] = words[at - gap]
                at -= gap
            words[at] = word
        gap //= 3


@inner
def different_words(ids, start, stop, weights, settings, words, pulls):
    """The different words of a document, in order, and how much each of them pulls; returns how many there are."""
    count = stop - start
    for place in range(count):
        words[place] = ids[start + place]
    sort_words(words, count)
    doublings = max(math.log2(max(count, 1) / SHORT), 0.0)
    damping = max(1.0 - settings.damping * doublings, LEAST_DAMPING)
    sharpening = min(1.0 + settings.sharpening * doublings, MOST_SHARPENING)
    different, place = 0, 0
    while place < count:
        word, after = words[place], place + 1
        while after < count and words[after] == word:
            after += 1
        pull = weights[word] ** sharpening
        if after - place > 1:
            pull *= (after - place) ** damping
        words[different], pulls[different] = word, pull
        different, place = different + 1, after
    return different


@compiled
def fit_weighted(ids, offsets, inputs, docs, first, last, weights, moments, scratch, words, pulls, settings):
    """Fit documents [first, last) to fixed input vectors; one whose words have no direction is left as it is.

    The expected log-likelihood of a document d with words w that pull by a_w, for K negatives n a word, is
        sum over w of a_w (log sigmoid(kappa u_w·d - b) + K E[log sigmoid(b - kappa u_n·d)]).
    u_n·d is taken as normal with mean m and variance s²: E[sigmoid(kappa u_n·d - b)] = sigmoid((kappa m - b) / r) with
    r² = 1 + pi kappa² s² / 8, nearly. A pass takes a share of a step along the Riemannian gradient, whose length is
    the gradient over the curvature: the length of the words' pull, and what the spread of negatives adds to it.

    Args:
        moments: (dim + 1, stride) the covariance of negative samples, and their mean in the last row.
        scratch: (3, stride)
        words, pulls: room for the longest document.
    """
    stride, width = inputs.shape[1], moments.shape[0] - 1
    one = np.float32(1.0)
    kappa, bias, share = np.float32(settings.concentration), np.float32(settings.bias), np.float32(settings.share)
    mean = row_address(moments, width)
    own, spread = row_address(scratch, 0), row_address(scratch, 2)
    for document in range(first, last):
        different = different_words(ids, offsets[document], offsets[document + 1], weights, settings, words, pulls)
        clear_row(scratch, 0)
        square, total = np.float32(0.0), np.float32(0.0)
        for place in range(different):
            if place + AHEAD < different:
                prefetch(row_address(inputs, np.int64(words[place + AHEAD])), stride)
            square = blend_rows(row_address(inputs, np.int64(words[place])), pulls[place], one, scratch, 0, stride)
            total += pulls[place]
        if not square > _NO_LENGTH:
            continue
        store_scaled(scratch, 0, one / np.float32(math.sqrt(square)), own, stride)
        for _ in range(settings.passes):
            clear_row(scratch, 1)
            clear_row(scratch, 2)
            square = np.float32(0.0)
            for place in range(different):
                address = row_address(inputs, np.int64(words[place]))
                score = kappa * row_product(address, own, stride) - bias
                pull = pulls[place] / (one + np.float32(math.exp(score)))
                square = blend_rows(address, pull, one, scratch, 1, stride)
            for d in range(width):
                blend_rows(row_address(moments, d), scratch[0, d], one, scratch, 2, stride)
            variance = kappa * kappa * row_product(spread, own, stride)
            root = np.float32(math.sqrt(one + np.float32(math.pi / 8) * variance))
            likely = one / (one + np.float32(math.exp((bias - kappa * row_product(mean, own, stride)) / root)))
            slope = likely * (one - likely) / root
            negatives = total * np.float32(settings.negative)
            curvature = np.float32(math.sqrt(square)) + negatives * slope * variance
            if not curvature > _NO_CURVATURE:
                break
            blend_rows(mean, -negatives * likely, one, scratch, 1, stride)
            blend_rows(spread, -negatives * slope * kappa, one, scratch, 1, stride)
            step = share / curvature
            stays = one - step * row_product(row_address(scratch, 1), own, stride)
            square = blend_rows(own, stays, step, scratch, 1, stride)
            if square > _NO_LENGTH:
                store_scaled(scratch, 1, one / np.float32(math.sqrt(square)), own, stride)
        store_scaled(scratch, 0, one, row_address(docs, document), stride)


@compiled
def add_coherence(ids, offsets, documents, inputs, weights, cosines, seen, direction, scratch, words, times):
    """For every word of some documents, add the cosine between the word and the rest of its document.

    Args:
        documents: the documents' numbers.
        cosines, seen: (V,) int64: the sums of cosines in `COSINE_UNIT`s, and how many there are.
        direction: (stride + 1,) int64: the sum of the documents' directions in `DIRECTION_UNIT`s, and how many.
        scratch: (1, stride)
        words: room for the different words of the longest document.
        times: (V,) int32 zeros, and zeros again afterwards.
    """
    stride = inputs.shape[1]
    for document in documents:
        start, stop = offsets[document], offsets[document + 1]
        square = weighted_sum(ids, start, stop, inputs, weights, scratch, 0)
        if not square > _NO_LENGTH:
            continue
        scale = DIRECTION_UNIT / math.sqrt(square)
        for d in range(stride):
            direction[d] += np.int64(math.floor(scratch[0, d] * scale + 0.5))
        direction[stride] += 1
        different = 0
        for place in range(start, stop):
            word = np.int64(ids[place])
            if times[word] == 0:
                words[different] = word
                different += 1
            times[word] += 1
        for place in range(different):
            word = np.int64(words[place])
            own = np.float64(weights[word]) * times[word]
            times[word] = 0
            product = np.float64(row_product(row_address(inputs, word), row_address(scratch, 0), stride))
            rest = square - 2.0 * own * product + own * own  # the squared norm of the other words' sum
            if rest > 1e-6 * own * own + 1e-12:
                cosines[word] += np.int64(math.floor((product - own) / math.sqrt(rest) * COSINE_UNIT + 0.5))
                seen[word] += 1
