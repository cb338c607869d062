"""Topics by other programs, in an environment of their own: python rivals.py METHOD TEXTS.json K SEED > RESULT.json

TEXTS.json holds tokenised texts. Needs nothing of this project.
"""

from __future__ import annotations

import json
import resource
import sys
import time
from pathlib import Path
from typing import Any


def tomotopy_lda(texts: list[list[str]], k: int, seed: int) -> tuple[list[list[str]], list[int]]:
    import tomotopy

    model: Any = tomotopy.LDAModel(k=k, min_cf=5, rm_top=50, seed=seed)
    for text in texts:
        model.add_doc(text or ["empty"])
    model.train(500, workers=1)
    labels = iter([int(doc.get_topics(top_n=1)[0][0]) for doc in model.docs])
    return [[word for word, _ in model.get_topic_words(topic, top_n=10)] for topic in range(k)], list(labels)


def sklearn_nmf(texts: list[list[str]], k: int, seed: int) -> tuple[list[list[str]], list[int]]:
    from sklearn.decomposition import NMF
    from sklearn.feature_extraction.text import TfidfVectorizer

    vectorizer: Any = TfidfVectorizer(analyzer=list, min_df=5, max_df=0.5, sublinear_tf=True)
    counts = vectorizer.fit_transform(texts)
    model: Any = NMF(k, random_state=seed, init="nndsvda", max_iter=200)
    labels = model.fit_transform(counts).argmax(axis=1).tolist()
    words = vectorizer.get_feature_names_out()
    return [[str(words[i]) for i in row.argsort()[::-1][:10]] for row in model.components_], labels


METHODS = {"tomotopy_lda": tomotopy_lda, "sklearn_nmf": sklearn_nmf}


if __name__ == "__main__":
    method, path, k, seed = sys.argv[1:]
    tokenised = json.loads(Path(path).read_text())
    start = time.perf_counter()
    words, labels = METHODS[method](tokenised, int(k), int(seed))
    print(
        json.dumps(
            {
                "words": words,
                "labels": labels,
                "seconds": time.perf_counter() - start,
                "peak_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
            }
        )
    )
