"""What distribution costs, by its parts: training, finding what moved, adding up, and going to the sum.

    python -m benchmarks.cluster parts --words 50000 --tokens 250000 1000000     the parts, and shares by bandwidth
    python -m benchmarks.cluster real --workers 2                                a real run of Ray, and its memory
    python -m benchmarks.cluster alone                                           one worker beside a plain run
    python -m benchmarks.cluster memory --documents 10000                        a worker's memory beside a plain run's

The text of `parts` is made up, by Zipf's law; two workers take turns in one process, and times are CPU seconds of one
thread, so that they can be divided by the cores of a machine. Bytes are counted, and times at a bandwidth follow from
them: an exchange sends what a worker has moved once, and brings it what all have moved.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from typing import Any

import numpy as np

from benchmarks.parts import clocks
from experiments.datasets import find_data
from spherevec.config import TrainConfig
from spherevec.corpus import EncodedCorpus, encode
from spherevec.corpus.read.readers import read_documents
from spherevec.distributed.cluster import connected
from spherevec.distributed.exchange import merged
from spherevec.distributed.runtime import RayRuntime, ray_runtime
from spherevec.distributed.worker import Shard, Task
from spherevec.training import train_corpus
from spherevec.training.progress import Progress
from spherevec.training.runtime import training_data

GBITS = (1.0, 10.0, 25.0, 100.0)
PARTS = {
    "exchanges and training": "spherevec.distributed.runtime:ClusterBackend.train",
    "adding up": "spherevec.distributed.runtime:ClusterBackend._merged",
}


def zipf_text(words: int, tokens: int, rng: np.random.Generator) -> tuple[Any, Any]:
    """Ids and offsets of documents of 100 words, by Zipf's law."""
    edges = np.cumsum(1 / np.arange(1, words + 1))
    ids = np.searchsorted(edges, rng.random(tokens) * edges[-1]).astype(np.int32)
    return ids, np.arange(0, tokens + 1, 100, dtype=np.int64)


