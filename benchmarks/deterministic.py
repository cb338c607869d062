"""What `deterministic` costs: its speed over that of lock-free training, at 1 and at all threads, in one process.

    python -m benchmarks.deterministic [--epochs 1] [--repeats 5] [--json]

20 Newsgroups as in benchmarks.training. Both take turns, so that noise affects both. Rates count every token of the
text; compilation and the final refit of the documents, which is the same for both, are left out. CPU time is that of
all threads together: what the copies and the merging cost, without the waiting for one another.
"""

from __future__ import annotations

import statistics
import time

from benchmarks.common import Report, command, encoded, news_tokens, ratios, shown
from spherevec.config import TrainConfig
from spherevec.corpus import EncodedCorpus
from spherevec.training import train_corpus


def measured(corpus: EncodedCorpus, threads: int, deterministic: bool, epochs: int) -> tuple[float, float]:
    """Seconds of the epochs by the clock, and seconds of CPU of the whole run."""
    config = TrainConfig(threads=threads, deterministic=deterministic, epochs=epochs, refit=False)
    before = time.process_time()
    record = train_corpus(corpus, config).record
    return sum(epoch["seconds"] for epoch in record), time.process_time() - before


def compared(corpus: EncodedCorpus, threads: int, epochs: int, repeats: int) -> Report:
    for deterministic in (False, True):
        measured(corpus, threads, deterministic, 1)  # compiles, and touches the memory once
    turns = [[measured(corpus, threads, way, epochs) for way in (False, True)] for _ in range(repeats)]
    clock, cpu = ([[turn[way][unit] for turn in turns] for way in (0, 1)] for unit in (0, 1))
    return {
        "tokens_per_second": corpus.n_tokens * epochs / statistics.median(clock[1]),
        "speed": ratios(clock[0], clock[1]),
        "cpu": ratios(cpu[0], cpu[1]),
    }


def run(epochs: int = 1, repeats: int = 5) -> Report:
    with encoded(news_tokens()) as corpus:
        counts = sorted({1, TrainConfig().thread_count})
        return {str(threads): compared(corpus, threads, epochs, repeats) for threads in counts}


def show(report: Report) -> None:
    for threads, figures in report.items():
        print(f"{threads} threads, deterministic: {figures['tokens_per_second'] / 1e6:.2f} M tokens/s")
        for name in ("speed", "cpu"):
            print(f"  {name:5s} over lock-free: {shown(figures[name])}")


if __name__ == "__main__":
    command(__doc__, run, show, epochs=1, repeats=5)
