"""Training speed beside gensim's, and how it scales: ratios of runs that take turns in one process.

    python -m bench.training [--epochs 2] [--repeats 3] [--json]

Needs gensim and the data sets (SPHEREVEC_DATA). Settings not named here are each system's own: gensim draws 5 words and
thins out from a share of 1e-3 on, our default recipe draws 5 and thins out from 3e-5 on, the paper's draws 2 from 1e-3
on. Every system gets the same text, 20 Newsgroups lower-cased and split
into words and single punctuation marks, dimension 100, window 10 and all cores. Rates count every token of the text,
thinned-out ones included.
"""

from __future__ import annotations

import argparse
import json
import re
import statistics
import tempfile
import time
from collections.abc import Callable
from typing import Any

import numpy as np

import spherevec
from spherevec.config import TrainConfig
from spherevec.corpus import EncodedCorpus, encode, read_documents
from spherevec.evaluation import find_data
from spherevec.training import train_corpus

DIMENSION, WINDOW = 100, 10


def ours(corpus: EncodedCorpus, **settings: Any) -> float:
    """Words a second of the training epochs, compilation excluded."""
    config = TrainConfig.recipe(settings.pop("recipe", "default"), vector_size=DIMENSION, window=WINDOW, **settings)
    record = train_corpus(corpus, config).record
    return corpus.n_tokens * len(record) / sum(epoch["seconds"] for epoch in record)


def whole_run(corpus: EncodedCorpus) -> float:
    """Words a second of ten epochs by the default recipe, with all that comes before and after them.

    That is chiefly fitting the documents once more at the end.
    """
    started = time.perf_counter()
    train_corpus(corpus, TrainConfig(vector_size=DIMENSION, window=WINDOW, epochs=10))
    return corpus.n_tokens * 10 / (time.perf_counter() - started)


def word2vec(texts: list[list[str]], epochs: int, workers: int) -> float:
    from gensim.models import Word2Vec

    model = Word2Vec(vector_size=DIMENSION, window=WINDOW, min_count=5, sg=1, negative=5, workers=workers)
    model.build_vocab(texts)
    return _gensim_rate(model, texts, texts, epochs)


def doc2vec(texts: list[list[str]], epochs: int, workers: int) -> float:
    from gensim.models import Doc2Vec
    from gensim.models.doc2vec import TaggedDocument

    tagged = [TaggedDocument(words, [number]) for number, words in enumerate(texts)]
    model = Doc2Vec(vector_size=DIMENSION, window=WINDOW, min_count=5, dm=0, negative=5, workers=workers)
    model.build_vocab(tagged)
    return _gensim_rate(model, tagged, texts, epochs)


def _gensim_rate(model: Any, examples: list[Any], texts: list[list[str]], epochs: int) -> float:
    started = time.perf_counter()
    model.train(examples, total_examples=len(examples), epochs=epochs)
    return sum(map(len, texts)) * epochs / (time.perf_counter() - started)


def against_gensim(corpus: EncodedCorpus, texts: list[list[str]], epochs: int, repeats: int) -> dict[str, Any]:
    workers = TrainConfig().thread_count
    systems: dict[str, Callable[[], float]] = {
        "spherevec, default recipe": lambda: ours(corpus, epochs=epochs),
        "spherevec, default, whole run": lambda: whole_run(corpus),
        "spherevec, paper recipe": lambda: ours(corpus, epochs=epochs, recipe="paper"),
        "gensim Word2Vec": lambda: word2vec(texts, epochs, workers),
        "gensim Doc2Vec, DBOW": lambda: doc2vec(texts, epochs, workers),
        "spherevec, default, 1 thread": lambda: ours(corpus, epochs=epochs, threads=1),
    }
    rates: dict[str, list[float]] = {name: [] for name in systems}
    for _ in range(repeats):
        for name, run in systems.items():
            rates[name].append(run())

    def ratio(over: str, under: str) -> dict[str, float]:
        values = [a / b for a, b in zip(rates[over], rates[under], strict=True)]
        return {"median": statistics.median(values), "low": min(values), "high": max(values)}

    default = "spherevec, default recipe"
    return {
        "words_per_second": {name: statistics.median(values) for name, values in rates.items()},
        "ratios": {
            "default / Word2Vec": ratio(default, "gensim Word2Vec"),
            "default, whole run / Word2Vec": ratio("spherevec, default, whole run", "gensim Word2Vec"),
            "default / Doc2Vec": ratio(default, "gensim Doc2Vec, DBOW"),
            "paper / Word2Vec": ratio("spherevec, paper recipe", "gensim Word2Vec"),
            f"{workers} threads / 1": ratio(default, "spherevec, default, 1 thread"),
        },
    }


def synthetic(folder: str, tokens: int, words: int, seed: int = 0) -> EncodedCorpus:
    """A corpus of `tokens` Zipf-distributed words out of `words`, in documents of 300."""
    rng = np.random.default_rng(seed)
    chances = 1 / np.arange(1, words + 1)
    edges = np.cumsum(chances / chances.sum())

    def documents() -> Any:
        for start in range(0, tokens, 300):
            numbers = np.searchsorted(edges, rng.random(min(300, tokens - start)))
            yield [f"w{number}" for number in numbers.tolist()]
        # Every word occurs: what is measured is a vocabulary of this size.
        for start in range(0, words, 300):
            yield [f"w{number}" for number in range(start, min(start + 300, words))]

    return encode(documents(), folder, min_count=1, threads=2)


def scaling(repeats: int) -> dict[str, Any]:
    """Words a second over the length of the text and over the size of the vocabulary."""
    report: dict[str, Any] = {"by_tokens": {}, "by_vocabulary": {}}
    for name, sizes in {
        "by_tokens": {tokens: (tokens, 40_000) for tokens in (1_000_000, 20_000_000)},
        "by_vocabulary": {words: (5_000_000, words) for words in (40_000, 1_000_000)},
    }.items():
        for key, (tokens, words) in sizes.items():
            with tempfile.TemporaryDirectory() as folder, synthetic(folder, tokens, words) as corpus:
                rates = [ours(corpus, epochs=1, refit=False, sample=0.0, documents=False) for _ in range(repeats)]
                report[name][key] = statistics.median(rates)
    return report


def run(epochs: int = 2, repeats: int = 3, *, with_scaling: bool = True) -> dict[str, Any]:
    source = find_data() / "20news" / "text.txt.gz"
    tokens = re.compile(r"\w+|[^\w\s]")
    texts = [tokens.findall(str(text).lower()) for text in read_documents(source)]
    with tempfile.TemporaryDirectory() as folder, encode(texts, folder, threads=2) as corpus:
        report = {"version": spherevec.__version__, **against_gensim(corpus, texts, epochs, repeats)}
    if with_scaling:
        report["scaling"] = scaling(repeats)
    return report


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--epochs", type=int, default=2)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--no-scaling", action="store_true", help="only the comparison with gensim")
    arguments = parser.parse_args()
    report = run(arguments.epochs, arguments.repeats, with_scaling=not arguments.no_scaling)
    if arguments.json:
        print(json.dumps(report, indent=2))
        return
    for name, rate in report["words_per_second"].items():
        print(f"{name:32s} {rate / 1e6:6.2f} M words/s")
    for name, value in report["ratios"].items():
        print(f"{name:32s} {value['median']:6.2f}  ({value['low']:.2f} to {value['high']:.2f})")
    for name, rates in report.get("scaling", {}).items():
        for key, rate in rates.items():
            print(f"{name} {key:>12,}      {rate / 1e6:6.2f} M words/s")


if __name__ == "__main__":
    main()
