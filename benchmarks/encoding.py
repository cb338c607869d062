"""How fast text is counted and encoded: tokens a second, with one thread and with two, in one run.

`SPHEREVEC_DATA=DIR python -m benchmarks.encoding`
"""

from __future__ import annotations

import gzip
import shutil
import tempfile
import threading
import time
from pathlib import Path

from benchmarks.common import Report, command
from experiments.datasets import find_data

TEXTS = {"20news": Path("20news", "text.txt.gz"), "wiki20m": Path("wiki", "wiki20m.txt.gz")}
TOKENIZERS = {"whitespace": "pre-split text", "words": "default tokeniser"}
ROUNDS = 3


def run() -> Report:
    """Best tokens/s of a few rounds for each text and tokeniser, and two threads over one.

    `machine` is the same ratio for bare compiled work, taken in between: both fall on a busy machine.
    """
    folder = find_data()
    results: Report = {}
    with tempfile.TemporaryDirectory() as scratch:
        for name, packed in TEXTS.items():
            raw, split = Path(scratch, f"{name}.txt"), Path(scratch, f"{name}-split.txt")
            with gzip.open(folder / packed) as source, raw.open("wb") as target:
                shutil.copyfileobj(source, target)
            _write_split(raw, split, Path(scratch, "corpus"))
            for tokenizer, path in (("whitespace", split), ("words", raw)):
                results[f"{name}, {TOKENIZERS[tokenizer]}"] = _rates(path, tokenizer, Path(scratch, "corpus"))
    return results


def _write_split(raw: Path, split: Path, scratch: Path) -> None:
    """The words of a text, lower-cased and divided by single spaces."""
    from spherevec.corpus import encode

    with encode(raw, scratch, min_count=1, threads=2) as corpus, split.open("w", encoding="utf-8") as target:
        words = corpus.vocabulary.words
        for document in range(corpus.n_documents):
            target.write(" ".join(map(words.__getitem__, corpus.document(document).tolist())) + "\n")
    shutil.rmtree(scratch)


def _rates(path: Path, tokenizer: str, scratch: Path) -> dict[str, float]:
    from spherevec.corpus import encode

    best, machine = {1: 0.0, 2: 0.0}, 0.0
    for _ in range(ROUNDS):
        machine = max(machine, _machine_ratio())
        for threads in best:
            start = time.perf_counter()
            with encode(path, scratch, tokenizer=tokenizer, threads=threads) as corpus:
                best[threads] = max(best[threads], corpus.raw_tokens / (time.perf_counter() - start))
            shutil.rmtree(scratch)
    return {"one": best[1], "two": best[2], "ratio": best[2] / best[1], "machine": machine}


def _machine_ratio() -> float:
    from spherevec.corpus.count.word_table import WordTable
    from spherevec.corpus.tokenize.tokenizer import tokenizer_of

    block = b"some words to count " * 50_000

    def work() -> None:
        for _ in range(10):
            WordTable(tokenizer_of("whitespace")).feed(block)

    def seconds(threads: int) -> float:
        workers = [threading.Thread(target=work) for _ in range(threads)]
        start = time.perf_counter()
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
        return time.perf_counter() - start

    work()
    return 2 * seconds(1) / seconds(2)


def show(report: Report) -> None:
    for name, row in report.items():
        print(
            f"{name:28} {row['one'] / 1e6:5.1f} M tokens/s, 2 threads {row['two'] / 1e6:5.1f} M, "
            f"{row['ratio']:.2f} times (bare compiled work: {row['machine']:.2f} times)"
        )


if __name__ == "__main__":
    command(__doc__, run, show)
