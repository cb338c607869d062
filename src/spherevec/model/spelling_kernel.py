"""The compiled search for words of like spelling: the n-grams that words share, added up over an inverted file."""

from __future__ import annotations

import numpy as np

from spherevec.compiling import njit

compiled = njit(nogil=True, cache=True)

_PLACES = 1e9  # sums in another order may differ in the last bits, which must not decide


@compiled
def find_alike(queries, grams, weights, starts, owners, shares, most, likeness, rows, scores, touched):
    """For each word the known words that share most of its n-grams, most alike first; equal ones by their number.

    Args:
        queries: (n + 1,) where the n-grams of each word begin in `grams` (their numbers) and `weights`.
        starts: (rows + 1,) where the known words of each n-gram begin in `owners` and `shares`.
        most: n-grams that more known words have than this are passed over.
        likeness, rows: (n, k) results; `rows` of words that share nothing stay as they are, with likeness 0.
        scores: (known,) zeros, which it leaves as zeros.
        touched: (known,) room.
    """
    k = rows.shape[1]
    for word in range(len(queries) - 1):
        seen = 0
        for place in range(queries[word], queries[word + 1]):
            gram = grams[place]
            first, last = starts[gram], starts[gram + 1]
            if last - first > most:
                continue
            for entry in range(first, last):
                owner = owners[entry]
                if scores[owner] == 0.0:
                    touched[seen] = owner
                    seen += 1
                scores[owner] += weights[place] * shares[entry]
        found = 0
        for at in range(seen):
            owner = touched[at]
            score = np.floor(scores[owner] * _PLACES + 0.5) / _PLACES
            scores[owner] = 0.0
            if found == k and (
                score < likeness[word, k - 1] or (score == likeness[word, k - 1] and owner > rows[word, k - 1])
            ):
                continue
            slot = found if found < k else k - 1
            found = min(found + 1, k)
            while slot > 0 and (
                score > likeness[word, slot - 1] or (score == likeness[word, slot - 1] and owner < rows[word, slot - 1])
            ):
                likeness[word, slot] = likeness[word, slot - 1]
                rows[word, slot] = rows[word, slot - 1]
                slot -= 1
            likeness[word, slot] = score
            rows[word, slot] = owner
