"""What `deterministic` costs: its speed over that of lock-free training, at 1 and at all threads, in one process.

    python -m benchmarks.deterministic [--recipe default] [--repeats 5] [--json]

20 Newsgroups as in benchmarks.training, the first of ten epochs. Both take turns, so that noise affects both. Rates
count every token of the text; compilation and the final refit of the documents, which is the same for both, are left
out. CPU time is that of all threads together: what the copies and the merging cost.
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


def measured(corpus: EncodedCorpus, recipe: str, threads: int, deterministic: bool) -> tuple[float, float]:
    """Seconds of an epoch by the clock, and seconds of CPU of its threads."""
    config = TrainConfig.recipe(recipe, threads=threads, deterministic=deterministic, epochs=10)
    config = config.resolved(corpus.n_tokens, len(corpus.vocabulary))
    data = prepare(corpus, config)
    backend = make_backend(data, config)
    backend.fill()
    backend.warm_up()
    training = backend.begin(with_biases(Schedule(data, config).blocks(0), Biases(config.bias, config.bias)))

    def work(worker: int) -> float:
        before = time.thread_time()
        training.train(worker)
        return time.thread_time() - before

    with ThreadPoolExecutor(threads) as pool:
        started = time.perf_counter()
        cpu = sum(pool.map(work, range(threads)))
        return time.perf_counter() - started, cpu


def compared(corpus: EncodedCorpus, recipe: str, threads: int, repeats: int) -> Report:
    for deterministic in (False, True):
        measured(corpus, recipe, threads, deterministic)  # compiles, and touches the memory once
    turns = [[measured(corpus, recipe, threads, way) for way in (False, True)] for _ in range(repeats)]
    clock, cpu = ([[turn[way][unit] for turn in turns] for way in (0, 1)] for unit in (0, 1))
    return {
        "tokens_per_second": corpus.n_tokens / statistics.median(clock[1]),
        "speed": ratios(clock[0], clock[1]),
        "cpu": ratios(cpu[0], cpu[1]),
    }


def run(recipe: str = "default", repeats: int = 5) -> Report:
    with encoded(news_tokens()) as corpus:
        counts = sorted({1, TrainConfig().thread_count})
        return {str(threads): compared(corpus, recipe, threads, repeats) for threads in counts}


def show(report: Report) -> None:
    for threads, figures in report.items():
        print(f"{threads} threads, deterministic: {figures['tokens_per_second'] / 1e6:.2f} M tokens/s")
        for name in ("speed", "cpu"):
            print(f"  {name:5s} over lock-free: {shown(figures[name])}")


if __name__ == "__main__":
    command(__doc__, run, show, recipe="default", repeats=5)
