"""Everything that needs a GPU: its tests, then speed, quality, what bounds it and the time of every phase.

    python -m benchmarks.gpu [--only tests,limits,speed,quality,crowd,phases,inference] [--corpora DIR] [--docs PAGE]

Needs CuPy, an NVIDIA GPU and the data sets (SPHEREVEC_DATA). Writes its figures into benchmarks/GPU.md, between two
marks; the text around them stays. `--corpora` names a folder with the corpora encoded, as `wiki20m` and `20news`.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

import numpy as np

from experiments.datasets import SIMILARITY_SETS, find_data, load_labelled, load_similarity, wiki_path
from spherevec.config import TrainConfig
from spherevec.corpus import EncodedCorpus, encode, read_documents
from spherevec.corpus.count.encoded import ABOUT, COUNTS, IDS, OFFSETS, WORDS
from spherevec.engine.cuda import backend as cuda
from spherevec.engine.cuda import build
from spherevec.engine.fit import FitPlan
from spherevec.evaluation.documents import evaluate_clustering, given_split
from spherevec.evaluation.words import evaluate_similarity
from spherevec.training import train_corpus
from spherevec.training.progress import Progress

BEGIN, END = "<!-- benchmarks.gpu: begin -->", "<!-- benchmarks.gpu: end -->"
REPEATS = 10  # of the 20 M words of Wikipedia, for a steady rate
SEEDS = (1, 2, 3)
ALONE: dict[str, Any] = {"add_contexts": False}  # words as they are trained
DIMENSIONS = (50, 128, 200, 256, 300, 1024)

Rows = list[tuple[str, ...]]


class Corpora:
    """The encoded data sets, made when first asked for."""

    def __init__(self, given: Path | None, made: Path) -> None:
        self._given, self._made = given, made

    def wiki(self) -> EncodedCorpus:
        return self._opened("wiki20m", lambda folder: encode(wiki_path(), folder, min_count=10))

    def news(self) -> EncodedCorpus:
        texts = find_data() / "20news" / "text.txt.gz"
        return self._opened("20news", lambda folder: encode(read_documents(texts), folder))

    def long(self) -> EncodedCorpus:
        """Wikipedia ten times over."""
        return self._opened("wiki200m", lambda folder: repeated(self.wiki(), folder, REPEATS))

    def _opened(self, name: str, make: Callable[[Path], Any]) -> EncodedCorpus:
        if self._given and (self._given / name / ABOUT).exists():
            return EncodedCorpus.open(self._given / name)
        folder = self._made / name
        if not (folder / ABOUT).exists():
            make(folder)
        return EncodedCorpus.open(folder)


def repeated(corpus: EncodedCorpus, folder: Path, times: int) -> None:
    import json

    folder.mkdir()
    ids, offsets = np.asarray(corpus.ids), np.asarray(corpus.offsets)
    np.tile(ids, times).tofile(folder / IDS)
    np.concatenate([offsets[:1], *(offsets[1:] + copy * len(ids) for copy in range(times))]).tofile(folder / OFFSETS)
    (corpus.vocabulary.counts * times).tofile(folder / COUNTS)
    (folder / WORDS).write_text(json.dumps(list(corpus.vocabulary.words)))
    about = {
        "format": 2, "phrases": corpus.phrases, "n_tokens": len(ids) * times, "n_documents": corpus.n_documents * times,
        "raw_tokens": corpus.raw_tokens * times, "tokenizer": corpus.tokenizer.description(), "named": False,
    }  # fmt: skip
    (folder / ABOUT).write_text(json.dumps(about))


# --- what is measured -------------------------------------------------------------------------------------------------


def tests(_: Corpora) -> Iterator[str]:
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "tests/gpu"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    failed = [line for line in done.stdout.splitlines() if line.startswith("FAILED")]
    print(done.stdout[-3000:] if failed else "", file=sys.stderr)
    summary = done.stdout.strip().splitlines()[-1]
    yield f"Tests that need a GPU (`tests/gpu`): {'all passed' if done.returncode == 0 else summary}."


LIMITS = r"""
extern "C" __global__ void rows(float4* table, unsigned rows, int times, int adds, float* sink) {
    unsigned random = (blockIdx.x * blockDim.x + threadIdx.x) / 32 * 2654435761u + 1;
    int lane = threadIdx.x % 32;
    float sum = 0;
    for (int i = 0; i < times; i += 8) {
        float4 parts[8];
        unsigned at[8];
#pragma unroll
        for (int k = 0; k < 8; k++) {
            random = random * 1664525u + 1013904223u;
            at[k] = __umulhi(random, rows);
            if (lane < 25 && adds != 1) parts[k] = __ldcg(table + (size_t)at[k] * 26 + lane);
        }
#pragma unroll
        for (int k = 0; k < 8; k++) {
            if (adds != 1) sum += lane < 25 ? parts[k].x : 0;
            if (lane < 25 && adds)
                asm volatile("red.relaxed.gpu.global.add.v4.f32 [%0], {%1, %1, %1, %1};"
                             :: "l"(table + (size_t)at[k] * 26 + lane), "f"(1e-9f) : "memory");
        }
    }
    if (sum == 1.2345f) *sink = sum;
}
"""


def limits(corpora: Corpora) -> Iterator[str]:
    """What the GPU can do: bytes of memory, and of rows in its cache."""
    cupy = build.cupy_with_gpu()
    device = cupy.cuda.Device()
    name = cupy.cuda.runtime.getDeviceProperties(device.id)["name"].decode()
    count = device.attributes["MultiProcessorCount"]
    clock = device.attributes["ClockRate"] / 1e6
    driver = cupy.cuda.runtime.driverGetVersion()
    yield f"{name}, {count} multiprocessors at up to {clock:.2f} GHz, CUDA driver {driver}, CuPy {cupy.__version__}."

    source, target = cupy.ones(1 << 29, np.float32), cupy.empty(1 << 29, np.float32)
    seconds = timed(cupy, lambda: cupy.copyto(target, source))
    rows: Rows = [("memory: copy of 2 GiB, read and written", f"{2 * source.nbytes / seconds / 1e9:,.0f} GB/s")]
    words = len(corpora.wiki().vocabulary)
    table, sink = cupy.zeros((2 * words, 104), np.float32), cupy.zeros(1, np.float32)
    kernel = cupy.RawKernel(LIMITS, "rows", options=("-std=c++17",), backend="nvrtc")
    times, blocks = 4000, 16 * count
    for what, adds, passes in (("read", 0, 1), ("added to", 1, 1), ("read, then added to", 2, 2)):
        seconds = timed(cupy, lambda: kernel((blocks,), (32,), (table, np.uint32(2 * words), np.int32(times),
                                                              np.int32(adds), sink)))  # fmt: skip # noqa: B023
        moved = blocks * times * passes
        rows.append(
            (f"random rows of 100 floats out of {2 * words:,} {what}",
             f"{moved * 400 / seconds / 1e9:,.0f} GB/s, {moved / seconds / 1e9:.2f} G rows/s")
        )  # fmt: skip
    rows.append(
        ("arithmetic: 128 fused multiply-adds a clock and multiprocessor", f"{count * 256 * clock / 1e3:.0f} TFLOP/s")
    )
    yield table_of(("limit", "measured, the last one by arithmetic"), rows)


def timed(cupy: Any, work: Callable[[], Any], repeats: int = 5) -> float:
    """Median seconds on the device."""
    work()
    found = []
    for _ in range(repeats):
        start, stop = cupy.cuda.Event(), cupy.cuda.Event()
        start.record()
        work()
        stop.record()
        stop.synchronize()
        found.append(cupy.cuda.get_elapsed_time(start, stop) / 1e3)
    return float(statistics.median(found))


def rates(corpus: EncodedCorpus, recipe: str = "default", **settings: Any) -> tuple[list[float], list[dict[str, Any]]]:
    """Tokens a second of each epoch, compilation excluded."""
    config = TrainConfig.recipe(recipe, device="cuda", refit=False, **settings)
    record = train_corpus(corpus, config).record
    return [epoch["tokens_per_second"] for epoch in record], record


@contextmanager
def streamed() -> Iterator[None]:
    """As if the GPU had no room for the text."""
    share, cuda.RESIDENT_SHARE = cuda.RESIDENT_SHARE, 0.0
    try:
        yield
    finally:
        cuda.RESIDENT_SHARE = share


def speed(corpora: Corpora) -> Iterator[str]:
    long, short = corpora.long(), corpora.wiki()
    hinge = "hinge, 2 negatives"
    cases: list[tuple[str, EncodedCorpus, str, dict[str, Any]]] = [
        ("**default recipe, dimension 100, 200 M tokens**", long, "default", {}),
        ("the same, 20 M tokens, the ids streamed from the host", short, "default", {"streams": True}),
        (f"**the paper's recipe: {hinge}, `sample` 1e-3, 200 M tokens**", long, "paper", {}),
        ("the same, shuffled, `sample` 1e-4", short, "paper", {"order": "shuffled", "sample": 1e-4}),
        (f"{hinge}, in batches of 8, `sample` 1e-3", short, "paper", {"batch": 8}),
        ("joint hinge, 2 negatives, `sample` 1e-3", short, "paper", {"objective": "joint"}),
    ]
    cases += [(f"default recipe, dimension {width}", short, "default", {"vector_size": width}) for width in DIMENSIONS]
    rows: Rows = []
    for name, corpus, recipe, settings in cases:
        streams = settings.pop("streams", False)
        with streamed() if streams else nullcontext():
            found, record = rates(corpus, recipe, epochs=3, **settings)
        words, pairs = (record[-1][figure] / corpus.n_tokens for figure in ("words", "pairs"))
        config = TrainConfig.recipe(recipe, **settings)
        print(name, [round(rate / 1e6) for rate in found], file=sys.stderr, flush=True)
        moved = flops = ""
        if config.objective != "joint" and config.batch > 1:
            # Every row of a batch is read and written once; scores, and both sides' steps, are as many multiply-adds.
            batches, held = statistics.median(found) * pairs / config.batch, config.batch + config.negative + 1
            moved = f"{batches * 2 * held * 4 * config.vector_size / 1e9:,.0f}"
            cells = 3 * config.batch * (config.negative + 1) + 3 * held
            flops = f"{batches * 2 * config.vector_size * cells / 1e12:.1f}"
        rows.append(
            (name, f"{statistics.median(found) / 1e6:.0f}", f"{min(found) / 1e6:.0f} to {max(found) / 1e6:.0f}",
             f"{words:.2f}", f"{pairs:.2f}", moved, flops)
        )  # fmt: skip
    yield table_of(
        (
            "",
            "M tokens/s, median of 3 epochs",
            "spread",
            "kept words a token",
            "pairs a token",
            "rows moved, GB/s",
            "TFLOP/s",
        ),
        rows,
    )


def quality(corpora: Corpora) -> Iterator[str]:
    rows: Rows = []
    wiki, news = corpora.wiki(), corpora.news()
    pairs = {name: load_similarity(name) for name in SIMILARITY_SETS}
    found = []
    for seed in SEEDS:
        model = train_corpus(wiki, TrainConfig(device="cuda", epochs=5, seed=seed, **ALONE))
        found.append([evaluate_similarity(model.words, pairs[name]).spearman for name in SIMILARITY_SETS])
    rows.append(("Wikipedia, 20 M words, 5 epochs: WordSim353 · MEN · SimLex999", *spread(found)))
    data = load_labelled("20news")
    assert data.split is not None
    found = []
    for seed in SEEDS:
        model = train_corpus(news, TrainConfig(device="cuda", epochs=10, seed=seed, **ALONE))
        assert model.docs is not None
        clusters = evaluate_clustering(model.docs.vectors, data.labels, runs=10)
        neighbours = given_split(model.docs.vectors, data.labels, data.split)
        found.append([clusters.nmi.mean, clusters.purity.mean, neighbours.micro_f1.mean])
    rows.append(("20 Newsgroups, 10 epochs: NMI · purity · micro-F1", *spread(found)))
    yield table_of(("default recipe, `add_contexts` off, three seeds", "mean", "each seed"), rows)


def spread(found: list[list[float]]) -> tuple[str, str]:
    def dots(row: Any) -> str:
        return " · ".join(f"{value:.3f}" for value in row)

    return dots(np.mean(found, axis=0)), "; ".join(map(dots, found))


@contextmanager
def forced(concurrency: cuda.Concurrency) -> Iterator[None]:
    """Train with so many teams, whatever the text."""
    chosen = cuda.CudaBackend._fitting_concurrency
    cuda.CudaBackend._fitting_concurrency = lambda self: concurrency  # type: ignore[method-assign]
    try:
        yield
    finally:
        cuda.CudaBackend._fitting_concurrency = chosen  # type: ignore[method-assign]


def crowd(corpora: Corpora) -> Iterator[str]:
    """Quality against the number of teams."""

    corpus = corpora.wiki()
    rows: Rows = []
    pairs = {name: load_similarity(name) for name in SIMILARITY_SETS}
    config = TrainConfig(device="cuda", epochs=5, **ALONE).resolved(corpus.n_tokens, len(corpus.vocabulary))
    full = build.cupy_with_gpu().cuda.Device().attributes["MultiProcessorCount"] * build.macros(config)["BLOCKS"]
    for teams, added in ((full, True), (full // 4, True), (full // 16, True), (full, False), (full // 16, False)):
        with forced(cuda.Concurrency(teams, added=added)):
            model = train_corpus(corpus, config)
        scores = " · ".join(f"{evaluate_similarity(model.words, pairs[name]).spearman:.3f}" for name in SIMILARITY_SETS)
        rate = statistics.median(epoch["tokens_per_second"] for epoch in model.record) / 1e6
        rows.append(
            (f"{teams:,}", "added" if added else "stored", f"{rate:.0f}",
             f"{model.record[-1]['loss']:.4f}", scores)
        )  # fmt: skip
    yield table_of(("teams", "steps are", "M tokens/s", "loss at the end", "WordSim353 · MEN · SimLex999"), rows)


def phases(corpora: Corpora) -> Iterator[str]:
    """Raw text to saved model."""
    import spherevec

    texts = find_data() / "20news" / "text.txt.gz"
    lines = [*read_documents(texts)]
    with tempfile.TemporaryDirectory() as folder:
        raw = Path(folder, "text.txt")
        with raw.open("w", encoding="utf-8") as stream:
            for _ in range(REPEATS):
                stream.writelines(f"{line}\n" for line in lines)
        rows: Rows = []
        for name, file in (("20 Newsgroups, gzip", texts), (f"20 Newsgroups, {REPEATS} times over, plain", raw)):
            spherevec.train(lines[:2000], device="cuda", epochs=1)  # what is compiled once stays compiled
            clock = Clock()
            model = spherevec.train(file, device="cuda", epochs=10, progress=clock)
            clock.phase("saving")
            model.save(Path(folder, name.replace(" ", "-")))
            clock.phase("")
            rows.append((name, f"{model.describe()['tokens'] / 1e6:.1f}", *clock.seconds()))
        yield table_of(("text", "M tokens", *Clock.PHASES, "all"), rows)


class Clock:
    """Seconds of each phase of a run, from its progress."""

    PHASES = ("reading", "compiling", "training", "finishing", "saving")

    def __init__(self) -> None:
        self._spent = dict.fromkeys(self.PHASES, 0.0)
        self._now, self._since = "reading", time.perf_counter()

    def __call__(self, progress: Progress) -> None:
        if progress.phase != self._now:
            self.phase(progress.phase)

    def phase(self, name: str) -> None:
        now = time.perf_counter()
        self._spent[self._now] = self._spent.get(self._now, 0.0) + now - self._since
        self._now, self._since = name, now

    def seconds(self) -> list[str]:
        return [f"{value:.2f} s" for value in (*(self._spent[name] for name in self.PHASES), sum(self._spent.values()))]


def inference(corpora: Corpora) -> Iterator[str]:
    """Fitting all of 20 Newsgroups to fixed words."""
    corpus = corpora.news()
    config = TrainConfig(epochs=10, alpha=0.03).resolved(corpus.n_tokens, len(corpus.vocabulary))
    from spherevec.training.runtime import prepare

    backend = cuda.CudaBackend(prepare(corpus, config), config)
    backend.fill()
    found = []
    for _ in range(4):
        started = time.perf_counter()
        backend.refit_documents(0, corpus.n_documents, FitPlan(config, 1.0, 1000))
        found.append(time.perf_counter() - started)
    best = statistics.median(found[1:])
    yield (
        f"Fitting the {corpus.n_documents:,} documents of 20 Newsgroups ({corpus.n_tokens / 1e6:.1f} M words) to fixed "
        f"words, ten passes: {best:.3f} s, {corpus.n_documents / best:,.0f} documents/s; the longest document has "
        f"{int(np.diff(corpus.offsets).max()):,} words."
    )


# --- the page ---------------------------------------------------------------------------------------------------------

PARTS: dict[str, tuple[str, Callable[[Corpora], Iterator[str]]]] = {
    "tests": ("Tests", tests),
    "limits": ("The GPU and its limits", limits),
    "speed": ("Speed", speed),
    "quality": ("Quality", quality),
    "crowd": ("Concurrency", crowd),
    "phases": ("From raw text to a saved model", phases),
    "inference": ("Inference", inference),
}


def table_of(head: tuple[str, ...], rows: Rows) -> str:
    lines = [head, tuple("---" for _ in head), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def write(page: Path, sections: dict[str, str]) -> None:
    """Put sections between the marks of the page; those that were not measured this time stay."""
    before, rest = page.read_text("utf-8").split(BEGIN)
    old, after = rest.split(END)
    kept = {part.split("\n", 1)[0]: part for part in old.strip().split("### ") if part}
    for title, text in sections.items():
        kept[title] = f"{title}\n\n{text}\n\n"
    order = [title for title, _ in PARTS.values() if title in kept]
    body = "".join(f"### {kept[title].strip()}\n\n" for title in order)
    page.write_text(f"{before}{BEGIN}\n\n{body}{END}{after}", "utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default=",".join(PARTS))
    parser.add_argument("--corpora", type=Path)
    parser.add_argument("--docs", type=Path, default=Path("benchmarks/GPU.md"))
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        corpora = Corpora(arguments.corpora, Path(folder))
        for name in arguments.only.split(","):
            title, measure = PARTS[name]
            text = "\n\n".join(measure(corpora))
            print(f"\n### {title}\n\n{text}", flush=True)
            write(arguments.docs, {title: text})


if __name__ == "__main__":
    main()
