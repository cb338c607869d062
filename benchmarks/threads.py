"""How training scales with threads, for both recipes, and whether it learns as well as on one.

    python -m benchmarks.threads [--text FILE] [--words 4000000] [--epochs 2] [--repeats 2] [--most 0] [--json]

Without a file a text is made up. Threads take turns in one process, 1, 2, 4 … up to `--most`, all cores by default; the
last epoch's loss and mean resultant length stand beside the rate.
"""

from __future__ import annotations

import argparse
import json
import statistics
import tempfile
from pathlib import Path

from benchmarks.made_text import write_text
from benchmarks.reading import thread_counts
from spherevec.config import TrainConfig
from spherevec.corpus import EncodedCorpus, encode
from spherevec.process import usable_cores
from spherevec.training import train_corpus

FIGURES = ("tokens_per_second", "loss", "mean_resultant_length")


def figures(corpus: EncodedCorpus, recipe: str, threads: int, epochs: int, seed: int) -> dict[str, float]:
    config = TrainConfig.recipe(recipe, epochs=epochs, threads=threads, seed=seed, refit=False)
    record = train_corpus(corpus, config).record
    seconds = sum(epoch["seconds"] for epoch in record)
    return {**{name: record[-1][name] for name in FIGURES}, "tokens_per_second": corpus.n_tokens * epochs / seconds}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--text", type=Path, help="one document a line; made up when not given")
    parser.add_argument("--words", type=int, default=4_000_000)
    parser.add_argument("--epochs", type=int, default=2)
    parser.add_argument("--repeats", type=int, default=2)
    parser.add_argument("--most", type=int, default=0)
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    counts = thread_counts(arguments.most or usable_cores())
    report: dict[str, dict[int, dict[str, float]]] = {}
    with tempfile.TemporaryDirectory() as scratch:
        text = arguments.text or Path(scratch, "text.txt")
        if arguments.text is None:
            write_text(text, arguments.words, length=300, threads=counts[-1])
        with encode(text, Path(scratch, "corpus"), threads=counts[-1]) as corpus:
            for recipe in ("default", "paper"):
                found: dict[int, list[dict[str, float]]] = {threads: [] for threads in counts}
                for seed in range(1, arguments.repeats + 1):
                    for threads in counts:
                        found[threads].append(figures(corpus, recipe, threads, arguments.epochs, seed))
                report[recipe] = {
                    threads: {name: statistics.median(run[name] for run in runs) for name in FIGURES}
                    for threads, runs in found.items()
                }
                if arguments.json:
                    continue
                print(f"{recipe} recipe, {corpus.n_tokens / 1e6:.1f} M tokens, {len(corpus.vocabulary):,} words")
                for threads, row in report[recipe].items():
                    times = row["tokens_per_second"] / report[recipe][1]["tokens_per_second"]
                    print(
                        f"  {threads:3} threads {row['tokens_per_second'] / 1e6:7.3f} M tokens/s, {times:5.2f} times, "
                        f"loss {row['loss']:.4f}, mean resultant length {row['mean_resultant_length']:.4f}",
                        flush=True,
                    )
    if arguments.json:
        print(json.dumps(report, indent=1))


if __name__ == "__main__":
    main()
