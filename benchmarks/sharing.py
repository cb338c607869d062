"""What bounds training on many threads: experiments on which rows the threads share, for both recipes.

    python -m benchmarks.sharing [--text FILE] [--threads 16] [--seconds 2] [--words 4000000] [--json]

The kernels are run directly, without the trainer, each thread on units of its own, on vectors that one epoch of all
threads has trained before. A variant changes what threads share, and nothing else:

    shared              all rows, as in training
    private             every thread has its own copy of all tables: what the machine could do without sharing
    own inputs, own contexts, own docs
                        one of the tables is private
    own top N           the N most frequent words have a row for each thread in both tables
    other negatives     each thread takes its negatives from a range of words of its own
    padded              64 more bytes between rows: no line is fetched with a neighbour's
    trainer             the real thing, for comparison: blocks, locks and reports included, and a copy of the most
                        frequent rows for each thread, brought together now and then

Each row is tokens a second, and times one thread of the same variant.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.made_text import write_text
from spherevec.config import TrainConfig
from spherevec.corpus import EncodedCorpus, encode
from spherevec.engine.base import SETTLING, TrainingData
from spherevec.engine.cpu import kernels as kernel
from spherevec.engine.cpu import rounds
from spherevec.engine.cpu.backend import scratch_of, settings_of
from spherevec.engine.cpu.overlay_ops import OwnRows
from spherevec.engine.cpu.vector_ops import ANCHOR_TILE, padded_rows
from spherevec.engine.figures import SLOTS
from spherevec.process import usable_cores
from spherevec.training import train_corpus
from spherevec.training.runtime import prepare

UNITS = 16  # that a call of a kernel trains
Tables = dict[str, NDArray[np.float32]]


class Experiment:
    """One recipe on one corpus."""

    def __init__(self, corpus: EncodedCorpus, recipe: str, most: int) -> None:
        config = TrainConfig.recipe(recipe, epochs=1, threads=most)
        self.config = config.resolved(corpus.n_tokens, len(corpus.vocabulary)).with_(epochs=1)
        self.corpus = corpus
        self.data: TrainingData = prepare(corpus, self.config)
        model = train_corpus(corpus, self.config.with_(refit=False))
        assert model.contexts is not None and model.docs is not None
        self.width = self.config.vector_size
        trained = {"inputs": model.inputs.vectors, "contexts": model.contexts.vectors, "docs": model.docs.vectors}
        self.tables = {name: self._padded(vectors) for name, vectors in trained.items()}

    def _padded(self, vectors: NDArray[np.float32], extra: int = 0) -> NDArray[np.float32]:
        rows: NDArray[np.float32] = padded_rows(len(vectors), self.width + extra)
        rows[:, : self.width] = vectors[:, : self.width]
        return rows

    def base(self) -> kernel.Corpus:
        data = self.data
        return kernel.Corpus(
            np.array(data.ids), np.array(data.offsets), data.pieces,
            data.keep_probability, data.alias_probability, data.alias_word,
        )  # fmt: skip

    # --- variants: for each thread, what it reads and where it writes ------------------------------------------------

    def variant(self, name: str, threads: int) -> list[tuple[kernel.Corpus, Tables]]:
        corpus, tables = self.base(), {key: self._padded(table) for key, table in self.tables.items()}
        if name == "padded":
            tables = {key: self._padded(table, 16) for key, table in tables.items()}
        shares = [(corpus, dict(tables)) for _ in range(threads)]
        own = {"private": ("inputs", "contexts", "docs"), "own inputs": ("inputs",)}
        own |= {"own contexts": ("contexts",), "own docs": ("docs",)}
        for key in own.get(name, ()):
            for _, mine in shares:
                mine[key] = self._padded(tables[key])
        if name.startswith("own top "):
            return self._own_top(int(name.split()[-1]), corpus, tables, threads)
        if name == "other negatives":
            return [(self._negatives_of(corpus, t, threads), tables) for t in range(threads)]
        return shares

    def _own_top(self, top: int, corpus: kernel.Corpus, tables: Tables, threads: int) -> list[Any]:
        """Further rows for the most frequent words, one set a thread; ids and negatives are renumbered to them."""
        words = len(corpus.alias_word)
        top = min(top, words)
        grown = dict(tables)
        for key in ("inputs", "contexts"):
            grown[key] = self._padded(np.concatenate([tables[key], *[tables[key][:top]] * threads]))
        shares = []
        for t in range(threads):
            number = np.arange(words, dtype=np.int32)
            number[:top] = words + t * top + np.arange(top)
            chance, alias = corpus.alias_probability.copy(), number[corpus.alias_word]
            chance[:top], alias[:top] = 0, number[:top]  # a slot of a frequent word gives that word's own row
            keep = np.concatenate([corpus.keep_probability, np.tile(corpus.keep_probability[:top], threads)])
            own = corpus._replace(
                ids=number[corpus.ids], keep_probability=keep, alias_probability=chance, alias_word=alias
            )
            shares.append((own, grown))
        return shares

    def _negatives_of(self, corpus: kernel.Corpus, t: int, threads: int) -> kernel.Corpus:
        words = len(corpus.alias_word)
        span = words // threads
        alias = (corpus.alias_word % span) * threads + t  # as frequent a word as before, about
        return corpus._replace(alias_probability=np.zeros(words, np.uint32), alias_word=alias.astype(np.int32))

    def rate(self, name: str, threads: int, seconds: float) -> float:
        """Tokens a second of some threads."""
        config, units = self.config, self.data.units
        settings, biases = settings_of(config), np.full(2, config.bias)
        shares = self.variant(name, threads)
        sums = np.zeros((threads, 64))
        stop = threading.Event()
        barrier = threading.Barrier(threads + 1)
        alpha = config.alpha / 2
        none, places = np.zeros((0, self.width), np.float32), np.zeros(1, np.uint8)

        def work(t: int) -> None:
            corpus, tables = shares[t]
            batch = max(config.batch, ANCHOR_TILE)
            scratch = scratch_of(config).make(
                self.width, config.window, config.negative, batch, config.objective_info.code
            )
            inputs = OwnRows(tables["inputs"], self._padded(none), np.zeros(1, np.int32), self._padded(none), 0)
            vectors, docs = kernel.Vectors(inputs, tables["contexts"]), tables["docs"]

            def train(first: int, last: int) -> None:
                edges, alphas = np.array([[first, last]]), np.full((1, 2), alpha)
                plan = rounds.Plan(edges, alphas, units, np.uint64(1), np.uint64(5), 0.0, False)
                cells, own_sums = np.zeros(rounds.CELLS, np.int64), sums[t, : len(SLOTS)]
                rounds.train_freely(
                    1, cells, biases, places, own_sums, vectors, docs, corpus, scratch, plan, settings, SETTLING
                )  # fmt: skip

            train(0, 0)
            barrier.wait()
            at = t * units // threads
            while not stop.is_set():
                last = min(at + UNITS, units)
                train(at, last)
                at = last % units

        workers = [threading.Thread(target=work, args=(t,)) for t in range(threads)]
        for worker in workers:
            worker.start()
        barrier.wait()
        start = time.perf_counter()
        time.sleep(seconds)
        stop.set()
        for worker in workers:
            worker.join()
        return float(sums[:, SLOTS["tokens"]].sum() / (time.perf_counter() - start))

    def trainer(self, threads: int) -> float:
        record = train_corpus(self.corpus, self.config.with_(refit=False, threads=threads)).record
        return float(record[0]["tokens_per_second"])


VARIANTS = ["shared", "private", "own inputs", "own contexts", "own docs", "own top 100", "own top 1000",
            "own top 10000", "other negatives", "padded"]  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--text", type=Path, help="one document a line; made up when not given")
    parser.add_argument("--threads", type=int, default=usable_cores())
    parser.add_argument("--seconds", type=float, default=2.0)
    parser.add_argument("--words", type=int, default=4_000_000)
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    counts = sorted({1, max(1, arguments.threads // 4), arguments.threads})
    report: dict[str, dict[str, dict[int, float]]] = {}
    with tempfile.TemporaryDirectory() as scratch:
        text = arguments.text or Path(scratch, "text.txt")
        if arguments.text is None:
            write_text(text, arguments.words, length=300, threads=arguments.threads)
        corpus = encode(text, Path(scratch, "corpus"), threads=arguments.threads)
        for recipe in ("paper", "default"):
            one = Experiment(corpus, recipe, arguments.threads)
            print(
                f"{recipe} recipe, {corpus.n_tokens / 1e6:.1f} M tokens, {len(corpus.vocabulary):,} words", flush=True
            )
            report[recipe] = {}
            for name in [*VARIANTS, "trainer"]:
                rates = report[recipe][name] = {
                    threads: one.trainer(threads) if name == "trainer" else one.rate(name, threads, arguments.seconds)
                    for threads in counts
                }
                shown = "  ".join(
                    f"{threads:3}: {rate / 1e6:7.3f} M ({rate / rates[1]:5.2f} times)"
                    for threads, rate in rates.items()
                )
                print(f"  {name:18} {shown}", flush=True)
        corpus.close()
    if arguments.json:
        print(json.dumps(report, indent=1))


if __name__ == "__main__":
    main()
