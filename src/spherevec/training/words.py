"""The vectors that users see of words: input and context vectors together, rare words nearer to words of like spelling.

A word that occurs a few times has a vector of few steps. What its spelling shares with other words says more of it:
`reinvested` is learned from five sentences, `invested` and `reinvest` from hundreds. So a rare word is drawn towards
the words that are spelled most alike, the more the rarer it is. Documents know nothing of it: they are fitted to the
input vectors. `docs/measured/recipe.md` has the figures.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from spherevec import sphere
from spherevec.config import TrainConfig
from spherevec.corpus.vocabulary import Vocabulary
from spherevec.engine.schedule import CHUNK_ROWS
from spherevec.model.subwords import POWER, Spellings
from spherevec.training.finishing import directions_of_sums

Floats = NDArray[np.float32]

HALFWAY = 100  # occurrences of a word at which its spelling pulls half as much as it would at none
SETTLED = 1000  # occurrences from which on a word stays where its text has put it
TRUSTED = 30  # occurrences of a word at which it counts half as much for others as a frequent one
ALIKE_ENOUGH = 0.7  # likeness of spelling from which on a word pulls with full force
MOST_ALIKE = 30  # words that pull
MOST_WORDS = 1_000_000  # of a vocabulary: beyond it, spellings would take more memory than vectors should
_COMPARED_AT_ONCE = 4096  # words, each with those spelled most alike
_SUMMED_AT_ONCE = 256  # words, each with all that pull at it
_COMMON = 50  # n-grams that one of so many words has say little, and cost most of the time


def word_vectors(inputs: Floats, contexts: Floats, vocabulary: Vocabulary, config: TrainConfig) -> Floats:
    """The vectors (V, dim) of words in a model, from their input and context vectors."""
    vectors = directions_of_sums(inputs, contexts) if config.add_contexts else inputs
    if config.smooth_rare_words and len(vocabulary) <= MOST_WORDS:
        return smoothed(vectors, vocabulary.words, vocabulary.counts, config.thread_count)
    return vectors


def smoothed(vectors: Floats, words: Sequence[str], counts: NDArray[np.int64], threads: int = 1) -> Floats:
    """Unit vectors (V, dim), those of rare words drawn towards words of like spelling; the same for any threads.

    Words with digits take no part: codes are spelled alike and mean different things.
    """
    plain = [at for at, word in enumerate(words) if not any(sign.isdigit() for sign in word)]
    rare = [at for at, place in enumerate(plain) if counts[place] < SETTLED]
    if not rare:
        return vectors
    names = [words[place] for place in plain]
    places, often = np.array(plain), counts[plain].astype(np.float64)
    trust = often / (often + TRUSTED)
    spellings = Spellings(names)
    moved = vectors.copy()
    for start in range(0, len(rare), _COMPARED_AT_ONCE):
        here = np.array(rare[start : start + _COMPARED_AT_ONCE])
        rows, likeness = spellings.sharing(
            [names[at] for at in here],
            MOST_ALIKE + 1,
            most=max(CHUNK_ROWS // 8, len(names) // _COMMON),
            threads=threads,
        )
        likeness[rows == here[:, None]] = 0
        pulls = likeness**POWER * trust[rows]
        strength = HALFWAY / (HALFWAY + often[here]) * np.minimum(likeness.max(axis=1) / ALIKE_ENOUGH, 1)
        for first in range(0, len(here), _SUMMED_AT_ONCE):
            some = slice(first, first + _SUMMED_AT_ONCE)
            guesses = np.einsum("nk,nkd->nd", pulls[some], vectors[places[rows[some]]].astype(np.float64))
            lengths = np.linalg.norm(guesses, axis=1)
            sums = vectors[places[here[some]]] + (strength[some] / np.maximum(lengths, 1e-9))[:, None] * guesses
            known = (lengths > 1e-9) & (np.linalg.norm(sums, axis=1) > 1e-6)
            moved[places[here[some][known]]] = sphere.normalize(sums[known])
    return moved
