"""From text to a model: encode, train, build."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import nullcontext
from dataclasses import replace
from importlib import import_module
from typing import Any

from spherevec import process
from spherevec.config import TrainConfig, default_min_count
from spherevec.corpus import EncodedCorpus
from spherevec.corpus.count.summary import CorpusSummary
from spherevec.corpus.read import options as reading_options
from spherevec.corpus.read.options import ReadOptions, split_options, takes_options
from spherevec.devices import DEVICES
from spherevec.engine.schedule import COPIED_ROWS
from spherevec.errors import ConfigError
from spherevec.model import KeyedVectors, Model
from spherevec.model.documents import DocumentTable
from spherevec.search.terms import DocumentTerms
from spherevec.storage.files import working_folder
from spherevec.storage.memory import give_memory_back
from spherevec.terminal import number_of, times
from spherevec.training.finishing import SpellingSmoother, counted_terms, fill_empty_documents, word_parts
from spherevec.training.options import PUBLIC, Options
from spherevec.training.progress import Progress, ProgressCallback, in_notebook, shows_bar
from spherevec.training.run import Learned, Run
from spherevec.training.runtime import Runtime, local_runtime

_SHORT = 1e-4  # seconds that the thread which drives a GPU waits for Python's lock while others count and compare


@takes_options(*PUBLIC, *reading_options.PUBLIC)
def train(
    source: Any,
    *,
    recipe: str = "default",
    tokenizer: Any = "words",
    initial: Model | KeyedVectors | None = None,
    ray: str | None = None,
    workers: int | None = None,
    cluster: Mapping[str, Any] | None = None,
    **options: Any,
) -> Model:
    """Learn word and document vectors from text.

    Args:
        source: a file with one document a line, a folder of text files, web pages or mails, a table (CSV, TSV, JSONL,
            JSON, Parquet, .xlsx, .ods), most of these also compressed; a pattern, a list of `Path` objects, "-" for
            standard input; a data frame; an iterable of strings, of lists of words, of records with `text_field`, of
            (id, text) pairs with `ids=True`; or an `EncodedCorpus`, whose vocabulary stays as it is.
        recipe: "default"; "words", for people who want word vectors first; or "paper".
        tokenizer: "words", "whitespace" for text that is split already, a name with options such as
            "words:urls=drop", or a function from a string to words.
        initial: word and context vectors to start from; words that it does not know start at random, and so do all
            documents.
        ray: train on workers of a Ray cluster: "local" for processes of this machine, "auto" for the cluster that this
            machine belongs to, or the address of one. The same seed and number of workers give the same bits.
        workers: how many; one by default.
        cluster: further settings of such a run: `exchange_tokens` that each worker trains between two exchanges, by
            default chosen by the vocabulary and the `bandwidth` (10 Gbit/s); `worker_timeout`, the seconds after which
            a worker that does not answer is replaced (600).
        **options: any field of `TrainConfig`, on top of the recipe.
    """
    reading, others = ReadOptions.split(options)
    given, settings = split_options(PUBLIC, others)
    config, run_options = TrainConfig.recipe(recipe, **settings), Options(**given, initial=initial)
    runtime = local_runtime(config, run_options.workdir)
    if ray is not None or workers is not None or cluster is not None:
        ray_runtime = import_module("spherevec.distributed.runtime").ray_runtime
        runtime = ray_runtime(ray, workers, config, workdir=run_options.workdir, **(cluster or {}))
    with run_options.opened(runtime) as opened:
        if isinstance(source, EncodedCorpus):
            return _train_corpus(source, config, opened)
        model = _train_text(source, config, opened, tokenizer, reading)
    show_summary(model, run_options.progress)
    return model


def _train_text(source: Any, config: TrainConfig, options: Options, tokenizer: Any, reading: ReadOptions) -> Model:
    """Encode a source in a folder that is gone afterwards, and train on it while what trains is compiled."""
    # What a killed process has left there is removed on the way.
    with working_folder(options.workdir) as folder, options.runtime.compiled_meanwhile(config) as compiled:
        corpus = options.encode(
            source,
            folder,
            min_count=config.min_count,
            max_vocab=config.max_vocab,
            tokenizer=tokenizer,
            phrases=config.phrases,
            reading=reading,
            threads=config.thread_count,
        )
        corpus.forget_files()
        give_memory_back()
        with corpus:
            options.report(Progress("compiling"))
            compiled()
            return _train_corpus(corpus, config, options)


@takes_options(*PUBLIC)
def train_corpus(
    corpus: EncodedCorpus, config: TrainConfig, *, runtime: Runtime | None = None, **options: Any
) -> Model:
    """Learn vectors from an encoded corpus, silently by default.

    Args:
        runtime: where to train; by default this machine.
        **options: `initial`, as for `train`.
    """
    where = local_runtime(config, options.get("workdir")) if runtime is None else nullcontext(runtime)
    with Options(**{"progress": False, **options}).opened(where) as opened:
        return _train_corpus(corpus, config, opened)


def _train_corpus(corpus: EncodedCorpus, config: TrainConfig, options: Options) -> Model:
    """Train on a corpus, with options that are opened."""
    config = config.resolved(corpus.n_tokens, len(corpus.vocabulary))
    if config.min_count is None:
        config = config.with_(min_count=corpus.summary.min_count)
    options.check_space(len(corpus.vocabulary), corpus.n_documents, config)
    processor_trains, count = DEVICES[config.device].uses_processor, config.thread_count
    with ThreadPoolExecutor(2, thread_name_prefix="spherevec") as pool:
        terms = smoother = None
        if config.documents and processor_trains:
            terms = pool.submit(counted_terms, corpus, options.workdir, count)
            terms.result()  # the training needs all cores
        give_memory_back()
        usual = sys.getswitchinterval()
        if not processor_trains:
            sys.setswitchinterval(_SHORT)
        try:
            run = TrainingRun(corpus, config, options)
            if config.documents and not processor_trains:
                terms = pool.submit(counted_terms, corpus, options.workdir, count, run.backend.count_words())
            # Where the processor trains, spellings are compared in the end, and nobody needs to keep what was found.
            if not processor_trains and SpellingSmoother.wanted(corpus.vocabulary, config):
                smoother = pool.submit(SpellingSmoother, corpus.vocabulary, count, keep=True)
            run.terms, run.smoother = terms, smoother
            return run.run()
        finally:
            sys.setswitchinterval(usual)


class TrainingRun(Run):
    """A run that starts from random vectors, or from those of `options.initial`."""

    # Which words each document holds, and the spelling neighbours of rare words, where others find them meanwhile.
    terms: Future[DocumentTerms | None] | None = None
    smoother: Future[SpellingSmoother] | None = None

    def initialise(self) -> None:
        initial, given = self._options.initial, dict[str, KeyedVectors]()
        if initial is not None:
            given["inputs"] = initial if isinstance(initial, KeyedVectors) else initial.inputs
            if isinstance(initial, Model) and initial.contexts is not None:
                given["contexts"] = initial.contexts
        for table, vectors in given.items():
            if vectors.vector_size != self._config.vector_size:
                raise ConfigError(
                    f"the initial {table} have dimension {vectors.vector_size}, vector_size is "
                    f"{self._config.vector_size}; set vector_size={vectors.vector_size}"
                )
            vectors.check(f"initial {table}")
        self.backend.fill()
        names = self._corpus.vocabulary.words
        for table, vectors in given.items():
            for start in range(0, len(names), COPIED_ROWS):
                rows = self.backend.read(table, start, min(start + COPIED_ROWS, len(names)))
                for row, word in enumerate(names[start : start + len(rows)]):
                    if word in vectors:
                        rows[row] = vectors.get_vector(word)
                self.backend.load(table, start, rows)

    def build(self, learned: Learned) -> Model:
        give_memory_back()
        smoother = None if self.smoother is None else self.smoother.result()
        terms = None if self.terms is None else self.terms.result()
        model = build_model(learned, self._corpus, self._config, terms, smoother)
        give_memory_back()
        return model


def build_model(
    learned: Learned,
    corpus: EncodedCorpus,
    config: TrainConfig,
    terms: DocumentTerms | None,
    smoother: SpellingSmoother | None,
) -> Model:
    """The model that a run has learned."""
    parts = word_parts(learned, corpus.vocabulary, config, smoother)
    docs = documents = None
    if config.documents:
        fill_empty_documents(learned.tables["docs"], corpus.offsets)
        if corpus.document_columns is not None:
            documents = DocumentTable.of_columns(corpus.document_columns, corpus.folder)
        docs = KeyedVectors(documents.ids if documents and documents.named else None, learned.tables["docs"])
    provenance = {
        "documents": corpus.n_documents,
        "tokens": corpus.n_tokens,
        "raw_tokens": corpus.raw_tokens,
        **corpus.spread,
        **({"reading": corpus.reading} if corpus.reading else {}),
        "summary": corpus.summary.with_(settings=resolved_settings(corpus, config)).as_dict(),
    }
    return Model(
        **parts,
        docs=docs,
        config=replace(config, threads=config.thread_count).as_dict(),
        record=learned.record,
        tokenizer=corpus.tokenizer,
        provenance=provenance,
        documents=documents,
        terms=terms,
        rare_counts=corpus.rare_counts,
    )


def resolved_settings(corpus: EncodedCorpus, config: TrainConfig) -> list[str]:
    """What was chosen because of the text, and why; what the rule would not have chosen was given."""
    words = len(corpus.vocabulary)
    usual = config.with_(epochs=None, sample=None).resolved(corpus.n_tokens, words)
    by_length, by_words = "chosen by the length of the text", f"chosen by the size of the vocabulary, {words:,} words"
    epochs = f"{number_of(config.epochs or 1, 'epoch')} over {corpus.n_tokens:,} kept tokens"
    rare = f"words that occur {times(config.min_count or 1)} or more"
    settings = [
        (epochs, by_length, config.epochs == usual.epochs),
        (rare, by_length, config.min_count == default_min_count(corpus.raw_tokens)),
        (f"subsampling threshold {config.sample:.2g}", by_words, config.sample == usual.sample),
    ]
    return [f"{setting}: {why if chosen else 'as given'}" for setting, why, chosen in settings]


def show_summary(model: Model, progress: ProgressCallback | bool | None) -> None:
    """Print what was read and warn about it, unless the caller shows progress with a function of its own."""
    if callable(progress):
        return
    summary = CorpusSummary.from_dict(model.provenance["summary"])
    if shows_bar(progress):
        print(summary.with_(warnings=()), file=sys.stdout if in_notebook() else sys.stderr)
    for warning in summary.warnings:
        process.warn(warning, stacklevel=3)
