"""From a text file to a saved model: seconds of each phase, on the CPU or a GPU, and the peak of memory.

    python -m benchmarks.whole_run [--words 100000000] [--text FILE] [--epochs 5] [--device cuda] [--repeats 2]
        [--streaming 1] [--threads 0] [--parts] [--json]

Without a file a text is made up. The first run may compile kernels; all runs are printed. `--parts` tells what each
part took by the clock, of all processors, and of the thread that called it; parts lie inside one another. With
`--streaming 1`, on a GPU, the rate of training with ids that are streamed from the host stands beside the rate with ids
on the device.
"""

from __future__ import annotations

import argparse
import json
import resource
import shutil
import tempfile
import time
from pathlib import Path
from typing import Any

import spherevec
from benchmarks.made_text import write_text
from benchmarks.parts import clocks, shown
from spherevec.process import usable_cores

PARTS = {
    "encode": "spherevec.training.runtime:encode",
    "· count": "spherevec.corpus.count.encoder:_count",
    "· · merge": "spherevec.corpus.count.vocabulary:CountedWords.merged",
    "· rank": "spherevec.corpus.count.encoder:choose_words",
    "· renumber": "spherevec.corpus.count.encoder:write_numbers",
    "· rare": "spherevec.corpus.count.vocabulary:RareWords.write",
    "· records": "spherevec.corpus.table.records:RecordBuilder.write",
    "· warnings": "spherevec.corpus.count.encoder:_looks",
    "· words": "spherevec.corpus.count.encoder:finish_corpus",
    "prepare": "spherevec.training.runtime:prepare",
    "backend": "spherevec.training.runtime:make_backend",
    "random vectors": "spherevec.training.trainer:TrainingRun.initialise",
    "epochs": "spherevec.training.run:Run._train_epoch",
    "check vectors": "spherevec.training.run:Run._check_all",
    "weights": "spherevec.engine.cpu.word_weights:word_weights",
    "moments": "spherevec.engine.cpu.word_weights:negative_moments",
    "fit documents": "spherevec.training.run:Run.refit_documents",
    "count terms": "spherevec.training.trainer:counted_terms",
    "compare spellings": "spherevec.training.finishing:SpellingSmoother.__init__",
    "build": "spherevec.training.trainer:build_model",
    "· smooth": "spherevec.training.finishing:SpellingSmoother.smooth",
    "save": "spherevec.model.folder:save",
    "· write files": "spherevec.model.folder:write_files",
    "· · one file": "spherevec.storage.checksums:_written",
    "· sync again": "spherevec.storage.files:sync",
}


class Clock:
    """Seconds of each phase; a phase ends when another is first reported."""

    def __init__(self) -> None:
        self.began: dict[str, float] = {}

    def __call__(self, progress: Any) -> None:
        self.began.setdefault(progress.phase, time.perf_counter())

    def seconds(self, end: float) -> dict[str, float]:
        names = list(self.began)
        stops = [*list(self.began.values())[1:], end]
        return {name: stop - self.began[name] for name, stop in zip(names, stops, strict=True)}


def whole_run(text: Path, folder: Path, epochs: int, device: str, threads: int) -> dict[str, float]:
    clock = Clock()
    start = time.perf_counter()
    model = spherevec.train(text, epochs=epochs, device=device, threads=threads, progress=clock, workdir=folder)
    trained = time.perf_counter()
    model.save(folder / "model")
    end = time.perf_counter()
    shutil.rmtree(folder / "model")
    return {
        "total": end - start,
        **clock.seconds(trained),
        "saving": end - trained,
        "peak_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    }


def streaming(text: Path, folder: Path, epochs: int) -> dict[str, float]:
    """Tokens a second of the epochs after the first, ids on the device and streamed."""
    from spherevec.config import TrainConfig
    from spherevec.corpus import encode
    from spherevec.engine.cuda import backend
    from spherevec.training import train_corpus

    found = {}
    share = backend.RESIDENT_SHARE
    with encode(text, folder / "corpus", threads=usable_cores()) as corpus:
        for name, resident in (("on the device", share), ("streamed", 0.0)):
            backend.RESIDENT_SHARE = resident
            record = train_corpus(corpus, TrainConfig(epochs=epochs, device="cuda", refit=False)).record
            later = record[1:] or record
            found[name] = sum(corpus.n_tokens / epoch["seconds"] for epoch in later) / len(later)
    backend.RESIDENT_SHARE = share
    shutil.rmtree(folder / "corpus")
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--words", type=int, default=100_000_000)
    parser.add_argument("--text", type=Path)
    parser.add_argument("--epochs", type=int, default=5)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--repeats", type=int, default=2)
    parser.add_argument("--streaming", type=int, default=1)
    parser.add_argument("--threads", type=int, default=0)
    parser.add_argument("--parts", action="store_true")
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    report: dict[str, Any] = {"runs": []}
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        text = arguments.text or folder / "text.txt"
        if arguments.text is None:
            write_text(text, arguments.words, threads=usable_cores())
        for _ in range(arguments.repeats):
            with clocks(PARTS if arguments.parts else {}) as spent:
                run = whole_run(text, folder, arguments.epochs, arguments.device, arguments.threads)
            report["runs"].append(run)
            if not arguments.json:
                print("  ".join(f"{name} {value:.2f}" for name, value in run.items()), flush=True)
                if arguments.parts:
                    print(shown(spent), flush=True)
        if arguments.streaming and arguments.device == "cuda":
            report["tokens_per_second"] = streaming(text, folder, arguments.epochs)
            if not arguments.json:
                for name, rate in report["tokens_per_second"].items():
                    print(f"ids {name}: {rate / 1e6:.0f} M tokens/s")
    if arguments.json:
        print(json.dumps(report, indent=1))


if __name__ == "__main__":
    main()