def parts(words: int, intervals: Sequence[int], dim: int, workers: int) -> list[dict[str, Any]]:
    """The CPU seconds of each part of an exchange, for several intervals."""
    rng = np.random.default_rng(0)
    config = TrainConfig(vector_size=dim, deterministic=True, threads=1, epochs=10, refit=False)
    counts = np.maximum(1, (2e9 / np.arange(1, words + 1) / np.log(words))).astype(np.int64)
    total = int(counts.sum())
    config = config.resolved(total, words)
    longest = max(intervals)
    shards = []
    for number in range(workers):
        ids, offsets = zipf_text(words, longest, rng)
        shards.append(Shard(number, workers, training_data(ids, offsets, counts, config), config, total))
        shards[-1].fill()
        shards[-1].warm_up()
    found = []
    for tokens in intervals:
        steps = max(1, longest // tokens)
        times: dict[str, list[float]] = {"training": [], "finding": [], "adding": [], "going": []}
        agreed: list[Any] = []
        for turn in range(3):
            task = Task(turn, turn % steps, steps, config.alpha, config.bias, config.bias)
            answers: list[Any] = []
            for shard in shards:
                start = time.process_time()
                shard.absorb(*agreed)
                gone = time.process_time()
                with clocks({"finding": "spherevec.distributed.worker:Shard._slices"}) as spent:
                    answers.append(shard.train(task)[1:])
                end = time.process_time()
                if agreed:
                    times["going"].append(gone - start)
                times["training"].append(end - gone - spent["finding"].processor)
                times["finding"].append(spent["finding"].processor)
            start = time.process_time()
            agreed = [merged([slices[part] for slices in answers], config.alpha) for part in range(workers)]
            times["adding"].append((time.process_time() - start) / workers)
        for shard in shards:
            start = time.process_time()
            shard.absorb(*agreed)
            times["going"].append(time.process_time() - start)
        sent = statistics.mean(sum(moved.nbytes for part in slices for moved in part.values()) for slices in answers)
        received = sum(moved.nbytes for part in agreed for moved in part.values())
        entry: dict[str, Any] = {"words": words, "dim": dim, "workers": workers, "interval": tokens, "sent": sent}
        entry |= {"received": received, **{name: statistics.median(values) for name, values in times.items()}}
        found.append(entry | {"shares": {gbit: share(entry, gbit) for gbit in GBITS}})
    return found


def share(entry: dict[str, Any], gbit: float, cores: int = 16) -> float:
    """The share of the time that is not training, on machines with so many cores, if nothing overlaps."""
    sending = (entry["sent"] + entry["received"]) * 8 / (gbit * 1e9)
    # Training and adding up are spread over all cores; finding and going are one thread's work each.
    training, adding = entry["training"] / cores, entry["adding"] / 1
    rest = entry["finding"] + entry["going"] + adding + sending
    return float(rest / (training + rest))


def slice_of_wiki(documents: int) -> list[str]:
    texts = read_documents(find_data() / "wiki" / "wiki20m.txt.gz")
    return [str(text) for _, text in zip(range(documents), texts, strict=False)]


def encoded(folder: str, documents: int, made_up: int = 0) -> EncodedCorpus:
    """Paragraphs of Wikipedia, or as many documents of 100 made-up words, of so many different ones."""
    if not made_up:
        return encode(slice_of_wiki(documents), folder)
    ids, offsets = zipf_text(made_up, 100 * documents, np.random.default_rng(0))
    ids[:made_up] = np.arange(made_up)  # each at least once
    texts = (" ".join(f"w{number}" for number in ids[start : start + 100]) for start in offsets[:-1].tolist())
    return encode(texts, folder, min_count=1)


def epochs_of(corpus: EncodedCorpus, config: TrainConfig, runtime: RayRuntime | None = None) -> tuple[float, float]:
    """Seconds and processor seconds of the epochs, those of a worker included, without what comes before and after."""
    marks: dict[str, tuple[float, float]] = {}

    def mark(progress: Progress) -> None:
        if progress.phase in ("training", "finishing") and progress.phase not in marks:
            theirs = sum(seconds for *_, seconds in runtime.pool.do("where", aside=True)) if runtime else 0.0
            marks[progress.phase] = (time.perf_counter(), time.process_time() + theirs)

    train_corpus(corpus, config, progress=mark, runtime=runtime)
    corpus.spread = {}
    (first, first_cpu), (last, last_cpu) = marks["training"], marks["finishing"]
    return last - first, last_cpu - first_cpu


def alone(documents: int, epochs: int, repeats: int) -> dict[str, Any]:
    """One worker beside a plain run, in turns."""
    config = TrainConfig(deterministic=True, threads=1, epochs=epochs, refit=False)
    turns: dict[str, list[tuple[float, float]]] = {"plain": [], "worker": []}
    with tempfile.TemporaryDirectory() as folder, encode(slice_of_wiki(documents), folder) as corpus:
        tokens = corpus.n_tokens * epochs
        with connected("local", 1):
            for _ in range(repeats):
                turns["plain"].append(epochs_of(corpus, config))
                with ray_runtime("local", 1, config) as runtime:
                    turns["worker"].append(epochs_of(corpus, config, runtime))
    pairs = list(zip(turns["plain"], turns["worker"], strict=True))
    ratios = {
        name: [round(theirs[at] / ours[at], 3) for ours, theirs in pairs]
        for at, name in enumerate(("clock", "processor"))
    }
    return {"tokens": tokens, **turns, **ratios, "median": {name: statistics.median(r) for name, r in ratios.items()}}


def real(
    documents: int, epochs: int, workers: int, exchange_tokens: int | None, ray: str, dim: int, made_up: int = 0
) -> dict[str, Any]:  # fmt: skip
    """A real run of Ray with one thread a worker: where its time went, and the memory of each worker."""
    config = TrainConfig(deterministic=True, threads=1, epochs=epochs, refit=False, vector_size=dim)
    with tempfile.TemporaryDirectory() as folder, encoded(folder, documents, made_up) as corpus:
        with ray_runtime(ray, workers, config, exchange_tokens=exchange_tokens) as runtime:
            with clocks(PARTS) as spent:
                model = train_corpus(corpus, config, runtime=runtime)
            memory = [kilobytes // 1024 for _, _, kilobytes, _ in runtime.pool.do("where")]
        about = {"words": len(corpus.vocabulary), "tokens": corpus.n_tokens, "documents": corpus.n_documents}
    seconds = sum(epoch["seconds"] for epoch in model.record)
    found = {"workers": workers, **about, "dim": dim, "epochs": epochs, "epoch_seconds": seconds}
    return found | {name: part.wall for name, part in spent.items()} | {"peak_mb": memory}


def plain_peak(folder: str, epochs: int, dim: int) -> int:
    """The most memory that a process of its own has, in megabytes, which trains an encoded corpus without Ray."""
    train = f"train(EncodedCorpus.open({folder!r}), epochs={epochs}, vector_size={dim}, deterministic=True, threads=1)"
    imports = "import resource; from spherevec import train; from spherevec.corpus import EncodedCorpus"
    peak = "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024)"
    done = subprocess.run(
        [sys.executable, "-c", f"{imports}; {train}; {peak}"], check=True, stdout=subprocess.PIPE, text=True
    )
    return int(done.stdout)


def memory(documents: int, epochs: int, dim: int, made_up: int) -> dict[str, Any]:
    """Megabytes of a plain run, of one worker, and of each of two workers, on the same text."""
    with tempfile.TemporaryDirectory() as folder, encoded(folder, documents, made_up) as corpus:
        about = {"documents": documents, "words": len(corpus.vocabulary), "tokens": corpus.n_tokens}
        plain = plain_peak(folder, epochs, dim)
    how = (None, "local", dim, made_up)
    ours = [real(documents, epochs, workers, *how)["peak_mb"] for workers in (1, 2)]
    return {**about, "dim": dim, "plain": plain, "one_worker": ours[0], "two_workers": ours[1]}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["parts", "alone", "real", "memory"])
    parser.add_argument("--words", type=int, default=50_000)
    parser.add_argument("--tokens", type=int, nargs="+", default=[250_000, 1_000_000])
    parser.add_argument("--dim", type=int, default=100)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--interval", type=int, help="tokens of a worker between two exchanges")
    parser.add_argument("--ray", default="local")
    parser.add_argument("--documents", type=int, default=10_000)
    parser.add_argument("--made-up", type=int, default=0, help="different words of a made-up text, not Wikipedia")
    parser.add_argument("--epochs", type=int, default=2)
    parser.add_argument("--repeats", type=int, default=3)
    arguments = parser.parse_args()
    if arguments.what == "parts":
        for entry in parts(arguments.words, arguments.tokens, arguments.dim, arguments.workers):
            print(json.dumps(entry), flush=True)
    elif arguments.what == "memory":
        print(json.dumps(memory(arguments.documents, arguments.epochs, arguments.dim, arguments.made_up)), flush=True)
    elif arguments.what == "real":
        how = (arguments.interval, arguments.ray, arguments.dim, arguments.made_up)
        print(json.dumps(real(arguments.documents, arguments.epochs, arguments.workers, *how)), flush=True)
    else:
        print(json.dumps(alone(arguments.documents, arguments.epochs, arguments.repeats)), flush=True)


if __name__ == "__main__":
    main()
