"""What `reproducible` costs: its speed over that of lock-free training, at 1 and at all threads, in one process.

    python -m bench.reproducible [--epochs 1] [--repeats 5] [--json]

20 Newsgroups as in bench.training. Both take turns, so that the machine's moods hit both. Rates count every token of
the text; compilation and the last fit of the documents, which is the same for both, are left out. CPU time is that of
all threads together: what the copies and the merging cost, without the waiting for one another.
"""

from __future__ import annotations

import argparse
import json
import re
import statistics
import tempfile
import time
from typing import Any

from spherevec.config import TrainConfig
from spherevec.corpus import EncodedCorpus, encode, read_documents
from spherevec.evaluation import find_data
from spherevec.training import train_corpus


def measured(corpus: EncodedCorpus, threads: int, reproducible: bool, epochs: int) -> tuple[float, float]:
    """Seconds of the epochs by the clock, and seconds of CPU of the whole run."""
    config = TrainConfig(threads=threads, reproducible=reproducible, epochs=epochs, refit=False)
    before = time.process_time()
    record = train_corpus(corpus, config).record
    return sum(epoch["seconds"] for epoch in record), time.process_time() - before


def ratios(corpus: EncodedCorpus, threads: int, epochs: int, repeats: int) -> dict[str, Any]:
    clock, cpu, rates = [], [], []
    for reproducible in (False, True):
        measured(corpus, threads, reproducible, 1)  # compiles, and touches the memory once
    for _ in range(repeats):
        free, same = (measured(corpus, threads, reproducible, epochs) for reproducible in (False, True))
        clock.append(free[0] / same[0])
        cpu.append(free[1] / same[1])
        rates.append(corpus.n_tokens * epochs / same[0])
    return {
        "tokens_per_second": statistics.median(rates),
        "speed": _summary(clock),
        "cpu": _summary(cpu),
    }


def _summary(values: list[float]) -> dict[str, float]:
    return {"median": statistics.median(values), "low": min(values), "high": max(values)}


def run(epochs: int = 1, repeats: int = 5) -> dict[str, Any]:
    tokens = re.compile(r"\w+|[^\w\s]")
    texts = [tokens.findall(str(text).lower()) for text in read_documents(find_data() / "20news" / "text.txt.gz")]
    with tempfile.TemporaryDirectory() as folder, encode(texts, folder, threads=2) as corpus:
        del texts
        counts = sorted({1, TrainConfig().thread_count})
        return {str(threads): ratios(corpus, threads, epochs, repeats) for threads in counts}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--epochs", type=int, default=1)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    report = run(arguments.epochs, arguments.repeats)
    if arguments.json:
        print(json.dumps(report, indent=2))
        return
    for threads, figures in report.items():
        print(f"{threads} threads, reproducible: {figures['tokens_per_second'] / 1e6:.2f} M tokens/s")
        for name in ("speed", "cpu"):
            spread = figures[name]
            print(f"  {name:5s} over lock-free: {spread['median']:.2f} ({spread['low']:.2f} to {spread['high']:.2f})")


if __name__ == "__main__":
    main()
