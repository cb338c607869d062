"""How fast phrases are found, beside gensim's `Phrases`, in one run and on one thread.

`SPHEREVEC_DATA=DIR python -m benchmarks.phrases [LINES]`
"""

from __future__ import annotations

import gzip
import sys
import tempfile
import time
from itertools import islice
from pathlib import Path

import numpy as np

from experiments.datasets import find_data
from spherevec.corpus import encode
from spherevec.corpus.tokenize.phrases import find_phrases


def main(n_lines: int = 60_000) -> None:
    with gzip.open(find_data() / "wiki" / "wiki20m.txt.gz", "rt", encoding="utf-8") as file:
        lines = list(islice(file, n_lines))
    with tempfile.TemporaryDirectory() as folder:
        corpus = encode(lines, Path(folder, "corpus"), threads=1)
        words, ids, offsets = corpus.vocabulary.words, corpus.ids[:], corpus.offsets[:]
        few = ids[: offsets[100]]
        find_phrases(few, offsets[:101], words, np.bincount(few, minlength=len(words)))  # compiles
        ours = gensims = float("inf")
        for _ in range(3):
            start = time.process_time()
            found = find_phrases(ids, offsets, words, corpus.vocabulary.counts)
            ours = min(ours, time.process_time() - start)
        sentences = [[words[i] for i in corpus.document(number)] for number in range(corpus.n_documents)]
    from gensim.models.phrases import Phrases

    start = time.process_time()
    theirs = Phrases(sentences, min_count=5, threshold=0.5, scoring="npmi")
    learned = len(theirs.export_phrases())
    gensims = time.process_time() - start
    n = len(ids)
    print(
        f"{n:,} words: {len(found):,} phrases in {ours:.2f} s ({n / ours / 1e6:.1f} M words/s), two to four words each"
    )
    print(
        f"gensim: {learned:,} pairs in {gensims:.2f} s ({n / gensims / 1e6:.2f} M words/s); "
        f"{gensims / ours:.1f} times as long"
    )


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
