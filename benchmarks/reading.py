"""How reading scales with threads: from a text file to ids on disk, and where the time goes.

    python -m benchmarks.reading [--words 100000000] [--text FILE] [--repeats 2] [--most 0] [--json]

Without a file a text is made up. Threads take turns in one process: 1, 2, 4 … up to `--most`, all cores by default.
Parts: reading and counting, merging the tables, ranking the words, renumbering and writing, the rest; and the processor
time of all threads together, which grows where they get into each other's way. Also the same text in one gzip file and
in as many as there are cores, beside the decompressor alone.
"""

from __future__ import annotations

import argparse
import gzip
import json
import shutil
import statistics
import tempfile
import time
from pathlib import Path
from typing import Any

from benchmarks.made_text import write_text
from benchmarks.parts import clocks
from spherevec.corpus import encode
from spherevec.process import usable_cores
from spherevec.threads import in_order

PARTS = {
    "count": "spherevec.corpus.count.encoder:_count",
    "merge": "spherevec.corpus.count.vocabulary:CountedWords.merged",
    "rank": "spherevec.corpus.count.encoder:choose_words",
    "renumber": "spherevec.corpus.count.encoder:write_numbers",
    "rare": "spherevec.corpus.count.vocabulary:RareWords.write",
    "warn": "spherevec.corpus.count.encoder:_looks",
    "json": "spherevec.corpus.count.encoder:finish_corpus",
}


def encoded(source: Any, threads: int, folder: Path) -> dict[str, float]:
    """Seconds of one encoding, and of its parts."""
    with clocks(PARTS) as parts:
        start, processor = time.perf_counter(), time.process_time()
        with encode(source, folder, threads=threads, tokenizer="words") as corpus:
            total, processor = time.perf_counter() - start, time.process_time() - processor
            words = corpus.raw_tokens
    shutil.rmtree(folder)
    spent = {name: one.wall for name, one in parts.items()}
    spent["count"] -= spent["merge"]
    return {"words": words, "seconds": total, **spent, "rest": total - sum(spent.values()), "processor": processor}


def thread_counts(most: int) -> list[int]:
    counts = [1]
    while counts[-1] * 2 <= most:
        counts.append(counts[-1] * 2)
    return counts if counts[-1] == most else [*counts, most]


def plain(text: Path, most: int, repeats: int, scratch: Path) -> dict[int, dict[str, float]]:
    """The medians for each number of threads."""
    rows: dict[int, list[dict[str, float]]] = {threads: [] for threads in thread_counts(most)}
    for _ in range(repeats):
        for threads, found in rows.items():
            found.append(encoded(text, threads, scratch / "corpus"))
    return {
        threads: {name: statistics.median(one[name] for one in found) for name in found[0]}
        for threads, found in rows.items()
    }


def compressed(text: Path, most: int, scratch: Path) -> dict[str, float]:
    """Words a second of gzip files, and of decompressing alone; the files hold a part of the text."""
    data = text.read_bytes()[: 16 << 20]
    data = data[: data.rfind(b"\n") + 1]
    one, many = scratch / "one.txt.gz", [scratch / f"many-{i}.txt.gz" for i in range(most)]
    packed = gzip.compress(data, 6)
    one.write_bytes(packed * 4)  # parts of a gzip file follow one another
    for path in many:
        path.write_bytes(packed)
    start = time.perf_counter()
    with gzip.open(one) as file:
        while file.read(1 << 20):
            pass
    alone = time.perf_counter() - start
    single, several = encoded(one, most, scratch / "corpus"), encoded(many, most, scratch / "corpus")

    def inflate(_: int, path: Path) -> int:
        with gzip.open(path) as file:
            return sum(len(piece) for piece in iter(lambda: file.read(1 << 20), b""))

    start = time.perf_counter()
    list(in_order(many, inflate, most))
    all_alone = time.perf_counter() - start
    return {
        "one file": single["words"] / single["seconds"],
        "its decompressor alone": single["words"] / alone,
        f"{most} files": several["words"] / several["seconds"],
        "their decompressors alone": several["words"] / all_alone,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--words", type=int, default=100_000_000)
    parser.add_argument("--text", type=Path)
    parser.add_argument("--repeats", type=int, default=2)
    parser.add_argument("--most", type=int, default=0)
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    most = arguments.most or usable_cores()
    with tempfile.TemporaryDirectory() as folder:
        scratch = Path(folder)
        text = arguments.text or scratch / "text.txt"
        if arguments.text is None:
            write_text(text, arguments.words, threads=usable_cores())
        start = time.perf_counter()
        encoded([b"warm up and compile".decode()] * 9, 1, scratch / "corpus")
        warm = scratch / "warm.txt"
        warm.write_text("some words to compile with\n" * 50)
        for threads in (1, 2):
            encoded(warm, threads, scratch / "corpus")
        compiling = time.perf_counter() - start
        rows = plain(text, most, arguments.repeats, scratch)
        packed = compressed(text, most, scratch)
    if arguments.json:
        print(json.dumps({"compiling": compiling, "threads": rows, "compressed": packed}, indent=1))
        return
    names = ["count", "merge", "rank", "renumber", "rare", "warn", "json", "rest", "processor"]
    print(f"{rows[1]['words'] / 1e6:.1f} M words; seconds of each part ({compiling:.1f} s to warm up)")
    print("threads  M words/s  times one | " + " ".join(f"{name:>9}" for name in names))
    for threads, row in rows.items():
        rate = row["words"] / row["seconds"] / 1e6
        times = rows[1]["seconds"] / row["seconds"]
        print(f"{threads:7} {rate:10.2f} {times:10.2f} | " + " ".join(f"{row[name]:9.3f}" for name in names))
    for name, rate in packed.items():
        print(f"gzip, {most} threads, {name}: {rate / 1e6:.2f} M words/s")


if __name__ == "__main__":
    main()
