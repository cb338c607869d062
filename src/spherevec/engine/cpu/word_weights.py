"""What a word says of its documents: how much nearer it is to the other words of its documents than to any text.

A topical word is close to the rest of its documents; a function word is no closer to them than to all others, however
rare or frequent it is. That difference of mean cosines is the weight of a word where documents are fitted. In a text
without topics hardly any word is nearer to its documents than to others; there the differences are noise, and words
have the weights that subsampling gives them.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from spherevec.config import TrainConfig
from spherevec.engine.base import TrainingData
from spherevec.engine.cpu.fit_kernels import COSINE_UNIT, DIRECTION_UNIT, add_coherence
from spherevec.engine.cpu.vector_ops import padded_rows
from spherevec.engine.fit import FitTables, negative_moments
from spherevec.engine.sampling import keep_probabilities
from spherevec.sphere import Floats
from spherevec.storage.memory import drop_pages
from spherevec.threads import in_order

ROUNDS = 2  # the second weighs the rest of a document by the weights of the first
FIRST_SAMPLE = 1e-3  # the first by the share of each word that a mild subsampling would keep
MOST_TOKENS = 10_000_000  # of documents that are looked at, evenly spread over the text
PLAIN_SAMPLE = 1e-4  # where no word says much, they have the weights that this subsampling gives them
TOPICAL, STEEPNESS = 0.1, 8  # the mean difference at which topics and subsampling have equal shares in the weights
LEAST_WEIGHT = 0.02  # so that a text of function words alone has a direction, too
_ROOM = 64 << 20  # bytes of sums, for all threads together
_DOCUMENTS_AT_ONCE = 1 << 13  # after which the memory behind their ids is let go of

Coherence = tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]


def fit_tables(inputs: Floats, data: TrainingData, counts: NDArray[np.int64], config: TrainConfig) -> FitTables | None:
    """What documents are fitted with to these words; None where the objective has no use for it.

    The processor does it for every device: it takes two looks at a part of the text.

    Args:
        inputs: (V, stride) padded unit rows; see `padded_rows`.
    """
    if not config.objective_info.likelihood:
        return None
    weights = word_weights(data.ids, data.offsets, counts, inputs, config.thread_count)
    return FitTables(weights, *negative_moments(inputs[:, : config.vector_size], counts, config.thread_count))


def word_weights(
    ids: NDArray[np.int32],
    offsets: NDArray[np.int64],
    counts: NDArray[np.int64],
    inputs: Floats,
    threads: int,
) -> Floats:
    """The weights (V,) of words in documents, 1 on average over the text; the same for any number of threads.

    Args:
        ids, offsets: document d has the words ids[offsets[d]:offsets[d + 1]].
        inputs: (V, stride) padded unit rows; see `padded_rows`.
    """
    documents = documents_looked_at(offsets, int(offsets[-1]))
    return weights_of(lambda given: coherence(ids, offsets, documents, inputs, given, threads), counts, inputs)


def documents_looked_at(offsets: NDArray[np.int64], tokens: int) -> NDArray[np.intp]:
    """Some documents of two words or more, evenly spread.

    Args:
        tokens: of the whole text, of which these documents may be a part.
    """
    return np.flatnonzero(np.diff(offsets) > 1)[:: max(1, -(-tokens // MOST_TOKENS))]


def weights_of(coherence_with: Callable[[Floats], Coherence], counts: NDArray[np.int64], inputs: Floats) -> Floats:
    """The weights (V,) of words, from what their documents say.

    Args:
        coherence_with: what `coherence` says of the text, given weights of the words. Sums of whole numbers: those of
            several parts of a text may be added up.
    """
    weights, plain = (
        (keep_probabilities(counts, sample) / 2.0**32).astype(np.float32) for sample in (FIRST_SAMPLE, PLAIN_SAMPLE)
    )
    plain /= np.float32((plain * counts).sum() / counts.sum())
    average = 0.0
    for _ in range(ROUNDS):
        weights, average = _weighed(coherence_with(weights), counts, inputs)
    share = 1 / (1 + (TOPICAL / max(average, 1e-6)) ** STEEPNESS)
    weighed: Floats = np.maximum(share * weights + (1 - share) * plain, LEAST_WEIGHT).astype(np.float32)
    return weighed


def coherence(
    ids: NDArray[np.int32],
    offsets: NDArray[np.int64],
    documents: NDArray[np.intp],
    inputs: Floats,
    weights: Floats,
    threads: int,
) -> Coherence:
    """How near each word is to the rest of its documents, whose words have the given weights.

    Returns:
        Sums of cosines (V,), how many (V,), and the sum of the documents' directions with their number (stride + 1,).
    """
    words, stride = inputs.shape
    longest = int(np.diff(offsets)[documents].max(initial=0))
    workers = max(1, min(threads, _ROOM // (20 * words + 4 * longest)))

    def sums(_: int, part: NDArray[np.intp]) -> tuple[NDArray[np.int64], ...]:
        cosines, seen, direction = (np.zeros(size, np.int64) for size in (words, words, stride + 1))
        room, times = np.empty(longest, np.int32), np.zeros(words, np.int32)
        for first in range(0, len(part), _DOCUMENTS_AT_ONCE):
            some = part[first : first + _DOCUMENTS_AT_ONCE]
            add_coherence(
                ids, offsets, some, inputs, weights, cosines, seen, direction, padded_rows(1, stride), room, times
            )
            drop_pages(ids[offsets[some[0]] : offsets[some[-1] + 1]])
        return cosines, seen, direction

    parts = list(in_order(np.array_split(documents, workers), sums, workers))
    cosines, seen, direction = (np.sum(column, axis=0) for column in zip(*parts, strict=True))
    return cosines, seen, direction


def _weighed(sums: Coherence, counts: NDArray[np.int64], inputs: Floats) -> tuple[Floats, float]:
    """Weights by how near each word is to the rest of its documents.

    Returns:
        The weights, 1 on average, and the average over the text of what they are in proportion to.
    """
    words = len(inputs)
    cosines, seen, direction = sums
    common = (direction[:-1] / (DIRECTION_UNIT * max(int(direction[-1]), 1))).astype(np.float32)
    nearness = cosines / (COSINE_UNIT * np.maximum(seen, 1)) - np.einsum("vd,d->v", inputs, common)
    told = np.maximum(nearness, 0) * (seen > 0)
    share = counts * (seen > 0)
    average = float(np.sum(told * share)) / max(float(share.sum()), 1.0)
    if average < 1e-6:  # nothing gathers: every word says as much as the others
        return np.ones(words, np.float32), average
    told[seen == 0] = average
    return np.maximum(told / average, LEAST_WEIGHT).astype(np.float32), average
