"""The training loop: order, learning rate, progress, health. Which machine does the work is the backend's affair."""

from __future__ import annotations

import ctypes
import math
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from contextlib import suppress
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from spherevec import sphere
from spherevec.config import INFERENCE_ALPHA, INFERENCE_EPOCHS, INFERENCE_STEPS, TrainConfig
from spherevec.corpus import EncodedCorpus, encode
from spherevec.errors import ConfigError, TrainingError
from spherevec.model import KeyedVectors, Model
from spherevec.training.backends.base import PIECE, Backend, Block, Figures, Inputs
from spherevec.training.offsets import Offsets
from spherevec.training.progress import Progress, ProgressCallback
from spherevec.training.sampling import alias_table, keep_shares

BLOCK_TOKENS = 50_000  # trained between two looks at the stop flag and the learning rate
FINAL_SHARE = 1e-4  # the learning rate never falls below this share of its start
TICK = 0.2  # seconds between two reports
HEALTH_ROWS = 4096  # word vectors looked at for a live figure
CHUNK_ROWS = 8192  # vectors made or looked at in one go
REFIT_TOKENS = 2_000_000  # of documents fitted between two reports


def train(
    source: Any,
    *,
    recipe: str = "default",
    tokenizer: Any = "words",
    text_field: str | None = None,
    encoding: str = "utf-8",
    workdir: str | Path | None = None,
    progress: ProgressCallback | None = None,
    initial: Model | KeyedVectors | None = None,
    **settings: Any,
) -> Model:
    """Learn word and document vectors from text.

    Args:
        source: a file with one document a line, a folder of text files, a table (JSONL, CSV, Parquet), any of these but
            the last compressed, an iterable of strings or of lists of words, or an `EncodedCorpus`, whose vocabulary
            stays as it is.
        recipe: "default" or "paper".
        tokenizer: "words", "whitespace" for text that is split already, or a function from a string to words.
        text_field: the column of a table that holds the text.
        encoding: of text files.
        workdir: where the encoded corpus is kept while training (4 to 8 bytes a word); the system's folder for
            temporary files by default.
        progress: called a few times a second with a `Progress`.
        initial: word and context vectors to start from; words that it does not know start at random, and so do all
            documents.
        **settings: any field of `TrainConfig`, on top of the recipe.
    """
    config = TrainConfig.recipe(recipe, **settings)
    report = progress or _ignore
    if isinstance(source, EncodedCorpus):
        return train_corpus(source, config, progress=report, initial=initial)
    with tempfile.TemporaryDirectory(prefix=".spherevec-", dir=workdir) as folder:
        report(Progress("reading", 0.0))
        corpus = encode(
            source,
            folder,
            min_count=config.min_count,
            max_vocab=config.max_vocab,
            tokenizer=tokenizer,
            text_field=text_field,
            encoding=encoding,
            threads=config.thread_count,
            progress=lambda done, total: report(Progress("reading", done / total if total else None)),
        )
        give_memory_back()
        with corpus:
            return train_corpus(corpus, config, progress=report, initial=initial)


def train_corpus(
    corpus: EncodedCorpus,
    config: TrainConfig,
    *,
    progress: ProgressCallback | None = None,
    initial: Model | KeyedVectors | None = None,
) -> Model:
    """Learn vectors from an encoded corpus."""
    report = progress or _ignore
    config = config.settled(corpus.n_tokens, len(corpus.vocabulary))
    inputs = prepare(corpus, config)
    backend = make_backend(inputs, config)
    fill(backend, corpus, config, initial)
    offsets = Offsets(config.offset, config.concentration)
    refits = config.documents and config.refit
    report(Progress("compiling"))
    backend.warm_up()
    if refits:
        refit_range(backend, 0, 0, config, offsets)  # of no document, to have it compiled
    record = run_epochs(backend, inputs, config, corpus, offsets, report)
    if refits:
        refit_documents(backend, inputs, config, corpus, offsets, report)
    report(Progress("finishing", 1.0))
    return build_model(backend.take(), corpus, config, record, offsets)


