"""What `deterministic` costs: its speed over that of lock-free training, at 1, 2 and all threads, in one process.

    python -m benchmarks.deterministic [--recipe default] [--repeats 5] [--share 0.25] [--json]

20 Newsgroups as in benchmarks.training, the first blocks of the first of ten epochs, with both recipes unless one is
named. Both ways take turns, so that noise affects both. Rates count every token of the text; compilation and the final
refit of the documents, which is the same for both, are left out. CPU time is that of all threads together: what the
copies and the merging cost. On 16 cores it takes about three minutes.
"""

from __future__ import annotations

import statistics
import time
from concurrent.futures import ThreadPoolExecutor

from benchmarks.common import Report, command, encoded, news_tokens, ratios, shown
from spherevec.config import TrainConfig
from spherevec.corpus import EncodedCorpus
from spherevec.engine.backends import make_backend
from spherevec.engine.base import Biases
from spherevec.engine.schedule import Schedule
from spherevec.training.run import with_biases
from spherevec.training.runtime import prepare


def measured(
    corpus: EncodedCorpus, recipe: str, threads: int, deterministic: bool, share: float
) -> tuple[float, float]:
    """Seconds per token of a share of an epoch by the clock, and seconds of CPU of its threads."""
    config = TrainConfig.recipe(recipe, threads=threads, deterministic=deterministic, epochs=10)
    config = config.resolved(corpus.n_tokens, len(corpus.vocabulary))
    data = prepare(corpus, config)
    backend = make_backend(data, config)
    backend.fill()
    backend.warm_up()
    blocks = Schedule(data, config).blocks(0)
    some = blocks[: max(1, round(share * len(blocks)))]
    training = backend.begin(with_biases(some, Biases(config.bias, config.bias)))

    def work(worker: int) -> float:
        before = time.thread_time()
        training.train(worker)
        return time.thread_time() - before

    with ThreadPoolExecutor(threads) as pool:
        started = time.perf_counter()
        cpu = sum(pool.map(work, range(backend.workers)))
        seconds = time.perf_counter() - started
    tokens = backend.sums().tokens
    return seconds / tokens, cpu / tokens


def compared(corpus: EncodedCorpus, recipe: str, threads: int, repeats: int, share: float) -> Report:
    for deterministic in (False, True):
        measured(corpus, recipe, threads, deterministic, share / 10)  # compiles, and touches the memory once
    turns = [[measured(corpus, recipe, threads, way, share) for way in (False, True)] for _ in range(repeats)]
    clock, cpu = ([[turn[way][unit] for turn in turns] for way in (0, 1)] for unit in (0, 1))
    return {
        "tokens_per_second": 1 / statistics.median(clock[1]),
        "speed": ratios(clock[0], clock[1]),
        "cpu": ratios(cpu[0], cpu[1]),
    }


def run(recipe: str = "", repeats: int = 5, share: float = 0.25) -> Report:
    recipes = [recipe] if recipe else ["default", "paper"]
    with encoded(news_tokens()) as corpus:
        return {
            f"{name}, {threads} threads": compared(corpus, name, threads, repeats, share)
            for name in recipes
            for threads in sorted({1, 2, TrainConfig().thread_count})
        }


def show(report: Report) -> None:
    for name, figures in report.items():
        print(f"{name}, deterministic: {figures['tokens_per_second'] / 1e6:.2f} M tokens/s")
        for unit in ("speed", "cpu"):
            print(f"  {unit:5s} over lock-free: {shown(figures[unit])}")


if __name__ == "__main__":
    command(__doc__, run, show, recipe="", repeats=5, share=0.25)
