"""Multi-word terms: found in an encoded corpus, and found again in every later text.

A run of two to four words is a phrase if it occurs often enough, if its parts attract each other (normalised pointwise
mutual information at its weakest joint), and if chance is ruled out there (a log-likelihood ratio test). No phrase
crosses punctuation or begins or ends with a function word.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from spherevec.corpus.tokenize.function_words import FUNCTION_WORDS

THRESHOLD = 0.5  # of normalised pointwise mutual information, which is 1 for words that never part
LEAST_RATIO = 15.13  # of the log-likelihood: met by chance once in ten thousand
LEAST_COUNT = 5
LONGEST = 4
_INSIDE_ONLY, _NEVER = 1, 2
_LARGEST_SKETCH = 1 << 24
_SMALLEST_TABLE = 1 << 12
_MOST_RUNS = 1 << 22  # counted exactly; where there are more, only those that occur twice as often

Ids = npt.NDArray[np.int32]
Offsets = npt.NDArray[np.int64]


class Runs(NamedTuple):
    """Runs of words and how often each occurs, sorted."""

    words: Ids  # (n, LONGEST), -1 behind the last word
    counts: npt.NDArray[np.int64]  # (n,)


def roles(words: Sequence[str]) -> npt.NDArray[np.uint8]:
    """What each word may be in a phrase: 0 any part, 1 inside only, 2 none at all."""
    found = np.zeros(len(words), np.uint8)
    for i, word in enumerate(words):
        if word in FUNCTION_WORDS:
            found[i] = _INSIDE_ONLY
        elif " " in word or not any(map(str.isalnum, word)):
            found[i] = _NEVER
    return found


def count_runs(
    ids: Ids, offsets: Offsets, word_roles: npt.NDArray[np.uint8], least: int, threads: int = 1, most: int = _MOST_RUNS
) -> Runs:
    """Runs of two to four words that occur `least` times or more; memory is bounded, whatever the text.

    Those that neither are a phrase nor begin or end one are left out: with a function word at both ends, or at one end
    of four words.

    One pass counts pairs by their hash, one longer runs whose pairs are frequent, and the last counts exactly what may
    be frequent by then. Each thread has a range of hashes to itself, so that the result is the same for any number of
    threads.
    """
    from spherevec.corpus.tokenize import phrases_kernel as kernel

    size = _power_of_two(min(len(ids), _LARGEST_SKETCH))
    kind = np.min_scalar_type(least)  # counts stop at `least`
    pairs, runs = np.zeros(size, kind), np.zeros(size, kind)
    ranges = list(pairwise(size * part // threads for part in range(threads + 1)))

    def counted(part: tuple[int, int]) -> npt.NDArray[np.int64] | None:
        here = slice(*part)
        expected = int(np.count_nonzero(pairs[here] >= least) + np.count_nonzero(runs[here] >= least))
        table = np.zeros((_power_of_two(3 * min(expected, most)), 3), np.int64)
        cursor = np.zeros(3, np.int64)
        while not kernel.count_runs(ids, offsets, word_roles, *part, least, pairs, runs, table, cursor):
            if cursor[kernel.N_RUNS] > most:
                return None
            old, table = table, np.zeros((2 * len(table), 3), np.int64)
            kernel.put_runs(old, table)
        counted_runs.append(int(cursor[kernel.N_RUNS]))
        return table[table[:, kernel.VALUE] >= least]

    counted_runs: list[int] = []
    with ThreadPoolExecutor(threads) as pool:
        list(pool.map(lambda part: kernel.sketch_pairs(ids, offsets, word_roles, *part, least, pairs), ranges))
        list(pool.map(lambda part: kernel.sketch_runs(ids, offsets, word_roles, *part, least, pairs, runs), ranges))
        parts = list(pool.map(counted, ranges))
    found = [part for part in parts if part is not None]
    if len(found) < len(parts) or sum(counted_runs) > most:
        return count_runs(ids, offsets, word_roles, 2 * least, threads, most)
    firsts, seconds, counts = np.concatenate(found).T
    order = np.lexsort((seconds, firsts))
    firsts, seconds, counts = firsts[order], seconds[order], counts[order]
    low = (1 << 31) - 1
    words = np.stack([firsts >> 31, firsts & low, (seconds >> 31) - 1, (seconds & low) - 1], axis=1)
    return Runs(words.astype(np.int32), counts)


def _power_of_two(least: int) -> int:
    return max(_SMALLEST_TABLE, 1 << (least - 1).bit_length())


def _keys(words: Ids) -> npt.NDArray[np.int64]:
    """Runs of words, (n, LONGEST), as two numbers each, (n, 2), as the kernel has them."""
    wide = words.astype(np.int64)
    return np.stack([wide[:, 0] << 31 | wide[:, 1], wide[:, 2] + 1 << 31 | wide[:, 3] + 1], axis=1)


def _run_table(words: Ids, values: npt.ArrayLike) -> npt.NDArray[np.int64]:
    """Runs of words, (n, LONGEST), and a value above 0 for each, as a table for the kernel."""
    from spherevec.corpus.tokenize import phrases_kernel as kernel

    table = np.zeros((_power_of_two(2 * len(words) + 1), 3), np.int64)
    kernel.put_runs(np.column_stack([_keys(words), values]).astype(np.int64), table)
    return table


def find_phrases(
    ids: Ids,
    offsets: Offsets,
    words: Sequence[str],
    word_counts: npt.NDArray[np.int64],
    *,
    least: int = LEAST_COUNT,
    threads: int = 1,
) -> list[tuple[int, ...]]:
    """The phrases of an encoded corpus, each as the ids of its words, sorted.

    Args:
        ids: (n,), with break marks; offsets: (documents + 1,).
        words, word_counts: the vocabulary.
        least: how often a phrase must occur.
    """
    word_roles = roles(words)
    runs = count_runs(ids, offsets, word_roles, least, threads)
    if not len(runs.counts):
        return []
    # Each at both ends a word that may be there.
    lasts = runs.words[np.arange(len(runs.words)), (runs.words >= 0).sum(axis=1) - 1]
    sound = (word_roles[runs.words[:, 0]] == 0) & (word_roles[lasts] == 0)
    candidates = Runs(runs.words[sound], runs.counts[sound])
    keep = _held_together(candidates, _run_table(*runs), word_counts, len(ids))
    return [tuple(word for word in run if word >= 0) for run in candidates.words[keep].tolist()]


def _held_together(
    runs: Runs,
    table: npt.NDArray[np.int64],
    word_counts: npt.NDArray[np.int64],
    n_tokens: int,
) -> npt.NDArray[np.bool_]:
    """Which runs hold together at every joint; `table` has the counts of all runs."""
    from spherevec.corpus.tokenize import phrases_kernel as kernel

    def counts(words: Ids) -> npt.NDArray[np.float64]:
        """Of some words, (n, LONGEST), -1 behind the last; a run not counted occurs as good as never."""
        found = np.empty(len(words), np.int64)
        kernel.look_up(_keys(words), table, found)
        return np.where(words[:, 1] < 0, word_counts[words[:, 0]], np.maximum(found, 1)).astype(np.float64)

    lengths = (runs.words >= 0).sum(axis=1)
    keep = np.ones(len(lengths), np.bool_)
    for joint in range(1, LONGEST):
        here = np.flatnonzero(lengths > joint)
        words, whole = runs.words[here], runs.counts[here].astype(np.float64)
        left = counts(np.where(np.arange(LONGEST) < joint, words, np.int32(-1)))
        right = counts(np.pad(words[:, joint:], ((0, 0), (0, joint)), constant_values=-1))
        mutual = np.log(whole * n_tokens / (left * right)) / -np.log(whole / n_tokens)
        keep[here] &= (mutual >= THRESHOLD) & (likelihood_ratio(whole, left, right, n_tokens) >= LEAST_RATIO)
    return keep


def likelihood_ratio(
    both: npt.NDArray[np.float64], left: npt.NDArray[np.float64], right: npt.NDArray[np.float64], total: int
) -> npt.NDArray[np.float64]:
    """Twice the log-likelihood that two things gain by depending on each other (G²), from their counts.

    Example:
        >>> likelihood_ratio(np.array([10.0]), np.array([10.0]), np.array([10.0]), 1000).round(1)
        array([112.])
    """
    cells = (both, left - both, right - both, total - left - right + both)
    expected = (left * right, left * (total - right), (total - left) * right, (total - left) * (total - right))
    ratio = np.zeros_like(both)
    for seen, product in zip(cells, expected, strict=True):
        positive = np.maximum(seen, 0)
        ratio += np.where(positive > 0, positive * np.log(np.maximum(positive, 1e-9) * total / product), 0.0)
    return 2 * ratio


class PhraseFinder:
    """Finds known phrases in texts.

    Args:
        phrases: each as the ids of its words.
        numbers: the id that each phrase gets, as many.
        n_words: how many words there are without the phrases.

    Example:
        >>> finder = PhraseFinder([(0, 1)], [2], 2)
        >>> finder.apply(np.array([0, 1, 1], np.int32), np.array([0, 3]))[0]
        array([0, 1, 2, 1], dtype=int32)
    """

    def __init__(self, phrases: Sequence[tuple[int, ...]], numbers: Sequence[int], n_words: int) -> None:
        words = np.full((len(phrases), LONGEST), -1, np.int32)
        self._longest = np.ones(n_words, np.uint8)
        for row, phrase in enumerate(phrases):
            words[row, : len(phrase)] = phrase
            self._longest[phrase[0]] = max(self._longest[phrase[0]], len(phrase))
        self._table = _run_table(words, np.asarray(numbers, np.int64) + 1)
        self._size = max([n_words, *(number + 1 for number in numbers)])

    def apply(
        self, ids: Ids, offsets: Offsets, numbers: Ids | None = None
    ) -> tuple[Ids, Offsets, npt.NDArray[np.int64]]:
        """A text with its phrases: behind the words of each phrase stands the phrase itself.

        Args:
            ids: (n,), with break marks; offsets: (documents + 1,), from 0 to n.
            numbers: new ids of all words and phrases, -1 for those to be left out; unchanged by default.

        Returns:
            The new ids, without marks; the new offsets; how often each phrase was met, by its number.
        """
        from spherevec.corpus.tokenize import phrases_kernel as kernel

        if numbers is None:
            numbers = np.arange(self._size, dtype=np.int32)
        new_ids = np.empty(len(ids) + len(ids) // 2 + 1, np.int32)
        new_offsets = np.empty_like(offsets)
        met = np.zeros(self._size, np.int64)
        n_new = kernel.apply_phrases(ids, offsets, self._longest, self._table, numbers, new_ids, new_offsets, met)
        return new_ids[:n_new], new_offsets, met


def phrases_of(word_to_id: Mapping[str, int]) -> tuple[list[tuple[int, ...]], list[int]]:
    """The phrases of a vocabulary and their ids: entries of several words, divided by spaces, all of them known."""
    phrases, numbers = [], []
    for name, number in word_to_id.items():
        if " " in name:
            parts = [word_to_id.get(part, -1) for part in name.split(" ")]
            if 2 <= len(parts) <= LONGEST and min(parts) >= 0:
                phrases.append(tuple(parts))
                numbers.append(number)
    return phrases, numbers
