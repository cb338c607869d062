"""Extreme shapes of text: peak memory and rate, at full size and at half, so that anything quadratic would show.

    python -m benchmarks.scale [CASE...] [--share 1.0] [--json]

Each run is a process of its own: one epoch over a synthetic text that is written to disk before. Documents are not
fitted once more at the end (`refit`): that takes at least a thousand steps a document, and is a case of its own.
So is a text whose document vectors are larger than the memory that the process may have (RLIMIT_DATA).
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

CHUNK = 1 << 20  # words written in one go


@dataclass(frozen=True)
class Case:
    """A text: how many documents, words in each, and distinct words; settings besides one epoch; a limit on memory."""

    documents: int
    length: int
    vocabulary: int
    settings: dict[str, Any]
    memory_mb: int = 0  # that the process may fill with data of its own; 0 = no limit

    def scaled(self, share: float) -> Case:
        """With so much less of what makes the case extreme."""
        if self.documents == 1:
            return replace(self, length=int(self.length * share))
        vocabulary = int(self.vocabulary * share) if self.vocabulary > 1_000_000 else self.vocabulary
        return replace(self, documents=int(self.documents * share), vocabulary=vocabulary)


CASES = {
    "10 M tiny documents": Case(10_000_000, 3, 50_000, {"vector_size": 64, "refit": False}),
    "10 M tiny documents in 600 MB": Case(10_000_000, 3, 50_000, {"vector_size": 64, "refit": False}, memory_mb=600),
    "one document of 50 M words": Case(1, 50_000_000, 100_000, {"vector_size": 100, "refit": False}),
    "5 M distinct words": Case(200_000, 100, 5_000_000, {"vector_size": 100, "refit": False, "min_count": 1}),
    "100 M words": Case(1_000_000, 100, 100_000, {"vector_size": 100, "refit": False}),
    "300,000 documents fitted again": Case(300_000, 30, 50_000, {"vector_size": 100, "refit": True}),
}


def write_text(case: Case, path: Path) -> None:
    """Words as often as one over their rank, as in a language; where millions are asked for, each occurs."""
    words = [b"w%x" % number for number in range(case.vocabulary)]
    with path.open("wb") as file:
        for ids, ends in _chunks(case):
            chosen = [words[number] for number in ids.tolist()]
            for end in ends.tolist():
                chosen[end] += b"\n"
            file.write(b" ".join(chosen).replace(b"\n ", b"\n"))
            if ids[-1:].size and not chosen[-1].endswith(b"\n"):
                file.write(b" ")


def _chunks(case: Case) -> Iterator[tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]]:
    """Word numbers, and the places among them where a document ends."""
    rng = np.random.default_rng(1)
    total = case.documents * case.length
    for start in range(0, total, CHUNK):
        places = np.arange(start, min(start + CHUNK, total))
        ids = (case.vocabulary ** rng.random(len(places))).astype(np.int64) - 1
        if case.vocabulary > 1_000_000:
            ids[::4] = places[::4] // 4 % case.vocabulary
        yield ids, np.flatnonzero((places + 1) % case.length == 0)


def run_case(name: str, share: float, folder: Path) -> dict[str, Any]:
    case = CASES[name].scaled(share)
    text = folder / "text.txt"
    write_text(case, text)
    command = [sys.executable, "-m", "benchmarks.scale", "--child", json.dumps(case.settings), "--text", str(text)]
    command += ["--memory-mb", str(case.memory_mb)]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    text.unlink()
    figures: dict[str, Any] = json.loads(done.stdout)
    return {"share": share, "documents": case.documents, **figures}


def _child(text: Path, settings: dict[str, Any], memory_mb: int) -> None:
    import spherevec

    if memory_mb:  # saving has to do with it as well
        resource.setrlimit(resource.RLIMIT_DATA, (memory_mb << 20, memory_mb << 20))
    # Processor time of all threads: what else runs on the machine does not count.
    began: dict[str, float] = {}
    own_mb = [0.0]

    def progress(report: Any) -> None:
        began.setdefault(report.phase, time.process_time())
        own_mb.append(_own_mb())

    model = spherevec.train(text, tokenizer="whitespace", epochs=1, workdir=text.parent, progress=progress, **settings)
    began["end"] = time.process_time()
    if memory_mb:
        model.save(text.with_name("model"))
        own_mb.append(_own_mb())
    order = ["reading", "compiling", "training", "finishing", "end"]
    seconds = {phase: began[after] - began[phase] for phase, after in pairwise(order)}
    assert model.docs is not None
    tables = (model.words, model.contexts, model.docs)
    json.dump(
        {
            "tokens": model.provenance["tokens"],
            "words": len(model.words),
            "vectors_mb": sum(table.vectors.nbytes for table in tables if table is not None) / 2**20,
            "peak_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
            "own_mb": max(own_mb),
            "seconds": seconds,
            "train_rate": model.record[0]["tokens_per_second"],
        },
        sys.stdout,
    )


def _own_mb() -> float:
    """Memory that is not that of files, in which mapped vectors are; 0 where the system does not tell."""
    status = Path("/proc/self/status")
    lines = status.read_text().splitlines() if status.exists() else []
    return sum(int(line.split()[1]) / 1024 for line in lines if line.startswith("RssAnon:"))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("cases", nargs="*", metavar="CASE", help="; ".join(CASES))
    parser.add_argument("--share", type=float, default=1.0, help="of the full size, for machines with less memory")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--child", help=argparse.SUPPRESS)
    parser.add_argument("--text", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--memory-mb", type=int, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.child:
        _child(arguments.text, json.loads(arguments.child), arguments.memory_mb)
        return
    chosen = [name for name in CASES if not arguments.cases or any(part in name for part in arguments.cases)]
    results = []
    for name in chosen:
        for share in (arguments.share / 2, arguments.share):
            with tempfile.TemporaryDirectory() as scratch:
                figures = {"case": name, **run_case(name, share, Path(scratch))}
            results.append(figures)
            if not arguments.json:
                phases = ", ".join(f"{phase} {seconds:.1f}" for phase, seconds in figures["seconds"].items())
                print(
                    f"{name:32} x {share:<5g} {figures['tokens'] / 1e6:6.1f} M words, {figures['words']:>9,} distinct, "
                    f"{figures['documents']:>10,} documents: peak {figures['peak_mb']:6,.0f} MB "
                    f"({figures['own_mb']:5,.0f} without files; vectors {figures['vectors_mb']:5,.0f}), "
                    f"{figures['train_rate'] / 1e6:.2f} M words/s; "
                    f"processor seconds: {phases}",
                    flush=True,
                )
    if arguments.json:
        print(json.dumps(results, indent=1))


if __name__ == "__main__":
    main()
