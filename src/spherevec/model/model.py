"""The trained model: unit vectors of words, contexts and documents, and how they came about."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, overload

import numpy as np
from numpy.typing import NDArray

from spherevec.corpus.count.rare_counts import RareCounts
from spherevec.corpus.tokenize.tokenizer import TokenizerLike, tokenizer_of
from spherevec.errors import ConfigError, FormatError
from spherevec.model import folder as folders
from spherevec.model.about import described, here_and_now, understood
from spherevec.model.documents import DocumentTable
from spherevec.model.kept_topics import KeptTopics
from spherevec.model.keyed_vectors import KeyedVectors, UnknownKeyError
from spherevec.search.lexical import LexicalIndex
from spherevec.search.results import SearchResult, SearchResults
from spherevec.search.terms import DocumentTerms

if TYPE_CHECKING:
    from spherevec.corpus import Vocabulary
    from spherevec.engine.fit import FitTables
    from spherevec.model.inference import DocumentFitter

__all__ = ["KeyedVectors", "Model", "UnknownKeyError"]

_TABLES = ("words", "contexts", "docs")
# What the encoders of other libraries are called with; vectors here are always arrays of unit rows.
_ENCODER_OPTIONS = ("batch_size", "show_progress_bar", "convert_to_numpy", "normalize_embeddings")


class Model:
    """Words and documents on one sphere.

    Args:
        words: the word vectors, with their counts if known.
        contexts: the same words as contexts of others.
        docs: one vector a document.
        inputs: the input vectors of the words, to which documents are fitted, where `words` are the direction of their
            sum with `contexts`; by default `words` themselves.
        fit: what documents are fitted with, as training made it; without it they are fitted by sampled steps.
        config: the training settings, as `TrainConfig.as_dict()` gives them; None for imported vectors.
        record: one mapping of figures an epoch.
        tokenizer: how text was cut into words; words are looked up in the same spelling.
        parameters: small learned numbers, such as a concentration.
        provenance: anything else worth knowing about where the vectors come from.
        documents: the table of documents; by default one of their names alone.
        terms: which words each document holds; None where that is not kept.
        rare_counts: words too rare for a vector, with their counts; None where that is not known.
        kept_topics: topics that belong to the model, as `Topics.keep` leaves them; None where there are none.
    """

    def __init__(
        self,
        words: KeyedVectors,
        contexts: KeyedVectors | None = None,
        docs: KeyedVectors | None = None,
        *,
        inputs: KeyedVectors | None = None,
        fit: FitTables | None = None,
        config: Mapping[str, Any] | None = None,
        record: Iterable[Mapping[str, Any]] = (),
        tokenizer: TokenizerLike = "words",
        parameters: Mapping[str, float] | None = None,
        provenance: Mapping[str, Any] | None = None,
        documents: DocumentTable | None = None,
        terms: DocumentTerms | None = None,
        rare_counts: RareCounts | None = None,
        kept_topics: KeptTopics | None = None,
    ) -> None:
        if not words.named:
            raise FormatError("the words of a model need names; give KeyedVectors a list of words")
        for name, table in (("contexts", contexts), ("inputs", inputs)):
            if table is not None and table.index_to_key != words.index_to_key:
                raise FormatError(f"{name} must have the same keys as words, in the same order")
        for name, table in (("contexts", contexts), ("inputs", inputs), ("docs", docs)):
            if table is not None and table.vector_size != words.vector_size:
                raise FormatError(f"{name} have dimension {table.vector_size}, words have {words.vector_size}")
        rows = {
            "table of documents has": None if documents is None else len(documents),
            "terms have": None if terms is None else terms.n_documents,
        }
        for name, count in rows.items():
            if count is not None and docs is not None and count != len(docs):
                raise FormatError(f"the {name} {count} rows, but there are {len(docs)} documents")
        if terms is not None and terms.n_words != len(words):
            raise FormatError(f"the document terms are of {terms.n_words} words, but there are {len(words)}")
        if fit is not None and (len(fit.weights), len(fit.mean)) != words.vectors.shape:
            raise FormatError(f"fit has {len(fit.weights)} weights of words and a mean of dimension {len(fit.mean)}")
        self.words = words
        self.contexts = contexts
        self.docs = docs
        self._inputs = inputs
        self.fit = fit
        self.config: dict[str, Any] | None = None if config is None else dict(config)
        self.record: list[dict[str, Any]] = [dict(epoch) for epoch in record]
        self.tokenizer = tokenizer_of(tokenizer)
        for table in (words, contexts, inputs):
            if table is not None:
                table.spelling = self.tokenizer.normalise_word
        self.parameters: dict[str, float] = dict(parameters or {})
        self.provenance: dict[str, Any] = {**here_and_now(), **(provenance or {})}
        self._documents = documents
        self.terms = terms
        self._lexical: LexicalIndex | None = None
        self.rare_counts = rare_counts
        self.kept_topics = kept_topics
        self._prepared: tuple[DocumentFitter, Vocabulary] | None = None

    def __getstate__(self) -> dict[str, Any]:
        # What `infer` prepares is large and quickly made again: copies and pickles do without.
        return {**self.__dict__, "_prepared": None, "_lexical": None}

    @property
    def counts(self) -> NDArray[np.int64] | None:
        """How often each word occurred, (n,)."""
        return self.words.counts

    @property
    def inputs(self) -> KeyedVectors:
        """The input vectors of the words, to which documents are fitted; `words` where these are the same."""
        return self.words if self._inputs is None else self._inputs

    @property
    def documents(self) -> DocumentTable | None:
        """The table of documents: ids, titles, the beginning of each text, kept fields. None without documents."""
        if self._documents is None and self.docs is not None:
            self._documents = DocumentTable.of_ids(self.docs.names, len(self.docs))
        return self._documents

    @property
    def document_terms(self) -> Any:
        """How often each word occurs in each document, or None: a csr_array (documents, words) of int32."""
        return None if self.terms is None else self.terms.counts

    @property
    def word_weights(self) -> NDArray[np.float32] | None:
        """How much each word says of its documents, (n,): 1 on average over the text, nearly 0 for function words.

        Documents are fitted with these weights. None for imported vectors and for models that have none.
        """
        return None if self.fit is None else self.fit.weights

    @property
    def vector_size(self) -> int:
        """The dimension of every vector."""
        return self.words.vector_size

    @property
    def version(self) -> str:
        """The release of spherevec that made the model."""
        return str(self.provenance["version"])

    @property
    def created(self) -> str:
        """When the model was made, in ISO 8601."""
        return str(self.provenance["created"])

    def __repr__(self) -> str:
        parts = [f"{len(self.words):,} words"]
        if self.docs is not None:
            parts.append(f"{len(self.docs):,} documents")
        origin = "imported" if self.config is None else str(self.config.get("objective", "trained"))
        return f"Model({', '.join(parts)}, dimension {self.vector_size}, {origin})"

    def _repr_html_(self) -> str:
        from spherevec.html import table_html

        shown = {name: value for name, value in self.describe().items() if isinstance(value, int | str)}
        return table_html(
            ["", ""],
            [[name, f"{value:,}" if isinstance(value, int) else value] for name, value in shown.items()],
            repr(self),
        )

    @overload
    def search(
        self,
        query: str | NDArray[Any],
        among: str = "docs",
        topn: int = 10,
        *,
        where: Mapping[str, Any] | None = None,
        mode: str = "hybrid",
        tokenizer: TokenizerLike | None = None,
        subwords: bool = True,
        **other_names: Any,
    ) -> SearchResult: ...

    @overload
    def search(
        self,
        query: list[str] | tuple[str, ...],
        among: str = "docs",
        topn: int = 10,
        *,
        where: Mapping[str, Any] | None = None,
        mode: str = "hybrid",
        tokenizer: TokenizerLike | None = None,
        subwords: bool = True,
        **other_names: Any,
    ) -> SearchResults: ...

    def search(
        self,
        query: str | list[str] | tuple[str, ...] | NDArray[Any],
        among: str = "docs",
        topn: int = 10,
        *,
        where: Mapping[str, Any] | None = None,
        mode: str = "hybrid",
        tokenizer: TokenizerLike | None = None,
        subwords: bool = True,
        **other_names: Any,
    ) -> SearchResult | SearchResults:
        """The documents or words that answer a text, or each of several texts.

        Args:
            query: a text of one or more words, a list of texts, or a vector (dim,).
            among: "docs", "words" or "topics", which are found first.
            topn: how many answers.
            where: only documents for which this holds, such as `{"team": "billing", "created>=": "2024-01-01"}`; see
                `DocumentTable.rows_where`.
            mode: "dense" ranks by cosine, "lexical" by BM25 over the very words, "hybrid" by both.
            tokenizer: as for `infer`.
            subwords: let the known word that is spelled most alike stand in for a word that no document holds; the
                result says so.

        Returns:
            A `SearchResult`, or for a list of texts one for each in `SearchResults`: hits with id, title, snippet and
            score, best first.
        """
        from spherevec.model.search import refuse_other_names, search

        refuse_other_names(other_names)
        return search(self, query, among, topn, where, mode, tokenizer, subwords)

    def lexical_index(self) -> LexicalIndex | None:
        """What finds documents by their words, made when first asked for; None where these are not kept."""
        if self._lexical is None and self.terms is not None:
            self._lexical = LexicalIndex(self.terms)
        return self._lexical

    def encode(self, sentences: str | Sequence[str], **options: Any) -> NDArray[np.float32]:
        """The vectors of texts, (n, dim), or of one text, (dim,): `infer` by the name that other encoders have.

        Args:
            sentences: a text, or a list of texts.
            **options: `threads` as for `infer`. Those of other encoders that make no difference here (`batch_size`,
                `show_progress_bar`, `convert_to_numpy`, `normalize_embeddings`) are taken and ignored.
        """
        unknown = [name for name in options if name not in ("threads", *_ENCODER_OPTIONS)]
        if unknown:
            raise ConfigError(f"encode takes texts and threads, not {unknown[0]!r:.40}")
        alone = isinstance(sentences, str)
        vectors = self.infer([sentences] if alone else list(sentences), threads=options.get("threads", 0))
        return np.asarray(vectors[0] if alone else vectors)

    @overload
    def infer(
        self,
        texts: Any,
        *,
        epochs: int | None = None,
        alpha: float | None = None,
        threads: int = 0,
        device: str = "cpu",
        tokenizer: TokenizerLike | None = None,
        text_field: str | None = None,
        subwords: bool = False,
        return_unknown: Literal[False] = False,
    ) -> NDArray[np.float32]: ...

    @overload
    def infer(
        self,
        texts: Any,
        *,
        epochs: int | None = None,
        alpha: float | None = None,
        threads: int = 0,
        device: str = "cpu",
        tokenizer: TokenizerLike | None = None,
        text_field: str | None = None,
        subwords: bool = False,
        return_unknown: Literal[True],
    ) -> tuple[NDArray[np.float32], NDArray[np.float64]]: ...

    def infer(
        self,
        texts: Any,
        *,
        epochs: int | None = None,
        alpha: float | None = None,
        threads: int = 0,
        device: str = "cpu",
        tokenizer: TokenizerLike | None = None,
        text_field: str | None = None,
        subwords: bool = False,
        return_unknown: bool = False,
    ) -> NDArray[np.float32] | tuple[NDArray[np.float32], NDArray[np.float64]]:
        """The vectors of new documents, (n, dim): fitted by the objective of training, with the words fixed.

        The same text gives the same bits, alone or among others, in any order, on any number of threads; a text of the
        training set gets its trained vector, if training ended with `refit`. Words that the model does not know are
        skipped. A text without any known word gets the mean direction of the model's documents, or of its words where
        it has no documents.

        Vectors from outside come without counts and settings: then no word is subsampled, negatives are uniform, and
        the objective is the default one.

        Args:
            texts: an iterable of strings or of lists of words; with `text_field` a data frame, or records.
            epochs: passes over each text; by default 4. Without word weights 10, and more for less than 100 words.
            alpha: the share of a step that a pass takes, by default 0.7. Without word weights the learning rate at the
                start, by default 0.01, and 0.03 for the hinges.
            threads: 0 = all cores.
            device: "cpu", or "cuda" for an NVIDIA GPU, whose last bits differ from the CPU's.
            tokenizer: how to split the texts; as in training by default. Needed for texts where the model was trained
                on lists of words, or with a function for a tokenizer.
            text_field: the column of a data frame, or the field of records, that holds the text.
            subwords: let the known word that is spelled most alike stand in for an unknown one.
            return_unknown: also return the share of each text's words that the model does not know, (n,); 1 for a text
                without any word.
        """
        from spherevec.model.inference import infer_batches, told_if_unknown

        found = infer_batches(
            self,
            texts,
            epochs=epochs,
            alpha=alpha,
            threads=threads,
            device=device,
            tokenizer=tokenizer,
            text_field=text_field,
            subwords=subwords,
        )
        blocks = told_if_unknown([*found])
        vectors = np.concatenate([np.empty((0, self.vector_size), np.float32), *(block.vectors for block in blocks)])
        if not return_unknown:
            return vectors
        known = np.concatenate([np.empty(0, np.int64), *(block.known for block in blocks)])
        unknown = np.concatenate([np.empty(0, np.int64), *(block.unknown for block in blocks)])
        return vectors, np.where(known > 0, unknown / np.maximum(known + unknown, 1), 1.0)

    def explore(self, path: str | Path, **options: Any) -> Path:
        """Write the map of the model as one HTML page; see `spherevec.explore.write_page`."""
        page: Path = _higher("explore").write_page(self, path, **options)
        return page

    def show(self, **options: Any) -> Any:
        """The same page in a cell of a notebook; see `spherevec.explore.show`."""
        return _higher("explore").show(self, **options)

    def plot_map(self, **options: Any) -> Any:
        """A picture of the map through matplotlib; see `spherevec.explore.plot_map`."""
        return _higher("explore").plot_map(self, **options)

    def topics(self, **options: Any) -> Any:
        """The topics of the documents: those that were kept, or with options, or where none were kept, found anew.

        See `spherevec.topics.find_topics` for the options, and `Topics.keep`.
        """
        return _higher("topics").topics_of(self, **options)

    def update(self, source: Any, *, add_only: bool = False, replay: Any = None, **options: Any) -> Model:
        """A new model that also holds the documents of `source` and, unless `add_only`, the words that they bring.

        Args:
            source: new documents: what `train` takes. One with the id of an old document takes its place.
            add_only: fit the documents to the words as they are; all old vectors keep their bits.
            replay: old text that is still at hand, so that old words stay closer to where they were.
            **options: see `spherevec.training.update.update`.

        Topics that were kept with the model keep their numbers and titles; a subject that is new becomes a new one.
        """
        from spherevec.model.editing import updated

        return updated(self, source, add_only=add_only, replay=replay, **options)

    def remove(self, ids: Iterable[str]) -> Model:
        """A new model without some documents, given by their ids; what stays keeps its bits and its ids."""
        from spherevec.model.editing import remove

        return remove(self, ids)

    def check(self) -> None:
        """Raise `FormatError` unless every vector is finite and of norm 1 within 1e-5, and every key is unique.

        The words and the table of the documents are looked at, too.
        """
        for name in (*_TABLES, "inputs"):
            table = getattr(self, name)
            if table is not None:
                table.check(name)
        if self.terms is not None:
            self.terms.check()
        if self.documents is not None:
            self.documents.check()

    def describe(self) -> dict[str, Any]:
        """What there is to know about the model without its vectors, ready for JSON."""
        return described(self)

    def save(self, folder: str | Path, overwrite: bool = False, shards: int | None = None) -> None:
        """Write the model as a folder, completely or not at all; documents in `shards` files, one for each worker."""
        about = {
            "tokenizer": self.tokenizer.description(),
            "config": self.config,
            "parameters": self.parameters,
            "provenance": self.provenance,
            "record": self.record,
        }
        stored = folders.StoredModel(
            self.words,
            self.contexts,
            self.docs,
            self._inputs,
            self.documents,
            self.terms,
            self.rare_counts,
            about,
            self.fit,
            self.kept_topics,
        )
        folders.save(stored, folder, overwrite=overwrite, shards=shards or int(self.provenance.get("workers", 1)))

    @classmethod
    def load(cls, folder: str | os.PathLike[str], mmap: bool = True, verify: bool = False) -> Model:
        """Open a saved model.

        Args:
            mmap: map the vectors from disk, read-only, instead of copying them into memory.
            verify: also compare the checksums of all files and check every vector; reads everything once.
        """
        stored = folders.load(folder, memory_map=mmap, verify=verify)
        try:
            model = cls(
                stored.words,
                stored.contexts,
                stored.docs,
                inputs=stored.inputs,
                documents=stored.documents,
                terms=stored.terms,
                rare_counts=stored.rare_counts,
                fit=stored.fit,
                kept_topics=stored.kept_topics,
                **understood(stored.about),
            )
        except FormatError as error:
            raise FormatError(f"{folder}: {error}") from None
        if verify:
            try:
                model.check()
            except FormatError as error:
                raise FormatError(f"{folder}: {error}") from None
        return model

    def _inference(self) -> tuple[DocumentFitter, Vocabulary]:
        """What `infer` needs besides texts, made when first asked for."""
        if self._prepared is None:
            from spherevec.model.inference import fitter_of, vocabulary_of

            self._prepared = fitter_of(self), vocabulary_of(self)
        return self._prepared


def _higher(room: str) -> Any:
    """A room that stands on this one: found by its name when a verb of the model is used, never imported here."""
    return import_module(f"spherevec.{room}")


def load(folder: str | os.PathLike[str], *, mmap: bool = True, verify: bool = False) -> Model:
    """Open a saved model; see `Model.load`."""
    return Model.load(folder, mmap=mmap, verify=verify)
