"""What a model has besides trained vectors: words from inputs and contexts, documents without words, counted words."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from spherevec import sphere
from spherevec.config import TrainConfig
from spherevec.corpus import EncodedCorpus, Vocabulary
from spherevec.engine.schedule import COPIED_ROWS
from spherevec.errors import SpherevecError
from spherevec.model import KeyedVectors
from spherevec.search.terms import DocumentTerms, count_terms
from spherevec.storage.files import working_folder
from spherevec.training.run import Learned
from spherevec.training.spelling import SpellingSmoother


def word_parts(
    learned: Learned, vocabulary: Vocabulary, config: TrainConfig, smoother: SpellingSmoother | None = None
) -> dict[str, Any]:
    """The parts of a model that have to do with words.

    Args:
        smoother: of the vocabulary, where it is there already.
    """
    names, biases = vocabulary.words, learned.biases
    inputs, contexts = learned.tables["inputs"], learned.tables["contexts"]
    likelihood = config.objective_info.likelihood
    return {
        "words": KeyedVectors(names, word_vectors(inputs, contexts, vocabulary, config, smoother), vocabulary.counts),
        "contexts": KeyedVectors(names, contexts),
        "inputs": KeyedVectors(names, inputs) if config.has_own_words else None,
        "fit": learned.fit,
        "parameters": {"word_bias": biases.words, "document_bias": biases.documents} if likelihood else {},
    }


def word_vectors(
    inputs: NDArray[np.float32],
    contexts: NDArray[np.float32],
    vocabulary: Vocabulary,
    config: TrainConfig,
    smoother: SpellingSmoother | None = None,
) -> NDArray[np.float32]:
    """The vectors (V, dim) of words in a model, from their input and context vectors."""
    if smoother is None and SpellingSmoother.wanted(vocabulary, config):
        smoother = SpellingSmoother(vocabulary.words, vocabulary.counts, config.thread_count)  # takes most memory now
    vectors = directions_of_sums(inputs, contexts) if config.add_contexts else inputs
    return vectors if smoother is None else smoother.smooth(vectors)


def directions_of_sums(inputs: NDArray[np.float32], contexts: NDArray[np.float32]) -> NDArray[np.float32]:
    """u + v back on the sphere, (n, dim): better on word similarity than either, and without their common direction."""
    sums = np.empty_like(inputs)
    for start in range(0, len(inputs), COPIED_ROWS):
        here = slice(start, start + COPIED_ROWS)
        both = inputs[here] + contexts[here]
        opposite = np.linalg.norm(both, axis=1) < 1e-6  # these have no direction
        both[opposite] = inputs[here][opposite]
        sums[here] = sphere.normalize(both)
    return sums


def fill_empty_documents(vectors: NDArray[np.float32], offsets: NDArray[np.int64]) -> None:
    """A document without a known word gets the mean direction of the others, rather than the noise it started from."""
    starts = range(0, len(vectors), COPIED_ROWS)

    def empty(start: int) -> NDArray[np.bool_]:
        return np.asarray(np.diff(offsets[start : start + COPIED_ROWS + 1]) == 0)

    if not any(empty(start).any() for start in starts):
        return
    total = np.zeros(vectors.shape[1])
    for start in starts:
        total += vectors[start : start + COPIED_ROWS][~empty(start)].sum(axis=0, dtype=np.float64)
    if np.linalg.norm(total) > 1e-6 * len(vectors):  # otherwise there are no others, or they have no common direction
        common = sphere.normalize(total).astype(np.float32)
        for start in starts:
            vectors[start : start + COPIED_ROWS][empty(start)] = common


def counted_terms(corpus: EncodedCorpus, workdir: str | Path | None, threads: int = 1) -> DocumentTerms | None:
    """Which words each document of a corpus holds, the dropped ones included.

    If the disk is full, keyword search is disabled, but the run goes on.
    """
    try:
        with working_folder(workdir) as folder:  # what is mapped from it lives on without a name
            rare = corpus.rare_words()
            return count_terms(corpus.ids, corpus.offsets, len(corpus.vocabulary), folder, rare, threads)
    except SpherevecError as error:
        reason = str(error)
    except OSError as error:
        reason = f"{workdir or 'the folder for temporary files'}: {error.strerror or error}"
    warnings.warn(f"the words of the documents are not kept ({reason}): no search by words", stacklevel=2)
    return None
