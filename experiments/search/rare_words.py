"""Queries of one rare word: do the documents that hold it come first, as with BM25?

    python -m experiments.search.rare_words --models FOLDER 20news dblp ...

FOLDER holds models of whole sets as `NAME-1`, as for `judged.py`. Asked for are 200 words that 2 to 20 documents hold.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np

import spherevec

TOP = 10
WORDS = 200


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="+")
    parser.add_argument("--models", type=Path, required=True)
    given = parser.parse_args()
    for name in given.names:
        model = spherevec.load(given.models / f"{name}-1")
        assert model.terms is not None
        held = np.diff(model.terms.places)
        rare = np.random.default_rng(1).permutation(np.flatnonzero((held >= 2) & (held <= 20)))
        words = [word for word in (str(model.words.index_to_key[row]) for row in rare) if word.isalnum()][:WORDS]
        first = worse = 0
        answers = [model.search(words, topn=TOP, mode=mode) for mode in ("hybrid", "lexical")]
        for word, *results in zip(words, *answers, strict=True):
            holders = set(model.terms.postings(model.words.position(word))[0].tolist())
            wanted = min(TOP, len(holders))
            hybrid, lexical = (sum(hit.row in holders for hit in result[:wanted]) for result in results)
            first += hybrid == wanted
            worse += hybrid < lexical
        print(f"{name}: {len(words)} words, holders first for {first}, fewer of them than with BM25 for {worse}")


if __name__ == "__main__":
    main()
