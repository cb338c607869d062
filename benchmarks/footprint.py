"""Memory and start-up: what a run costs besides time.

    python -m benchmarks.footprint [--json]

Each figure comes from a process of its own. Peak memory is the largest resident set of `spherevec train`, beside its
bound: 1.5 times (vectors + vocabulary) + 200 MB, whatever the length of the text. Of it, the process's own pages, by
looks a few milliseconds apart: the rest are files, which the system may drop.
"""

from __future__ import annotations

import gzip
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import spherevec
from benchmarks.common import Report, command
from experiments.datasets import find_data, wiki_path

MEGABYTE = 2**20
# The peak of getrusage would be that of the process that started this one, where that is larger.
_RUN = """
import sys, threading

def now(figure):
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) * 1024 for line in status if line.startswith(figure))

own, ended = [0], threading.Event()

def watch():
    while not ended.wait(0.004):
        own[0] = max(own[0], now("RssAnon"))

threading.Thread(target=watch, daemon=True).start()
from spherevec.cli import main
code = main()
ended.set()
print(own[0], now("VmHWM"), file=sys.stderr)
sys.exit(code)
"""


def seconds(command: list[str], repeats: int = 5, **environment: str) -> float:
    times = []
    for _ in range(repeats):
        started = time.perf_counter()
        subprocess.run(command, check=True, capture_output=True, env={**os.environ, **environment})
        times.append(time.perf_counter() - started)
    return statistics.median(times)


def peak_memory(text: Path, folder: Path) -> dict[str, Any]:
    """Peak resident set of training on a text file, and its bound, in MB."""
    out = folder / "model"
    command = [sys.executable, "-c", _RUN, "train", str(text), "--out", str(out), "--force", "--epochs", "1", "--quiet"]
    run = subprocess.run(command, check=True, capture_output=True, text=True)
    model = spherevec.load(out)
    tables = [table for table in (model.words, model.contexts, model.docs) if table is not None]
    vectors = sum(table.vectors.nbytes for table in tables)
    words = model.words.names or []
    # A string costs about 50 bytes beyond its letters, its place in the list and its count 16 more.
    vocabulary = sum(len(word.encode()) + 66 for word in words)
    return {
        "text_mb": text.stat().st_size / MEGABYTE,
        "words": len(words),
        "vectors_and_vocabulary_mb": (vectors + vocabulary) / MEGABYTE,
        "peak_mb": int(run.stderr.split()[-1]) / MEGABYTE,
        "own_peak_mb": int(run.stderr.split()[-2]) / MEGABYTE,
        "bound_mb": 1.5 * (vectors + vocabulary) / MEGABYTE + 200,
    }


def first_compilation() -> float:
    """Seconds that an empty compilation cache adds to a first tiny run."""
    script = "import spherevec; spherevec.train(['some words to train on here', 'and some more words'] * 50, epochs=1)"
    command = [sys.executable, "-c", script]
    with tempfile.TemporaryDirectory() as cache:
        cold = seconds(command, 1, NUMBA_CACHE_DIR=cache)
        return cold - seconds(command, 3, NUMBA_CACHE_DIR=cache)


def run() -> Report:
    report: Report = {
        "nothing_seconds": seconds([sys.executable, "-c", "pass"]),
        "import_seconds": seconds([sys.executable, "-c", "import spherevec"]),
        "help_seconds": seconds([sys.executable, "-c", "from spherevec.cli import main; main()", "--help"]),
        "first_compilation_seconds": first_compilation(),
        "memory": {},
    }
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        for name, source in {"20news": find_data() / "20news" / "text.txt.gz", "wiki20m": wiki_path()}.items():
            text = folder / f"{name}.txt"
            text.write_bytes(gzip.decompress(source.read_bytes()))
            report["memory"][name] = peak_memory(text, folder)
        doubled = folder / "wiki20m twice.txt"
        doubled.write_bytes((folder / "wiki20m.txt").read_bytes() * 2)
        report["memory"]["wiki20m twice"] = peak_memory(doubled, folder)
    return report


def show(report: Report) -> None:
    for name in ("nothing", "import", "help", "first_compilation"):
        print(f"{name.replace('_', ' '):20s} {report[f'{name}_seconds']:.2f} s")
    for name, figures in report["memory"].items():
        own = f"{figures['own_peak_mb']:,.0f} of them its own"
        print(f"{name:20s} peak {figures['peak_mb']:,.0f} MB, {own}, bound {figures['bound_mb']:,.0f} MB, {figures}")


if __name__ == "__main__":
    command(__doc__, run, show)
