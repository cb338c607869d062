"""Vectors for documents that were not in the corpus: fitted on the sphere, with the word vectors fixed.

The same words give the same vector to the last bit on the same device, alone or in a batch, in any order, on any number
of threads: what is random about a document is a hash of its words, and no sum runs over more than one document.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence, Sized
from dataclasses import fields, replace
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from spherevec import process, sphere
from spherevec.config import INFERENCE_STEPS, USES, TrainConfig
from spherevec.corpus.count.summary import CorpusSummary, warnings_about
from spherevec.corpus.count.vocabulary import Vocabulary, encode_texts
from spherevec.corpus.read.options import ReadOptions
from spherevec.corpus.read.readers import Document, documents_of, with_optional_fields
from spherevec.corpus.tokenize.tokenizer import TokenizerLike
from spherevec.engine.base import DocumentFit, Sampling
from spherevec.engine.fit import FitPlan, fit_document
from spherevec.engine.sampling import alias_table, keep_probabilities
from spherevec.errors import CorpusError, FormatError
from spherevec.search.neighbors import check_finite
from spherevec.sphere import Floats

if TYPE_CHECKING:
    from spherevec.model.model import Model

BATCH_CHARACTERS = 8 << 20  # of texts that are encoded and fitted in one go
BATCH_DOCUMENTS = 1 << 16
_CHARACTERS_A_WORD = 6  # roughly, for documents that are lists of words
_ROWS_SUMMED = 1 << 16
_FEW_DOCUMENTS, _FEW_WORDS = 100, 10_000  # that NumPy has fitted before compiled code is loaded

# Sums of unit vectors shorter than this, for each vector, have no direction worth the name.
_NO_DIRECTION = 1e-6


class Inferred(NamedTuple):
    """Some of the new documents, in order: N of them."""

    vectors: Floats  # (N, dim)
    known: NDArray[np.int64]  # (N,) words that the model knows
    unknown: NDArray[np.int64]  # (N,) words that it does not

    @property
    def summary(self) -> CorpusSummary:
        """The counts as `train` gives them."""
        words = self.known + self.unknown
        lost = (self.known == 0) & (self.unknown > 0)
        empty, n_lost, tokens, unknown = (int(found.sum()) for found in (words == 0, lost, words, self.unknown))
        return CorpusSummary(len(words), empty, n_lost, tokens, unknown)


class DocumentFitter:
    """Fits documents to the words of a model, which stay fixed. What depends on the words alone is prepared once.

    Imported vectors come without settings, and are fitted with the default ones; where counts of words are not known,
    nothing is subsampled and negatives are uniform.
    """

    def __init__(self, model: Model) -> None:
        stored, inputs, counts = model.config or {}, model.inputs.vectors, model.counts
        check_finite(inputs)  # kernels would make some vector of NaN, and nobody would notice
        shared = {name: stored[name] for name in USES["infer"] if name in stored}
        config = TrainConfig(vector_size=model.vector_size, **shared)
        if counts is None:
            counts, config = np.ones(len(inputs), np.int64), config.with_(sample=0.0)
        self._counts = np.maximum(counts, 1)
        self._config = config.resolved(int(self._counts.sum()), len(counts))
        self._bias = model.parameters.get("document_bias", self._config.bias)
        self._inputs, self._tables = inputs, model.fit
        self._known = [table.vectors for table in (model.docs, model.words) if table is not None]
        self._fits: dict[str, DocumentFit] = {}  # by device

    @property
    def weighted(self) -> bool:
        """Whether words have weights, so that nothing is sampled."""
        return self._tables is not None

    def fit(
        self,
        ids: NDArray[np.int32],
        offsets: NDArray[np.int64],
        epochs: int | None = None,
        alpha: float | None = None,
        threads: int = 0,
        device: str = "cpu",
    ) -> Floats:
        """Unit vectors of documents, (N, dim); document d has the words ids[offsets[d]:offsets[d + 1]].

        A document starts at the weighted mean direction of its words and takes `epochs` passes over them, by default
        six. Without tables the weight is a word's keep probability, and there are ten passes by default, and more if
        that makes less than a thousand steps.
        """
        config = self.settings(epochs, alpha, threads, device)
        plan = FitPlan(config, self._bias, INFERENCE_STEPS if epochs is None else 0, self._tables)
        return self._fits[device].fit(ids, offsets, self._start_rows(ids, offsets), plan)

    def fit_queries(self, ids: NDArray[np.int32], offsets: NDArray[np.int64]) -> Floats:
        """As `fit` up to rounding, for the few words of queries: NumPy is done before compiled code is loaded."""
        if self._tables is None:
            return self.fit(ids, offsets)
        vectors = self._start_rows(ids, offsets)
        for row, (first, last) in enumerate(pairwise(offsets.tolist())):
            fitted = fit_document(ids[first:last], self._inputs, self._query_plan) if last > first else None
            if fitted is not None:
                vectors[row] = fitted
        return vectors

    @cached_property
    def _query_plan(self) -> FitPlan:
        return FitPlan(self._config.for_inference(weighted=True), self._bias, tables=self._tables)

    def settings(
        self, epochs: int | None = None, alpha: float | None = None, threads: int = 0, device: str = "cpu"
    ) -> TrainConfig:
        """What a fit with these arguments uses; a value out of range, or a GPU that is missing, is refused."""
        config = self._config.for_inference(epochs, alpha, weighted=self.weighted).with_(threads=threads, device=device)
        if device not in self._fits:  # the words are brought to a device when first needed
            from spherevec.engine.backends import make_document_fit

            keep_probability = keep_probabilities(self._counts, self._config.for_inference().sample_threshold)
            sampling = Sampling(keep_probability, *alias_table(self._counts))
            self._fits[device] = make_document_fit(self._inputs, sampling, config)
        return config

    def _start_rows(self, ids: NDArray[np.int32], offsets: NDArray[np.int64]) -> Floats:
        """What a fit starts from where words have no mean direction, (N, dim).

        Words that cancel out leave a document at the first of them, no words at all at the fallback.
        """
        filled = offsets[1:] > offsets[:-1]
        rows = np.zeros((len(filled), self._config.vector_size), np.float32)
        rows[filled] = self._inputs[ids[offsets[:-1][filled]]]
        if not filled.all():
            rows[~filled] = self._common_direction
        return rows

    @cached_property
    def _common_direction(self) -> Floats:
        """The mean direction (dim,) of the documents or, where they have none, of the words."""
        for vectors in self._known:
            total = np.zeros(vectors.shape[1])
            for start in range(0, len(vectors), _ROWS_SUMMED):
                total += vectors[start : start + _ROWS_SUMMED].sum(axis=0, dtype=np.float64)
            if np.linalg.norm(total) > _NO_DIRECTION * len(vectors):
                return np.asarray(sphere.normalize(total), np.float32)
        # Perfectly balanced on all sides: any direction is as good as another.
        return np.eye(1, total.size, dtype=np.float32).reshape(-1)


def summary_of(parts: Sequence[CorpusSummary], notes: Sequence[str] = ()) -> CorpusSummary:
    """The counts of all new documents, and what looks wrong."""
    found = CorpusSummary.total(parts, notes=tuple(notes))
    return found.with_(warnings=tuple(warnings_about(found)))


def warn_if_all_unknown(blocks: list[Inferred]) -> list[Inferred]:
    """The blocks as they are; a warning where the model knows no word of any of them."""
    found = summary_of([block.summary for block in blocks])
    if found.tokens and found.dropped_tokens == found.tokens:
        process.warn(found.warnings[-1], stacklevel=3)
    return blocks


class InferenceOptions(NamedTuple):
    """How new documents are read and fitted; see `Model.infer`."""

    epochs: int | None = None
    alpha: float | None = None
    threads: int = 0
    device: str = "cpu"
    tokenizer: TokenizerLike | None = None
    text_field: str | None = None
    subwords: bool = False
    quick: bool = False  # a few short texts come without compiled code, with other last bits than among many


def infer_batches(
    model: Model, texts: Iterable[Document], options: InferenceOptions | None = None
) -> Iterator[Inferred]:
    """The vectors of new texts, some at a time, so that any number of them fits into memory."""
    options = options or InferenceOptions()
    fitter, vocabulary = model._inference()
    how: Any = options.epochs, options.alpha, options.threads, options.device
    quick = options.quick and fitter.weighted and how == (None, None, options.threads, "cpu")
    # A bad argument is told before any text is read.
    workers = 1 if quick else fitter.settings(*how).thread_count
    splitter = model.tokenizer if options.tokenizer is None else options.tokenizer
    stand_ins = model.words.spellings.stand_ins if options.subwords else None
    done = 0
    for documents in _batches(texts, reading_for(model, ReadOptions(text_field=options.text_field))):
        ids, offsets, unknown = encode_texts(documents, vocabulary, splitter, stand_ins, workers)
        known = np.diff(offsets)
        if options.subwords:  # what a guess stands for is unknown all the same
            _, own_offsets, unknown = encode_texts(documents, vocabulary, splitter, threads=workers)
            known = np.diff(own_offsets)
        quick = quick and not done and len(documents) <= _FEW_DOCUMENTS and len(ids) <= _FEW_WORDS
        vectors = fitter.fit_queries(ids, offsets) if quick else fitter.fit(ids, offsets, *how)
        if not np.isfinite(vectors).all():
            damaged = done + int(np.argmin(np.isfinite(vectors).all(axis=1)))
            raise FormatError(
                f"the vector of document {damaged} (counted from 0) came out as NaN: the model's vectors are damaged; "
                "check the model (spherevec check MODEL) and copy or train it again"
            )
        done += len(vectors)
        yield Inferred(vectors, known, unknown)


def texts_of(model: Model, source: Any) -> list[Document]:
    """The new documents that `Model.infer` finds in a source: a data frame, records, texts or lists of words."""
    batches = _batches(source, reading_for(model, ReadOptions()))
    return [document for batch in batches for document in batch]


def vocabulary_of(model: Model) -> Vocabulary:
    words = model.words
    counts = np.ones(len(words), np.int64) if words.counts is None else words.counts
    return Vocabulary(list(words.names or ()), counts, bool((model.config or {}).get("phrases")))


def reading_like(model: Model, given: ReadOptions) -> ReadOptions:
    """How a text like that of the model is read: in the same way, but for what is given."""
    before = {name: value for name, value in model.provenance.get("reading", {}).items() if name != "columns"}
    for unknown in before.keys() - {field.name for field in fields(ReadOptions)}:
        raise FormatError(f"the model's text was read with {unknown!r:.60}, unknown to this version; train it again")
    if given.has_ids:
        before.pop("id_field", None)
    return ReadOptions(**{**before, **given.given, "fields_optional": not given.names})


def reading_for(model: Model, given: ReadOptions, *, with_ids: bool = False) -> ReadOptions:
    """How new documents are read: as given where that names a field, otherwise as the text of the model was."""
    if given.names:
        return given
    reading = reading_like(model, given)
    return reading if with_ids else replace(reading, id_field=None)


def refuse_single_text(texts: Any, name: str = "texts") -> None:
    """Raise `CorpusError` for a text that would be taken for a list of its characters."""
    if isinstance(texts, str | bytes):
        raise CorpusError(f"{name} must be a list of texts, not a single one; put it into a list: [text]")


def _batches(texts: Any, reading: ReadOptions) -> Iterator[list[Document]]:
    """Documents in handy numbers; the first decides whether all are texts or lists of words."""
    refuse_single_text(texts)
    if isinstance(texts, Sized) and not len(texts):
        return
    if reading.fields_optional:
        texts, reading = with_optional_fields(texts, None, reading)
    rows, in_words = documents_of(texts, reading)
    batch: list[Document] = []
    characters = 0
    for row in rows:
        batch.append(row.text)
        characters += len(row.text) * (_CHARACTERS_A_WORD if in_words else 1)
        if characters >= BATCH_CHARACTERS or len(batch) == BATCH_DOCUMENTS:
            yield batch
            batch, characters = [], 0
    if batch:
        yield batch
