"""From text to a model: encode, prepare, train, build. Which machine does the work is the backend's affair."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from spherevec import process, sphere
from spherevec.config import KEEP_TEXT, TrainConfig
from spherevec.corpus import EncodedCorpus, encode
from spherevec.engine.backends import check_device
from spherevec.engine.base import PIECE, Backend, TrainingData, table_rows
from spherevec.engine.bias import Biases
from spherevec.engine.fit import FitTables, blank_tables
from spherevec.engine.sampling import alias_table, keep_probabilities
from spherevec.engine.schedule import COPIED_ROWS, further_pieces
from spherevec.errors import ConfigError
from spherevec.model import KeyedVectors, Model
from spherevec.model.documents import DocumentTable
from spherevec.storage.files import working_folder
from spherevec.storage.locks import owned
from spherevec.storage.memory import give_memory_back
from spherevec.threads import in_order
from spherevec.training import checkpoint as checkpoints
from spherevec.training.beside import Beside, made_beside
from spherevec.training.finishing import settle_empty_documents
from spherevec.training.first_run import compiled_beside
from spherevec.training.place import Place, ThisMachine
from spherevec.training.progress import Progress, ProgressCallback, careful
from spherevec.training.progress_bar import chosen_progress
from spherevec.training.run import AfterEpoch, Run, refit_plan
from spherevec.training.space import check_space
from spherevec.training.telling import settled_settings, tell_text
from spherevec.training.words import word_vectors

CHECKPOINT_EVERY = "10m"


def train(
    source: Any,
    *,
    recipe: str = "default",
    tokenizer: Any = "words",
    text_field: str | None = None,
    id_field: str | None = None,
    title_field: str | None = None,
    keep: Sequence[str] | Mapping[str, str | None] = (),
    keep_text: int = KEEP_TEXT,
    ids: bool | Sequence[Any] = False,
    delimiter: str | None = None,
    encoding: str = "utf-8",
    workdir: str | Path | None = None,
    progress: ProgressCallback | bool | None = None,
    initial: Model | KeyedVectors | None = None,
    checkpoint: str | Path | None = None,
    checkpoint_every: str = CHECKPOINT_EVERY,
    resume: bool = False,
    start_over: bool = False,
    finish: Callable[[Model], object] | None = None,
    ray: str | None = None,
    workers: int | None = None,
    cluster: Mapping[str, Any] | None = None,
    **settings: Any,
) -> Model:
    """Learn word and document vectors from text.

    Args:
        source: a file with one document a line, a folder of text files, web pages or mails, a table (CSV, TSV, JSONL,
            JSON, Parquet), most of these also compressed; a pattern, a list of `Path` objects, "-" for standard input;
            a data frame; an iterable of strings, of lists of words, of records with `text_field`, of (id, text) pairs
            with `ids=True`; or an `EncodedCorpus`, whose vocabulary stays as it is.
        recipe: "default"; "words", for people who want word vectors first; or "paper".
        tokenizer: "words", "words-0.1", "whitespace" for text that is split already, a name with options such as
            "words:urls=drop", or a function from a string to words.
        text_field: the column of a table that holds the text.
        id_field: the column that holds an id of each document; all must differ.
        title_field: the column that holds titles; without one, the beginning of the text stands in.
        keep: further columns to keep in the model, such as `["created:date", "team"]`.
        keep_text: how many characters of each text to keep in the model, for snippets; 0 keeps none.
        ids: True where documents are pairs of an id and a text; or the ids themselves, one a document.
        delimiter: what stands between the cells of a CSV file; found out when not given.
        encoding: of text files.
        workdir: where the encoded corpus is kept while training (4 to 8 bytes a word) and, as long as the model is
            used, the words of each document (up to 13 bytes a word) and document vectors that would not fit into
            memory; the system's folder for temporary files by default.
        progress: a function that is called a few times a second with a `Progress`; True for a bar, False for silence;
            by default a bar on terminals and in notebooks. An exception in it is warned about once and does not end
            training; `KeyboardInterrupt` does, after a checkpoint.
        initial: word and context vectors to start from; words that it does not know start at random, and so do all
            documents.
        checkpoint: a folder to save the unfinished run to, from time to time, when it is interrupted (Ctrl-C), and when
            its model cannot be made or saved. It stays when training is done: remove it when you have saved the model.
        checkpoint_every: how often: "90s", "10m", "2h", or "2e" for every second epoch; "off" for never.
        resume: go on from that folder with the same text and settings; start from the beginning if it is not there.
        start_over: an unfinished run in that folder may be replaced; it stays until this run has saved something.
        finish: called with the finished model before any interruption is let through, to save it, on the disk of
            `checkpoint`: a run that would find no room there is refused before it trains.
        ray: train on workers of a Ray cluster: "local" for processes of this machine, "auto" for the cluster that this
            machine belongs to, or the address of one. The same seed and number of workers give the same bits.
        workers: how many; one by default.
        cluster: further settings of such a run: `exchange_tokens` that each worker trains between two exchanges, by
            default chosen by the vocabulary and the `bandwidth` (10 Gbit/s); `worker_timeout`, the seconds after which
            a worker that does not answer is replaced (600).
        **settings: any field of `TrainConfig`, on top of the recipe.
    """
    distributed = ray is not None or workers is not None or cluster is not None
    if distributed:
        settings.setdefault("deterministic", settings.get("device", "cpu") == "cpu")
    config = TrainConfig.recipe(recipe, **settings)
    saving: dict[str, Any] = {"checkpoint": checkpoint, "checkpoint_every": checkpoint_every, "resume": resume}
    saving |= {"start_over": start_over, "finish": finish}
    check_initial(initial)
    with checkpoint_owned(checkpoint), ExitStack() as stack:
        check_checkpoint(checkpoint, checkpoint_every, resume, start_over)
        machines: Any = None
        if distributed:
            opened = import_module("spherevec.distributed.machines").machines
            machines = stack.enter_context(opened(ray, workers, config, workdir=workdir, **(cluster or {})))
            saving["place_of"] = machines.place
        else:
            check_device(config)
        report = careful(stack.enter_context(chosen_progress(progress)))
        if isinstance(source, EncodedCorpus):
            return train_corpus(source, config, progress=report, initial=initial, workdir=workdir, **saving)
        # What a killed process has left there is removed on the way.
        folder = stack.enter_context(working_folder(workdir))
        report(Progress("reading", 0.0))
        compiled = stack.enter_context(compiled_beside(config)) if machines is None else None
        encoder = encode if machines is None else machines.encode
        corpus = encoder(
            source,
            folder,
            min_count=config.min_count,
            max_vocab=config.max_vocab,
            tokenizer=tokenizer,
            phrases=config.phrases,
            text_field=text_field,
            id_field=id_field,
            title_field=title_field,
            keep=keep,
            keep_text=keep_text,
            ids=ids,
            delimiter=delimiter,
            encoding=encoding,
            threads=config.thread_count,
            progress=lambda done, total: report(Progress("reading", done / total if total else None)),
        )
        corpus.forget_files()
        give_memory_back()
        with corpus:
            if compiled is not None:
                report(Progress("compiling"))
                compiled()
            model = train_corpus(corpus, config, progress=report, initial=initial, workdir=workdir, **saving)
    tell_text(model, progress)
    return model


def train_corpus(
    corpus: EncodedCorpus,
    config: TrainConfig,
    *,
    progress: ProgressCallback | None = None,
    initial: Model | KeyedVectors | None = None,
    workdir: str | Path | None = None,
    checkpoint: str | Path | None = None,
    checkpoint_every: str = CHECKPOINT_EVERY,
    resume: bool = False,
    start_over: bool = False,
    finish: Callable[[Model], object] | None = None,
    place_of: Callable[[EncodedCorpus, TrainConfig], Place] | None = None,
) -> Model:
    """Learn vectors from an encoded corpus; further arguments are those of `train`.

    Args:
        place_of: gives the place of the run from the corpus and the settled configuration; by default this machine.
    """
    check_initial(initial)
    if place_of is None:
        check_device(config)
    config = config.settled(corpus.n_tokens, len(corpus.vocabulary))
    if config.min_count is None:
        config = config.with_(min_count=corpus.summary.min_count)
    place = None if place_of is None else place_of(corpus, config)
    data = prepare(corpus, config) if place is None else None

    def start(backend: Backend, biases: Biases) -> None:
        fill(backend, corpus, config, initial)

    built: list[Model] = []
    saved: list[bool] = []

    def build(learned: Learned) -> bool:
        give_memory_back()
        built.append(build_model(learned, corpus, config, beside()))
        give_memory_back()
        if finish is not None:
            finish(built[0])
            saved.append(True)
        return finish is not None

    how: dict[str, Any] = {"checkpoint": checkpoint, "checkpoint_every": checkpoint_every}
    how |= {"resume": resume, "start_over": start_over, "progress": progress, "workdir": workdir}
    if checkpoint is not None:
        sizes = (len(corpus.vocabulary), corpus.n_documents)
        every = checkpoints.Every.parse(checkpoint_every)
        check_space(Path(checkpoint), *sizes, config, saves=finish is not None, checkpoints=every is not None)
    with told_when_finished(saved), made_beside(corpus, config, workdir) as beside:
        learn_tables(corpus, config, data, start, place=place, finish=build, **how)
    return built[0]


@contextmanager
def told_when_finished(saved: Sequence[bool]) -> Iterator[None]:
    """An interruption that was held back until the model was saved, which fills `saved`, says so."""
    try:
        yield
    except KeyboardInterrupt as interrupt:
        if any(saved):
            interrupt.add_note("the training is finished and the model complete")
        raise


FitTablesOf = Callable[[Backend], FitTables | None]


class Learned(NamedTuple):
    """What a run leaves."""

    tables: dict[str, NDArray[np.float32]]
    record: tuple[dict[str, Any], ...]
    biases: Biases
    fit: FitTables | None


def learn_tables(
    corpus: EncodedCorpus,
    config: TrainConfig,
    data: TrainingData | None,
    start: Callable[[Backend, Biases], None],
    *,
    place: Place | None = None,
    after_epoch: AfterEpoch | None = None,
    fit_tables: FitTablesOf | None = None,
    finish: Callable[[Learned], bool] | None = None,
    progress: ProgressCallback | None = None,
    workdir: str | Path | None = None,
    checkpoint: str | Path | None = None,
    checkpoint_every: str = CHECKPOINT_EVERY,
    resume: bool = False,
    start_over: bool = False,
) -> Learned:
    """The one way from an encoded corpus to trained vectors; further arguments are those of `train`.

    Args:
        config: settled.
        data: what `prepare` makes of the corpus; None where a place is given.
        place: where the run takes place; by default this machine.
        start: sets the vectors and biases that a run begins with; not asked where a run is resumed.
        after_epoch: called when the blocks of an epoch are trained.
        fit_tables: gives what documents are fitted with to the finished words; by default what these say of the text.
        finish: called with what the run leaves before any interruption is let through; returns whether it has saved it.
            What is not saved when an interruption or a failure ends the run becomes a checkpoint.
    """
    with checkpoint_owned(checkpoint):
        every = check_checkpoint(checkpoint, checkpoint_every, resume, start_over)
        if place is None:
            check_device(config)
        folder = None if checkpoint is None else Path(checkpoint)
        saved = checkpoints.load(folder) if folder and resume else None
        if place is None:
            assert data is not None
            place = ThisMachine(data, corpus.vocabulary.counts, config, workdir)
        made, report = fit_tables or place.fit_tables, careful(progress)
        return _learn(corpus, config, place, start, after_epoch, made, finish, report, folder, every, saved)


def _learn(
    corpus: EncodedCorpus,
    config: TrainConfig,
    place: Place,
    start: Callable[[Backend, Biases], None],
    after_epoch: AfterEpoch | None,
    fit_tables: FitTablesOf,
    finish: Callable[[Learned], bool] | None,
    report: ProgressCallback,
    checkpoint: Path | None,
    every: checkpoints.Every | None,
    saved: checkpoints.Checkpoint | None,
) -> Learned:
    """As `learn_tables`, after all checks."""
    schedule = place.schedule()
    if saved:
        saved.check(config, corpus, len(schedule.blocks(0)))
    backend = place.backend()
    biases = Biases(config.bias, config.concentration)
    if saved:
        saved.restore(backend, biases)
    else:
        start(backend, biases)
    refits = config.documents and config.refit
    report(Progress("compiling"))
    backend.warm_up()
    if refits:
        # Of no document, to have it compiled.
        backend.refit_documents(0, 0, refit_plan(config, biases, blank_tables(len(corpus.vocabulary), config)))
    saver = checkpoints.Saver(checkpoint, every, backend, biases, config, corpus) if checkpoint and every else None
    run = Run(backend, schedule, config, corpus, biases, report, saved.position if saved else None, saver, after_epoch)
    if saved:
        report(Progress("resuming", run.done, min(saved.position.epoch + 1, config.epoch_count), config.epochs))
        saved = None  # lets go of its file
    learned, kept = None, False
    try:
        record = run.train()
        tables = fit_tables(backend)
        corpus.drop_pages()
        if refits:
            run.refit_documents(tables)
        report(Progress("finishing", 1.0))
        with process.signals_held_back():
            learned = Learned(backend.take(), record, biases, tables)
            kept = finish is not None and finish(learned)
    except BaseException as error:
        if not kept and (learned is not None or isinstance(error, KeyboardInterrupt)):
            run.save_ended(error, learned and learned.tables)
        raise
    return learned


def checkpoint_owned(checkpoint: str | Path | None) -> AbstractContextManager[Any]:
    """Nobody else writes the checkpoint of a run."""
    return nullcontext() if checkpoint is None else owned(checkpoint, run=True)


def check_initial(initial: object) -> None:
    """Refuse, before any text is read, what a run cannot start from."""
    if initial is not None and not isinstance(initial, Model | KeyedVectors):
        raise ConfigError(
            f"initial must be a Model or KeyedVectors, not {type(initial).__name__} {repr(initial)[:40]}; "
            "open a saved model with spherevec.load(folder)"
        )


def check_checkpoint(
    checkpoint: str | Path | None, checkpoint_every: str, resume: bool, start_over: bool = False
) -> checkpoints.Every | None:
    """How often to save; refuses before any work is done what would go wrong later."""
    every = checkpoints.Every.parse(checkpoint_every)
    if checkpoint is None:
        if resume:
            raise ConfigError("resume=True needs checkpoint, the folder to resume from")
        return None
    if not resume and every:
        checkpoints.check_free(Path(checkpoint), start_over)
    return every


def prepare(corpus: EncodedCorpus, config: TrainConfig) -> TrainingData:
    """The plain arrays that a backend works on."""
    return training_data(corpus.ids, corpus.offsets, corpus.vocabulary.counts, config)


def training_data(
    ids: NDArray[np.int32], offsets: NDArray[np.int64], counts: NDArray[np.int64], config: TrainConfig
) -> TrainingData:
    """As `prepare`, of documents that are ids[offsets[d]:offsets[d + 1]], perhaps a part of the text.

    Args:
        counts: (V,) of the words in the whole text.
    """
    alias_probability, alias_word = alias_table(counts)
    return TrainingData(
        ids=ids,
        offsets=offsets,
        pieces=further_pieces(offsets, PIECE),
        keep_probability=keep_probabilities(counts, config.sample_threshold),
        refit_keep_probability=keep_probabilities(counts, config.for_inference().sample_threshold),
        alias_probability=alias_probability,
        alias_word=alias_word,
    )


def random_rows(
    config: TrainConfig, table: str, rows: int, threads: int = 1
) -> Iterator[tuple[int, NDArray[np.float32]]]:
    """Random directions for a table, some at a time, with the number of the first; the same for any `threads`."""
    rng = np.random.default_rng((config.seed, ("inputs", "contexts", "docs").index(table)))

    def numbers() -> Iterator[tuple[int, NDArray[np.float32]]]:
        """They come one after another; other threads may do the rest."""
        for start in range(0, rows, COPIED_ROWS):
            some = min(COPIED_ROWS, rows - start)
            yield start, rng.standard_normal((some, config.vector_size), dtype=np.float32)

    return in_order(numbers(), lambda _, some: (some[0], sphere.normalize(some[1])), threads)


def fill(backend: Backend, corpus: EncodedCorpus, config: TrainConfig, initial: Model | KeyedVectors | None) -> None:
    """Random directions for every vector, then what `initial` knows; vectors that are elsewhere are filled there."""
    given: dict[str, KeyedVectors] = {}
    if initial is not None:
        given["inputs"] = initial if isinstance(initial, KeyedVectors) else initial.inputs
        if isinstance(initial, Model) and initial.contexts is not None:
            given["contexts"] = initial.contexts
    for table, vectors in given.items():
        if vectors.vector_size != config.vector_size:
            raise ConfigError(
                f"the initial {table} have dimension {vectors.vector_size}, vector_size is {config.vector_size}; "
                f"set vector_size={vectors.vector_size}"
            )
        vectors.check(f"initial {table}")
    elsewhere = hasattr(backend, "fill")
    if elsewhere:
        cast(Any, backend).fill()
    sizes = table_rows(len(corpus.vocabulary), corpus.n_documents, config)
    wanted = [(table, count) for table, count in sizes.items() if table in given or not elsewhere]
    threads, loading = config.thread_count, threading.Lock()

    def fill_table(_: int, one: tuple[str, int]) -> None:
        for start, rows in random_rows(config, *one, max(1, min(4, threads // len(sizes)))):
            if one[0] in given:
                known = given[one[0]]
                for row, word in enumerate(corpus.vocabulary.words[start : start + len(rows)]):
                    if word in known:
                        rows[row] = known.get_vector(word)
            with loading:
                backend.load(one[0], start, rows)

    for _ in in_order(wanted, fill_table, min(threads, len(sizes))):
        pass


def build_model(learned: Learned, corpus: EncodedCorpus, config: TrainConfig, beside: Beside) -> Model:
    """The model that a run has learned."""
    tables, biases = learned.tables, learned.biases
    vocabulary, likelihood = corpus.vocabulary, config.objective_info.likelihood
    contexts = KeyedVectors(vocabulary.words, tables["contexts"])
    inputs = KeyedVectors(vocabulary.words, tables["inputs"]) if config.has_own_words else None
    words = KeyedVectors(
        vocabulary.words,
        word_vectors(tables["inputs"], tables["contexts"], vocabulary, config, beside.pulls),
        vocabulary.counts,
    )
    docs = documents = None
    if config.documents:
        settle_empty_documents(tables["docs"], corpus.offsets)
        if corpus.document_columns is not None:
            documents = DocumentTable.of_columns(corpus.document_columns, corpus.folder)
        docs = KeyedVectors(documents.ids if documents and documents.named else None, tables["docs"])
    provenance = {
        "documents": corpus.n_documents,
        "tokens": corpus.n_tokens,
        "raw_tokens": corpus.raw_tokens,
        **corpus.spread,
        "summary": corpus.summary.with_(settings=settled_settings(corpus, config)).as_dict(),
    }
    return Model(
        words,
        contexts,
        docs,
        inputs=inputs,
        fit=learned.fit,
        config=replace(config, threads=config.thread_count).as_dict(),
        parameters={"word_bias": biases.words, "document_bias": biases.documents} if likelihood else {},
        record=learned.record,
        tokenizer=corpus.tokenizer,
        provenance=provenance,
        documents=documents,
        terms=beside.terms,
        rare_counts=corpus.rare_counts,
    )
