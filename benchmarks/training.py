"""Training speed beside gensim's, and how it scales: ratios of runs that take turns in one process.

    python -m benchmarks.training [--epochs 2] [--repeats 3] [--scaling 1] [--everything 1] [--json]
    python -m benchmarks.training --epochs 1 --repeats 5 --scaling 0 --everything 0     against skip-gram alone

Needs gensim and the data sets (SPHEREVEC_DATA). Settings not named here are each system's own: gensim takes 5 negative
samples and subsamples from a share of 1e-3 on, our default recipe takes 5 and subsamples from 3e-5 on, the paper's 2
from 1e-3 on. Every system gets the same text, 20 Newsgroups lower-cased and split into words and single punctuation
marks, dimension 100, window 10 and all cores. Rates count every token of the text, subsampled ones included.
"""

from __future__ import annotations

import statistics
import tempfile
import time
from collections.abc import Callable
from typing import Any

import numpy as np

import spherevec
from benchmarks.common import Report, command, encoded, news_tokens, ratios, shown
from spherevec.config import TrainConfig
from spherevec.corpus import EncodedCorpus, encode
from spherevec.training import train_corpus

DIMENSION, WINDOW = 100, 10


def ours(corpus: EncodedCorpus, **settings: Any) -> float:
    """Words a second of the training epochs, compilation excluded."""
    config = TrainConfig.recipe(settings.pop("recipe", "default"), vector_size=DIMENSION, window=WINDOW, **settings)
    record = train_corpus(corpus, config).record
    return float(corpus.n_tokens * len(record) / sum(epoch["seconds"] for epoch in record))


def whole_run(corpus: EncodedCorpus) -> float:
    """Words a second of ten epochs by the default recipe, with all that comes before and after them.

    That is chiefly the final refit of the documents with frozen words.
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


def against_gensim(
    corpus: EncodedCorpus, texts: list[list[str]], epochs: int, repeats: int, everything: bool
) -> dict[str, Any]:
    workers = TrainConfig().thread_count
    systems: dict[str, Callable[[], float]] = {
        "gensim Word2Vec": lambda: word2vec(texts, epochs, workers),
        "free": lambda: ours(corpus, epochs=epochs, deterministic=False),
        "default": lambda: ours(corpus, epochs=epochs),
        "paper": lambda: ours(corpus, epochs=epochs, recipe="paper"),
    }
    pairs = [(name, "gensim Word2Vec") for name in ("free", "default", "paper")]
    if everything:
        systems |= {
            "whole run": lambda: whole_run(corpus),
            "1 thread": lambda: ours(corpus, epochs=epochs, threads=1),
            "gensim Doc2Vec": lambda: doc2vec(texts, epochs, workers),
        }
        pairs += [("whole run", "gensim Word2Vec"), ("default", "gensim Doc2Vec"), ("default", "1 thread")]
    rates: dict[str, list[float]] = {name: [] for name in systems}
    for _ in range(repeats):
        for name, run in systems.items():
            rates[name].append(run())
    return {
        "words_per_second": {name: statistics.median(values) for name, values in rates.items()},
        "ratios": {f"{over} / {under}": ratios(rates[over], rates[under]) for over, under in pairs},
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


def scaled(repeats: int) -> dict[str, Any]:
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


def run(epochs: int = 2, repeats: int = 3, scaling: int = 1, everything: int = 1) -> Report:
    """Every figure; `scaling` 0 leaves only the comparison with gensim, `everything` 0 only that with skip-gram."""
    texts = news_tokens()
    with encoded(texts) as corpus:
        report = {"version": spherevec.__version__, **against_gensim(corpus, texts, epochs, repeats, bool(everything))}
    return report | ({"scaling": scaled(repeats)} if scaling else {})


def show(report: Report) -> None:
    for name, rate in report["words_per_second"].items():
        print(f"{name:32s} {rate / 1e6:6.2f} M words/s")
    for name, spread in report["ratios"].items():
        print(f"{name:32s} {shown(spread)}")
    for name, rates in report.get("scaling", {}).items():
        for key, rate in rates.items():
            print(f"{name} {key:>12,}      {rate / 1e6:6.2f} M words/s")


if __name__ == "__main__":
    command(__doc__, run, show, epochs=2, repeats=3, scaling=1, everything=1)