def prepare(corpus: EncodedCorpus, config: TrainConfig) -> Inputs:
    """The plain arrays that a backend works on."""
    counts = corpus.vocabulary.counts
    draw_share, draw_other = alias_table(counts)
    return Inputs(
        ids=corpus.ids,
        offsets=corpus.offsets,
        pieces=further_pieces(corpus.offsets, PIECE),
        keep_share=keep_shares(counts, config.sample_share),
        draw_share=draw_share,
        draw_other=draw_other,
    )


def further_pieces(offsets: NDArray[np.int64], size: int) -> NDArray[np.int64]:
    """The pieces of `size` tokens that long documents have beyond their first, (M, 2): document, first token."""
    found = [np.empty((0, 2), np.int64)]
    for start in range(0, len(offsets) - 1, CHUNK_ROWS):
        edges = np.asarray(offsets[start : start + CHUNK_ROWS + 1])
        for long in np.flatnonzero(np.diff(edges) > size):
            firsts = np.arange(edges[long] + size, edges[long + 1], size)
            found.append(np.column_stack([np.full(len(firsts), start + long), firsts]))
    return np.ascontiguousarray(np.concatenate(found))


def make_backend(inputs: Inputs, config: TrainConfig) -> Backend:
    from spherevec.training.backends.cpu import CpuBackend

    try:
        return CpuBackend(inputs, config)
    except MemoryError:
        rows = 2 * len(inputs.keep_share) + (len(inputs.offsets) - 1) * config.documents
        need = rows * config.vector_size * 4 / 2**30
        raise TrainingError(
            f"not enough memory for {rows:,} vectors of dimension {config.vector_size} ({need:.1f} GiB); "
            "lower vector_size, raise min_count, or train with documents=False"
        ) from None


def fill(backend: Backend, corpus: EncodedCorpus, config: TrainConfig, initial: Model | KeyedVectors | None) -> None:
    """Random directions for every vector, then whatever `initial` knows."""
    sizes = {"words": len(corpus.vocabulary), "contexts": len(corpus.vocabulary)}
    if config.documents:
        sizes["documents"] = corpus.n_documents
    for index, (table, rows) in enumerate(sizes.items()):
        rng = np.random.default_rng((config.seed, index))
        for start in range(0, rows, CHUNK_ROWS):
            numbers = rng.standard_normal((min(CHUNK_ROWS, rows - start), config.vector_size), dtype=np.float32)
            backend.load(table, start, sphere.normalize(numbers))
    if initial is None:
        return
    given = {"words": initial} if isinstance(initial, KeyedVectors) else {"words": initial.words}
    if isinstance(initial, Model) and initial.contexts is not None:
        given["contexts"] = initial.contexts
    for table, vectors in given.items():
        if vectors.vector_size != config.vector_size:
            raise ConfigError(
                f"the initial {table} have dimension {vectors.vector_size}, vector_size is {config.vector_size}; "
                f"set vector_size={vectors.vector_size}"
            )
        vectors.check(f"initial {table}")
        for row, word in enumerate(corpus.vocabulary.words):
            if word in vectors:
                backend.load(table, row, vectors.get_vector(word)[None, :])


def run_epochs(
    backend: Backend,
    inputs: Inputs,
    config: TrainConfig,
    corpus: EncodedCorpus,
    offsets: Offsets,
    report: ProgressCallback,
) -> list[dict[str, Any]]:
    """Train all epochs; returns their figures."""
    record: list[dict[str, Any]] = []
    started = time.perf_counter()
    for epoch in range(config.epoch_count):
        before, epoch_started = backend.figures(), time.perf_counter()
        blocks = epoch_blocks(inputs, config, epoch)

        def tick(done: float, epoch: int = epoch, before: Figures = before, since: float = epoch_started) -> None:
            now = time.perf_counter()
            share = (epoch + done) / config.epoch_count
            seconds_left = (now - started) / share * (1 - share) if share > 0 else None
            figures = backend.figures() - before
            report(
                Progress(
                    "training",
                    share,
                    epoch + 1,
                    config.epochs,
                    figures.tokens / max(now - since, 1e-9),
                    figures.mean_loss,
                    figures.violated_share,
                    float(sphere.mean_resultant_length(backend.read("words", 0, HEALTH_ROWS))),
                    seconds_left,
                )
            )
            corpus.drop_pages()

        train_blocks(
            backend, blocks, offsets, learns=config.objective == "vmf", in_shares=config.order == "file", tick=tick
        )
        seconds = time.perf_counter() - epoch_started
        figures = backend.figures() - before
        record.append(
            {
                "epoch": epoch + 1,
                "seconds": seconds,
                "tokens_per_second": figures.tokens / max(seconds, 1e-9),
                "words": int(figures.words),
                "pairs": int(figures.pairs),
                "loss": figures.mean_loss,
                "violated": figures.violated_share,
                "mean_resultant_length": checked_resultant_length(backend, len(inputs.keep_share), config),
                "alpha": blocks[-1].alpha_last,
            }
        )
    return record


