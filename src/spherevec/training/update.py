"""A model that grows: new documents, new words, and old ones that keep their place."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from spherevec import process
from spherevec.config import MIN_COUNT, USES, TrainConfig
from spherevec.corpus import EncodedCorpus
from spherevec.corpus.count.encoded import Part, rewrite
from spherevec.corpus.read.options import ReadOptions, listed, split_options, takes_options
from spherevec.corpus.tokenize.tokenizer import tokenizer_of
from spherevec.engine.fit import FitTables
from spherevec.engine.sampling import keep_probabilities
from spherevec.engine.schedule import CHUNK_ROWS
from spherevec.errors import ConfigError
from spherevec.model import KeyedVectors, Model
from spherevec.model.document_edit import DocumentEdit
from spherevec.model.documents import DocumentTable
from spherevec.model.inference import DocumentFitter, reading_like, vocabulary_of
from spherevec.model.verbs import verb
from spherevec.search.neighbors import check_finite
from spherevec.search.terms import count_terms
from spherevec.storage.files import working_folder
from spherevec.storage.os_errors import explain_os_errors
from spherevec.storage.text_column import TextColumn
from spherevec.training import checkpoint as checkpoints
from spherevec.training.changes import (
    DocumentChanges,
    VocabularyUpdate,
    add_words,
    count_words,
    find_changes,
    measure_drift,
)
from spherevec.training.finishing import word_parts
from spherevec.training.options import PUBLIC, Options
from spherevec.training.run import Learned, Run, refit_plan
from spherevec.training.runtime import local_runtime
from spherevec.training.word_update import WordPrior, initialise_new_words

# An update takes this share of the epochs that training took.
EPOCHS_SHARE = 0.5
# Old text that is trained on again, beside the new text.
REPLAYED = 0.5
# Old documents keep their bits where a fit to the words as they are now would hardly move them, by its mean cosine.
STEADY = 0.995
# Records of more updates than this would make the description of a model too long to be read.
_UPDATES_KEPT = 1000
_TOKENS_AT_ONCE = 1 << 20


@takes_options(*PUBLIC)
def update(
    model: Model, source: Any, *, add_only: bool = False, replay: Any = None, tokenizer: Any = None, **options: Any
) -> Model:
    """A model that also holds new documents and, unless `add_only`, the words that they bring.

    Old words are held where they were in proportion to how often they occurred, so that nothing is forgotten. A
    document with the id of an old one takes its place; one that the model holds already, word for word, is passed over.

    Args:
        model: stays as it is.
        source: new documents: what `train` takes.
        add_only: fit the documents to the words as they are; old vectors do not change.
        replay: old text that is still at hand; some of it is trained on again, so that old words stay closer.
        tokenizer: how to split the text, where the model does not know it.
        **options: epochs (by default half of the model's), alpha, threads, seed, device and deterministic, all other
            settings are the model's; and fields of `ReadOptions`: text_field, id_field, keep, …, by default as the
            model was trained. `keep` names further columns, beside those that the model keeps.

    Returns:
        The new model. `provenance["updates"]` has a record of every update.
    """
    reading, others = ReadOptions.split(options)
    given, settings = split_options(PUBLIC, others)
    reading, run_options = _reading_of(model, reading), Options(**given)
    config = _settings_of(model, add_only, settings)
    _check_parts(model)

    def complete(grown: Model) -> bool:
        """Called with the finished model before any interruption is let through."""
        if model.kept_topics is not None and grown is not model:
            verb("carry_topics")(model, grown, config.threads)
        return run_options.finish is not None and run_options.finish(grown) is not False

    with (
        replace(run_options, finish=complete).opened(local_runtime(config, run_options.workdir)) as opened,
        working_folder(run_options.workdir) as folder,
        explain_os_errors(writing=folder),
    ):
        splitter = model.tokenizer if tokenizer is None else tokenizer_of(tokenizer)
        splitter = splitter.with_elisions("drop" if model.tokenizer.drops_elisions else "keep")
        how = {"tokenizer": splitter, "threads": config.thread_count}
        how |= {"min_count": 1, "breaks": vocabulary_of(model).phrases}
        with opened.encode(source, folder / "new", reading=reading, **how) as corpus:
            _check_text(model, corpus, [kept.name for kept in reading.kept])
            change = find_update(model, corpus, config, folder, add_only=add_only)
            if change is None or add_only:
                updated = model if change is None else change.add_documents()
                complete(updated)
                return updated
            text = change.new
            if replay is not None:
                old = opened.encode(replay, folder / "replay", reading=reading.text_only(), **how)
                text = _with_replay(change, old, folder / "both")
            return UpdateRun(change, text, opened).run()


@dataclass(frozen=True)
class Update:
    """What an update brings to a model."""

    model: Model
    corpus: EncodedCorpus  # the new text as it was read
    new: EncodedCorpus  # the documents that are new or have changed, in the words of the grown vocabulary
    words: VocabularyUpdate
    documents: DocumentChanges
    table: DocumentTable | None  # of all documents of `corpus`
    config: TrainConfig
    record: Mapping[str, Any]  # of the update, for the model's provenance
    folder: Path  # for what is made on the way

    def add_documents(self) -> Model:
        """The model with documents that are fitted to its words as they are."""
        ids, offsets = np.asarray(self.new.ids), np.asarray(self.new.offsets)
        docs = DocumentFitter(self.model).fit(ids, offsets, threads=self.config.threads, device=self.config.device)
        return self.recorded(self._with_documents(docs, rare_counts=self.words.rare), {})

    def with_words(self, learned: Learned) -> Model:
        """The model with all that was learned; old documents follow where the words have moved."""
        model = self.model
        changes = {"rare_counts": self.words.rare, **word_parts(learned, self.words.vocabulary, self.config)}
        if model.docs is None:
            return model.replace(**changes)
        # Documents that were trained on again are in the model already.
        grown = self._with_documents(learned.tables["docs"][: self.new.n_documents], **changes)
        if grown.docs is not None and grown.terms is not None:
            refitted = _refitted(grown)
            old = self._edit.origin >= 0
            moved = np.einsum("nd,nd->n", refitted[old], grown.docs.vectors[old])
            if len(moved) and moved.mean(dtype=np.float64) < STEADY:
                grown = grown.replace(docs=KeyedVectors(grown.docs.names, refitted))
        return grown

    def recorded(self, grown: Model, figures: Mapping[str, Any]) -> Model:
        """Note in the grown model what happened to it, with the figures of its training."""
        before, record = self.model.provenance, self.record
        more = {"documents": record["added"], "tokens": self.new.n_tokens, "raw_tokens": self.new.raw_tokens}
        seen = {name: before.get(name, 0) + count for name, count in more.items()}
        entry = {**record, **figures, "mean_cosine": round(mean_cosine(self.model, grown), 6)}
        updates = [*before.get("updates", ()), entry][-_UPDATES_KEPT:]
        return grown.replace(provenance={**before, **seen, "updates": updates})

    @property
    def _edit(self) -> DocumentEdit:
        assert self.model.docs is not None
        return DocumentEdit.adding(len(self.model.docs), self.documents.places)

    def _with_documents(self, docs: NDArray[np.float32], **changes: Any) -> Model:
        """The model with the new documents in their places, and some other parts changed."""
        terms = None
        if self.model.terms is not None:
            ids, offsets = self.new.ids, self.new.offsets
            terms = count_terms(ids, offsets, self.words.vocabulary.counts, self.folder, self._rare_words())
        table = self.table if self.table is not None else DocumentTable.of_ids(None, self.new.n_documents)
        added = {"docs": docs, "documents": table.take(self.documents.rows), "terms": terms}
        return self.model.edit_documents(self._edit, added, **changes)

    def _rare_words(self) -> tuple[NDArray[np.uint64], NDArray[np.int32]]:
        """Hashes of words of the new documents that stay without a vector, ascending, and the document of each."""
        corpus = self.corpus
        without = self.words.numbers < 0
        starts = range(0, max(len(corpus.ids), 1), _TOKENS_AT_ONCE)
        places = np.concatenate([at + np.flatnonzero(without[corpus.ids[at : at + _TOKENS_AT_ONCE]]) for at in starts])
        row_of = np.full(corpus.n_documents, -1, np.int32)
        row_of[self.documents.rows] = np.arange(len(self.documents.rows))
        rows = row_of[np.searchsorted(corpus.offsets, places, "right") - 1]
        hashes = TextColumn.of(corpus.vocabulary.words).hashes()[corpus.ids[places[rows >= 0]]]
        rows = rows[rows >= 0]
        order = np.lexsort((rows, hashes))
        return hashes[order], rows[order]


def find_update(
    model: Model, corpus: EncodedCorpus, config: TrainConfig, folder: Path, *, add_only: bool
) -> Update | None:
    """What new text brings to a model, with `add_only` no words; None where that is nothing."""
    digest = checkpoints.fingerprint(corpus)["sha256"]
    if any(entry.get("sha256") == digest for entry in model.provenance.get("updates", ())):
        return None
    min_count = len(model.words) + corpus.n_tokens if add_only else config.min_count or MIN_COUNT

    def words_of(counts: NDArray[np.int64]) -> VocabularyUpdate:
        return add_words(model, counts, corpus.vocabulary.words, min_count=min_count, max_vocab=config.max_vocab)

    words = words_of(corpus.vocabulary.counts)
    table = None
    if config.documents and corpus.document_columns is not None:
        table = DocumentTable.of_columns(corpus.document_columns, corpus.folder)
    changes = find_changes(model, table, corpus, words.numbers)
    if not len(changes.rows):
        return None
    if len(changes.rows) < corpus.n_documents:
        words = words_of(count_words(corpus, changes.rows))
    new = rewrite([Part(corpus, words.numbers, changes.rows)], words.vocabulary, folder / "known")
    words = words.counted(new)
    record = {
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
        "sha256": digest,
        "added": int(np.count_nonzero(changes.places < 0)),
        "replaced": int(np.count_nonzero(changes.places >= 0)),
        "unchanged": changes.unchanged,
        "tokens": new.n_tokens,
        "raw_tokens": new.raw_tokens,
        "new_words": len(words.vocabulary) - words.known,
        "add_only": add_only,
        "fields": list(corpus.summary.fields),
        "drift": measure_drift(model, new, words).as_dict(),
    }
    return Update(model, corpus, new, words, changes, table, config, record, folder)


class UpdateRun(Run):
    """A run that trains old and new words on new text, the old ones held by what is known of them."""

    def __init__(self, update: Update, corpus: EncodedCorpus, options: Options) -> None:
        """Train on a corpus that is the new text, with perhaps some old text after it."""
        model, words = update.model, update.words
        assert model.contexts is not None
        self._before = {"inputs": model.inputs, "contexts": model.contexts}
        for name, table in self._before.items():
            table.check(name)  # what is damaged would spread, and be blamed on the learning rate
        vocabulary, known = words.vocabulary, slice(0, words.known)
        config = update.config.resolved(int(vocabulary.counts.sum()), len(vocabulary))
        super().__init__(corpus, config, options, tuple(self._before.values()))
        self._update = update
        kept = keep_probabilities(corpus.vocabulary.counts, config.sample_threshold)[known]
        tables = {name: table.vectors for name, table in self._before.items()}
        self._prior = WordPrior(tables, words.before[known], words.new[known], kept, config)

    def initialise(self) -> None:
        backend, biases, parameters = self.backend, self.biases, self._update.model.parameters
        backend.fill()
        for name, table in self._before.items():
            for first in range(0, len(table), CHUNK_ROWS):
                backend.load(name, first, table.vectors[first : first + CHUNK_ROWS])
        initialise_new_words(backend, self._corpus, self._update.words.known, self._config)
        biases.words = parameters.get("word_bias", biases.words)
        biases.documents = parameters.get("document_bias", biases.documents)
        if self._config.documents:
            backend.refit_documents(0, self._corpus.n_documents, refit_plan(self._config, biases, None))

    def end_epoch(self, epoch: int) -> None:
        self._prior.pull(self.backend, epoch)

    def fit_tables(self) -> FitTables | None:
        """Old words keep their weights; those of new words come from the new text."""
        made, before = self.backend.fit_tables(self._update.words.vocabulary.counts), self._update.model.fit
        if made is None or before is None:
            return None
        made.weights[: self._update.words.known] = before.weights
        return made._replace(by_length=before.by_length)

    def build(self, learned: Learned) -> Model:
        config, record = self._config, learned.record
        figures = {"epochs": config.epoch_count, "alpha": config.alpha, "seed": config.seed}
        figures |= {"loss": record[-1]["loss"], "seconds": sum(epoch["seconds"] for epoch in record)}
        return self._update.recorded(self._update.with_words(learned), figures)


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
    fitter = DocumentFitter(model)
    for start in range(0, len(vectors), CHUNK_ROWS):
        some = counts[start : start + CHUNK_ROWS]
        lengths = np.asarray(some.sum(axis=1)).reshape(-1)
        ids = np.repeat(some.indices, some.data).astype(np.int32)
        offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
        here = vectors[start : start + CHUNK_ROWS]
        here[lengths > 0] = fitter.fit(ids, offsets)[lengths > 0]
    return vectors


def _with_replay(update: Update, old: EncodedCorpus, folder: Path) -> EncodedCorpus:
    """The new documents, and after them old ones of half as many words: those with new words first, then any."""
    words, new = update.words, Part(update.corpus, update.words.numbers, update.documents.rows)
    at = words.vocabulary.word_to_id
    numbers = np.array([at.get(word, -1) for word in old.vocabulary.words], np.int32)
    offsets = np.asarray(old.offsets)
    holding = np.searchsorted(offsets, np.flatnonzero((numbers >= words.known)[old.ids]), side="right") - 1
    holds_new = np.zeros(old.n_documents, np.bool_)
    holds_new[holding] = True
    chance = np.random.default_rng((update.config.seed, len(words.vocabulary))).random(old.n_documents)
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
    given = {name: value for name, value in given.items() if value is not None}
    TrainConfig.from_mapping(given)
    stored = dict(model.config or {"vector_size": model.vector_size})
    for name, value in given.items():
        if name not in USES["update"] and stored.get(name) != value:
            raise ConfigError(
                f"an update keeps the model's {name}, which is {stored.get(name)!r}, not {value!r}; "
                f"it may choose {', '.join(USES['update'])}"
            )
    chosen: dict[str, Any] = {"threads": 0, "device": "cpu", "deterministic": None}
    if stored.get("epochs"):
        chosen["epochs"] = max(1, round(EPOCHS_SHARE * stored["epochs"]))
    config = TrainConfig.from_mapping(stored | chosen | given)
    if model.docs is None:
        config = replace(config, documents=False)
    return config


def _check_parts(model: Model) -> None:
    """Refuse a damaged model before text is read, rather than after hours of training."""
    for kept in (model.words, model.docs):
        if kept is not None:
            check_finite(kept.vectors)
    for part in (model.documents, model.terms):
        if part is not None:
            part.check()
    if model.kept_topics is not None and model.docs is not None:
        model.topics()


def _reading_of(model: Model, given: ReadOptions) -> ReadOptions:
    """How the new text is read: like the model's text, but for what is given."""
    kinds = dict(model.documents.fields) if model.documents is not None else {}
    wanted = {kept.name: kept.kind for kept in given.kept}
    keep = {name: wanted.get(name) or kinds.get(name) for name in (*kinds, *wanted)}
    reading = replace(reading_like(model, given), keep=keep)
    titled = "title_field" in model.provenance.get("reading", {}) or (
        model.documents is not None and model.documents.titled
    )
    if reading.title_field is not None and not titled and reading.title_field not in reading.text_fields:
        raise ConfigError(
            f"the model's text has no titles, so that of an update must have none: leave title_field "
            f"{reading.title_field!r:.60} out, or train a new model with it"
        )
    return reading


def _check_text(model: Model, corpus: EncodedCorpus, keep: Sequence[str]) -> None:
    """Refuse text that was split otherwise; name the columns that are new, and those to keep that are not there."""
    ours, theirs = corpus.tokenizer, model.tokenizer.with_elisions("keep")
    if (ours.name, ours.options) != (theirs.name, theirs.options):
        raise ConfigError(
            f"the model's text was split by {str(theirs)!r}, the new text by {str(ours)!r}; "
            "give the new text as the old was given"
        )
    before, now = (about.get("columns") for about in (model.provenance.get("reading", {}), corpus.reading))
    if now is None and keep:
        process.warn(f"the new text has no fields: {listed(sorted(keep))} will be empty for the new documents")
    new = sorted(set(now or ()) - set(before or now or ()) - set(keep))
    if new:
        process.warn(f"new columns are left out: {listed(new)}; name them to keep them (keep=[…], --keep)")
