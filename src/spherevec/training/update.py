"""A model that grows: new documents, new words, and old ones that keep their place."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import fields, replace
from datetime import UTC, datetime
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from spherevec.config import MIN_COUNT, TrainConfig
from spherevec.corpus import EncodedCorpus, encode
from spherevec.corpus.count.rewriting import Part, rewrite
from spherevec.engine.backends import check_device, make_fit_tables
from spherevec.engine.base import Backend
from spherevec.engine.bias import Biases
from spherevec.engine.fit import FitTables
from spherevec.engine.schedule import CHUNK_ROWS
from spherevec.errors import ConfigError
from spherevec.model import KeyedVectors, Model
from spherevec.model.document_edit import DocumentEdit
from spherevec.model.documents import DocumentTable
from spherevec.model.editing import edit_documents
from spherevec.model.inference import fitter_of, vocabulary_of
from spherevec.search.neighbors import check_finite
from spherevec.search.terms import DocumentTerms, count_terms
from spherevec.storage.files import working_folder
from spherevec.storage.os_errors import explain_os_errors
from spherevec.training import checkpoint as checkpoints
from spherevec.training.arrivals import Arrivals, GrownWords, find_arrivals, grown_words
from spherevec.training.drift import measure_drift
from spherevec.training.newcomers import start_newcomers
from spherevec.training.prior import WordPrior
from spherevec.training.progress import Progress, ProgressCallback, careful
from spherevec.training.progress_bar import chosen_progress
from spherevec.training.run import refit_plan
from spherevec.training.trainer import (
    CHECKPOINT_EVERY,
    Learned,
    check_checkpoint,
    checkpoint_owned,
    fill,
    learn_tables,
    prepare,
    told_when_finished,
)
from spherevec.training.words import word_vectors

# An update takes this share of the epochs that training took.
EPOCHS_SHARE = 0.5
# Old text that is trained on again, beside the new text.
REPLAYED = 0.5
# Old documents keep their bits where a fit to the words as they are now would hardly move them, by its mean cosine.
STEADY = 0.995
# Records of more updates than this would make the description of a model too long to be read.
_UPDATES_KEPT = 1000
# What an update may choose; all other settings are the model's.
SETTINGS = ("epochs", "alpha", "threads", "seed", "device", "deterministic")


def update(
    model: Model,
    source: Any,
    *,
    add_only: bool = False,
    replay: Any = None,
    tokenizer: Any = None,
    workdir: str | Path | None = None,
    progress: ProgressCallback | bool | None = None,
    checkpoint: str | Path | None = None,
    checkpoint_every: str = CHECKPOINT_EVERY,
    resume: bool = False,
    start_over: bool = False,
    finish: Callable[[Model], object] | None = None,
    **options: Any,
) -> Model:
    """A model that also holds new documents and, unless `add_only`, the words that they bring.

    Old words are held where they were in proportion to how often they occurred, so that nothing is forgotten. A
    document with the id of an old one takes its place; one that the model holds already, word for word, is passed over.

    Args:
        model: stays as it is.
        source: new documents: what `train` takes.
        add_only: fit the documents to the words as they are; all old vectors keep their bits.
        replay: old text that is still at hand; some of it is trained on again, so that old words stay closer.
        tokenizer: how to split the text, where the model does not know it.
        workdir, progress, checkpoint, checkpoint_every, resume, start_over: as for `train`.
        finish: called with the finished model before any interruption is let through, to save it; False if it did not.
        **options: epochs (by default half of the model's), alpha, threads, seed, device and deterministic, all other
            settings are the model's; and what `train` may be told about its source: text_field, id_field, keep, ….

    Returns:
        The new model. `provenance["updates"]` has a record of every update.
    """
    known = {spec.name for spec in fields(TrainConfig)}
    reading = {name: value for name, value in options.items() if name not in known}
    config = _settings_of(model, add_only, {name: value for name, value in options.items() if name in known})
    for kept in (model.words, model.docs):
        if kept is not None:
            check_finite(kept.vectors)
    with (
        chosen_progress(progress) as shown,
        checkpoint_owned(checkpoint),
        working_folder(workdir) as folder,
        explain_os_errors(writing=folder),
    ):
        report = careful(shown)
        check_checkpoint(checkpoint, checkpoint_every, resume, start_over)
        reads: dict[str, Any] = {
            "tokenizer": model.tokenizer if tokenizer is None else tokenizer,
            "min_count": 1,
            "breaks": vocabulary_of(model).phrases,
            "threads": config.thread_count,
        }
        report(Progress("reading", 0.0))
        with encode(source, folder / "new", **reads, **reading) as corpus:
            _check_tokenizer(model, corpus)
            digest = checkpoints.fingerprint(corpus)["sha256"]
            if any(entry.get("sha256") == digest for entry in model.provenance.get("updates", ())):
                if finish is not None:
                    finish(model)
                return model
            min_count = len(model.words) + corpus.n_tokens if add_only else config.min_count or MIN_COUNT
            words = grown_words(
                model,
                corpus.vocabulary.counts,
                corpus.vocabulary.words,
                min_count=min_count,
                max_vocab=config.max_vocab,
            )
            table = None
            if config.documents and corpus.document_columns is not None:
                table = DocumentTable.of_columns(corpus.document_columns, corpus.folder)
            arrivals = find_arrivals(model.documents, model.terms, table, corpus, words.numbers)
            if not len(arrivals.rows):
                if finish is not None:
                    finish(model)
                return model
            if len(arrivals.rows) < corpus.n_documents:
                words = _words_of(model, corpus, arrivals, min_count, config)
            new = rewrite([Part(corpus, words.numbers, arrivals.rows)], words.vocabulary, folder / "known")
            words = words.counted(new)
            drift = measure_drift(model, new, words)
            entry = {
                "created": datetime.now(UTC).isoformat(timespec="seconds"),
                "sha256": digest,
                "added": int(np.count_nonzero(arrivals.places < 0)),
                "replaced": int(np.count_nonzero(arrivals.places >= 0)),
                "unchanged": arrivals.unchanged,
                "tokens": new.n_tokens,
                "raw_tokens": new.raw_tokens,
                "new_words": len(words.vocabulary) - words.known,
                "add_only": add_only,
                "drift": drift.as_dict(),
            }
            built: list[Model] = []
            saved: list[bool] = []

            def build(learned: _Learned) -> bool:
                kept = learned.without_replayed(new.n_documents)
                grown = _build(model, new, words, arrivals, table, kept, folder, config, add_only)
                built.append(_recorded(grown, model, {**entry, **learned.figures}, new))
                if finish is not None:
                    saved.append(finish(built[0]) is not False)
                return any(saved)

            if add_only:
                build(_Learned.unlearned(model, new, config))
            else:
                run = new
                if replay is not None:
                    old = encode(replay, folder / "replay", **reads, **_plain_reading(reading))
                    run = _with_replay(
                        Part(corpus, words.numbers, arrivals.rows), old, words, config.seed, folder / "both"
                    )
                how: dict[str, Any] = {"checkpoint": checkpoint, "checkpoint_every": checkpoint_every}
                how |= {"resume": resume, "start_over": start_over}
                with told_when_finished(saved):
                    _learn(model, run, words, config, build, progress=report, workdir=workdir, **how)
            return built[0]


class _Learned(NamedTuple):
    """What an update leaves of words and new documents."""

    tables: dict[str, NDArray[np.float32]]
    parameters: dict[str, float]
    fit: FitTables | None
    figures: Mapping[str, Any] = MappingProxyType({})  # of the training, for the record

    @classmethod
    def unlearned(cls, model: Model, new: EncodedCorpus, config: TrainConfig) -> _Learned:
        """Documents fitted to the words as they are."""
        vectors = fitter_of(model).fit(
            np.asarray(new.ids), np.asarray(new.offsets), threads=config.threads, device=config.device
        )
        return cls({"docs": vectors}, model.parameters, model.fit)

    def without_replayed(self, documents: int) -> _Learned:
        """The first documents alone."""
        if "docs" not in self.tables:
            return self
        return self._replace(tables=self.tables | {"docs": self.tables["docs"][:documents]})


def _learn(
    model: Model,
    corpus: EncodedCorpus,
    words: GrownWords,
    config: TrainConfig,
    build: Callable[[_Learned], bool],
    **how: Any,
) -> None:
    """Train old and new words on new text, the old ones held by what is known of them.

    Args:
        build: called with what was learned before any interruption is let through; returns whether it has saved it.
    """
    assert model.contexts is not None
    for name, table in (("inputs", model.inputs), ("contexts", model.contexts)):
        table.check(name)  # what is damaged would spread, and be blamed on the learning rate
    config = config.settled(int(words.vocabulary.counts.sum()), len(words.vocabulary))
    data = prepare(corpus, config)
    known = slice(0, words.known)
    before = {"inputs": model.inputs.vectors, "contexts": model.contexts.vectors}
    prior = WordPrior(before, words.before[known], words.new[known], data.keep_probability[known], config)

    def start(backend: Backend, biases: Biases) -> None:
        fill(backend, corpus, config, None)
        for name, vectors in before.items():
            for first in range(0, len(vectors), CHUNK_ROWS):
                backend.load(name, first, vectors[first : first + CHUNK_ROWS])
        start_newcomers(backend, data, words.known, config)
        if model.parameters:
            biases.words, biases.documents = model.parameters["word_bias"], model.parameters["document_bias"]
        if config.documents:
            backend.refit_documents(0, corpus.n_documents, refit_plan(config, biases, None))

    def fit_tables(backend: Backend) -> FitTables | None:
        """Old words say what they said; new ones what they say of the new text."""
        made = make_fit_tables(backend, data, words.vocabulary.counts, config)
        if made is None or model.fit is None:
            return None
        made.weights[known] = model.fit.weights
        return made._replace(by_length=model.fit.by_length)

    def made(learned: Learned) -> bool:
        biases = learned.biases
        parameters = {"word_bias": biases.words, "document_bias": biases.documents} if model.parameters else {}
        figures = {"epochs": config.epoch_count, "alpha": config.alpha, "seed": config.seed}
        figures |= {"loss": learned.record[-1]["loss"], "seconds": sum(epoch["seconds"] for epoch in learned.record)}
        return build(_Learned(learned.tables, parameters, learned.fit, figures))

    learn_tables(corpus, config, data, start, after_epoch=prior.pull, fit_tables=fit_tables, finish=made, **how)


def _build(
    model: Model,
    new: EncodedCorpus,
    words: GrownWords,
    arrivals: Arrivals,
    table: DocumentTable | None,
    learned: _Learned,
    folder: Path,
    config: TrainConfig,
    add_only: bool,
) -> Model:
    """The model with all that came."""
    changes: dict[str, Any] = {"rare_counts": words.rare, "parameters": learned.parameters, "fit": learned.fit}
    if not add_only:
        names = words.vocabulary.words
        inputs, contexts = learned.tables["inputs"], learned.tables["contexts"]
        vectors = word_vectors(inputs, contexts, words.vocabulary, config)
        changes |= {
            "words": KeyedVectors(names, vectors, words.vocabulary.counts),
            "contexts": KeyedVectors(names, contexts),
            "inputs": KeyedVectors(names, inputs) if config.has_own_words else None,
        }
    if model.docs is None:
        return model.replace(**changes)
    edit = DocumentEdit.adding(len(model.docs), arrivals.places)
    table = table if table is not None else DocumentTable.of(new.n_documents)
    added = {
        "docs": learned.tables["docs"],
        "documents": table.take(arrivals.rows),
        "terms": _terms_of(model, new, len(words.vocabulary), folder),
    }
    grown = edit_documents(model, edit, added, **changes)
    assert grown.docs is not None
    if not add_only and grown.terms is not None:
        vectors = _refitted(grown)
        old = edit.origin >= 0
        moved = np.einsum("nd,nd->n", vectors[old], grown.docs.vectors[old])
        if len(moved) and moved.mean(dtype=np.float64) < STEADY:
            grown = grown.replace(docs=KeyedVectors(grown.docs.names, vectors))
    return grown


def mean_cosine(before: Model, after: Model) -> float:
    """How much the words of a model are where they were: the mean cosine of each with itself, 1 where none moved."""
    total = 0.0
    for start in range(0, len(before.words), CHUNK_ROWS):
        old = before.words.vectors[start : start + CHUNK_ROWS].astype(np.float64)
        total += float(np.einsum("ij,ij->", old, after.words.vectors[start : start + len(old)]))
    return total / len(before.words)


def _refitted(model: Model) -> NDArray[np.float32]:
    """All documents fitted to the words as they are now, by the counts of their words."""
    assert model.docs is not None
    counts = model.document_terms
    vectors = np.array(model.docs.vectors)
    fitter = fitter_of(model)
    for start in range(0, len(vectors), CHUNK_ROWS):
        some = counts[start : start + CHUNK_ROWS]
        lengths = np.asarray(some.sum(axis=1)).reshape(-1)
        ids = np.repeat(some.indices, some.data).astype(np.int32)
        offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
        here = vectors[start : start + CHUNK_ROWS]
        here[lengths > 0] = fitter.fit(ids, offsets)[lengths > 0]
    return vectors


def _terms_of(model: Model, new: EncodedCorpus, n_words: int, folder: Path) -> DocumentTerms | None:
    if model.terms is None:
        return None
    return count_terms(new.ids, new.offsets, n_words, folder)


def _recorded(grown: Model, model: Model, entry: dict[str, Any], new: EncodedCorpus) -> Model:
    """Note in the model what happened to it."""
    seen = {
        name: model.provenance.get(name, 0) + more
        for name, more in (("documents", entry["added"]), ("tokens", new.n_tokens), ("raw_tokens", new.raw_tokens))
    }
    entry = entry | {"mean_cosine": round(mean_cosine(model, grown), 6)}
    updates = [*model.provenance.get("updates", ()), entry][-_UPDATES_KEPT:]
    return grown.replace(provenance={**model.provenance, **seen, "updates": updates})


def _words_of(
    model: Model, corpus: EncodedCorpus, arrivals: Arrivals, min_count: int, config: TrainConfig
) -> GrownWords:
    """The words that join by the documents that arrive, without those that the model holds already."""
    counts = np.zeros(len(corpus.vocabulary), np.int64)
    for row in arrivals.rows.tolist():
        np.add.at(counts, corpus.document(row), 1)
    return grown_words(model, counts, corpus.vocabulary.words, min_count=min_count, max_vocab=config.max_vocab)


def _with_replay(new: Part, old: EncodedCorpus, words: GrownWords, seed: int, folder: Path) -> EncodedCorpus:
    """The new documents, and after them old ones of half as many words: those with new words first, then any."""
    at = words.vocabulary.word_to_id
    numbers = np.array([at.get(word, -1) for word in old.vocabulary.words], np.int32)
    offsets = np.asarray(old.offsets)
    holding = np.searchsorted(offsets, np.flatnonzero((numbers >= words.known)[old.ids]), side="right") - 1
    holds_new = np.zeros(old.n_documents, np.bool_)
    holds_new[holding] = True
    chance = np.random.default_rng((seed, len(words.vocabulary))).random(old.n_documents)
    order = np.lexsort((chance, ~holds_new))
    enough = int(np.searchsorted(np.cumsum(np.diff(offsets)[order]), REPLAYED * new.corpus.n_tokens)) + 1
    return rewrite([new, Part(old, numbers, np.sort(order[:enough]))], words.vocabulary, folder)


def _settings_of(model: Model, add_only: bool, given: Mapping[str, Any]) -> TrainConfig:
    """The settings of an update: those of the model, but for what an update may choose; refuses what it cannot do."""
    if model.config is None and not add_only:
        raise ConfigError(
            "this model was not trained here: its context vectors and settings are not known; "
            "add documents to it with add_only=True (--add-only)"
        )
    if model.contexts is None and not add_only:
        raise ConfigError("this model has no context vectors to learn with; use add_only=True (--add-only)")
    if model.docs is None and add_only:
        raise ConfigError("this model has no documents to add to; train it with documents=True (--documents)")
    # A model that does not say so had its rare words left as they were.
    stored = {"smooth_rare_words": False} | dict(model.config or {"vector_size": model.vector_size})
    for name, value in given.items():
        if name not in SETTINGS and stored.get(name) != value:
            raise ConfigError(
                f"an update keeps the model's {name}, which is {stored.get(name)!r}, not {value!r}; "
                f"it may choose {', '.join(SETTINGS)}"
            )
    chosen = {"threads": 0, "device": "cpu", "deterministic": False}
    if stored.get("epochs"):
        chosen["epochs"] = max(1, round(EPOCHS_SHARE * stored["epochs"]))
    chosen |= {name: value for name, value in given.items() if value is not None}
    config = TrainConfig.from_mapping(stored | chosen)
    check_device(config)
    if model.docs is None:
        config = replace(config, documents=False)
    return config


def _check_tokenizer(model: Model, corpus: EncodedCorpus) -> None:
    ours, theirs = corpus.tokenizer, model.tokenizer
    if (ours.name, ours.options) != (theirs.name, theirs.options):
        raise ConfigError(
            f"the model's text was split by {str(theirs)!r}, the new text by {str(ours)!r}; "
            "give the new text as the old was given"
        )


def _plain_reading(reading: Mapping[str, Any]) -> dict[str, Any]:
    """How to read old text: as the new, but nothing of it is kept beside."""
    wanted = ("text_field", "delimiter", "encoding")
    return {name: value for name, value in reading.items() if name in wanted} | {"keep_text": 0}