def refit_documents(
    backend: Backend,
    inputs: Inputs,
    config: TrainConfig,
    corpus: EncodedCorpus,
    offsets: Offsets,
    report: ProgressCallback,
) -> None:
    """Fit the documents anew to the finished words: as `Model.infer` would, and free of the order of training."""
    documents = len(inputs.offsets) - 1
    first = 0
    while first < documents:
        report(Progress("finishing", first / documents))
        reached = np.searchsorted(inputs.offsets, inputs.offsets[first] + REFIT_TOKENS)
        last = min(max(int(reached), first + 1), documents)
        refit_range(backend, first, last, config, offsets)
        corpus.drop_pages()
        first = last


def refit_range(backend: Backend, first: int, last: int, config: TrainConfig, offsets: Offsets) -> None:
    config = config.with_(epochs=INFERENCE_EPOCHS, alpha=INFERENCE_ALPHA)
    backend.refit_documents(first, last, config, offsets.documents, INFERENCE_STEPS)


def epoch_blocks(inputs: Inputs, config: TrainConfig, epoch: int) -> list[Block]:
    """The work of an epoch. Alpha falls linearly from block to block, over all epochs."""
    edges = block_edges(inputs, in_file_order=config.order == "file")
    order_key, draw_key = np.random.SeedSequence((config.seed, epoch)).generate_state(2, np.uint64).tolist()
    if config.order == "file":
        order_key = 0
    steps = (len(edges) - 1) * config.epoch_count

    def alpha(step: int) -> float:
        return config.alpha * max(FINAL_SHARE, 1 - step / steps)

    return [
        Block(first, last, order_key, draw_key, alpha(step), alpha(step + 1))
        for step, (first, last) in enumerate(pairwise(edges), start=epoch * (len(edges) - 1))
    ]


def block_edges(inputs: Inputs, *, in_file_order: bool) -> list[int]:
    """Cut an epoch into blocks of about `BLOCK_TOKENS`: positions in its order, from 0 to the number of units.

    In a random order as many units are about as many tokens. In the order of the file they are not, so blocks are cut
    where the tokens say, and those of further pieces, which come last, by their number.
    """
    count = max(1, min(inputs.units, round(len(inputs.ids) / BLOCK_TOKENS)))
    if not in_file_order:
        return sorted({*np.linspace(0, inputs.units, count + 1).astype(np.int64).tolist()})
    documents = len(inputs.offsets) - 1
    by_tokens = np.searchsorted(inputs.offsets, np.linspace(0, len(inputs.ids), count + 1)[1:-1]).tolist()
    by_pieces = range(documents, inputs.units, max(1, BLOCK_TOKENS // PIECE))
    return sorted({0, inputs.units, *by_tokens, *by_pieces})


def train_blocks(
    backend: Backend,
    blocks: list[Block],
    offsets: Offsets,
    *,
    learns: bool,
    in_shares: bool,
    tick: Callable[[float], None],
) -> None:
    """Train all blocks on the backend's workers, reporting now and then; an interruption stops at the next block.

    Args:
        learns: adjust the offsets after every block; they mean something to the likelihood alone.
        in_shares: give each worker one contiguous share of the blocks, as the authors' program does with a file;
            otherwise workers take the next block as they become free.
    """
    workers = min(backend.workers, len(blocks))
    if in_shares:
        edges = np.linspace(0, len(blocks), workers + 1).astype(int).tolist()
        queues = [iter(blocks[a:b]) for a, b in pairwise(edges)]
    else:
        queues = [iter(blocks)] * workers
    stop, lock = threading.Event(), threading.Lock()
    finished = 0

    def work(worker: int) -> None:
        nonlocal finished
        for block in _taken(queues[worker], lock):
            if stop.is_set():
                return
            backend.train(worker, replace(block, word_offset=offsets.words, document_offset=offsets.documents))
            if learns:
                offsets.learn(backend.figures)
            with lock:
                finished += 1

    with ThreadPoolExecutor(workers, thread_name_prefix="spherevec") as pool:
        pending = {pool.submit(work, worker) for worker in range(workers)}
        try:
            while pending:
                done, pending = wait(pending, timeout=TICK, return_when=FIRST_EXCEPTION)
                for future in done:
                    future.result()
                tick(finished / len(blocks))
        finally:
            stop.set()


def _taken(queue: Iterator[Block], lock: threading.Lock) -> Iterator[Block]:
    """The blocks of a queue that several threads take from."""
    while True:
        with lock:
            block = next(queue, None)
        if block is None:
            return
        yield block


def checked_resultant_length(backend: Backend, words: int, config: TrainConfig) -> float:
    """Mean resultant length of all word vectors; a diverged run is stopped here."""
    total = np.zeros(config.vector_size)
    for start in range(0, words, CHUNK_ROWS):
        total += backend.read("words", start, min(start + CHUNK_ROWS, words)).sum(axis=0, dtype=np.float64)
    length = float(np.linalg.norm(total)) / words
    if not math.isfinite(length):
        raise TrainingError(f"the vectors diverged (NaN); lower alpha, which is {config.alpha}")
    return length


def build_model(
    tables: dict[str, NDArray[np.float32]],
    corpus: EncodedCorpus,
    config: TrainConfig,
    record: list[dict[str, Any]],
    offsets: Offsets,
) -> Model:
    vocabulary, likelihood = corpus.vocabulary, config.objective == "vmf"
    words = KeyedVectors(vocabulary.words, tables["words"], vocabulary.counts)
    contexts = KeyedVectors(vocabulary.words, tables["contexts"])
    docs = None
    if config.documents:
        settle_empty_documents(tables["documents"], corpus.offsets)
        docs = KeyedVectors(corpus.document_names, tables["documents"])
    provenance = {
        "documents": corpus.n_documents,
        "tokens": corpus.n_tokens,
        "raw_tokens": corpus.raw_tokens,
    }
    return Model(
        words,
        contexts,
        docs,
        config=replace(config, threads=config.thread_count).as_dict(),
        parameters={"word_offset": offsets.words, "document_offset": offsets.documents} if likelihood else {},
        record=record,
        tokenizer=corpus.tokenizer,
        provenance=provenance,
    )


def settle_empty_documents(vectors: NDArray[np.float32], offsets: NDArray[np.int64]) -> None:
    """A document without a known word gets the mean direction of the others, rather than the noise it started from."""
    empty = np.flatnonzero(np.diff(offsets) == 0)
    if len(empty) == 0 or len(empty) == len(vectors):
        return
    total = np.zeros(vectors.shape[1])
    for start in range(0, len(vectors), CHUNK_ROWS):
        total += vectors[start : start + CHUNK_ROWS].sum(axis=0, dtype=np.float64)
    total -= vectors[empty].sum(axis=0, dtype=np.float64)
    if np.linalg.norm(total) > 1e-6 * len(vectors):  # otherwise the others have no common direction
        vectors[empty] = sphere.normalize(total).astype(np.float32)


def give_memory_back() -> None:
    """Return what reading has freed to the system before vectors need it, where the C library can (glibc)."""
    with suppress(OSError, AttributeError, TypeError):
        ctypes.CDLL(None).malloc_trim(0)


def _ignore(progress: Progress) -> None:
    pass
